"""How well scores tell infected people from others: areas under the ROC curve with intervals.

The area (AUC) is the share of pairs of an infected and another person-day in which the infected one
has the higher score, ties counted half. It does not change in expectation when only a uniform part
of the others is kept, as datasets do; where E counts as infected, too, weights restore the share of
E. Days of one person resemble each other, so intervals resample people, not days.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dnatrace.errors import InputError, require_at_least
from dnatrace.networks import _kernels
from dnatrace.networks.runtime import Model
from dnatrace.networks.samples import Samples, fn_scores
from dnatrace.rng import Stream
from dnatrace.seir import SeirParameters, TestErrors

# Romijnders et al., section "Results": 100,000 people of OpenABM-Covid19.
PUBLISHED = {"fn": 0.770, "network": 0.803, "combined": 0.831}
CONFIDENCE = 0.90
RESAMPLINGS = 200
GROUPS = ("everybody", "not isolated")

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Area:
    """One AUC with its interval; NaN when a group lacks positives or negatives.

    Attributes:
        value: the area.
        low: 5 % quantile over resampled people.
        high: 95 % quantile.
    """

    value: float
    low: float
    high: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One prediction in one group of people.

    Attributes:
        group: one of `GROUPS`.
        prediction: `fn`, `network`, `combined` or `public_only`.
        detail: what is special about it: "", "messages zeroed", "noise", "unclipped".
        network: `paper` or `tight`; "" for FN.
        projection: `before` or `after`; "" for FN.
        gamma: messages are clipped to [0, gamma].
        target: "I" or "E or I".
        area: the AUC.
        gain: of the AUC over FN with the same γ, on the same people.
        published: the paper's figure for that prediction, None when it has none.
    """

    group: str
    prediction: str
    detail: str
    network: str
    projection: str
    gamma: float
    target: str
    area: Area
    gain: Area | None
    published: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """What scores are computed with.

    Attributes:
        parameters: of the statistical model.
        test_errors: how often tests err.
        noise_multiplier: standard deviation of the noise for a sensitivity of 1.
        others_kept: share of the person-days not in state I that the samples hold.
        resamplings: of people, for intervals.
        seed: of noise and resampling.
    """

    parameters: SeirParameters
    test_errors: TestErrors
    noise_multiplier: float
    others_kept: float = 1.0
    resamplings: int = RESAMPLINGS
    seed: int = 0

    def __post_init__(self) -> None:
        require_at_least("resamplings", self.resamplings, 2)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Prediction:
    prediction: str
    scores: Floats
    gamma: float
    with_exposed: bool
    detail: str = ""
    network: str = ""
    projection: str = ""


def target_name(with_exposed: bool) -> str:
    """Return the name of what is predicted."""
    return "E or I" if with_exposed else "I"


def area_under_curve(scores: Floats, positive: NDArray[np.bool_]) -> float:
    """Return the exact AUC, ties by midrank; NaN without positives or without negatives.

    Cost: one sort.
    """
    everyone, once = np.zeros(scores.size, dtype=np.int64), np.ones((1, 1), dtype=np.uint8)
    return float(resampled_areas(scores, positive, everyone, once)[0])


def resampled_areas(
    scores: Floats,
    positive: NDArray[np.bool_],
    person: NDArray[np.int64],
    drawn: NDArray[np.uint8],
    weights: Floats | None = None,
) -> Floats:
    """Return the AUC of every resampling: float64 [resamplings].

    Args:
        scores: float64 [n]; NaN is refused.
        positive: bool [n].
        person: column of each sample in `drawn`, int64 [n].
        drawn: how often each person is drawn, uint8 [resamplings, people].
        weights: of the samples, float64 [n]; 1 when None.
    """
    if np.isnan(scores).any():
        raise InputError("a score is not a number")
    order = np.argsort(scores, kind="stable")
    ordered = scores[order]
    ranks = np.cumsum(np.concatenate([[0], ordered[1:] != ordered[:-1]])[: order.size])
    ordered_weights = np.ones(order.size) if weights is None else weights[order]
    areas = np.empty(len(drawn))
    _kernels.resampled_auc(positive[order], ranks, ordered_weights, person[order], drawn, areas)
    return areas


