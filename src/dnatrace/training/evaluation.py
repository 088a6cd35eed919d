"""How well scores separate infected people from others: areas under the ROC curve, intervals.

The area (AUC) is the share of pairs of an infected and another person-day in which the infected one
has the higher score, ties counting half. It does not change in expectation when only a uniform
sample of the others is kept, as in datasets; where E also counts as infected, weights restore the
share of E. Days of one person resemble each other, so intervals resample people, not days.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dnatrace.errors import InputError, require_between
from dnatrace.networks.architecture import Variant
from dnatrace.networks.runtime import Model
from dnatrace.privacy.gaussian import gaussian_sigma
from dnatrace.rng import Stream
from dnatrace.seir import SeirParameters, TestErrors
from dnatrace.training import _kernels
from dnatrace.training.samples import Samples
from dnatrace.training.scores import fn_scores, network_scores

# Romijnders et al., section "Results": 100,000 people of OpenABM-Covid19.
PUBLISHED = {"fn": 0.770, "network": 0.803, "combined": 0.831}
CONFIDENCE = 0.90
EPSILON, DELTA = 1.0, 1e-3  # of the rows with noise
RESAMPLINGS = 200
_MOST_RESAMPLINGS = 10_000  # each keeps a count per person
GROUPS = ("everybody", "not isolated")
_PREDICTIONS = {
    Variant.COMBINED: "combined",
    Variant.ALONE: "network",
    Variant.PUBLIC: "public_only",
}

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Area:
    """One AUC with its interval.

    Attributes:
        value: the area.
        low: the 5 % quantile over resampled people.
        high: the 95 % quantile.
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
        detail: what is special about it: "", "messages zeroed", "noise", "unclipped, unrounded".
        network: `paper` or `tight`; "" for FN.
        projection: `before` or `after`; "" for FN.
        gamma: messages are clipped to [0, gamma].
        target: "I" or "E or I".
        area: the AUC; None when the group lacks positives or negatives.
        gain: the gain in AUC over FN with the same γ, on the same people.
        published: the paper's figure for that prediction; None when there is none.
    """

    group: str = ""
    prediction: str
    detail: str = ""
    network: str = ""
    projection: str = ""
    gamma: float
    target: str
    area: Area | None = None
    gain: Area | None = None
    published: float | None = None


Prediction = tuple[Row, Floats]  # what is predicted, and the scores of all samples


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TestData:
    """Samples to evaluate on.

    Attributes:
        samples: the samples of the test split.
        parameters: the parameters of the statistical model behind them.
        test_errors: the error rates of its tests.
        others_kept: the share of person-days not in state I that they hold.
        description: one line that says where they come from.
        digest: the digest of the dataset; None for a run made for the occasion.
        seeds: the seeds of the runs.
    """

    __test__ = False  # the name does not make it a test case

    samples: Samples
    parameters: SeirParameters
    test_errors: TestErrors
    others_kept: float
    description: str
    digest: str | None
    seeds: tuple[int, ...]

    @property
    def is_small(self) -> bool:
        """Whether they come from a small run made for the occasion, not from a dataset."""
        return self.digest is None


def target_name(with_exposed: bool) -> str:
    """Return the name of what is predicted."""
    return "E or I" if with_exposed else "I"


def resampled_areas(
    scores: Floats,
    positive: NDArray[np.bool_],
    person: NDArray[np.int64],
    drawn: NDArray[np.uint8],
    weights: Floats | None = None,
) -> Floats:
    """Return the AUC of every resampling: float64 [resamplings].

    Arguments are as in the kernel, with samples in any order; NaN scores are refused.
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
    """Return the number of each sample's person, and how often each person is drawn.

    The first row of the draws takes everybody once; the others draw as many people as there are,
    with replacement. Cost: one byte per person and resampling.
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


def evaluate(
    data: TestData, models: Sequence[Model], *, resamplings: int = RESAMPLINGS
) -> list[Row]:
    """Return the table: every prediction, over everybody and over people not isolated.

    Each network is evaluated as training left it and after projection. With messages zeroed and
    with noise, what is scored is what the network would be used for. Noise is that of the paper's
    Algorithm 1: sensitivity p1·γ·(1 + L/C), then clipped to [0, γ].
    Cost: a sort and `resamplings` passes over the samples per row.
    """
    require_between("resamplings", resamplings, 2, _MOST_RESAMPLINGS)
    samples = data.samples
    if not len(samples):
        raise InputError("there are no samples to evaluate on")
    person, drawn = draw_people(samples, resamplings=resamplings, seed=0)
    weights = np.where(samples.infected, data.others_kept, 1.0)
    everybody = np.ones(len(samples), dtype=np.bool_)
    rows = []
    for group, chosen in zip(GROUPS, (everybody, ~samples.isolated), strict=True):
        baseline: dict[tuple[float, str], Floats] = {}
        for row, scores in _predictions(data, models):
            with_exposed = row.target == target_name(True)
            truth = samples.exposed_or_infected if with_exposed else samples.infected
            areas = resampled_areas(
                scores[chosen],
                truth[chosen],
                person[chosen],
                drawn,
                weights[chosen] if with_exposed else None,
            )
            same = (row.gamma, row.target)
            if row.prediction == "fn" and not row.detail:
                baseline[same] = areas
            gain = _area(areas - baseline[same]) if same in baseline and row.network else None
            rows.append(replace(row, group=group, area=_area(areas), gain=gain))
    return rows


def _area(areas: Floats) -> Area | None:
    tail = (1.0 - CONFIDENCE) / 2.0
    resampled = areas[1:][~np.isnan(areas[1:])]
    if np.isnan(areas[0]) or not resampled.size:
        return None
    low, high = np.quantile(resampled, [tail, 1.0 - tail])
    return Area(value=float(areas[0]), low=float(low), high=float(high))


def _predictions(data: TestData, models: Sequence[Model]) -> Iterator[Prediction]:
    """Yield FN for every γ and target, and then the networks."""
    if any(not model.with_exposed for model in models):
        unclipped = Row(
            prediction="fn", gamma=1.0, target=target_name(False), detail="unclipped, unrounded"
        )
        yield unclipped, data.samples.fn.astype(np.float64)
    for gamma, with_exposed in dict.fromkeys((m.gamma, m.with_exposed) for m in models):
        yield from _fn_predictions(data, gamma, with_exposed)
    for model in models:
        yield from _model_predictions(data, model)


def _published(prediction: str, with_exposed: bool) -> float | None:
    return None if with_exposed else PUBLISHED.get(prediction)


def _fn_predictions(data: TestData, gamma: float, with_exposed: bool) -> Iterator[Prediction]:
    row = Row(prediction="fn", gamma=gamma, target=target_name(with_exposed))
    scores = _belief(data, gamma, with_exposed)
    yield replace(row, published=_published("fn", with_exposed)), scores
    zeroed = _belief(data, gamma, with_exposed, zeroed=True)
    yield replace(row, detail="messages zeroed"), zeroed
    reach = np.full(len(data.samples), data.parameters.p1 * gamma)
    yield replace(row, detail="noise"), _released(data.samples, scores, reach, gamma)


def _model_predictions(data: TestData, model: Model) -> Iterator[Prediction]:
    variant = model.architecture.variant
    row = Row(
        prediction=_PREDICTIONS[variant],
        gamma=model.gamma,
        target=target_name(model.with_exposed),
        network=str(model.architecture.kind),
        projection="after",
    )
    yield replace(row, projection="before"), _scores(data, model.before_projection())
    scores = _scores(data, model)
    yield replace(row, published=_published(row.prediction, model.with_exposed)), scores
    if variant is not Variant.PUBLIC:
        yield replace(row, detail="messages zeroed"), _scores(data, model, zeroed=True)
    if variant is Variant.COMBINED:
        reach = network_reach(data.samples, model, data.parameters.p1)
        yield replace(row, detail="noise"), _released(data.samples, scores, reach, model.gamma)


def _scores(data: TestData, model: Model, *, zeroed: bool = False) -> Floats:
    """Return what a network is used for: F + p1·G if it augments F, otherwise G."""
    scores = network_scores(model, data.samples, zeroed=zeroed)
    if model.architecture.variant is not Variant.COMBINED:
        return scores
    belief = _belief(data, model.gamma, model.with_exposed, zeroed=zeroed)
    return belief + data.parameters.p1 * scores


def _belief(data: TestData, gamma: float, with_exposed: bool, *, zeroed: bool = False) -> Floats:
    return fn_scores(
        data.samples, gamma, data.parameters, data.test_errors, with_exposed, zeroed=zeroed
    )


def network_reach(samples: Samples, model: Model, p1: float) -> Floats:
    """Return the sensitivity that Algorithm 1 states, p1·γ·(1 + L/C), with the certified L.

    Without messages it is p1·γ.
    """
    counts = samples.n_messages
    share = np.where(counts > 0, model.lipschitz / np.maximum(counts, 1), 0.0)
    return p1 * model.gamma * (1.0 + share)


def _released(samples: Samples, scores: Floats, reach: Floats, gamma: float) -> Floats:
    """Return noisy scores, clipped to [0, γ]; one draw per person-day, the same for all rows."""
    draws = np.empty(len(samples))
    for seed in np.unique(samples.seed):
        for day in np.unique(samples.day[samples.seed == seed]):
            here = np.flatnonzero((samples.seed == seed) & (samples.day == day))
            draws[here] = Stream(0, f"evaluate/noise/{seed}").normal(samples.person[here], int(day))
    multiplier = gaussian_sigma(epsilon=EPSILON, delta=DELTA, sensitivity=1.0)
    return np.clip(scores + multiplier * reach * draws, 0.0, gamma)
