"""One sample per person and day: messages received, what the person knew, and what was true.

Messages are kept as a histogram over (age, level). The age of a message is the release day minus
the day of the contact, 0 … 13; its level is the nearest point of a grid over [0, 1]. Clipping at a
γ that is on the grid then only merges levels.
"""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array

from dnatrace.errors import InputError, require_at_least
from dnatrace.networks.architecture import WINDOW
from dnatrace.networks.inputs import newest_first_by_person, quantise
from dnatrace.records import NOT_TESTED, DayContacts
from dnatrace.seir import State
from dnatrace.simulators.base import SEIR_OF_COURSE

N_LEVELS = 128
# Clipping thresholds that the grid holds exactly, in single precision.
GRID_ANCHORS = (0.05, 0.1, 0.2, 0.4, 0.7)
_GRID_POWER = 3  # the smallest error in F among powers 2, 3, 4 and geometric grids
_FEWEST_LEVELS = 16
_MOST_REPEATS = 65_535


def cubic_grid(n_levels: int = N_LEVELS) -> NDArray[np.float32]:
    """Return the levels (k / (levels - 1))³ with the anchors replacing their neighbours.

    It is finer near 0, where most messages are, more so than the quadratic grid of
    `infer(levels=…)`.
    Guarantee: strictly increasing from 0 to 1; with 128 levels, rounding to the nearest one moves a
    message m by at most 0.02·m^(2/3) + 1e-6.
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
        seed: the seed of the run, int64 [n].
        person: the id within the run, int32 [n].
        day: the day of the release, from 1; min(day, 14) days were known, int16 [n].
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
    def n_messages(self) -> NDArray[np.int64]:
        """The number of messages in each window, the C of the mean: int64 [n]."""
        total: NDArray[np.int64] = self.contacts.sum(axis=1, dtype=np.int64)
        return total

    @property
    def seir(self) -> NDArray[np.uint8]:
        """S, E, I, R as 0 … 3: uint8 [n]."""
        return SEIR_OF_COURSE[self.state]

    @property
    def infected(self) -> NDArray[np.bool_]:
        """Whether in state I, the target of the paper: bool [n]."""
        return self.seir == State.I

    @property
    def exposed_or_infected(self) -> NDArray[np.bool_]:
        """Whether in E or I: bool [n]."""
        return (self.seir == State.E) | (self.seir == State.I)

    def batch(self, index: ArrayLike) -> NDArray[np.float32]:
        """Return the dense histograms of some samples: float32 [index, ages × levels].

        Cost: 7 kB per sample with 128 levels.
        """
        part = self.take(index)
        shape = (len(part), WINDOW * self.grid.size)
        sparse = csr_array((part.repeats, part.cells, part.offsets), shape=shape)
        return np.asarray(sparse.toarray(), dtype=np.float32)

    def take(self, index: ArrayLike) -> Self:
        """Return copies of some samples, in the order of `index`, which may repeat or be a mask."""
        chosen = np.asarray(index)
        chosen = np.flatnonzero(chosen) if chosen.dtype == np.bool_ else chosen.astype(np.int64)
        if chosen.size and (chosen.min() < 0 or chosen.max() >= len(self)):
            raise InputError(f"a sample number is outside 0 … {len(self) - 1}")
        cells, sizes = _places(self.offsets, chosen)
        columns: dict[str, NDArray[Any]] = {name: getattr(self, name)[chosen] for name in BY_SAMPLE}
        columns |= {name: getattr(self, name)[cells] for name in BY_CELL}
        return type(self)(grid=self.grid, offsets=_offsets(sizes), **columns)


# Columns with one row per cell of a histogram, and with one row per sample.
BY_CELL = ("cells", "repeats")
BY_SAMPLE = tuple(f.name for f in fields(Samples) if f.name not in ("grid", "offsets", *BY_CELL))


def concatenate(parts: Sequence[Samples]) -> Samples:
    """Return the samples of all parts, which share one grid."""
    if any(not np.array_equal(part.grid, parts[0].grid) for part in parts):
        raise InputError("samples on different grids cannot be joined")
    joined: dict[str, Any] = {
        name: np.concatenate([getattr(part, name) for part in parts])
        for name in (*BY_CELL, *BY_SAMPLE)
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

    Arrays cover everybody, those by day [days, all] with the oldest of at most 14 days first; `day`
    is the last of them. `Samples` says what they become.

    Cost: a binary search per message of the window, and a sort of the messages of `people`.
    """
    if not 1 <= len(contacts) <= WINDOW:
        raise InputError(f"a window of {len(contacts)} days; samples hold 1 to {WINDOW}")
    found = _histograms(people, contacts, quantise(messages, grid), grid.size)
    counts = np.stack([met.counts[people] for met in contacts])
    return Samples(
        grid=grid,
        offsets=found.indptr.astype(np.int64),
        cells=found.indices.astype(np.uint16),
        repeats=found.data,
        outcomes=newest_first_by_person(outcomes[:, people], NOT_TESTED),
        contacts=newest_first_by_person(counts, 0),
        age_group=age_groups[people],
        isolated=isolated[people],
        seed=np.full(people.size, seed, dtype=np.int64),
        person=people.astype(np.int32),
        day=np.full(people.size, day, dtype=np.int16),
        state=states[people],
        fn=fn[people].astype(np.float32),
    )


def _histograms(
    people: NDArray[np.int64],
    contacts: Sequence[DayContacts],
    levels: NDArray[np.uint8],
    n_levels: int,
) -> csr_array:
    """Return the messages of each person by cell: uint16 [people, ages × levels]."""
    rows, cells = [], []
    for age, met in enumerate(reversed(contacts)):
        places, sizes = _places(met.offsets, people)
        if sizes.max(initial=0) > _MOST_REPEATS:
            raise InputError(f"a person has more than {_MOST_REPEATS:,} contacts on one day")
        rows.append(np.repeat(np.arange(people.size), sizes))
        said = levels[len(contacts) - 1 - age][met.senders[places]]
        cells.append(age * n_levels + said.astype(np.int64))
    at = (np.concatenate(rows), np.concatenate(cells))
    once = np.ones(at[0].size, dtype=np.uint16)
    return csr_array((once, at), shape=(people.size, WINDOW * n_levels))


def _places(offsets: NDArray[Any], index: NDArray[np.int64]) -> tuple[Any, Any]:
    """Return where the entries of some rows are, and how many each row has."""
    sizes = np.diff(offsets)[index]
    first = np.repeat(offsets[index] - _offsets(sizes)[:-1], sizes)
    return np.arange(first.size) + first, sizes


def _offsets(sizes: NDArray[np.int64]) -> NDArray[np.int64]:
    return np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(sizes, dtype=np.int64)])
