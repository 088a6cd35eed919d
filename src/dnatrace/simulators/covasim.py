"""Covasim behind our protocol: an external simulator (Kerr et al. 2021).

It is installed with `pip install 'dnatrace[covasim]'`; versions 3.1 and 4.0 are supported. It is
imported when the first simulator is built, never before.
"""

import contextlib
import importlib
import importlib.metadata
import io
import random
import warnings
from collections.abc import Iterator
from typing import Any, Literal

import numpy as np
from numba import njit
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from dnatrace.errors import InputError, require_at_least
from dnatrace.records import DayContacts
from dnatrace.rng import Stream
from dnatrace.settings import setting
from dnatrace.simulators._external import (
    USUAL_PEOPLE,
    ExternalPeople,
    arguments_of,
    both_directions,
    check_draws,
)
from dnatrace.simulators._kernels import AT_HOME_ONLY, EVERYWHERE, NOWHERE
from dnatrace.simulators.base import (
    N_AGE_GROUPS,
    NAME,
    ContactKind,
    CourseState,
    Simulator,
    SimulatorSettings,
    SimulatorSetup,
)
from dnatrace.simulators.disease import TRANSMISSIBILITY, Transmissibility
from dnatrace.simulators.times import Factor

ADDRESS = "https://github.com/InstituteforDiseaseModeling/covasim"
SUPPORTED = ("3.1.", "4.0.")
_MOST_SEED = 2**31 - 1
_MOST_DAYS = 366
_BETA = 0.016  # transmission per contact, the default of both versions

# Layers of the hybrid population: households, schools, workplaces, community.
_KINDS = {
    "h": ContactKind.HOUSEHOLD,
    "s": ContactKind.OCCUPATION,
    "w": ContactKind.OCCUPATION,
    "c": ContactKind.RANDOM,
}
_FLAGS = ("symptomatic", "severe", "critical", "recovered", "dead")


def installed_version() -> str | None:
    """Return the version of Covasim, None when it is not installed; does not import it."""
    try:
        return importlib.metadata.version("covasim")
    except importlib.metadata.PackageNotFoundError:
        return None


def installed_build() -> str | None:
    """Return `Covasim.source` of the installed version, None when there is none."""
    version = installed_version()
    return None if version is None else f"Covasim {version}"


def load() -> Any:
    """Import Covasim without its banner, or raise saying where to get it.

    Raises:
        InputError: when it is not installed, cannot be imported, or is another version.
    """
    import matplotlib as mpl  # noqa: PLC0415 -- as slow as all the rest together

    try:
        # The import prints, warns and changes the style of figures: none of this must persist.
        with (
            contextlib.redirect_stdout(io.StringIO()),
            warnings.catch_warnings(action="ignore"),
            mpl.rc_context(),
        ):
            module = importlib.import_module("covasim")
    except ImportError as error:
        raise InputError(
            f"simulator covasim: Covasim cannot be imported ({error}); "
            f"pip install 'dnatrace[covasim]', or see {ADDRESS}"
        ) from None
    if not module.__version__.startswith(SUPPORTED):
        raise InputError(
            f"simulator covasim: Covasim {module.__version__} is installed; 3.1 and 4.0 are "
            f"supported, see {ADDRESS}"
        )
    return module


class CovasimSettings(SimulatorSettings):
    """Covasim, when it is installed."""

    name: Literal["covasim"] = setting("covasim", NAME)
    transmissibility: Transmissibility = TRANSMISSIBILITY
    imports_per_day: Factor = setting(
        0.0, "mean infections from outside per day, if all were susceptible"
    )

    def counts(self) -> dict[str, float]:
        """Return how many people are infected from outside."""
        return {"imports_per_day": self.imports_per_day}

    def build(self, setup: SimulatorSetup) -> Simulator:
        """Return the simulator of these settings on day 0."""
        return Covasim(
            **arguments_of(setup),
            transmissibility=self.transmissibility,
            imports_per_day=self.imports_per_day,
        )

    @classmethod
    def availability(cls) -> tuple[bool, str]:
        """Return whether it is installed and supported, and what was found."""
        version = installed_version()
        if version is None:
            return False, "absent: pip install 'dnatrace[covasim]'"
        if not version.startswith(SUPPORTED):
            return False, f"unsupported: Covasim {version}"
        return True, f"Covasim {version}"

    def fingerprint(self) -> str:
        """Return the installed build; another build gives different runs."""
        return installed_build() or ""


