"""Compare published effects with ours: `python -m verification.effects --out FILE.md`.

These are sanity checks, not calibrations: what others found for household quarantine and for the
rule of exposure-notification apps, and what our levers do on the city with rules as similar as
possible. The rule contains no tolerance of ours: an effect agrees when its 90 % interval overlaps
the published interval or, where none was published, contains the published number. Places, contacts
and diseases differ, so that some will not agree. Exits with 1 when an effect has the wrong sign or
is absent; a different size is reported, not counted as a failure.

All runs are without tracing scores, so ten seeds of 10,000 people take a few minutes on one core.
"""

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dnatrace.runs.config import RunConfig, load_config
from dnatrace.runs.quantities import shown
from dnatrace.sweeps.results import markdown_table
from dnatrace.sweeps.spread import Spread
from dnatrace.sweeps.study import Study
from verification.closed_loop import QUICK, Call, parser, read_call

FIRST_SEED = 8101  # used for nothing else
_RICE = (
    "Rice et al. 2020 (BMJ 371:m3588), table 1, the model of Ferguson et al., Report 9: peak "
    "demand for intensive care 119 (case isolation) and 87 thousand beds (and household quarantine)"
)
_ABUEG = "Abueg et al. 2021 (npj Digital Medicine 4:49): 15 % with the app, infections 8 % fewer"
_ABUEG_DEATHS = "Abueg et al. 2021: 15 % with the app, deaths 6 % fewer"
_WYMANT = (
    "Wymant et al. 2021 (Nature 594:408), table 1: cases 0.79 % (0.37 to 1.10) fewer per point of "
    "uptake by modelling, 2.26 % (1.50 to 3.00) by comparison of regions; here 28 points by "
    "modelling"
)
_HINCH = (
    "Hinch et al., report of April 2020: 56 % of people with the app suppress the epidemic, with "
    "households at home on symptoms; here: infections at least halved"
)
# Case isolation and household quarantine of Report 9: 70 % of cases stay at home for 7 days, 50 %
# of households for 14, R0 2.4 (0.8 of the city's, whose published rate gives about 3).
_CASES: dict[str, Any] = {
    "simulator.transmissibility": 0.8,
    "policy.name": "levers",
    "policy.symptoms.severe": 0.7,
    "policy.symptoms.mild": 0.7,
    "policy.symptoms.background": 0.0,
    "isolation.days": 7,
    "isolation.keeps_household": True,
    "isolation.start_day": 1,
}
_HOUSEHOLDS = _CASES | {"policy.household.days": 14, "policy.household.adherence": 0.5}
# The app rule in the autumn of 2020; 72 % of users report (Wymant et al. 2021).
_APP = {"policy.notification.consent": 0.72, "policy.notification.adherence": 0.6}
# The report of April 2020: 80 % isolate with their household on symptoms, 2 % per day give up, and
# users report at once; tests stand in for self-diagnosis.
_APRIL: dict[str, Any] = {
    "policy.name": "levers",
    "policy.symptoms.severe": 1.0,
    "policy.symptoms.mild": 1.0,
    "policy.symptoms.background": 0.0,
    "isolation.days": 7,
    "isolation.adherence": 0.8,
    "isolation.dropout": 0.02,
    "policy.household.days": 14,
    "policy.household.trigger": "symptoms",
    "policy.household.adherence": 0.8,
    "policy.household.dropout": 0.02,
}
_APRIL_APP = _APRIL | {
    "app.adoption": 0.56,
    "policy.notification.consent": 1.0,
    "policy.notification.days": 14,
    "policy.notification.adherence": 0.8,
    "policy.notification.dropout": 0.02,
}
AUTUMN = "uk-2020-autumn"


@dataclass(frozen=True, slots=True, kw_only=True)
class Effect:
    """A published effect: how much smaller a number is with a lever than without it.

    Attributes:
        name: its name in words.
        metric: the number of the summary.
        published: the share by which it is smaller.
        interval: the published interval of that; None where there is none.
        source: where it was published.
        scenario: our scenario; None for the standard city.
        without: settings without the lever.
        lever: settings with the lever.
        at_least: whether the published number is a lower bound.
    """

    name: str
    metric: str
    published: float
    source: str
    without: dict[str, Any]
    lever: dict[str, Any]
    scenario: str | None = None
    at_least: bool = False
    interval: tuple[float, float] | None = None

    @property
    def bounds(self) -> tuple[float, float]:
        """The interval that ours must overlap."""
        if self.at_least:
            return self.published, 1.0
        return self.interval or (self.published, self.published)


def with_app(adoption: float) -> dict[str, Any]:
    return _APP | {"app.adoption": adoption}


