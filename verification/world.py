"""Scenarios × methods on the city: `python -m verification.world --out docs/results/world.md`.

Every scenario of the package, and some of them with one setting changed, is run with methods from
no tracing to knowing the truth. The report gives the peak of infected people and the share ever
infected with 90 % Student-t intervals, next to figures that an independent prototype measured; what
was averted compared with doing nothing and with the status quo of the scenario (its levers without
tracing); and what that cost. All of them are paired by shared seeds.

A store keeps finished runs, so that an interrupted call resumes. The page opens with what to do,
each sentence by a rule (`world_advice`). 142 runs per seed, about three minutes on one core.
"""

import sys
from collections.abc import Mapping, Sequence
from typing import Any

from dnatrace.runs.config import RunConfig, load_config
from dnatrace.runs.quantities import shown, shown_spread
from dnatrace.sweeps.costs import averted, averted_by_group, nothing_of
from dnatrace.sweeps.results import markdown_table
from dnatrace.sweeps.study import Study
from verification.closed_loop import QUICK, Call, parser, read_call
from verification.world_advice import head
from verification.world_words import (
    APP_RULE,
    EVER,
    EXACT,
    FLOOR,
    NOTHING,
    PEAK,
    PRIVATE,
    SCALES,
    STATUS_QUO,
    UNITS,
    Label,
    advice,
    aim_table,
    gain_table,
)

FIRST_SEED = 17_001  # none of the seeds on which anything was chosen or trained
_SENT_HOME = {"policy.quarantine.capacity": 0.005}
# The share of people with symptoms who await their result at home is that of people who isolate
# after it.
_WAIT = {"policy.symptoms.waits_at_home": True, "policy.symptoms.adherence": 0.8}
# Rows of the table: a scenario, and what is changed in it.
CELLS: dict[str, tuple[str, dict[str, Any]]] = {
    "paper": ("paper", {}),
    "tests-4": ("tests-4", {}),
    "scarce": ("scarce", {}),
    "household": ("household", {}),
    "household, 1 % tests": ("household", {"tests.capacity": 0.01}),
    "quarantine": ("quarantine", {}),
    "quarantine, 0.5 % per day": ("quarantine", _SENT_HOME),
    "uk-2020-autumn": ("uk-2020-autumn", {}),
    "uk-2020-autumn, 0.5 % sent home per day": ("uk-2020-autumn", _SENT_HOME),
    "adoption-60": ("adoption-60", {}),
    "adoption-60, 0.5 % sent home per day": ("adoption-60", _SENT_HOME),
    "adoption-60, the ill wait at home": ("adoption-60", _WAIT),
    "adoption-60, both": ("adoption-60", _SENT_HOME | _WAIT),
    "variant": ("variant", {}),
    "school-term": ("school-term", {}),
}
_NEWS = {"method": "headcount", "release": "news", "privacy.unit": "person"}
METHODS: dict[str, dict[str, Any]] = {
    STATUS_QUO: {"method": "none"},
    "random": {"method": "random"},
    "public-only": {"method": "public-only"},
    "public-facts": {"method": "public-facts"},
    "fn": {"method": "fn", "method.own_rounds": 5},
    "fn (two rounds)": {"method": "fn", "method.own_rounds": 2},
    "tally": {"method": "tally"},
    "headcount": {"method": "headcount"},
    PRIVATE: _NEWS | {"epsilon": 5.0},
    EXACT: _NEWS | {"epsilon": 300.0},
    "oracle": {"method": "oracle"},
}
LEFT_OUT = ("public-only", "fn")  # unless asked for by name
FEW = (STATUS_QUO, FLOOR, PRIVATE, EXACT)  # where the ill wait at home
# The rule of notification apps instead of scores, where people have the app.
_APP_RULE = {"method": "none", "policy.notification.consent": 0.72}  # Wymant et al. 2021
WITH_APP_RULE = ("uk-2020-autumn", "adoption-60")
# Measured with a prototype on the same city, 3 to 7 seeds: peak in ‰, or ever infected in %.
PROTOTYPE: dict[tuple[str, str], tuple[str, float]] = {
    ("paper", "fn"): (PEAK, 1.1),
    ("paper", "tally"): (PEAK, 1.0),
    ("tests-4", "fn"): (PEAK, 89.0),
    ("tests-4", "fn (two rounds)"): (PEAK, 3.2),
    ("tests-4", "tally"): (PEAK, 21.0),
    ("tests-4", "oracle"): (PEAK, 0.5),
    ("scarce", STATUS_QUO): (PEAK, 208.0),
    ("scarce", "random"): (PEAK, 183.0),
    ("scarce", "tally"): (PEAK, 102.0),
    ("scarce", "fn"): (PEAK, 61.0),
    ("household", STATUS_QUO): (PEAK, 147.0),
    ("household", "tally"): (PEAK, 115.0),
    ("household", "fn"): (PEAK, 102.0),
    ("household, 1 % tests", "tally"): (PEAK, 47.0),
    ("household, 1 % tests", "fn"): (PEAK, 38.0),
    ("household, 1 % tests", "fn (two rounds)"): (PEAK, 25.0),
    ("quarantine", "tally"): (PEAK, 73.0),
    ("quarantine", "fn"): (PEAK, 21.0),
    ("quarantine", "fn (two rounds)"): (PEAK, 2.2),
    ("quarantine, 0.5 % per day", "tally"): (PEAK, 7.6),
    ("quarantine, 0.5 % per day", "fn"): (PEAK, 2.7),
    ("quarantine, 0.5 % per day", "fn (two rounds)"): (PEAK, 1.8),
    ("uk-2020-autumn", STATUS_QUO): (EVER, 55.1),
    ("uk-2020-autumn", "fn"): (EVER, 53.0),
    ("uk-2020-autumn", "tally"): (EVER, 53.0),
    ("uk-2020-autumn, 0.5 % sent home per day", "fn"): (EVER, 48.0),
    ("uk-2020-autumn, 0.5 % sent home per day", "tally"): (EVER, 48.0),
    ("adoption-60", STATUS_QUO): (EVER, 52.0),
    ("adoption-60", "fn"): (EVER, 43.0),
    ("adoption-60", "tally"): (EVER, 44.0),
    ("adoption-60, 0.5 % sent home per day", "fn"): (EVER, 29.0),
    ("adoption-60, 0.5 % sent home per day", "tally"): (EVER, 29.0),
}
# Columns of the table of costs, by quantity.
SHOWN_COSTS = ("tests_used", "isolation_person_days", "isolation_person_days_uninfected")
# Where the burden by age and household size is reported: where staying at home decides, for the
# first of these methods that was run.
BY_GROUP = "adoption-60, 0.5 % sent home per day"
OF_METHODS = (PRIVATE, "headcount", "tally", "fn (two rounds)")


