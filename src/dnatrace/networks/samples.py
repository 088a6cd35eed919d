"""One sample a person and day: what the person heard and knew, and what was true.

Messages are kept as a histogram over (age, level). The age of a message is the release day minus
the day of the contact, 0 … 13; its level is the nearest point of a grid over [0, 1]. Clipping at a
γ that is on the grid then merges levels and loses nothing.
"""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dnatrace.errors import InputError, require_at_least
from dnatrace.networks import _kernels
from dnatrace.networks.architecture import WINDOW
from dnatrace.records import NOT_TESTED, DayContacts
from dnatrace.seir import SeirParameters, State, TestErrors, last_day_marginals, pack_model

WINDOW_DAYS = WINDOW
N_LEVELS = 128
# Clipping thresholds that the grid holds exactly, in single precision.
GRID_ANCHORS = (0.05, 0.1, 0.2, 0.4, 0.7)
_GRID_POWER = 3  # of 2, 3, 4 and geometric grids the one with the least error in F
_FEWEST_LEVELS = 16
_CHUNK = 4096  # samples whose dense histograms are held at once: 15 MB
_MOST_REPEATS = 65_535

# SEIR by course state 0 … 10, as the published experiments group them.
_SEIR_OF_COURSE = np.array([0, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3], dtype=np.uint8)


def message_levels(n_levels: int = N_LEVELS) -> NDArray[np.float32]:
    """Return the grid (k / (levels - 1))³ with the anchors put in place of their neighbours.

    Guarantee: strictly increasing from 0 to 1; with 128 levels, rounding to the nearest one moves
    a message m by at most 0.02·m^(2/3) + 1e-6.
    """
    require_at_least("levels", n_levels, _FEWEST_LEVELS)
    if n_levels > N_LEVELS:
        raise InputError(f"levels must be at most {N_LEVELS}, not {n_levels}")
    grid = np.linspace(0.0, 1.0, n_levels) ** _GRID_POWER
    for anchor in GRID_ANCHORS:
        grid[np.argmin(np.abs(grid - anchor))] = anchor
    levels = grid.astype(np.float32)
    assert (np.diff(levels) > 0.0).all()
    return levels


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Samples:
    """Samples in compressed rows: about 0.5 kB each with 180 messages.

    Attributes:
        grid: message levels from 0 to 1, increasing, float32 [levels].
        offsets: int64 [n + 1]; the cells of sample i are offsets[i] … offsets[i + 1] - 1.
        cells: age · levels + level, ascending within a sample, uint16 [cells].
        repeats: messages in each cell, uint16 [cells].
        outcomes: own tests by age, column 0 the release day: 1, 0 or -1, int8 [n, 14].
        contacts: messages by age, int32 [n, 14]; the repeats of that age add up to it.
        age_group: decade of age, uint8 [n].
        isolated: whether in isolation on the day, bool [n].
        seed: of the run, int64 [n].
        person: id within the run, int32 [n].
        day: of the release, from 1; min(day, 14) days were known, int16 [n].
        state: course state at the end of the day, uint8 [n].
        fn: P(I) on the day by Factorised Neighbours, from messages as they were, float32 [n].
    """

    grid: NDArray[np.float32]
    offsets: NDArray[np.int64]
    cells: NDArray[np.uint16]
    repeats: NDArray[np.uint16]
    outcomes: NDArray[np.int8]
    contacts: NDArray[np.int32]
    age_group: NDArray[np.uint8]
    isolated: NDArray[np.bool_]
    seed: NDArray[np.int64]
    person: NDArray[np.int32]
    day: NDArray[np.int16]
    state: NDArray[np.uint8]
    fn: NDArray[np.float32]

    def __len__(self) -> int:
        """The number of samples."""
        return self.offsets.size - 1

    @property
    def n_levels(self) -> int:
        """The number of message levels."""
        return self.grid.size

    @property
    def n_cells(self) -> int:
        """The length of a dense histogram, ages × levels."""
        return WINDOW_DAYS * self.grid.size

    @property
    def n_messages(self) -> NDArray[np.int64]:
        """The messages of each window, the C of the mean: int64 [n]."""
        total: NDArray[np.int64] = self.contacts.sum(axis=1, dtype=np.int64)
        return total

    @property
    def seir(self) -> NDArray[np.uint8]:
        """S, E, I, R as 0 … 3: uint8 [n]."""
        return _SEIR_OF_COURSE[self.state]

    @property
    def infected(self) -> NDArray[np.bool_]:
        """Whether in state I, the target of the paper: bool [n]."""
        return self.seir == State.I

    @property
    def exposed_or_infected(self) -> NDArray[np.bool_]:
        """Whether in E or I: bool [n]."""
        return (self.seir == State.E) | (self.seir == State.I)

    def batch(
        self, index: ArrayLike, out: NDArray[np.float32] | None = None
    ) -> NDArray[np.float32]:
        """Return the dense histograms of some samples: float32 [index, ages × levels].

        Args:
            index: sample numbers, may repeat.
            out: where to write, at least as many rows; a new array when None.

        Cost: a write a cell; 7 kB a sample with 128 levels.
        """
        chosen = self._checked(index)
        if out is None:
            out = np.empty((chosen.size, self.n_cells), dtype=np.float32)
        if out.shape[0] < chosen.size or out.shape[1:] != (self.n_cells,):
            raise InputError(f"a buffer of {list(out.shape)} for {chosen.size} × {self.n_cells}")
        batch = out[: chosen.size]
        _kernels.fill_batch(self.offsets, self.cells, self.repeats, chosen, batch)
        return batch

    def take(self, index: ArrayLike) -> Self:
        """Return some samples, in the order of `index`, copied."""
        chosen = self._checked(index)
        sizes = np.diff(self.offsets)[chosen]
        offsets = _offsets(sizes)
        rows: dict[str, NDArray[Any]] = {"offsets": offsets}
        for name in ("cells", "repeats"):
            rows[name] = np.empty(offsets[-1], dtype=np.uint16)
            _kernels.take_rows(self.offsets, getattr(self, name), chosen, offsets, rows[name])
        rows |= {name: getattr(self, name)[chosen] for name in BY_SAMPLE}
        return type(self)(grid=self.grid, **rows)

    def _checked(self, index: ArrayLike) -> NDArray[np.int64]:
        chosen = np.asarray(index)
        if chosen.dtype == np.bool_:
            chosen = np.flatnonzero(chosen)
        chosen = chosen.astype(np.int64, copy=False)
        if chosen.size and (chosen.min() < 0 or chosen.max() >= len(self)):
            raise InputError(f"a sample number is outside 0 … {len(self) - 1}")
        return chosen


