"""The simulators by name. A new one is a file beside this one and a line here."""

from dnatrace.plugins import Catalogue
from dnatrace.simulators.base import SimulatorSettings
from dnatrace.simulators.city import CitySettings
from dnatrace.simulators.covasim import CovasimSettings
from dnatrace.simulators.openabm import OpenABMSettings
from dnatrace.simulators.replay import ReplaySettings

SIMULATORS: Catalogue[SimulatorSettings] = Catalogue(
    SimulatorSettings,  # type: ignore[type-abstract]
    "dnatrace.simulators",
    (CitySettings, ReplaySettings, OpenABMSettings, CovasimSettings),
    own=(
        *("contacts", "distancing"),
        *("imports_per_day", "season", "vaccination", "variant"),
    ),
)
