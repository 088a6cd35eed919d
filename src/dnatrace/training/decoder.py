"""Train decoders: infected people against others of the same day, with noise in the loop.

A decoder only has to rank the people of one day. So a case is one infected person among others
drawn from the same day of the same run, and the loss is that of picking the right one: minus the
log of the softmax (a conditional logit; how common infections are on that day cancels). Tallies are
stored without noise; every step adds new noise of a random size, so that one decoder serves all ε.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
from numpy.typing import NDArray

from dnatrace.errors import InputError, require_at_least
from dnatrace.networks.architecture import AGE_GROUPS, WINDOW
from dnatrace.networks.decoder import DIARY_ROWS, shapes
from dnatrace.networks.decoder_inputs import (
    LEAST_NOISE,
    MOST_NOISE,
    N_COMMON,
    DecoderInputs,
    common_inputs,
    head_evidence,
    scaled_tallies,
)
from dnatrace.records import Diary
from dnatrace.rng import Stream
from dnatrace.runs.progress import Track

Floats = NDArray[np.float32]


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """How to train.

    Attributes:
        steps: the number of steps of the optimiser.
        infected: the number of cases per step.
        others: the number of people from whom each case is distinguished.
        rate: the first learning rate; it falls to 0 as a cosine.
        weight_decay: the weight decay of AdamW.
        width: the width of the hidden layers.
        least_noise: the standard deviation of the noise on a tally is log-uniform from this …
        most_noise: … to this.
        tallies: how many of the newest tallies are read; 0 for public facts alone.
        heads: whether tallies are head counts, which are scaled differently.
        merged_above: the noise above which the channels of a release are merged (`Heads`).
        diary: whether diaries are read, in worlds with levers.
        seed: the seed of first weights, noise and order.
    """

    steps: int = 4000
    infected: int = 96
    others: int = 64
    rate: float = 3e-3
    weight_decay: float = 1e-4
    width: int = 32
    least_noise: float = LEAST_NOISE
    most_noise: float = MOST_NOISE
    tallies: int = WINDOW
    heads: bool = False
    merged_above: float | None = None
    diary: bool = False
    seed: int = 1

    def __post_init__(self) -> None:
        for name in ("steps", "infected", "others", "width"):
            require_at_least(name, getattr(self, name), 1)
        if not 0.0 < self.least_noise <= self.most_noise < np.inf:
            raise InputError("noise must go from a positive least to a finite most")
        if not 0 <= self.tallies <= WINDOW:
            raise InputError(f"tallies: a decoder reads from 0 to {WINDOW}, not {self.tallies}")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Cases:
    """People on days of runs: for each day, the infected first, then others.

    Attributes:
        tallies: tallies without noise, newest first, float32 [rows, 14 × channels].
        noisy: whether a tally gets noise (somebody was met in its window), bool [rows, 14].
        personal: the rows of `personal_inputs`, float32 [rows, …].
        worth: the value of finding the person, float32 [rows]; 0 for those who are not infected.
        rates: the error rates of tests, float32 [days, 2], false positive first.
        first: the first row of each day, int64 [days].
        infected: how many rows of each day are infected, int64 [days].
        others: how many rows of each day are others, int64 [days].
    """

    tallies: Floats
    noisy: NDArray[np.bool_]
    personal: Floats
    worth: Floats
    rates: Floats
    first: NDArray[np.int64]
    infected: NDArray[np.int64]
    others: NDArray[np.int64]

    def __len__(self) -> int:
        return int(self.infected.sum())

    @property
    def channels(self) -> int:
        """How many numbers a release has."""
        return self.tallies.shape[1] // WINDOW


def personal_inputs(inputs: DecoderInputs) -> Floats:
    """Return the inputs other than tallies and common ones as dense rows: float32 [people, …].

    The compiled kernel does not build these rows.
    """
    own, log_contacts, groups = inputs.personal()
    age = groups[:, None] == np.arange(AGE_GROUPS)
    columns = [own == 0, own > 0, log_contacts[:, None], age]
    if inputs.diary is not None:
        flags = inputs.flags()
        columns += [flags & row > 0 for row in DIARY_ROWS] + [flags[:, :1] & Diary.IMMUNE > 0]
    return np.concatenate(columns, axis=1).astype(np.float32)


def join(parts: Sequence[Cases]) -> Cases:
    """Return all cases of several days or runs."""
    if not parts:
        raise InputError("training needs somebody infected")
    starts = np.cumsum([0, *(len(p.worth) for p in parts)])
    columns = ("tallies", "noisy", "personal", "worth", "rates", "infected", "others")
    joined = {name: np.concatenate([getattr(p, name) for p in parts]) for name in columns}
    first = np.concatenate([p.first + start for p, start in zip(parts, starts, strict=False)])
    return Cases(first=first, **joined)


def train(cases: Cases, settings: Settings, *, track: Track | None = None) -> dict[str, Floats]:
    """Return the weights of a decoder.

    Guarantee: the same arguments give the same bits on one machine.
    Cost: `steps` passes of infected × (1 + others) rows forward and back.
    """
    if not len(cases):
        raise InputError("training needs somebody infected")
    rows = _Rows(cases)
    scale = _scale(rows, settings)
    weights = _first_weights(settings, cases.channels)
    optimiser = _optimiser(settings)
    state = optimiser.init(weights)
    step = _make_step(optimiser, scale)
    rng = Stream(settings.seed, "decoder/noise").generator()
    steps = range(settings.steps)
    for _ in track(steps, settings.steps) if track else steps:
        weights, state = step(weights, state, jnp.asarray(rows.draw(rng, settings)))
    trained = {name: np.asarray(w) for name, w in weights.items()}
    return _folded(trained, scale, settings.tallies * cases.channels, cases.tallies.shape[1])


class _Rows:
    """Cases ready to be drawn from."""

    def __init__(self, cases: Cases) -> None:
        self.cases = cases
        self.day = np.repeat(np.arange(cases.first.size), cases.infected)
        before = np.cumsum(cases.infected) - cases.infected
        self.row = cases.first[self.day] + np.arange(self.day.size) - before[self.day]
        # A day with many infected is not that much more informative than a day with few.
        weight = cases.worth[self.row] / np.sqrt(cases.infected[self.day] + 3.0)
        self.share = weight / weight.sum()

    def draw(self, rng: np.random.Generator, settings: Settings) -> Floats:
        """Return inputs with fresh noise, float32 [infected, 1 + others, inputs]."""
        c = self.cases
        chosen = rng.choice(self.row.size, settings.infected, p=self.share)
        day = self.day[chosen]
        among = rng.integers(0, c.others[day][:, None], (settings.infected, settings.others))
        beside = (c.first + c.infected)[day][:, None] + among
        rows = np.concatenate([self.row[chosen][:, None], beside], axis=1)
        low, high = np.log(settings.least_noise), np.log(settings.most_noise)
        noise = np.exp(rng.uniform(low, high, settings.infected))[:, None, None]
        draws = rng.standard_normal((*rows.shape, c.tallies.shape[1]), dtype=np.float32)
        exact, noisy = c.tallies[rows], np.repeat(c.noisy[rows], c.channels, axis=-1)
        if settings.merged_above is not None:
            exact, noisy = _merged(exact, noisy, noise > settings.merged_above, c.channels)
        tallies = exact + np.where(noisy, noise * draws, 0.0)
        tallies[..., settings.tallies * c.channels :] = 0.0
        common = common_inputs(noise.ravel(), c.rates[day])
        if settings.tallies == 0:
            common[:, 0] = 0.0
        common = np.broadcast_to(common[:, None, :], (*rows.shape, N_COMMON))
        scale = head_evidence if settings.heads else scaled_tallies
        parts = [scale(tallies, noise), c.personal[rows], common]
        return np.concatenate(parts, axis=-1)


def _merged(exact: Any, noisy: Any, which: Any, channels: int) -> tuple[Any, Any]:
    """Return numbers, and which of them get noise, with the channels of some cases merged."""
    by_channel = exact.reshape(*exact.shape[:-1], -1, channels)
    together = np.zeros_like(by_channel)
    together[..., 0] = by_channel.sum(axis=-1)
    first = np.arange(exact.shape[-1]) % channels == 0
    return np.where(which, together.reshape(exact.shape), exact), noisy & (first | ~which)


def _scale(rows: _Rows, settings: Settings) -> tuple[Floats, Floats]:
    """Return mean and spread of every input, by which training standardises."""
    rng = Stream(settings.seed, "decoder/scale").generator()
    drawn = [rows.draw(rng, settings) for _ in range(20)]
    seen = np.concatenate([d.reshape(-1, d.shape[-1]) for d in drawn])
    mean, spread = seen.mean(axis=0), np.maximum(seen.std(axis=0), 0.05)
    numbers = rows.cases.tallies.shape[1]
    mean[:numbers], spread[:numbers] = 0.0, 1.0
    return mean.astype(np.float32), spread.astype(np.float32)


def _first_weights(settings: Settings, channels: int) -> dict[str, jax.Array]:
    rng = Stream(settings.seed, "decoder/weights").generator()
    weights = {}
    for name, shape in shapes(settings.width, channels, diary=settings.diary).items():
        start = np.zeros(shape)
        if name.endswith("weight"):
            start = rng.normal(size=shape) * np.sqrt(2.0 / shape[0])
        # No preference at first.
        weights[name] = jnp.asarray(0.1 * start if name.startswith("2") else start, jnp.float32)
    return weights


def _optimiser(settings: Settings) -> Any:
    schedule = optax.cosine_decay_schedule(settings.rate, settings.steps)
    return optax.chain(
        optax.clip_by_global_norm(1.0),
        optax.adamw(schedule, weight_decay=settings.weight_decay),
    )


def _make_step(optimiser: Any, scale: tuple[Floats, Floats]) -> Any:
    mean, spread = scale

    def loss(weights: Any, inputs: jax.Array) -> jax.Array:
        scores = forward(weights, (inputs - mean) / spread)
        return jnp.mean(jax.nn.logsumexp(scores, axis=1) - scores[:, 0])

    @jax.jit
    def step(weights: Any, state: Any, inputs: jax.Array) -> tuple[Any, Any]:
        slope = jax.grad(loss)(weights, inputs)
        update, state = optimiser.update(slope, state, weights)
        return optax.apply_updates(weights, update), state

    return step


def forward(weights: Any, inputs: Any) -> Any:
    """Return scores [...] of dense inputs [..., inputs], by JAX."""
    x = inputs
    for i in range(2):
        x = jax.nn.relu(x @ weights[f"{i}.weight"] + weights[f"{i}.bias"])
    return (x @ weights["2.weight"] + weights["2.bias"])[..., 0]


def _folded(
    weights: dict[str, Floats], scale: tuple[Floats, Floats], read: int, numbers: int
) -> dict[str, Floats]:
    """Return weights for raw inputs: the standardisation is folded into the first layer.

    Of the numbers from releases, the first `read` were shown. The others have weight 0, so that
    they have no effect.
    """
    mean, spread = scale
    first = weights["0.weight"] / spread[:, None]
    first[read:numbers] = 0.0
    if read == 0:
        first[-N_COMMON] = 0.0  # the size of their noise
    bias = weights["0.bias"] - mean @ first
    return weights | {"0.weight": first.astype(np.float32), "0.bias": bias.astype(np.float32)}