def asked(call: Call) -> set[str]:
    if call.options.methods:
        return {STATUS_QUO, *call.options.methods.split(";")}
    return {*METHODS, APP_RULE} - set(LEFT_OUT)


def configurations(call: Call) -> dict[Label, RunConfig]:
    cells = [*call.some(list(CELLS), 3), *(["adoption-60"] if call.quick else [])]
    configs: dict[Label, RunConfig] = {}
    for cell in cells:
        scenario, changed = CELLS[cell]
        methods = METHODS | ({APP_RULE: _APP_RULE} if cell in WITH_APP_RULE else {})
        for name, chosen in methods.items():
            if name not in asked(call) or (changed.keys() >= _WAIT.keys() and name not in FEW):
                continue
            tiny = QUICK if call.quick else {}
            config = load_config(scenario=scenario, overrides=changed | chosen | tiny)
            configs[cell, name] = config
        configs[cell, NOTHING] = nothing_of(configs[cell, STATUS_QUO])
    return configs


def rows_of(study: Study[Label]) -> list[dict[str, Any]]:
    rows = []
    for cell, name in study.summaries:
        row: dict[str, Any] = {"scenario": cell, "method": name}
        for metric, scale in SCALES.items():
            found = study.spread((cell, name), metric, scale=scale)
            half = found.half_width if len(study.seeds) > 1 else None
            row |= {metric: found.mean, f"{metric}_half_width": half}
            row[f"{metric}_values"] = found.values.tolist()
        metric, measured = PROTOTYPE.get((cell, name), ("", None))
        row |= {"prototype": measured, "prototype_metric": metric}
        if name != NOTHING:
            baselines = {NOTHING: (cell, NOTHING)}
            baselines |= {STATUS_QUO: (cell, STATUS_QUO)} if name != STATUS_QUO else {}
            row["averted"] = averted(study, (cell, name), baselines)
        rows.append(row)
    return rows


