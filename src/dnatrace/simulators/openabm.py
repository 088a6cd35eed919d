"""OpenABM-Covid19 behind our protocol: the external simulator of the papers (Hinch et al. 2021).

It is used when the user has installed it; it is not on PyPI. Two variants are supported and
recognised automatically: the fork of the contact-tracing papers, and upstream.
"""

import importlib.util
from functools import cache
from pathlib import Path
from typing import Any, Literal

import numpy as np

from dnatrace.errors import InputError
from dnatrace.records import DayContacts
from dnatrace.settings import setting
from dnatrace.simulators import _openabm_model
from dnatrace.simulators._external import (
    USUAL_PEOPLE,
    ExternalPeople,
    arguments_of,
    both_directions,
    check_draws,
)
from dnatrace.simulators._openabm_process import Line
from dnatrace.simulators.base import (
    MEETS_NOBODY,
    NAME,
    Simulator,
    SimulatorSettings,
    SimulatorSetup,
)
from dnatrace.simulators.disease import TRANSMISSIBILITY, Transmissibility

ADDRESS = _openabm_model.ADDRESS
FEWEST_PEOPLE = _openabm_model.FEWEST_PEOPLE


def is_installed() -> bool:
    """Return whether its modules can be found, without importing them."""
    return all(importlib.util.find_spec(name) is not None for name in ("covid19", "COVID19"))


def describe() -> dict[str, Any]:
    """Import it in a process of its own and return `variant`, `version` and `most_days`.

    Raises:
        InputError: when it is not installed or cannot be imported.
    """
    _require_installed()
    line = Line()
    try:
        answer: dict[str, Any] = line.ask("describe")
    finally:
        line.close()
    return answer


def installed_build() -> str | None:
    """Return `OpenABM.source` of the build that would be imported, None when there is none.

    The first call for a build imports it in a process of its own (half a second); later calls only
    check where its modules are.
    """
    if not is_installed():
        return None
    return _build_at(*(_stamp(name) for name in ("covid19", "COVID19")))


def _stamp(name: str) -> tuple[str, int]:
    """Return where a module is and when it was written."""
    spec = importlib.util.find_spec(name)
    if spec is None or spec.origin is None or not Path(spec.origin).is_file():
        return name, 0
    return spec.origin, Path(spec.origin).stat().st_mtime_ns


@cache
def _build_at(*_places: tuple[str, int]) -> str | None:
    try:
        return _source(describe())
    except InputError:
        return None  # running it will report why


def _source(build: dict[str, Any]) -> str:
    version = f" {build['version']}" if build["version"] else ""
    return f"OpenABM-Covid19{version} ({build['variant']})"


class OpenABMSettings(SimulatorSettings):
    """OpenABM-Covid19, when it is installed."""

    name: Literal["openabm"] = setting("openabm", NAME)
    transmissibility: Transmissibility = TRANSMISSIBILITY

    def build(self, setup: SimulatorSetup) -> Simulator:
        """Return the simulator of these settings on day 0."""
        return OpenABM(**arguments_of(setup), transmissibility=self.transmissibility)

    @classmethod
    def availability(cls) -> tuple[bool, str]:
        """Return whether it is installed and supported, and what was found."""
        if not is_installed():
            return False, f"absent: see {ADDRESS}"
        try:
            return True, f"OpenABM-Covid19 ({describe()['variant']})"
        except InputError as error:
            return False, str(error)

    def fingerprint(self) -> str:
        """Return the installed build; another build gives different runs."""
        return installed_build() or ""


class OpenABM(ExternalPeople):
    """OpenABM-Covid19 with the parameters of the papers, advanced by our loop.

    Both variants get the same values (`reference_data/parameters.csv`: the baseline of the papers)
    and the same reference households; upstream keeps its own values for parameters that only it
    has, with `sd_infectiousness_multiplier` at 0. All its own interventions are off.

    Its states are the same as ours. Contacts are read from its memory: the household, occupation
    and random pairs over which the disease could pass that day. Isolated people are left out of its
    networks; it then draws the random meetings of the day among the others, so, unlike in the city,
    isolating one person changes whom others meet at random.

    Every model lives in a process of its own, which ends with this object: its random generator is
    global, and it ends its process when it cannot continue. `infected_on` keeps the first
    infection.

    Arguments are as in `SimulatorSetup`: at least 5,000 people, because with fewer it cannot draw
    its households, and a seed of 1 … 2^31 - 1. Too large an `n_days` is reported at once.
    `transmissibility` is a factor on its infectious rate.
    """

    def __init__(
        self,
        *,
        n_people: int = USUAL_PEOPLE,
        seed: int = 1,
        initially_infected: int = 5,
        isolation_keeps_household: bool = False,
        n_days: int | None = None,
        transmissibility: float = 1.0,
    ) -> None:
        if n_people < FEWEST_PEOPLE:
            raise InputError(
                f"people: OpenABM-Covid19 needs at least {FEWEST_PEOPLE}, not {n_people}"
            )
        check_draws("OpenABM-Covid19", seed, initially_infected, n_people, least_seed=1)
        _require_installed()
        self._line = Line()
        build = self._line.ask("describe")
        self.variant: str = build["variant"]
        self.source: str = _source(build)
        self._most_days: int = build["most_days"]
        self._require_days(n_days or 0)
        states, self.age_groups, self.households = self._line.ask(
            "build",
            n_people=n_people,
            seed=seed,
            initially_infected=initially_infected,
            keeps_household=isolation_keeps_household,
            transmissibility=transmissibility,
        )
        super().__init__(states)
        self._present = np.zeros(n_people, dtype=np.uint8)

    def advance(self) -> DayContacts:
        """Advance one day and return its contacts, both directions.

        Cost: its own step, and O(people + contacts) to read, send and group them.
        """
        self._require_days(self.day + 1)
        first, second, kinds, states = self._line.ask(
            "advance", isolated=self._isolated, away=MEETS_NOBODY[self._states]
        )
        self._end_day(states)
        return both_directions(first, second, kinds, self._present)

    def close(self) -> None:
        """End the process of the model now instead of when this object is collected."""
        self._line.close()

    def _require_days(self, n_days: int) -> None:
        if n_days > self._most_days:
            raise InputError(
                f"days: this OpenABM-Covid19 ({self.variant}) can run {self._most_days} days, "
                f"not {n_days}"
            )


def _require_installed() -> None:
    if not is_installed():
        raise _openabm_model.not_installed(ImportError("No module named 'COVID19'"))