class Covasim(ExternalPeople):
    """The hybrid population of Covasim with its own disease, advanced by our loop.

    It has default parameters, no interventions of its own and no rescaling: one agent is one
    person. Contacts are the pairs of the four layers (households, schools, workplaces, community),
    the same every day, about 35 per person; a pair listed twice is two contacts; pairs of a person
    with
    themselves and pairs with a dead or isolated person are dropped. People in hospital keep their
    contacts: Covasim lets the disease pass over them. Isolation sets its quarantine flags, with a
    factor of 0 at both ends of a contact in every layer.

    States: exposed and infectious people are presymptomatic, or asymptomatic when they will have no
    symptoms; symptomatic ones are mild when they will not be severe; severe is hospitalised. With
    waning immunity, Covasim's default, recovered people can be infected again; `infected_on` keeps
    the first time.

    The same seed gives the same population as Covasim alone. In 3.1, which draws from one global
    generator, the draws of a day come from their own stream, so that several simulators do not
    disturb each other; the global generators are left as they were.

    Arguments are as in `SimulatorSetup`: at least 10 people, a seed below 2^31. Covasim allocates
    its results for `n_days`. `transmissibility` is a factor on its transmission per contact.
    """

    def __init__(
        self,
        *,
        n_people: int = USUAL_PEOPLE,
        seed: int = 1,
        initially_infected: int = 5,
        isolation_keeps_household: bool = False,
        n_days: int = _MOST_DAYS,
        transmissibility: float = 1.0,
        imports_per_day: float = 0.0,
    ) -> None:
        require_at_least("people", n_people, 10)
        check_draws("Covasim", seed, initially_infected, n_people, least_seed=0)
        module = load()
        factor_at_home = 1.0 if isolation_keeps_household else 0.0
        settings = {
            "pop_size": n_people,
            "pop_infected": initially_infected,
            "rand_seed": seed,
            "n_days": n_days,
            "pop_type": "hybrid",
            "pop_scale": 1,
            "rescale": False,
            "verbose": 0,
            "quar_factor": {"h": factor_at_home, "s": 0.0, "w": 0.0, "c": 0.0},
        }
        # Omitted at their defaults, so that it runs as it does on its own.
        settings |= {"beta": _BETA * transmissibility} if transmissibility != 1.0 else {}
        settings |= {"n_imports": imports_per_day} if imports_per_day > 0.0 else {}
        self._sim = _build(module, settings, seed)
        self._in_isolation = AT_HOME_ONLY if isolation_keeps_household else NOWHERE
        self._n_days, self._takes_imports = n_days, imports_per_day > 0.0
        self.imported: int = 0  # infected first, and from outside, on the last day
        super().__init__(self._sim.states())
        self.source: str = f"Covasim {module.__version__}"
        ages = self._sim.ages() // 10
        self.age_groups: NDArray[np.uint8] = np.minimum(ages, N_AGE_GROUPS - 1).astype(np.uint8)
        self.households: NDArray[np.int32] = _households(*self._sim.layer("h"), n_people)

    def advance(self) -> DayContacts:
        """Advance one day and return its contacts, both directions.

        Cost: Covasim's own step, and O(people + contacts) to read it.
        """
        if self.day == self._n_days:
            raise InputError(f"this Covasim was built for {self._n_days} days (n_days)")
        first, second, kinds = self.read_pairs()
        alive = self._states != CourseState.DEATH
        presence = np.where(self._isolated, self._in_isolation, EVERYWHERE).astype(np.uint8)
        presence[~alive] = NOWHERE
        contacts = both_directions(first, second, kinds, presence)
        self._sim.quarantine(self._isolated & alive)
        n_before = self._sim.n_logged() if self._takes_imports else 0
        self.step()
        self._end_day(self.read_states())
        if self._takes_imports:
            targets = self._sim.imported(n_before)
            self.imported = int((self._infected_on[targets] == self.day).sum())
        return contacts

    def step(self) -> None:
        """Let Covasim simulate one day; not part of `Simulator`, for measuring it alone."""
        self._sim.step()

    def read_pairs(self) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.uint8]]:
        """Read today's pairs from Covasim's memory: (one end, other end, kind), no copy kept."""
        layers = [self._sim.layer(name) for name in _KINDS]
        sizes = [first.size for first, _ in layers]
        return (
            np.concatenate([first for first, _ in layers], dtype=np.int32),
            np.concatenate([second for _, second in layers], dtype=np.int32),
            np.repeat(np.array(list(_KINDS.values()), dtype=np.uint8), sizes),
        )

    def read_states(self) -> NDArray[np.uint8]:
        """Read the `CourseState` of everybody from Covasim's flags: uint8 [people]."""
        return self._sim.states()


def _build(module: Any, settings: dict[str, Any], seed: int) -> "_Three | _Four":
    with _global_randomness_kept():
        sim = module.Sim(**settings)
        sim.initialize()
    return _Three(sim, seed) if module.__version__.startswith("3.") else _Four(sim)