EFFECTS = (
    Effect(
        name="household quarantine beside case isolation: peak in hospital",
        metric="peak_hospitalised",
        published=1.0 - 87 / 119,
        source=_RICE,
        without=_CASES,
        lever=_HOUSEHOLDS,
    ),
    Effect(
        name="household quarantine beside case isolation: peak of infected",
        metric="peak_infected",
        published=1.0 - 87 / 119,
        source=_RICE,
        without=_CASES,
        lever=_HOUSEHOLDS,
    ),
    Effect(
        name="app rule, 15 % with the app: infections",
        metric="attack_rate",
        published=0.08,
        source=_ABUEG,
        scenario=AUTUMN,
        without={},
        lever=with_app(0.15),
    ),
    Effect(
        name="app rule, 15 % with the app: deaths",
        metric="deaths",
        published=0.06,
        source=_ABUEG_DEATHS,
        scenario=AUTUMN,
        without={},
        lever=with_app(0.15),
    ),
    Effect(
        name="app rule, 28 % with the app: infections",
        metric="attack_rate",
        published=0.79 * 0.28,
        interval=(0.37 * 0.28, 1.10 * 0.28),
        source=_WYMANT,
        scenario=AUTUMN,
        without={},
        lever=with_app(0.28),
    ),
    Effect(
        name="app and household quarantine on symptoms, 56 % with the app: infections",
        metric="attack_rate",
        published=0.5,
        source=_HINCH,
        without=_APRIL,
        lever=_APRIL_APP,
        at_least=True,
    ),
)
Label = tuple[str, str]


def configurations(call: Call) -> dict[Label, RunConfig]:
    tiny = QUICK if call.quick else {}
    return {
        (effect.name, which): load_config(
            scenario=effect.scenario, overrides={"method": "none"} | settings | tiny
        )
        for effect in EFFECTS
        for which, settings in (("without", effect.without), ("with", effect.lever))
    }


def smaller(study: Study[Label], effect: Effect) -> Spread:
    """Return by seed how much smaller a number is with the lever, as a share of the mean."""
    without, with_it = (
        study.spread((effect.name, which), effect.metric).values for which in ("without", "with")
    )
    usual = float(without.mean())
    return Spread(values=(without - with_it) / (usual if usual > 0.0 else np.nan))


FAILED = ("WRONG SIGN", "NOT THERE")


def verdict(effect: Effect, found: Spread) -> str:
    """Return whether the effect is there and of the published size."""
    low, high = found.interval
    if high < 0.0:
        return FAILED[0]
    if not low > 0.0:
        return "not told apart from 0" if high >= effect.bounds[0] else FAILED[1]
    if high < effect.bounds[0]:
        return "smaller"
    return "larger" if low > effect.bounds[1] else "agrees"


def rows_of(study: Study[Label]) -> list[dict[str, Any]]:
    rows = []
    for effect in EFFECTS:
        found = smaller(study, effect)
        means = [
            study.spread((effect.name, which), effect.metric).mean for which in ("without", "with")
        ]
        finite = bool(np.isfinite(found.values).all())
        rows.append(
            {
                "effect": effect.name,
                "published": effect.published,
                "published_low": effect.interval[0] if effect.interval else None,
                "published_high": effect.interval[1] if effect.interval else None,
                "ours": found.mean if finite else None,
                "low": found.interval[0] if finite else None,
                "high": found.interval[1] if finite else None,
                "without": means[0],
                "with": means[1],
                "verdict": verdict(effect, found),
                "source": effect.source,
            }
        )
    return rows


def table(rows: Sequence[dict[str, Any]]) -> list[str]:
    def percent(value: float | None) -> str:
        return "–" if value is None else f"{shown(100.0 * value)} %"

    cells = [
        [
            row["effect"],
            percent(row["published"])
            + (
                f" ({percent(row['published_low'])} to {percent(row['published_high'])})"
                if row["published_low"] is not None
                else ""
            ),
            f"{percent(row['ours'])} ({percent(row['low'])} to {percent(row['high'])})",
            f"{percent(row['without'])} → {percent(row['with'])}",
            row["verdict"],
            row["source"],
        ]
        for row in rows
    ]
    head = ["effect", "published: smaller by", "ours", "share of people", "verdict", "source"]
    return markdown_table(head, cells)


NOTES = (
    "Paired by seed, 90 % Student-t intervals. Agrees: the interval overlaps the published one, "
    "holds the published number where none was published, or reaches it where that is a lower end; "
    "smaller, larger: it does not; not told apart from 0: too few seeds to say.",
    "An earlier version of this page asked only for half to twice the published number, a rule "
    "that had been loosened after a look at these runs. It is gone; by the present one, which was "
    "written down before it was applied but not before the runs were seen, fewer effects agree.",
    "City of 10,000, 100 days. The first uses case isolation at home, where housemates still meet; "
    "those of the app use the scenario of the autumn of 2020, in which tests take two days and 60 "
    "% cooperate. Tests stand in for the self-diagnosis of the report of April 2020.",
    "Not Abueg's counties, nor England: contacts, ages, disease and other measures differ.",
)


def main(arguments: Sequence[str] | None = None) -> int:
    options = parser(__doc__, seeds=10, first_seed=FIRST_SEED)
    call = read_call(options, "verification.effects", arguments)
    study = call.study(configurations(call))
    rows = rows_of(study)
    call.report(rows, title="Published effects and ours", notes=NOTES, tables=table(rows))
    return 0 if call.quick or all(row["verdict"] not in FAILED for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
