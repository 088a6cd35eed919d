"""One OpenABM-Covid19 model inside this process, read and steered through views of its memory.

Nothing here copies Python lists: people, pairs and edges are numpy views of the simulator's own
arrays, laid out as its headers declare them. Two variants exist. The fork (aleingrosso) keeps the
pairs of all days in one array and has no isolation without household contacts; upstream
(BDI-pathogens) keeps one chain of blocks per day. The layout is checked before it is trusted.

The simulator has one global random generator and ends the process when it rejects a parameter:
`_openabm_process` gives every model a process of its own. This module therefore imports little.
"""

import ctypes
import importlib
import importlib.metadata
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dnatrace.errors import InputError
from dnatrace.reference_data import read_table

ADDRESS = "https://github.com/BDI-pathogens/OpenABM-Covid19"
FORK_ADDRESS = "https://github.com/aleingrosso/OpenABM-Covid19"
FEWEST_PEOPLE = 5_000  # with fewer, its sampling of households does not converge and it exits

# Its arrays of events end at MAX_TIME; no transition takes longer than this many days.
_LONGEST_TRANSITION = 200
# Days of contacts it keeps. One would do, but the room of the fork is tight for a single day.
_DAYS_KEPT = 2
_OFF = 10_000  # the day on which its own interventions would start: never

# Parameters that are not in reference_data/parameters.csv, because the city has no use for them.
# The values are those of the baseline of the papers; its own tracing, tests and lockdowns stay off.
_OTHER_PARAMETERS = {
    "random_interaction_distribution": 1,
    "daily_non_cov_symptoms_rate": 0.002,
    "quarantine_length_self": 7,
    "quarantine_length_traced": 14,
    "quarantine_length_positive": 14,
    "quarantine_dropout_self": 0.02,
    "quarantine_dropout_traced": 0.02,
    "quarantine_dropout_positive": 0.02,
    "quarantined_daily_interactions": 0,
    "hospitalised_daily_interactions": 0,
    "self_quarantine_fraction": 0,
    "test_insensitive_period": 3,
    "test_order_wait": 1,
    "test_result_wait": 1,
    "quarantine_days": _DAYS_KEPT,
    "days_of_interactions": _DAYS_KEPT,
    "app_turn_on_time": _OFF,
    "lockdown_time_on": _OFF,
    "lockdown_time_off": _OFF,
    "lockdown_elderly_time_on": _OFF,
    "lockdown_elderly_time_off": _OFF,
    "testing_symptoms_time_on": _OFF,
    "testing_symptoms_time_off": _OFF,
    "intervention_start_time": _OFF,
}
# Upstream renamed one, dropped some, and has one that must be set to give the model of the papers.
_RENAMED = {"relative_transmission_workplace": "relative_transmission_occupation"}
_DROPPED = ("icu_allocation_", "quarantine_length_traced", "quarantine_dropout_traced")
_UPSTREAM_PARAMETERS = {"sd_infectiousness_multiplier": 0}

_POINTER = np.uintp
_INTERACTION_FORK = [("type", "i"), ("traceable", "i"), ("person", _POINTER), ("next", _POINTER)]
_INTERACTION_UPSTREAM = [
    *[(name, "h") for name in ("type", "network_id", "traceable", "manual_traceable")],
    ("person", _POINTER),
    ("next", _POINTER),
]
_BLOCK = [("interactions", _POINTER), ("room", "l"), ("used", "l"), ("next", _POINTER)]
_EDGE = [("id1", "l"), ("id2", "l")]
_NETWORK_FORK = [("edges", _POINTER), ("n_edges", "l"), ("n_vertices", "l"), ("type", "i")]
_NETWORK_UPSTREAM = [*_NETWORK_FORK, ("skip_hospitalised", "i"), ("skip_quarantined", "i")]


def _person_fork(days_kept: int) -> list[Any]:
    return [
        *[(name, "l") for name in ("idx", "house_no")],
        *[(name, "i") for name in ("age_group", "age_type", "work_network")],
        *[(name, "i") for name in ("base_random_interactions", "random_interactions")],
        ("n_interactions", "i", (days_kept,)),
        ("interactions", _POINTER, (days_kept,)),
        ("infector", _POINTER),
        *[(name, "i") for name in ("infector_status", "infector_network", "status", "is_case")],
        ("hazard", "d"),
        *[(name, _POINTER) for name in ("current_event", "next_event", "time_event")],
        ("quarantined", "i"),
        *[(name, _POINTER) for name in ("quarantine_event", "quarantine_release_event")],
        ("quarantine_test_result", "i"),
        *[(name, _POINTER) for name in ("trace_tokens", "index_trace_token")],
        *[(name, "i") for name in ("traced_on_this_trace", "app_user")],
    ]