# Columns with one row a sample.
BY_SAMPLE = tuple(
    f.name for f in fields(Samples) if f.name not in ("grid", "offsets", "cells", "repeats")
)


def concatenate(parts: Sequence[Samples]) -> Samples:
    """Return the samples of all parts, which share one grid."""
    if any(not np.array_equal(part.grid, parts[0].grid) for part in parts):
        raise InputError("samples on different grids cannot be put together")
    joined: dict[str, Any] = {
        name: np.concatenate([getattr(part, name) for part in parts])
        for name in ("cells", "repeats", *BY_SAMPLE)
    }
    offsets = _offsets(np.concatenate([np.diff(part.offsets) for part in parts]))
    return Samples(grid=parts[0].grid, offsets=offsets, **joined)


def collect(
    people: NDArray[np.int64],
    *,
    grid: NDArray[np.float32],
    contacts: Sequence[DayContacts],
    messages: NDArray[np.float32],
    outcomes: NDArray[np.int8],
    age_groups: NDArray[np.uint8],
    isolated: NDArray[np.bool_],
    states: NDArray[np.uint8],
    fn: NDArray[np.floating[Any]],
    day: int,
    seed: int,
) -> Samples:
    """Return the samples of some people on one day.

    Guarantee: the order of contacts does not matter.
    Edge cases: nobody met gives a sample without cells; a repeated contact counts twice; more than
    65,535 contacts on one day are refused.

    Args:
        people: ids.
        grid: message levels.
        contacts: the days of the window, oldest first, 14 at most.
        messages: what everybody said, float32 [days, all].
        outcomes: everybody's own tests, int8 [days, all].
        age_groups: of everybody.
        isolated: of everybody.
        states: course states of everybody.
        fn: P(I) of everybody on the day.
        day: the last of the window.
        seed: of the run.

    Cost: a binary search a message of the window, a gather a contact of `people`, and a scan of
    1,792 cells a sample.
    """
    held = len(contacts)
    if not 1 <= held <= WINDOW_DAYS:
        raise InputError(f"a window of {held} days; samples hold 1 to {WINDOW_DAYS}")
    levels = quantise(messages, grid)
    offsets, cells, repeats = _histograms(people, contacts, levels, grid.size)
    own = np.full((people.size, WINDOW_DAYS), NOT_TESTED, dtype=np.int8)
    own[:, :held] = outcomes[::-1, people].T
    counts = np.zeros((people.size, WINDOW_DAYS), dtype=np.int32)
    for age, met in enumerate(reversed(contacts)):
        counts[:, age] = met.offsets[people + 1] - met.offsets[people]
    return Samples(
        grid=grid,
        offsets=offsets,
        cells=cells,
        repeats=repeats,
        outcomes=own,
        contacts=counts,
        age_group=age_groups[people],
        isolated=isolated[people],
        seed=np.full(people.size, seed, dtype=np.int64),
        person=people.astype(np.int32),
        day=np.full(people.size, day, dtype=np.int16),
        state=states[people],
        fn=fn[people].astype(np.float32),
    )