def draw_people(samples: Samples, *, resamplings: int, seed: int) -> tuple[Any, Any]:
    """Return the number of each sample's person, and how often each is drawn.

    The first row of the draws takes everybody once; the others draw as many people as there are,
    with replacement. Cost: one byte a person and resampling.
    """
    keys = np.stack([samples.seed, samples.person.astype(np.int64)], axis=1)
    unique, person = np.unique(keys, axis=0, return_inverse=True)
    n = len(unique)
    drawn = np.ones((resamplings + 1, n), dtype=np.uint8)
    stream = Stream(seed, "evaluate/people")
    for b in range(1, resamplings + 1):
        picked = stream.generator(person=b).integers(0, n, n)
        drawn[b] = np.bincount(picked, minlength=n)
    return person.ravel(), drawn


def evaluate(samples: Samples, models: Sequence[Model], setting: Setting) -> list[Row]:
    """Return the table: every prediction, over everybody and over people not isolated.

    Each network counts as training left it and after projection. With messages zeroed and with
    noise, what is scored is what the network would be used for. Noise is that of the paper's
    Algorithm 1: sensitivity p1·γ·(1 + L/C), then clipped to [0, γ].
    Cost: a sort and `resamplings` passes over the samples a row.
    """
    if not len(samples):
        raise InputError("there are no samples to evaluate on")
    person, drawn = draw_people(samples, resamplings=setting.resamplings, seed=setting.seed)
    weights = np.where(samples.infected, setting.others_kept, 1.0)
    rows = []
    for group in GROUPS:
        chosen = np.ones(len(samples), dtype=np.bool_) if group == GROUPS[0] else ~samples.isolated
        baseline: dict[tuple[float, bool], Floats] = {}
        for p in _predictions(samples, models, setting):
            truth = samples.exposed_or_infected if p.with_exposed else samples.infected
            areas = resampled_areas(
                p.scores[chosen],
                truth[chosen],
                person[chosen],
                drawn,
                weights[chosen] if p.with_exposed else None,
            )
            same = (p.gamma, p.with_exposed)
            if p.prediction == "fn" and not p.detail:
                baseline[same] = areas
            gain = areas - baseline[same] if same in baseline and p.network else None
            rows.append(_row(group, p, areas, gain))
    return rows


def _row(group: str, p: _Prediction, areas: Floats, gain: Floats | None) -> Row:
    shown = not p.detail and not p.with_exposed and p.projection != "before"
    return Row(
        group=group,
        prediction=p.prediction,
        detail=p.detail,
        network=p.network,
        projection=p.projection,
        gamma=p.gamma,
        target=target_name(p.with_exposed),
        area=_area(areas),
        gain=None if gain is None else _area(gain),
        published=PUBLISHED.get(p.prediction) if shown else None,
    )


def _area(areas: Floats) -> Area:
    tail = (1.0 - CONFIDENCE) / 2.0
    resampled = areas[1:][~np.isnan(areas[1:])]
    if np.isnan(areas[0]) or not resampled.size:
        return Area(value=float("nan"), low=float("nan"), high=float("nan"))
    low, high = np.quantile(resampled, [tail, 1.0 - tail])
    return Area(value=float(areas[0]), low=float(low), high=float(high))