def _person_upstream(n_ward_types: int) -> list[Any]:
    return [
        *[(name, "l") for name in ("idx", "house_no")],
        *[(name, "h") for name in ("age_group", "age_type", "occupation_network")],
        *[(name, "h") for name in ("base_random_interactions", "random_interactions")],
        *[(name, _POINTER) for name in ("n_interactions", "interactions")],
        ("status", "h"),
        ("hazard", _POINTER),
        *[(name, "f") for name in ("infectiousness_multiplier", "compliance_factor")],
        *[(name, _POINTER) for name in ("current_event", "next_event", "infection_events")],
        ("quarantined", "h"),
        *[(name, _POINTER) for name in ("quarantine_event", "quarantine_release_event")],
        ("quarantine_test_result", "h"),
        *[(name, _POINTER) for name in ("trace_tokens", "index_trace_token", "token_release")],
        ("traced_on_this_trace", "f"),
        *[(name, "h") for name in ("app_user", "ward_idx", "ward_type", "hospital_idx")],
        ("hospital_state", "h"),
        ("disease_progression_predicted", "h", (n_ward_types,)),
        *[(name, _POINTER) for name in ("current_hospital_event", "next_hospital_event")],
        *[(name, "h") for name in ("worker_type", "vaccine_status")],
        *[(name, _POINTER) for name in ("immune_full", "immune_symptoms", "immune_severe")],
    ]


def not_installed(error: ImportError) -> InputError:
    """Return the one line for a user who does not have the simulator."""
    return InputError(
        f"simulator openabm: OpenABM-Covid19 cannot be imported ({error}); it is not on PyPI: see "
        f"{ADDRESS}, or {FORK_ADDRESS} for the variant of the papers"
    )


def load() -> tuple[Any, Any]:
    """Import the simulator: (compiled module, module of its model).

    Raises:
        InputError: when it is not installed.
    """
    try:
        return importlib.import_module("covid19"), importlib.import_module("COVID19.model")
    except ImportError as error:
        raise not_installed(error) from None


def describe() -> dict[str, Any]:
    """Import the simulator and return its variant, version and the most days it can run."""
    compiled, _ = load()
    try:
        version = importlib.metadata.version("covid19")
    except importlib.metadata.PackageNotFoundError:
        version = None
    return {"variant": variant_of(compiled), "version": version, "most_days": _most_days(compiled)}


def variant_of(compiled: Any) -> str:
    """Return "fork" or "upstream", which differ in how they keep contacts."""
    return "upstream" if hasattr(compiled.model, "interaction_blocks") else "fork"


def _most_days(compiled: Any) -> int:
    return int(compiled.MAX_TIME) - _LONGEST_TRANSITION


def _view(address: int, fields: list[Any], n: int) -> NDArray[Any]:
    """Return n records at an address as a structured array, without a copy."""
    dtype = np.dtype(fields, align=True)
    memory = (ctypes.c_char * (n * dtype.itemsize)).from_address(address)
    return np.frombuffer(memoryview(memory), dtype=dtype)


def _address(pointer: Any) -> int:
    return int(getattr(pointer, "this", pointer))