class _Three:
    """Covasim 3.1: arrays of all people, one global generator."""

    def __init__(self, sim: Any, seed: int) -> None:
        self._sim = sim
        self._stream = Stream(seed, "covasim/days")

    def ages(self) -> NDArray[Any]:
        return np.asarray(self._sim.people.age)

    def layer(self, name: str) -> tuple[NDArray[Any], NDArray[Any]]:
        layer = self._sim.people.contacts[name]
        return layer["p1"], layer["p2"]

    def states(self) -> NDArray[np.uint8]:
        people = self._sim.people
        return _course_states(
            people.exposed,
            people.date_symptomatic,
            people.date_severe,
            {name: people[name] for name in _FLAGS},
        )

    def n_logged(self) -> int:
        return len(self._sim.people.infection_log)

    def imported(self, since: int) -> list[int]:
        return _from_outside(self._sim.people.infection_log[since:])

    def quarantine(self, people: NDArray[np.bool_]) -> None:
        self._sim.people.quarantined[:] = people
        self._sim.people.date_end_quarantine[:] = _ends(people)

    def step(self) -> None:
        day_seed = int(self._stream.generator(day=self._sim.t).integers(_MOST_SEED))
        with _global_randomness_kept():
            random.seed(day_seed)
            np.random.seed(day_seed)  # noqa: NPY002 -- Covasim draws from it
            _seed_compiled(day_seed)
            self._sim.step()


class _Four:
    """Covasim 4.0, on Starsim: arrays with room to grow, the dead removed, named generators."""

    def __init__(self, sim: Any) -> None:
        self._sim = sim
        self._disease = sim.diseases.covid
        self._n = int(sim.pars.n_agents)

    def _raw(self, name: str) -> NDArray[Any]:
        return np.asarray(getattr(self._disease, name).raw[: self._n])

    def ages(self) -> NDArray[Any]:
        return np.asarray(self._sim.people.states["age"].raw[: self._n])

    def layer(self, name: str) -> tuple[NDArray[Any], NDArray[Any]]:
        edges = self._sim.networks[name].edges
        return np.asarray(edges.p1), np.asarray(edges.p2)

    def states(self) -> NDArray[np.uint8]:
        return _course_states(
            self._raw("infected"),
            self._raw("ti_symptomatic"),
            self._raw("ti_severe"),
            {name: self._raw(name) for name in _FLAGS},
        )

    def n_logged(self) -> int:
        return len(self._disease.infection_log)

    def imported(self, since: int) -> list[int]:
        analysis = importlib.import_module("covasim.analysis")
        return _from_outside(analysis.make_infection_log(self._sim, start=since))

    def quarantine(self, people: NDArray[np.bool_]) -> None:
        self._raw("quarantined")[:] = people
        self._raw("date_end_quarantine")[:] = _ends(people)

    def step(self) -> None:
        with _global_randomness_kept():
            self._sim.step()


def _from_outside(log: list[dict[str, Any]]) -> list[int]:
    """Return who was imported, each once, of entries of Covasim's log of infections."""
    return sorted({int(entry["target"]) for entry in log if entry["layer"] == "importation"})


def _course_states(
    infected: NDArray[np.bool_],
    symptoms_on: NDArray[Any],
    severe_on: NDArray[Any],
    flags: dict[str, NDArray[np.bool_]],
) -> NDArray[np.uint8]:
    """Map Covasim's flags to one state per person; what is set later wins.

    The prognosis is drawn at infection: dates say who will have symptoms and who will be severe.
    """
    severe_to_be = ~np.isnan(severe_on)
    states = np.full(infected.size, CourseState.UNINFECTED, dtype=np.uint8)
    states[flags["recovered"]] = CourseState.RECOVERED  # with waning they are susceptible as well
    before = np.where(
        severe_to_be,
        np.uint8(CourseState.PRESYMPTOMATIC),
        np.uint8(CourseState.PRESYMPTOMATIC_MILD),
    )
    before[np.isnan(symptoms_on)] = CourseState.ASYMPTOMATIC
    with_symptoms = np.where(
        severe_to_be, np.uint8(CourseState.SYMPTOMATIC), np.uint8(CourseState.SYMPTOMATIC_MILD)
    )
    np.copyto(states, before, where=infected)
    np.copyto(states, with_symptoms, where=flags["symptomatic"])
    states[flags["severe"]] = CourseState.HOSPITALISED
    states[flags["critical"]] = CourseState.CRITICAL
    states[flags["dead"]] = CourseState.DEATH
    return states


def _ends(people: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Return when quarantine ends: never by itself, as `isolate` says every day who is in it."""
    return np.where(people, np.inf, np.nan)


def _households(first: NDArray[Any], second: NDArray[Any], n_people: int) -> NDArray[np.int32]:
    """Number the households: Covasim lists only who lives with whom."""
    ones = np.ones(first.size, dtype=np.int8)
    graph = coo_array((ones, (first, second)), shape=(n_people, n_people))
    return np.asarray(connected_components(graph, directed=False)[1], dtype=np.int32)


@contextlib.contextmanager
def _global_randomness_kept() -> Iterator[None]:
    """Leave the global generators of Python and numpy as they were before."""
    of_numpy, of_python = np.random.get_state(), random.getstate()  # noqa: NPY002
    try:
        yield
    finally:
        np.random.set_state(of_numpy)  # noqa: NPY002
        random.setstate(of_python)


@njit(cache=True)
def _seed_compiled(seed: int) -> None:
    """Seed the generator that compiled code of this thread draws from."""
    np.random.seed(seed)  # noqa: NPY002
