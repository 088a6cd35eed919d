"""Replay a contact list of your own, and let the disease of the city spread on it."""

import hashlib
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from pydantic import Field

from dnatrace import directions, lists, slips, tables
from dnatrace.errors import InputError
from dnatrace.records import MOST_DAYS, ContactWindow, DayContacts
from dnatrace.settings import setting
from dnatrace.simulators._kernels import EVERYWHERE
from dnatrace.simulators.base import (
    N_AGE_GROUPS,
    N_KINDS,
    NAME,
    ContactKind,
    People,
    Simulator,
    SimulatorSettings,
    SimulatorSetup,
    means_by_age_type,
)
from dnatrace.simulators.disease import (
    TRANSMISSIBILITY,
    Disease,
    DiseaseParameters,
    FirstInfected,
    Transmissibility,
    of_transmissibility,
)
from dnatrace.simulators.times import (
    Factor,
    Season,
    TimesSettings,
    Vaccination,
    Variant,
    switched_off,
    too_late,
)

Positive = Annotated[float, Field(gt=0.0)]
_UNKNOWN_AGE = 4  # 40-49: the age group whose relative susceptibility is nearest to 1 (0.98)


class ReplaySettings(SimulatorSettings):
    """A contact list of your own."""

    knows_people: ClassVar[bool] = True
    has_households: ClassVar[bool] = False
    kinds: ClassVar[tuple[ContactKind, ...]] = (ContactKind.RANDOM,)
    read_by_content: ClassVar[tuple[str, ...]] = ("contacts",)
    name: Literal["replay"] = setting("replay", NAME)
    contacts: str | None = setting(None, "replay: CSV or Parquet of sender, receiver, day")
    columns: str | None = setting(None, "replay: its names for the columns: sender=from,day=date")
    ignore_extra: bool = setting(False, "replay: ignore other columns; otherwise they are refused")
    as_names: bool = setting(False, "replay: ids are names even if they look like numbers")
    both_ways: bool = setting(
        False, "replay: add the other direction of contacts where the list lacks it"
    )
    n_days: Annotated[int, Field(ge=1, le=MOST_DAYS, strict=True)] | None = setting(
        None, "replay: days in the list, the last ones may be empty; needed above 366"
    )
    contacts_per_day: Positive | None = setting(
        None, "replay: contacts received per person and day to which R refers; those of the list"
    )
    transmissibility: Transmissibility = TRANSMISSIBILITY
    imports_per_day: Factor = setting(
        0.0, "mean infections from outside per day, if all were susceptible"
    )
    season: Season = Season()
    vaccination: Vaccination = Vaccination()
    variant: Variant = Variant()

    def without_effect(self, n_days: int) -> list[str]:
        """Return which changes over time have no effect in a run of `n_days` days."""
        return [*self._off().values(), *too_late(self.variant, (), n_days)]

    def idle(self) -> list[str]:
        """Return which changes over time do nothing although they are set."""
        return list(self._off())

    def _off(self) -> dict[str, str]:
        return switched_off(self.season, self.vaccination, self.variant)

    def counts(self) -> dict[str, float]:
        """Return how many people come from outside."""
        return {"variant.first": self.variant.first, "imports_per_day": self.imports_per_day}

    def build(self, setup: SimulatorSetup) -> Simulator:
        """Return the replay of these settings on day 0; the list says how many people there are.

        Raises:
            InputError: there is no list, or it does not allow what is asked.
        """
        if self.contacts is None:
            raise InputError("simulator.contacts: replay needs the path of a contact list")
        if setup.isolation_keeps_household:
            raise InputError("isolation.keeps_household: a contact list has no households")
        rows = self.read().contacts
        if rows.size == 0:
            raise InputError(f"{self.contacts}: has no rows")
        n_people = setup.n_people
        if n_people is None:
            n_people = tables.infer_people(rows.columns["sender"], rows.columns["receiver"])
        return Replay(
            contacts=rows,
            n_people=n_people,
            n_days=self.n_days,
            seed=setup.seed,
            initially_infected=min(setup.initially_infected, n_people),
            contacts_per_day=self.contacts_per_day,
            parameters=of_transmissibility(self.transmissibility),
            times=TimesSettings(
                season=self.season,
                imports_per_day=self.imports_per_day,
                vaccination=self.vaccination,
                variant=self.variant,
            ),
        )

    def notices(self, n_days: int) -> list[str]:
        """Return possible slips in the list; whether it can be read is `build`'s to say."""
        path = Path(self.contacts or "")
        if (look := self._look()) is None:
            return []
        first, told, _ = look
        if first is None or first < n_days:
            return told
        begins = f"begins on day {first}, after the {n_days} days of the run (days count from 0)"
        return [f"{path}: {begins}: nobody meets anybody", *told]

    def own_people(self) -> int | None:
        """Return how many people the list has; None if it cannot be read."""
        look = self._look()
        return None if look is None else look[2]

    def _look(self) -> "tuple[int | None, list[str], int] | None":
        """Return the first day of the list, possible slips and its people; None if unreadable."""
        try:
            changed = Path(self.contacts or "").stat().st_mtime_ns
            return _looked_at(self.model_dump_json(), changed)
        except (OSError, InputError):
            return None

    def read(self) -> lists.Lists:
        """Return the list, worded as these settings say."""
        called = lists.parse_columns(self.columns, tables.CONTACT_COLUMNS, "simulator.columns")
        wording = lists.Wording(
            contacts=called, ignore_extra=self.ignore_extra, as_names=self.as_names
        )
        read = lists.read_lists(Path(self.contacts or ""), wording=wording)
        if not self.both_ways:
            return read
        return replace(read, contacts=directions.both_ways(read.contacts))

    def fingerprint(self) -> str:
        """Return the digest of the list; its path does not matter."""
        if self.contacts is None or not Path(self.contacts).is_file():
            return ""
        return hashlib.blake2b(Path(self.contacts).read_bytes(), digest_size=16).hexdigest()


