"""The built-in city: an agent-based epidemic with the structure of OpenABM-Covid19.

It was written from the published description (Hinch et al. 2021, PLoS Computational Biology 17(7)),
with its figures. `verification/city.py` compares it with the reference simulator.
"""

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import field_validator

from dnatrace import reference_data
from dnatrace.errors import InputError
from dnatrace.records import DayContacts
from dnatrace.rng import Stream
from dnatrace.settings import setting
from dnatrace.simulators import _kernels
from dnatrace.simulators.base import NAME, People, Simulator, SimulatorSettings, SimulatorSetup
from dnatrace.simulators.disease import (
    TRANSMISSIBILITY,
    Disease,
    DiseaseParameters,
    FirstInfected,
    Transmissibility,
    of_transmissibility,
)
from dnatrace.simulators.population import NETWORK_AGE_TYPES, Population, PopulationParameters
from dnatrace.simulators.times import (
    Distancing,
    Factor,
    Season,
    TimesSettings,
    Vaccination,
    Variant,
    in_force,
    ordered,
    switched_off,
    too_late,
)

_COIN = 2**16  # resolution of the coin of an occupation edge
_SCHOOLS = (0, 1)  # the networks of children; the others are of adults and the elderly


@dataclass(frozen=True, slots=True, kw_only=True)
class CityParameters:
    """All figures of the city, each with its source where it is defined."""

    population: PopulationParameters = field(default_factory=PopulationParameters)
    disease: DiseaseParameters = field(default_factory=DiseaseParameters)


class CitySettings(SimulatorSettings):
    """The built-in city."""

    name: Literal["city"] = setting("city", NAME)
    transmissibility: Transmissibility = TRANSMISSIBILITY
    distancing: tuple[Distancing, ...] = setting(
        (), "schedule: tables of from_day and the shares of work, school and random meetings"
    )
    imports_per_day: Factor = setting(
        0.0, "mean infections from outside per day, if all were susceptible"
    )
    season: Season = Season()
    vaccination: Vaccination = Vaccination()
    variant: Variant = Variant()

    @field_validator("distancing")
    @classmethod
    def _in_order(cls, schedule: tuple[Distancing, ...]) -> tuple[Distancing, ...]:
        return ordered(schedule)

    @classmethod
    def figures(cls) -> list[dict[str, str]]:
        """Return the parameters of the city."""
        return reference_data.read_table("parameters.csv")

    def without_effect(self, n_days: int) -> list[str]:
        """Return which changes over time have no effect in a run of `n_days` days."""
        return [*self._off().values(), *too_late(self.variant, self.distancing, n_days)]

    def idle(self) -> list[str]:
        """Return which changes over time do nothing although they are set."""
        return list(self._off())

    def _off(self) -> dict[str, str]:
        return switched_off(self.season, self.vaccination, self.variant)

    def counts(self) -> dict[str, float]:
        """Return how many people come from outside."""
        return {"variant.first": self.variant.first, "imports_per_day": self.imports_per_day}

    def build(self, setup: SimulatorSetup) -> Simulator:
        """Return the city of these settings on day 0."""
        return City(
            n_people=setup.n_people,
            seed=setup.seed,
            initially_infected=setup.initially_infected,
            isolation_keeps_household=setup.isolation_keeps_household,
            parameters=CityParameters(disease=of_transmissibility(self.transmissibility)),
            times=TimesSettings(
                season=self.season,
                imports_per_day=self.imports_per_day,
                vaccination=self.vaccination,
                variant=self.variant,
            ),
            distancing=self.distancing,
        )