def quantise(messages: NDArray[np.float32], grid: NDArray[np.float32]) -> NDArray[np.uint8]:
    """Return the number of the nearest level of every message: uint8 [days, people]."""
    midpoints = (grid[1:] + grid[:-1]) / np.float32(2.0)
    levels = np.empty(messages.shape, dtype=np.uint8)
    _kernels.nearest_levels(messages, midpoints, levels)
    return levels


def _histograms(
    people: NDArray[np.int64],
    contacts: Sequence[DayContacts],
    levels: NDArray[np.uint8],
    n_levels: int,
) -> tuple[NDArray[np.int64], NDArray[np.uint16], NDArray[np.uint16]]:
    """Return (offsets, cells, repeats), a chunk of dense histograms at a time."""
    for met in contacts:
        if people.size and (met.offsets[people + 1] - met.offsets[people]).max() > _MOST_REPEATS:
            raise InputError(f"a person has more than {_MOST_REPEATS:,} contacts on one day")
    buffer = np.empty((min(_CHUNK, people.size), WINDOW_DAYS * n_levels), dtype=np.uint16)
    sizes, cells, repeats = [], [], []
    for start in range(0, people.size, _CHUNK):
        chunk = people[start : start + _CHUNK]
        dense = buffer[: chunk.size]
        dense[:] = 0
        for age, met in enumerate(reversed(contacts)):
            said = levels[len(contacts) - 1 - age]
            _kernels.count_day(met.offsets, met.senders, said, chunk, age * n_levels, dense)
        size = np.empty(chunk.size, dtype=np.int64)
        _kernels.count_cells(dense, size)
        places = _offsets(size)
        cells.append(np.empty(places[-1], dtype=np.uint16))
        repeats.append(np.empty(places[-1], dtype=np.uint16))
        _kernels.fill_cells(dense, places, cells[-1], repeats[-1])
        sizes.append(size)
    nothing = np.empty(0, dtype=np.uint16)
    return (
        _offsets(np.concatenate([np.empty(0, dtype=np.int64), *sizes])),
        np.concatenate([nothing, *cells]),
        np.concatenate([nothing, *repeats]),
    )


def _offsets(sizes: NDArray[np.int64]) -> NDArray[np.int64]:
    return np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(sizes, dtype=np.int64)])


def fn_scores(
    samples: Samples,
    gamma: float,
    parameters: SeirParameters,
    test_errors: TestErrors,
    with_exposed: bool = False,
    zeroed: bool = False,
) -> NDArray[np.float64]:
    """Return F of every sample with messages clipped to [0, γ]: float64 [n].

    Guarantee: the score that Factorised Neighbours gives for the quantised messages, P(I) on the
    release day, or P(E) + P(I) with `with_exposed`. With `zeroed` every message is read as 0.
    Cost: O(cells + 14·n); 150 bytes a sample of a chunk at a time.
    """
    if not 0.0 < gamma <= 1.0:
        raise InputError(f"gamma must be greater than 0 and at most 1, not {gamma}")
    clipped = np.minimum(samples.grid.astype(np.float64), 0.0 if zeroed else gamma)
    hazards = -np.log1p(-parameters.p1 * clipped)
    model = pack_model(parameters, test_errors)
    held = np.minimum(samples.day, WINDOW_DAYS)
    scores = np.empty(len(samples))
    for n_days in np.unique(held):
        group = np.flatnonzero(held == n_days)
        for start in range(0, group.size, 16 * _CHUNK):
            index = group[start : start + 16 * _CHUNK]
            beliefs = _last_day(samples, index, int(n_days), hazards, model)
            scores[index] = beliefs[:, State.I] + (beliefs[:, State.E] if with_exposed else 0.0)
    return scores


def _last_day(
    samples: Samples,
    index: NDArray[np.int64],
    n_days: int,
    hazards: NDArray[np.float64],
    model: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Return the posterior of the last day of samples with windows of one length: [index, 4]."""
    exposures = np.empty((WINDOW_DAYS, index.size))
    _kernels.add_up_cells(
        samples.offsets, samples.cells, samples.repeats, index, hazards, exposures
    )
    oldest_first = slice(n_days - 1, None, -1)
    outcomes = np.ascontiguousarray(samples.outcomes[index].T)
    beliefs = np.empty((index.size, 4))
    last_day_marginals(exposures[oldest_first], outcomes[oldest_first], model, beliefs)
    return beliefs