class Model:
    """A model of at least `FEWEST_PEOPLE` (below, the simulator ends the process) and its views."""

    def __init__(
        self,
        *,
        n_people: int,
        seed: int,
        initially_infected: int,
        keeps_household: bool,
        transmissibility: float = 1.0,
    ) -> None:
        self._compiled, python = load()
        self.variant = variant_of(self._compiled)
        sizes = {"n_total": n_people, "rng_seed": seed, "n_seed_infection": initially_infected}
        with tempfile.TemporaryDirectory() as folder:
            households = Path(folder) / "households.csv"
            parameters = self._parameters(python, sizes, households, transmissibility)
            self._model = python.Model(parameters)
        self._c = self._model.c_model
        self._n = n_people
        self._people = self._checked_people()
        self._base = _address(self._c.population)
        self._stride = self._people.dtype.itemsize
        self._meetings = self._people["base_random_interactions"].copy()
        self._isolated = np.zeros(n_people, dtype=np.bool_)
        self._household = _view(
            _address(self._c.household_network),
            _NETWORK_UPSTREAM if self.variant == "upstream" else _NETWORK_FORK,
            1,
        )
        self._keeps_household = keeps_household
        if self.variant == "upstream":
            self._household["skip_quarantined"] = not keeps_household
        else:
            n_edges = int(self._household["n_edges"][0])
            self._edges = _view(int(self._household["edges"][0]), _EDGE, n_edges)
            self._all_edges = self._edges.copy()

    def _parameters(
        self, python: Any, sizes: dict[str, int], households: Path, transmissibility: float
    ) -> Any:
        """Return its parameters with the values of the papers, for either variant."""
        values = {row["name"]: float(row["value"]) for row in read_table("parameters.csv")}
        values["infectious_rate"] *= transmissibility
        values |= _OTHER_PARAMETERS | sizes | {"end_time": _most_days(self._compiled)}
        _write_households(households)
        files = {"input_households": str(households), "output_file_dir": ""}
        if self.variant == "upstream":
            parameters = python.Parameters(**files)
            known = {k: v for k, v in values.items() if not k.startswith(_DROPPED)}
            values = {_RENAMED.get(k, k): v for k, v in known.items()} | _UPSTREAM_PARAMETERS
        else:
            parameters = python.Parameters(read_param_file=False, **files)
        for name, value in values.items():
            parameters.set_param(name, value)
        return parameters

    def _checked_people(self) -> NDArray[Any]:
        """Return the view of the people, or refuse an unknown layout."""
        fields = (
            _person_upstream(int(self._compiled.N_HOSPITAL_WARD_TYPES))
            if self.variant == "upstream"
            else _person_fork(int(self._compiled.MAX_DAILY_INTERACTIONS_KEPT))
        )
        people = _view(_address(self._c.population), fields, self._n)
        for part in (people[:2], people):  # two people first: a wrong stride soon leaves the array
            if not (
                np.array_equal(part["idx"], np.arange(part.size))
                and _within(part["age_group"], 0, 8)
                and _within(part["status"], 0, 10)
                and _within(part["quarantined"], 0, 0)
                and np.array_equal(part["random_interactions"], part["base_random_interactions"])
            ):
                raise InputError(
                    f"simulator openabm: people of this build of OpenABM-Covid19 ({self.variant}) "
                    f"are not laid out in memory as in {ADDRESS} or {FORK_ADDRESS}"
                )
        return people

    def ages_and_households(self) -> tuple[NDArray[np.uint8], NDArray[np.int32]]:
        """Return age groups uint8 [people] and household ids int32 [people], copies."""
        return (
            self._people["age_group"].astype(np.uint8),
            self._people["house_no"].astype(np.int32),
        )

    def states(self) -> NDArray[np.uint8]:
        """Return the state of each person, numbered as ours: uint8 [people], a copy."""
        return self._people["status"].astype(np.uint8)

    def isolate(self, isolated: NDArray[np.bool_], away: NDArray[np.bool_]) -> None:
        """Isolate exactly these people from the next step on; `away` are in hospital or dead.

        Its own release from quarantine would need an event per person; writing the two columns that
        the step reads has the same effect and can be undone the next day.
        """
        changed = np.flatnonzero(isolated != self._isolated)
        if not changed.size:
            return
        # Only these people: records are far apart in memory, and it keeps this itself for all
        # others.
        self._isolated = isolated.copy()
        self._people["quarantined"][changed] = isolated[changed]
        free = ~(isolated | away)[changed]
        self._people["random_interactions"][changed] = self._meetings[changed] * free
        if self.variant == "fork" and not self._keeps_household:
            # It always adds the household contacts of isolated people, so their edges are left out.
            edges = self._all_edges
            kept = edges[~(isolated[edges["id1"]] | isolated[edges["id2"]])]
            self._edges[: kept.size] = kept
            self._household["n_edges"] = kept.size

    def step(self) -> None:
        """Simulate one day."""
        if self.variant == "fork":
            self._c.interaction_idx = 0  # so that the day's pairs are at the beginning
        self._compiled.one_time_step(self._c)

    def pairs(self) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.uint8]]:
        """Return the pairs of the last step: (one end, other end, kind) as our `ContactKind`."""
        if self.variant == "fork":
            used = int(self._c.interaction_idx)
            return self._ends(
                [_view(_address(self._c.interactions), _INTERACTION_FORK, max(used, 1))[:used]]
            )
        blocks = _view(_address(self._c.interaction_blocks), [("at", _POINTER)], _DAYS_KEPT)["at"]
        at, parts = int(blocks[self._c.interaction_day_idx]), []
        while at:
            block = _view(at, _BLOCK, 1)[0]
            used = int(block["used"])
            if used:
                parts.append(_view(int(block["interactions"]), _INTERACTION_UPSTREAM, used))
            at = int(block["next"])
        return self._ends(parts)

    def _ends(
        self, parts: list[NDArray[Any]]
    ) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.uint8]]:
        """Turn interactions, which come in twos that point at each other, into pairs of ids."""
        found = [self._ids(part) for part in parts] or [(np.empty(0, np.int32),) * 2]
        kinds = [part["type"][::2].astype(np.uint8) for part in parts] or [np.empty(0, np.uint8)]
        if len(found) == 1:
            return *found[0], kinds[0]
        first, second = (np.concatenate(ends) for ends in zip(*found, strict=True))
        return first, second, np.concatenate(kinds)

    def _ids(self, part: NDArray[Any]) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        places = part["person"] - np.uintp(self._base)
        if places.size % 2 or places.max(initial=0) >= self._n * self._stride:
            raise InputError(
                "simulator openabm: contacts of this build of OpenABM-Covid19 "
                f"({self.variant}) are not laid out in memory as in {ADDRESS} or {FORK_ADDRESS}"
            )
        places //= np.uintp(self._stride)
        return places[::2].astype(np.int32), places[1::2].astype(np.int32)


def _within(values: NDArray[Any], least: int, most: int) -> bool:
    return bool(values.min() >= least and values.max() <= most)


def _write_households(path: Path) -> None:
    """Write the reference households as the simulator reads them: one row per household."""
    rows = read_table("household_compositions.csv")
    ages = [name for name in rows[0] if name.startswith("age_")]
    lines = [",".join(name.replace("age", "a") for name in ages)]
    for row in rows:
        lines += [",".join(row[name] for name in ages)] * int(row["count"])
    path.write_text("\n".join(lines) + "\n")
