"""Decoders: from noisy tallies and public facts to a score, without any constraint.

A tally is how many alarming messages a person has in the window. It gets noise before a decoder
sees it, so a decoder is post-processing: it may be any function of the last 14 noisy tallies, of
the size of their noise, and of what the person knows (own tests, average number of contacts, age
group,
error rates of tests). This one is a network with two hidden layers. Inputs, in order:

    14  noisy tallies, newest first, over sqrt(noise² + 4²); of head counts 14 × channels, the
        channels of a day side by side, as evidence (`head_evidence`)
    14  negative own test on the day, newest first
    14  positive own test
     1  log(1 + average contacts per day)
     9  age group
    43  where levers are on (`records.Diary`): 14 each of having asked for a test, having been told
        of a case and having stayed at home; 1 for a positive result at any time before
     3  log(noise)/2, noise cut to 0.1 … 1000; log(rate + 0.001) of false positives and of false
        negatives: the same for everybody
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dnatrace.errors import InputError
from dnatrace.networks import _decoder_kernels as kernels
from dnatrace.networks import model_file
from dnatrace.networks.architecture import AGE_GROUPS, WINDOW, check_weights
from dnatrace.networks.decoder_inputs import (
    N_COMMON,
    DecoderInputs,
    Floats,
    common_inputs,
    scaled_tallies,
)
from dnatrace.records import Diary
from dnatrace.threads import in_parts

DEFAULT_DECODER = "tally"
TALLIES, ALONE = "tallies", "public facts alone"  # what decoders without head counts read
_KNOWN = 2 * WINDOW + 1 + AGE_GROUPS + N_COMMON  # inputs other than tallies
DIARY_ROWS = (Diary.ASKED, Diary.TOLD, Diary.AT_HOME)  # read day by day
N_DIARY = len(DIARY_ROWS) * WINDOW + 1
N_INPUTS = WINDOW + _KNOWN
SENSITIVITY = 1.0  # of a tally: every message adds between 0 and 1
_STEPS = 2.0**20  # of an alarm from 0 to 1
MOST_CHANNELS = 16
_WORTH_THREADS = 4096  # people

Weights = Mapping[str, Floats]


@dataclass(frozen=True, slots=True, kw_only=True)
class Alarm:
    """How much a message alarms: 0 up to `low`, 1 from `high` on, linear in between.

    Alarms are rounded to a multiple of 2⁻²⁰, so that their sums are exact in float64 and one
    message moves a sum by at most 1, without an additional rounding error.

    For tallies a message is P(I); for head counts it is P(I) divided by that of somebody just found
    positive (`methods.headcount.standing_alarms`), so the bounds of the two cannot be compared.

    Attributes:
        low: messages up to this are background.
        high: messages from this on count in full.
    """

    low: float
    high: float

    def __post_init__(self) -> None:
        if not 0.0 <= self.low < self.high <= 1.0:  # also catches NaN
            raise InputError(f"alarm needs 0 ≤ low < high ≤ 1, not {self.low} and {self.high}")

    def __call__(self, messages: NDArray[Any]) -> NDArray[np.float64]:
        """Return the alarm of every message, in [0, 1] whatever the message."""
        scaled = (messages.astype(np.float64) - self.low) / (self.high - self.low)
        return np.rint(np.clip(scaled, 0.0, 1.0) * _STEPS) / _STEPS


@dataclass(frozen=True, slots=True, kw_only=True)
class Heads:
    """Which head counts a decoder reads; `inference.heads.Closeness` says what the numbers mean.

    Attributes:
        release: the variant: `daily` or `news`.
        fading: how contacts fade with their age.
        bounds: the bounds of the channels, by closeness.
        merged_above: noise above which channels are merged: everybody is in the first one, and
            nobody in the others. Every channel has its own noise, which costs more than separate
            channels gain when noise is large; None if channels are never merged.
    """

    release: str
    fading: float
    bounds: tuple[float, ...]
    merged_above: float | None = None

    def bounds_at(self, noise: float) -> tuple[float, ...]:
        """Return the bounds of the channels that are counted at a given noise."""
        merged = self.merged_above is not None and noise > self.merged_above
        return self.bounds[:1] if merged else self.bounds

    @classmethod
    def read(cls, about: Any) -> "Heads":
        """Return what a file says, or raise."""
        needed = {"release", "fading", "bounds", "merged_above"}
        if not isinstance(about, dict) or set(about) != needed:
            raise InputError(f"heads need {', '.join(sorted(needed))}")
        bounds = about["bounds"]
        if not isinstance(bounds, list) or not 1 <= len(bounds) <= MOST_CHANNELS:
            raise InputError(f"heads have from 1 to {MOST_CHANNELS} bounds")
        return cls(
            release=str(about["release"]),
            fading=float(about["fading"]),
            bounds=tuple(float(bound) for bound in bounds),
            merged_above=None if about["merged_above"] is None else float(about["merged_above"]),
        )


def shapes(width: int, channels: int = 1, *, diary: bool = False) -> dict[str, tuple[int, ...]]:
    """Return the shape of every weight by name: [inputs, outputs] and [outputs]."""
    sizes = (channels * WINDOW + _KNOWN + (N_DIARY if diary else 0), width, width, 1)
    found: dict[str, tuple[int, ...]] = {}
    for i in range(3):
        found[f"{i}.weight"] = (sizes[i], sizes[i + 1])
        found[f"{i}.bias"] = (sizes[i + 1],)
    return found


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Decoder:
    """A trained decoder.

    Attributes:
        name: the name under which it was loaded.
        alarm: the alarm of the tallies or head counts it was trained for, each in their own unit.
        weights: float32 arrays by name, with the shapes of `shapes`.
        provenance: where it comes from.
        heads: the head counts it was trained for; None when it reads tallies.
        diary: whether it reads diaries, because it was trained where levers are on.
        digest: the digest of the weights, the alarm and the heads.
    """

    name: str
    alarm: Alarm
    weights: Weights
    provenance: dict[str, Any]
    heads: Heads | None = None
    diary: bool = False
    digest: str = field(init=False)

    def __post_init__(self) -> None:
        width = self.weights["0.bias"].size if "0.bias" in self.weights else 0
        object.__setattr__(self, "weights", model_file.FrozenArrays(self.weights))
        check_weights(shapes(width, self.channels, diary=self.diary), self.weights)
        object.__setattr__(self, "digest", _digest(self))

    def __reduce__(self) -> tuple[Any, ...]:
        """Rebuild and check the decoder in other processes, as frozen weights cannot be pickled."""
        about = (self.alarm, dict(self.weights), self.provenance, self.heads, self.diary)
        return _made, (self.name, *about)

    @property
    def channels(self) -> int:
        """How many numbers per release it reads."""
        return len(self.heads.bounds) if self.heads else 1

    @property
    def reads_releases(self) -> bool:
        """Whether anything but public facts has any weight."""
        return bool(self.weights["0.weight"][: self.channels * WINDOW].any())

    @property
    def reading(self) -> str:
        """What it reads, in words, besides public facts."""
        if self.heads is not None:
            return f"head counts, {self.heads.release}"
        return TALLIES if self.reads_releases else ALONE

    def require(self, reading: str) -> None:
        """Raise unless it reads what a method has for it."""
        if self.reading != reading:
            raise InputError(f"decoder '{self.name}' reads {self.reading}; needed: {reading}")

    @property
    def reads(self) -> int:
        """How many of the newest releases have any weight, at least 1."""
        of_releases = self.weights["0.weight"][: self.channels * WINDOW]
        used = np.flatnonzero(of_releases.any(axis=1))
        return int(used[-1]) // self.channels + 1 if used.size else 1

    def scores(
        self,
        noisy: NDArray[Any],
        noise: float,
        inputs: DecoderInputs,
        *,
        counted: int | None = None,
        newest_last: bool = False,
    ) -> NDArray[np.float64]:
        """Return scores that rank people, log odds up to a constant of the day: [people].

        They are computed in float32 and returned as float64.

        Cost: about 2,000 multiplications per person, fewer when few channels are counted; people
        side by side.

        Args:
            noisy: tallies, or `head_evidence` of head counts: [releases × channels, people], the
                newest release first, at most 14 releases. Where there are fewer, the network reads
                0 for the rest.
            noise: the standard deviation of the noise of one of them, before `head_evidence`.
            inputs: everybody's other inputs.
            counted: how many channels of a release there are in `noisy`, the first ones; the
                others are 0. All when None.
            newest_last: whether the oldest release comes first instead.
        """
        numbers = noisy if self.heads else scaled_tallies(noisy, noise)
        counted = self.channels if counted is None else counted
        releases = np.arange(len(noisy) // counted)
        of_release = np.arange(counted)
        by_age = releases[::-1] if newest_last else releases
        w = self.weights
        errors = inputs.test_errors
        rates = (errors.false_positive_rate, errors.false_negative_rate)
        n_people = noisy.shape[1]
        scores = np.empty(n_people)
        arguments: list[Any] = [
            np.ascontiguousarray(numbers, dtype=np.float32),
            np.add.outer(counted * by_age, of_release).ravel(),
            np.add.outer(self.channels * releases, of_release).ravel(),
            *inputs.by_day(),
            inputs.diary_by_day()[: None if self.diary else 0],
            _frozen(w["0.bias"] + common_inputs(noise, rates) @ w["0.weight"][-N_COMMON:]),
            w["0.weight"][:-N_COMMON],
            *(w[name] for name in ("1.weight", "1.bias", "2.weight", "2.bias")),
            self.channels * WINDOW,
            scores,
        ]
        worth = n_people > _WORTH_THREADS
        in_parts(n_people, lambda begin, end: kernels.decode(begin, end, *arguments), worth=worth)
        return scores


def _frozen(values: Floats) -> Floats:
    """Return read-only values, like weights: one compiled version serves both."""
    values.flags.writeable = False
    return values


def _made(
    name: str,
    alarm: Alarm,
    weights: Weights,
    provenance: dict[str, Any],
    heads: Heads | None,
    diary: bool,
) -> Decoder:
    about: Any = {"provenance": provenance, "heads": heads, "diary": diary}
    return Decoder(name=name, alarm=alarm, weights=weights, **about)


def _digest(decoder: Decoder) -> str:
    digest, weights = hashlib.blake2b(digest_size=16), decoder.weights
    digest.update(json.dumps(_about(decoder), sort_keys=True).encode())
    for name in sorted(weights):
        digest.update(f"{name}|{weights[name].shape}|".encode())
        digest.update(np.ascontiguousarray(weights[name]).tobytes())
    return digest.hexdigest()


def _about(decoder: Decoder) -> dict[str, Any]:
    """Return what a decoder was trained for, as in its file."""
    heads = {"heads": asdict(decoder.heads)} if decoder.heads else {}
    diary = {"diary": True} if decoder.diary else {}
    return asdict(decoder.alarm) | heads | diary


# --- files ---------------------------------------------------------------------------------------


def write_decoder(path: Path, decoder: Decoder) -> None:
    """Write a decoder with its certificate, whole or not at all."""
    metadata = {
        "decoder": _about(decoder),
        "certificate": {"sensitivity": SENSITIVITY, "digest": decoder.digest},
        "provenance": decoder.provenance,
    }
    model_file.write(path, metadata, dict(decoder.weights))


def is_decoder(path: Path) -> bool:
    """Return whether a file claims to be a decoder; it need not be a valid one."""
    return "decoder" in model_file.unpack(path)[0]


def _checked(name: str, path: Path) -> Decoder:
    metadata, arrays = model_file.unpack(path)
    about = metadata.get("decoder")
    if not isinstance(about, dict) or set(about) - {"heads", "diary"} != {"low", "high"}:
        raise InputError(f"{path}: not a decoder")
    provenance = metadata.get("provenance")
    if not isinstance(provenance, dict) or not isinstance(provenance.get("runs", {}), dict):
        raise InputError(f"{path}: not a decoder: a provenance that is not a table")
    try:
        alarm = Alarm(low=float(about["low"]), high=float(about["high"]))
        heads = Heads.read(about["heads"]) if "heads" in about else None
        decoder = Decoder(
            name=name,
            alarm=alarm,
            weights=arrays,
            provenance=provenance,
            heads=heads,
            diary=about.get("diary", False) is True,
        )
    except (InputError, TypeError, ValueError, OverflowError) as error:
        raise InputError(f"{path}: not a decoder: {error}") from None
    if metadata.get("certificate") != {"sensitivity": SENSITIVITY, "digest": decoder.digest}:
        raise InputError(f"{path}: the certificate does not match the weights; refused")
    return decoder


_DECODERS = model_file.Shipped("dnatrace.decoders", "decoder", _checked)
decoder_names, decoder_path = _DECODERS.names, _DECODERS.path


def load_decoder(decoder: str | Path = DEFAULT_DECODER) -> Decoder:
    """Return a decoder that ships with the package, or one from a file.

    Guarantee: the digest is recomputed; a file that states another one is refused.
    """
    return _DECODERS.load(decoder)