@lru_cache(maxsize=8)  # the runs of a sweep share a list
def _looked_at(settings: str, changed: int) -> tuple[int | None, list[str], int]:
    """Return the first day of a list that was last changed then, possible slips, and its people.

    A list without rows has no first day.
    """
    del changed
    read = ReplaySettings.model_validate_json(settings).read()
    senders, receivers, days = (read.contacts.columns[c] for c in tables.CONTACT_COLUMNS)
    first = int(days.min()) if days.size else None
    return first, slips.possible_slips(read), tables.infer_people(senders, receivers)


class Replay(People):
    """Recorded contacts, day by day, with the transmission and the course of the city.

    The first `advance` uses day 0 of the list. A list shorter than the run starts again from its
    first day. The disease passes from sender to receiver as listed: a meeting at which either can
    infect the other is in the list twice, once in each direction.

    The hazard of a contact is that of the city, R · S_age · A_course / Ī_age · (gamma mass of the
    day since infection), where Ī is the mean number of contacts that people of the receiver's age
    type (child, adult, elderly) have per day in this list, people and days without contacts
    included: R keeps its meaning for sparse and dense lists. Lists that are to be compared, such as
    one before and one during a lockdown, need the same Ī: `contacts_per_day`. All contacts have
    the same weight; a column `kind` is allowed and ignored.

    Args:
        contacts: rows (sender, receiver, day): an integer array [contacts, 3], a table, or the path
            of a CSV or Parquet file.
        seed: the seed of every draw.
        initially_infected: how many people are infected on day 0, or their ids.
        n_people: ids are 0 … n_people-1; one more than the largest id when None.
        n_days: the number of days in the list; one more than the largest day when None.
        age_groups: decade of age of each person, 0 … 8; everyone is 40-49 when None.
        contacts_per_day: Ī, the same for all age types; that of the list when None.
        parameters: the parameters of the disease; the published ones when None.
        times: what changes the disease over time; nothing when None.
    """

    def __init__(
        self,
        *,
        contacts: Any,
        seed: int = 1,
        initially_infected: FirstInfected = 5,
        n_people: int | None = None,
        n_days: int | None = None,
        age_groups: ArrayLike | None = None,
        contacts_per_day: float | None = None,
        parameters: DiseaseParameters | None = None,
        times: TimesSettings | None = None,
    ) -> None:
        if n_people is None and age_groups is not None:
            n_people = np.asarray(age_groups).size
        window = ContactWindow.from_rows(contacts, n_people=n_people, n_days=n_days)
        self._days: tuple[DayContacts, ...] = tuple(window)
        self.age_groups: NDArray[np.uint8] = _checked_ages(age_groups, window.n_people)
        self.households: NDArray[np.int32] = np.arange(window.n_people, dtype=np.int32)
        received = np.zeros((window.n_people, N_KINDS))
        usual = window.counts.mean(axis=0) if contacts_per_day is None else contacts_per_day
        received[:, ContactKind.RANDOM] = usual
        self._disease = Disease(
            age_groups=self.age_groups,
            mean_contacts=means_by_age_type(received, self.age_groups),
            seed=seed,
            initially_infected=initially_infected,
            parameters=parameters or DiseaseParameters(),
            times=times,
        )
        super().__init__(self._disease.states, self._disease.infected_on)

    @property
    def imported(self) -> int:
        """How many infections of the last day came from outside, a variant's first included."""
        return self._disease.imported

    def snapshot(self) -> Any:
        """Return the day, who is in isolation and where the disease is; see `Resumable`."""
        return self.day, self._isolated, self._disease.changing()

    def restore(self, snapshot: Any) -> None:
        """Go to the day of a snapshot."""
        self.day, self._isolated, arrays = snapshot
        for name, values in self._disease.changing().items():
            values[...] = arrays[name]

    def advance(self) -> DayContacts:
        """Advance one day and return its contacts, without those of absent people.

        Cost: O(people + contacts of the day).
        """
        recorded = self._days[self.day % len(self._days)]
        self.day += 1
        presence = self._disease.presence(self._isolated, isolation_keeps_household=False)
        contacts = recorded.among(presence == EVERYWHERE)
        self._disease.spread(contacts, self.day)
        return contacts


def _checked_ages(age_groups: ArrayLike | None, n_people: int) -> NDArray[np.uint8]:
    if age_groups is None:
        return np.full(n_people, _UNKNOWN_AGE, dtype=np.uint8)
    ages = np.asarray(age_groups)
    if ages.shape != (n_people,) or ages.dtype.kind not in "iu":
        raise InputError(f"age_groups must be {n_people} whole numbers, one per person")
    if ages.min() < 0 or ages.max() >= N_AGE_GROUPS:
        raise InputError(f"age_groups must lie in 0 … {N_AGE_GROUPS - 1}")
    return ages.astype(np.uint8)
