"""What the report shows, what it is called and in which unit."""

from dataclasses import dataclass

PER_THOUSAND, PERCENT, PLAIN = "‰ of people", "%", ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Quantity:
    """A number of a run.

    Attributes:
        key: its name in the files.
        label: its name for people.
        unit: after the number; empty for a plain number.
        scale: from the stored number to the unit.
        per_person: whether the stored number is a count, to be divided by the population first.
        columns: of the daily table that add up to it.
    """

    key: str
    label: str
    unit: str = PLAIN
    scale: float = 1.0
    per_person: bool = False
    columns: tuple[str, ...] = ()


def _daily(key: str, label: str, *columns: str) -> Quantity:
    return Quantity(
        key=key,
        label=label,
        unit=PER_THOUSAND,
        scale=1000.0,
        per_person=True,
        columns=columns or (key,),
    )


DAILY = (
    _daily("infected", "Infected (I)"),
    _daily("exposed_or_infected", "Exposed or infected (E + I)", "exposed", "infected"),
    _daily("new_infections", "New infections a day"),
    _daily("ever_infected", "Ever infected"),
    _daily("hospitalised", "In hospital"),
    _daily("isolated", "In isolation"),
    _daily("isolated_ill", "In isolation and in E or I"),
    _daily("tests", "Tests a day"),
    _daily("positives", "Positive tests a day"),
    Quantity(key="auroc", label="AUROC of the day's scores", columns=("auroc",)),
)


def _share(key: str, label: str) -> Quantity:
    return Quantity(key=key, label=label, unit=PER_THOUSAND, scale=1000.0)


SUMMARY = (
    _share("peak_infected", "Peak of infected (I)"),
    _share("peak_exposed_or_infected", "Peak of exposed or infected (E + I)"),
    Quantity(key="attack_rate", label="Ever infected", unit=PERCENT, scale=100.0),
    _share("deaths", "Died"),
    Quantity(
        key="isolation_person_days",
        label="Days in isolation",
        unit="days a person",
        per_person=True,
    ),
    Quantity(
        key="isolation_person_days_uninfected",
        label="Days in isolation while not in E or I",
        unit="days a person",
        per_person=True,
    ),
    Quantity(key="tests_used", label="Tests", unit="tests a person", per_person=True),
    Quantity(
        key="isolation_precision",
        label="Share of isolated days in E or I",
        unit=PERCENT,
        scale=100.0,
    ),
    Quantity(key="auroc", label="AUROC, mean over days"),
)
BY_KEY = {quantity.key: quantity for quantity in SUMMARY}
OUTCOMES = ("peak_infected", "peak_exposed_or_infected", "attack_rate", "deaths")
BURDENS = ("isolation_person_days", "isolation_person_days_uninfected", "tests_used")

GROUPED = (
    Quantity(key="attack_rate", label="Ever infected", unit=PERCENT, scale=100.0),
    _share("deaths", "Died"),
    Quantity(key="isolation_days_per_person", label="Days in isolation", unit="days a person"),
    Quantity(
        key="isolation_days_uninfected_per_person",
        label="Days in isolation while not in E or I",
        unit="days a person",
    ),
    Quantity(key="tests_per_person", label="Tests", unit="tests a person"),
)
