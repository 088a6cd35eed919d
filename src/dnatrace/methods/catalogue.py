"""The methods by name."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from dnatrace.errors import InputError
from dnatrace.methods.base import Method, Score
from dnatrace.methods.chance import Chance
from dnatrace.methods.dna import Dna
from dnatrace.methods.dpfn import Dpfn, DpfnRelease
from dnatrace.methods.dpfn_s import DpfnS, DpfnSRelease
from dnatrace.methods.fn import FactorisedNeighbours
from dnatrace.methods.oracle import Oracle
from dnatrace.methods.per_message import PerMessage, PerMessageRelease
from dnatrace.methods.public_only import PublicOnly
from dnatrace.methods.settings import choose
from dnatrace.methods.tally import Tally, TallyRelease
from dnatrace.methods.traditional import Traditional, TraditionalRelease
from dnatrace.networks.decoder import DEFAULT_DECODER, Decoder, load_decoder
from dnatrace.networks.runtime import DEFAULT_MODEL, load_model
from dnatrace.privacy.accounting import Target
from dnatrace.privacy.noise import Noise


@dataclass(frozen=True, slots=True, kw_only=True)
class MethodOptions:
    """What a configuration says about its method; each method takes what it knows.

    Attributes:
        release: variant of the release; None for the sound default.
        score: which belief ranks people.
        gamma: messages are clipped to [0, gamma].
        mu_ref: message that stands for an average contact.
        rho: spread of exposures that shrinkage assumes; None for no shrinkage.
        target: what noise is calibrated for.
        window: days of contacts that are kept.
        noise: where noise comes from.
        model: trained network of `dna`: the name of one that ships, or a path.
        decoder: of `tally`: one at hand, the name of one that ships, or a path.
    """

    release: str | None
    score: Score
    gamma: float
    mu_ref: float
    rho: float | None
    target: Target
    window: int
    noise: Noise
    model: str = DEFAULT_MODEL
    decoder: str | Decoder = DEFAULT_DECODER


def _traditional(o: MethodOptions) -> Method:
    kind = choose("release of traditional", o.release, TraditionalRelease)
    target = o.target if kind is TraditionalRelease.GAUSSIAN else None
    return Traditional(target=target, window_days=o.window, noise=o.noise)


def _per_message(o: MethodOptions) -> Method:
    return PerMessage(
        target=o.target,
        release_kind=choose("release of per-message", o.release, PerMessageRelease),
        score=o.score,
        gamma=o.gamma,
        window_days=o.window,
        noise=o.noise,
    )


def _dpfn(o: MethodOptions) -> Method:
    return Dpfn(
        target=o.target,
        release_kind=choose("release of dpfn", o.release, DpfnRelease),
        score=o.score,
        gamma=o.gamma,
        mu_ref=o.mu_ref,
        window_days=o.window,
        noise=o.noise,
    )


def _dpfn_s(o: MethodOptions) -> Method:
    return DpfnS(
        target=o.target,
        release_kind=choose("release of dpfn-s", o.release, DpfnSRelease),
        score=o.score,
        gamma=o.gamma,
        mu_ref=o.mu_ref,
        rho=o.rho,
        window_days=o.window,
        noise=o.noise,
    )


def _dna(o: MethodOptions) -> Method:
    kind = choose("release of dna", o.release, DpfnSRelease)
    belief = DpfnS(
        target=o.target,
        release_kind=DpfnSRelease(kind.value),
        score=o.score,
        gamma=o.gamma,
        mu_ref=o.mu_ref,
        rho=o.rho,
        window_days=o.window,
        noise=o.noise,
    )
    return Dna(belief=belief, model=load_model(o.model))


def _tally(o: MethodOptions) -> Method:
    choose("release of tally", o.release, TallyRelease)
    decoder = o.decoder if isinstance(o.decoder, Decoder) else load_decoder(o.decoder)
    return Tally(target=o.target, decoder=decoder, window_days=o.window, noise=o.noise)


@dataclass(frozen=True, slots=True)
class Entry:
    """A method of the catalogue: how to build it, and its releases, the default one first."""

    build: Callable[[MethodOptions], Method]
    releases: tuple[str, ...] = ()


CATALOGUE: Mapping[str, Entry] = {
    # `none` gives no tests at all, so what it would score does not matter.
    "none": Entry(lambda _: Chance()),
    "random": Entry(lambda _: Chance()),
    "oracle": Entry(lambda _: Oracle()),
    "public-only": Entry(lambda o: PublicOnly(score=o.score, mu_ref=o.mu_ref)),
    "fn": Entry(lambda o: FactorisedNeighbours(score=o.score)),
    "traditional": Entry(_traditional, tuple(TraditionalRelease)),
    "per-message": Entry(_per_message, tuple(PerMessageRelease)),
    "dpfn": Entry(_dpfn, tuple(DpfnRelease)),
    "dpfn-s": Entry(_dpfn_s, tuple(DpfnSRelease)),
    "dna": Entry(_dna, tuple(DpfnSRelease)),
    "tally": Entry(_tally, tuple(TallyRelease)),
}


def release_of(name: str, release: str | None) -> str | None:
    """Return the release that a method of that name makes; None when there is only one kind."""
    if name not in CATALOGUE:
        raise InputError(f"method '{name}' does not exist; there are {', '.join(CATALOGUE)}")
    releases = CATALOGUE[name].releases
    if release is not None and not releases:
        raise InputError(f"method '{name}' has no release '{release}': it has only one kind")
    return release or next(iter(releases), None)


def build_method(name: str, options: MethodOptions) -> Method:
    """Return the method of that name with these options."""
    release = release_of(name, options.release)
    return CATALOGUE[name].build(replace(options, release=release))