def outcome_table(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    cells = []
    for row in rows:
        said = row["prototype"]
        prototype = "" if said is None else f"{said:g} {UNITS[row['prototype_metric']]}"
        both = [shown_spread(row[m], row[f"{m}_half_width"]) for m in SCALES]
        cells.append([row["scenario"], row["method"], *both, prototype])
    head = ["scenario", "method", "peak, ‰", "ever infected, %", "prototype"]
    return markdown_table(head, cells)


def cost_table(rows: Sequence[Mapping[str, Any]], against: str) -> list[str]:
    cells = []
    for row in rows:
        told = {r["quantity"]: r for r in row.get("averted", ()) if r["against"] == against}
        if not told:
            continue
        fewer = [_counted(told[f"{name} averted"]) for name in ("infections", "deaths")]
        fewer.append(_counted(told["hospital peak averted"]))
        each = [_priced(told[key]) for key in SHOWN_COSTS]
        cells.append([row["scenario"], row["method"], *fewer, *each])
    averted_names = ["infections averted", "deaths averted", "hospital peak lower by"]
    per = [
        f"{name} per infection averted" for name in ("tests", "days at home", "of these needless")
    ]
    return markdown_table(["scenario", "method", *averted_names, *per], cells)


def _counted(row: Mapping[str, Any]) -> str:
    if row["mean"] is None:
        return "–"
    if row["low"] is None:
        return shown(row["mean"])
    return f"{shown(row['mean'])} ({shown(row['low'])} to {shown(row['high'])})"


def _priced(row: Mapping[str, Any]) -> str:
    if row["per_infection_averted"] is None:
        return "–"
    if row["per_low"] is None:
        return f"{shown(row['per_infection_averted'])} (no bound)"
    mean, low, high = (shown(row[key]) for key in ("per_infection_averted", "per_low", "per_high"))
    return f"{mean} ({low} to {high})"


def group_table(study: Study[Label]) -> list[str]:
    cell = BY_GROUP
    name = next((name for name in OF_METHODS if (cell, name) in study.summaries), None)
    if name is None:
        return []
    rows = averted_by_group(study, (cell, name), {STATUS_QUO: (cell, STATUS_QUO)})
    shown = {"infections averted": 1000.0, "deaths averted": 1000.0}
    shown |= {"isolation_days_per_person": 1.0, "isolation_days_uninfected_per_person": 1.0}
    cells: dict[tuple[str, str], list[str]] = {}
    for row in (row for row in rows if row["quantity"] in shown):
        scale = shown[row["quantity"]]
        scaled = {k: None if row[k] is None else scale * row[k] for k in ("mean", "low", "high")}
        cells.setdefault((row["grouped_by"], row["group"]), []).append(_counted(scaled))
    head = ["by", "group", "infections averted, ‰", "deaths averted, ‰"]
    head += ["days at home per person", "of these needless"]
    return [
        f"## Who gains and who bears it: {name} in {cell}, against the status quo",
        "",
        *markdown_table(head, [[*group, *values] for group, values in cells.items()]),
    ]


NOTES = (
    "Decoders of `public-facts` and `headcount` were trained in these worlds, on other seeds "
    "(`dnatrace train --network world`), but for `paper` and `tests-4`, which have no levers; that "
    "of `tally` was not. Near the threshold runs are bistable (about 1 or above 100), so that "
    "intervals are wide: what is not told apart here may differ. Of ten comparisons without any "
    "difference one is told apart from 0 by chance.",
    "`nothing`: no intervention; `status quo`: the scenario's levers without tracing; `app rule`: "
    "those and quarantine for every contact of an app user who reports (72 % do). The other "
    "methods choose tests, and who is sent home where the scenario does that. `fn` and `app rule` "
    "are not private, `oracle` knows the truth; `tally` and `headcount`, the "
    "default, have ε = 1 per release, which is 5.02 per person for `headcount` and no bound for "
    "`tally`. `own tests counted, exact` is `headcount`, `news`, with next to no noise (ε = 300).",
    "`prototype`: measured before by other code on the same city, 3 to 7 seeds; peak or share.",
    "City of 10,000, 100 days. Averted and costs: paired by seed, 90 % intervals (Student-t; costs "
    "per infection averted: Fieller). Needless: days at home of people not in E or I.",
    "Runs of a store may come from several commits; each run's own is in its provenance.",
)


def main(arguments: Sequence[str] | None = None) -> int:
    options = parser(__doc__, seeds=4, first_seed=FIRST_SEED)
    options.add_argument("--methods", help="separated by semicolons; all, if absent")
    call = read_call(options, "verification.world", arguments)
    known = {*METHODS, APP_RULE}
    if unknown := asked(call) - known:
        options.error(f"no such method: {', '.join(sorted(unknown))}; there are {sorted(known)}")
    study = call.study(configurations(call))
    rows = rows_of(study)
    tables = ["## Question by question", "", *advice(study), ""]
    tables += ["Infections averted more, per 10,000 people; bold: told apart from 0.", ""]
    tables += [*gain_table(study), "", *aim_table(study)]
    tables += ["", "## Outcomes", "", *outcome_table(rows)]
    for against in (NOTHING, STATUS_QUO):
        tables += ["", f"## Averted and costs, against {against}", "", *cost_table(rows, against)]
    tables += ["", *group_table(study)]
    title = "The world: scenarios and methods"
    call.report(rows, title=title, notes=NOTES, first=head(study), tables=tables)
    return 0


if __name__ == "__main__":
    sys.exit(main())