def _predictions(
    samples: Samples, models: Sequence[Model], setting: Setting
) -> Iterator[_Prediction]:
    """Yield FN for every γ and target, and then the networks."""
    if any(not model.with_exposed for model in models):
        yield _Prediction(
            prediction="fn",
            scores=samples.fn.astype(np.float64),
            gamma=1.0,
            with_exposed=False,
            detail="unclipped, unrounded",
        )
    for gamma, with_exposed in dict.fromkeys((m.gamma, m.with_exposed) for m in models):
        yield from _fn_predictions(samples, gamma, with_exposed, setting)
    for model in models:
        yield from _model_predictions(samples, model, setting)


def _fn_predictions(
    samples: Samples, gamma: float, with_exposed: bool, setting: Setting
) -> Iterator[_Prediction]:
    about: dict[str, Any] = {"prediction": "fn", "gamma": gamma, "with_exposed": with_exposed}
    scores = _fn(samples, gamma, with_exposed, setting)
    yield _Prediction(scores=scores, **about)
    zeroed = _fn(samples, gamma, with_exposed, setting, zeroed=True)
    yield _Prediction(scores=zeroed, detail="messages zeroed", **about)
    reach = np.full(len(samples), setting.parameters.p1 * gamma)
    noisy = _released(samples, scores, reach, gamma, setting)
    yield _Prediction(scores=noisy, detail="noise", **about)


def _model_predictions(samples: Samples, model: Model, setting: Setting) -> Iterator[_Prediction]:
    variant = str(model.architecture.variant)
    about: dict[str, Any] = {
        "prediction": {"alone": "network", "public": "public_only"}.get(variant, variant),
        "gamma": model.gamma,
        "with_exposed": model.with_exposed,
        "network": str(model.architecture.kind),
    }
    for projection, network in (("before", model.before_projection()), ("after", model)):
        scores = _scores(samples, network, variant, setting)
        yield _Prediction(scores=scores, projection=projection, **about)
    if variant == "public":
        return
    about |= {"projection": "after"}
    zeroed = _scores(samples, model, variant, setting, zeroed=True)
    yield _Prediction(scores=zeroed, detail="messages zeroed", **about)
    if variant == "combined":
        reach = network_reach(samples, model, setting.parameters.p1)
        noisy = _released(samples, scores, reach, model.gamma, setting)
        yield _Prediction(scores=noisy, detail="noise", **about)


def _scores(
    samples: Samples, model: Model, variant: str, setting: Setting, *, zeroed: bool = False
) -> Floats:
    """Return what a network is used for: F + p1·G if it augments F, else G."""
    scores = model.evaluate(samples, zeroed=zeroed)
    if variant != "combined":
        return scores
    belief = _fn(samples, model.gamma, model.with_exposed, setting, zeroed=zeroed)
    return belief + setting.parameters.p1 * scores


def _fn(
    samples: Samples, gamma: float, with_exposed: bool, setting: Setting, *, zeroed: bool = False
) -> Floats:
    return fn_scores(
        samples, gamma, setting.parameters, setting.test_errors, with_exposed, zeroed=zeroed
    )


def network_reach(samples: Samples, model: Model, p1: float) -> Floats:
    """Return the sensitivity that Algorithm 1 states, p1·γ·(1 + L/C), with the certified L.

    Without messages it is p1·γ.
    """
    counts = samples.n_messages
    share = np.where(counts > 0, model.lipschitz / np.maximum(counts, 1), 0.0)
    return p1 * model.gamma * (1.0 + share)


def _released(
    samples: Samples, scores: Floats, reach: Floats, gamma: float, setting: Setting
) -> Floats:
    """Return noisy scores, clipped to [0, γ]; one draw a person-day, the same for all rows."""
    draws = np.empty(len(samples))
    for seed in np.unique(samples.seed):
        for day in np.unique(samples.day[samples.seed == seed]):
            here = np.flatnonzero((samples.seed == seed) & (samples.day == day))
            stream = Stream(setting.seed, f"evaluate/noise/{seed}")
            draws[here] = stream.normal(samples.person[here], int(day))
    return np.clip(scores + setting.noise_multiplier * reach * draws, 0.0, gamma)