class City(People):
    """A city of households, workplaces, schools and random meetings in which a disease spreads.

    The contacts of a day are (1) everyone with everyone at home; (2) the edges of the occupation
    networks that are active, each by its own coin; (3) the random meetings: the list of people
    repeated by their number of meetings is matched in pairs. They are drawn for everybody; then
    pairs with an isolated, hospitalised or dead person are dropped. The order of a day is that of
    `simulators.base.Simulator`.

    Arguments are as in `SimulatorSetup`; None means 10,000 people and the published figures.
    `initially_infected` may be ids, and `population` replaces drawing `n_people`. Cities of one
    seed differ only through their decisions. `times` changes the disease over time, `distancing`
    says which share of meetings takes place.
    """

    def __init__(
        self,
        *,
        n_people: int | None = None,
        seed: int = 1,
        initially_infected: FirstInfected = 5,
        isolation_keeps_household: bool = False,
        parameters: CityParameters | None = None,
        population: Population | None = None,
        times: TimesSettings | None = None,
        distancing: tuple[Distancing, ...] = (),
    ) -> None:
        parameters = parameters or CityParameters()
        if population is None:
            population = Population.build(
                n_people=10_000 if n_people is None else n_people,
                seed=seed,
                parameters=parameters.population,
            )
        elif n_people is not None:
            raise InputError("give either n_people or population, not both")
        self.population = population
        self._isolation_keeps_household = isolation_keeps_household
        self._coin_threshold = round(parameters.population.daily_fraction * _COIN)
        self._occupation_key = Stream(seed, "contacts/occupation").key
        self._random_key = Stream(seed, "contacts/random").key
        self.age_groups: NDArray[np.uint8] = population.age_groups
        self.households: NDArray[np.int32] = population.households
        self._thinning_key = Stream(seed, "contacts/random-called-off").key
        self._distancing = distancing
        self._disease = Disease(
            age_groups=population.age_groups,
            mean_contacts=population.mean_contacts,
            seed=seed,
            initially_infected=initially_infected,
            parameters=parameters.disease,
            times=times,
        )
        super().__init__(self._disease.states, self._disease.infected_on)
        self._lay_out()

    def _lay_out(self) -> None:
        """Prepare what is the same every day: homes, meeting places, room for the lists."""
        people = self.population
        sizes = np.bincount(people.households)
        ends = np.cumsum(sizes, dtype=np.int32)
        self._home_end = ends[people.households]
        self._home_first = (ends - sizes.astype(np.int32))[people.households]
        self._place_offsets = np.zeros(self.n_people + 1, dtype=np.int32)
        np.cumsum(people.meetings, out=self._place_offsets[1:])
        self._place_owners = np.repeat(np.arange(self.n_people, dtype=np.int32), people.meetings)
        most = sizes[people.households] + np.diff(people.neighbour_offsets) + people.meetings
        self._room = np.zeros(self.n_people + 1, dtype=np.int64)
        np.cumsum(most, out=self._room[1:])
        self._scratch = np.empty(self._room[-1] + 1, dtype=np.int32)
        self._counts = np.empty((self.n_people, 3), dtype=np.int32)

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
        """Advance one day and return its contacts, both directions.

        Cost: O(people + contacts); about 1 ms for 10,000 people on two cores.
        """
        self.day += 1
        presence = self._disease.presence(
            self._isolated, isolation_keeps_household=self._isolation_keeps_household
        )
        contacts = self._contacts(self.day, presence)
        self._disease.spread(contacts, self.day)
        return contacts

    def _meetings(self, day: int) -> tuple[NDArray[np.uint8], NDArray[np.int32]]:
        """Return which occupation edges are active, and who meets at random that day."""
        n_edges, threshold = self.population.n_edges, self._coin_threshold
        partners = _kernels.random_partners(self._random_key, day, self._place_owners)
        rules = in_force(self._distancing, day)
        if rules is None:
            return _kernels.active_edges(self._occupation_key, day, n_edges, threshold), partners
        shares = np.full(len(NETWORK_AGE_TYPES), rules.work)
        shares[list(_SCHOOLS)] = rules.school
        active = _kernels.active_edges_by_network(
            self._occupation_key,
            day,
            self._edge_networks,
            np.rint(shares * threshold).astype(np.uint64),
        )
        _kernels.thin_partners(self._thinning_key, day, self._place_owners, partners, rules.random)
        return active, partners

    @cached_property
    def _edge_networks(self) -> NDArray[np.uint8]:
        """The network of every occupation edge: uint8 [edges]."""
        people = self.population
        networks = np.zeros(people.n_edges, dtype=np.uint8)
        networks[people.edges] = np.repeat(people.networks, np.diff(people.neighbour_offsets))
        return networks

    def _contacts(self, day: int, presence: NDArray[np.uint8]) -> DayContacts:
        people = self.population
        active, partners = self._meetings(day)
        _kernels.gather_contacts(
            presence,
            self._home_first,
            self._home_end,
            people.neighbour_offsets,
            people.neighbours,
            people.edges,
            active,
            self._place_offsets,
            partners,
            self._room,
            self._scratch,
            self._counts,
        )
        offsets, senders, kinds = _kernels.pack_contacts(self._room, self._scratch, self._counts)
        return DayContacts(offsets=offsets, senders=senders, kinds=kinds, mutual=True)
