"""Put the parts together and write the page."""

import base64
import csv
import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from dnatrace import reference_data
from dnatrace._version import __version__
from dnatrace.files import replacing
from dnatrace.report import measures
from dnatrace.report.grouping import Group, Names, group_runs, short, written
from dnatrace.report.quantities import SUMMARY
from dnatrace.report.reading import flatten, read_runs
from dnatrace.runs.config import RunConfig

_PACKAGE = "dnatrace.report"


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """A page that was written.

    Attributes:
        path: where.
        runs: how many it tells of.
        settings: how many groups of runs that differ only in their seed.
        bytes: its size.
    """

    path: Path
    runs: int
    settings: int
    bytes: int


def write_report(directory: Path, out: Path | None = None) -> Report:
    """Write the page of a store of runs, or of one run; the same bytes for the same runs.

    Args:
        directory: a store, or the directory of a run.
        out: the page; `report.html` in the directory when None. Replaced whole or not at all.

    Raises:
        InputError: there is no run, a run is damaged, or the page cannot be written.
    """
    groups = group_runs(read_runs(directory))
    page = render(groups).encode("utf-8")
    path = directory / "report.html" if out is None else out
    with replacing(path) as temporary:
        temporary.write_bytes(page)
    return Report(
        path=path,
        runs=sum(len(group.runs) for group in groups),
        settings=len(groups),
        bytes=len(page),
    )


def render(groups: Sequence[Group]) -> str:
    """Return the page. Every text of the files is escaped; scripts run by their hash alone."""
    names = Names([group.runs[0] for group in groups])
    drawn = measures.curves(groups)
    data = {
        "methods": list(dict.fromkeys(group.method for group in groups)),
        "curves": drawn,
        "epsilon": measures.privacy_against_outcome(groups, names),
        "pareto": measures.trade_offs(groups),
        "burden": measures.burdens(groups),
    }
    styles = _asset("report.css")
    scripts = _asset("charts.js") + _asset("report.js")
    return (
        _environment()
        .get_template("report.html")
        .render(
            styles=styles,
            scripts=scripts,
            policy=_policy(styles, scripts),
            data=embedded(data),
            version=__version__,
            overview=_overview(groups),
            unsaid={short(key): written(value) for key, value in names.unsaid.items()},
            quantities=[measures.described(q) for q in SUMMARY],
            summaries=measures.summaries(groups),
            curves=drawn,
            curve_tables=measures.curve_tables(drawn),
            epsilon=data["epsilon"],
            pareto=data["pareto"],
            burden=data["burden"],
            robustness=measures.robustness(groups, names),
            privacy=_privacy(groups),
            statements=_statements(groups),
            ledgers=[{"label": g.label, **_ledger(g)} for g in groups],
            parameters=_parameters(groups),
            city=_city_facts(groups),
            provenance=_provenance(groups),
        )
    )


def embedded(data: Any) -> str:
    """Return JSON that cannot end the script element it stands in."""
    text = json.dumps(data, allow_nan=False, ensure_ascii=False, separators=(",", ":"))
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def _policy(styles: str, scripts: str) -> str:
    """Return a content security policy: no request to anywhere, no script or style but ours."""
    return (
        f"default-src 'none'; style-src '{_hash(styles)}'; script-src '{_hash(scripts)}'; "
        "base-uri 'none'; form-action 'none'"
    )


def _hash(text: str) -> str:
    digest = hashlib.sha256(text.encode("utf-8")).digest()
    return "sha256-" + base64.b64encode(digest).decode("ascii")


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader(_PACKAGE),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "at": measures.cell,
        "number": shown,
        "spread": shown_spread,
        "written": written,
    }
    return environment


def _asset(name: str) -> str:
    return resources.files(_PACKAGE).joinpath("templates", name).read_text("utf-8")


def shown(value: float | None) -> str:
    """Return a number with three significant digits; a dash for none."""
    if value is None:
        return "–"
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"


def shown_spread(numbers: dict[str, Any] | None) -> str:
    """Return mean ± half interval."""
    if numbers is None:
        return "–"
    half = numbers["half"]
    return shown(numbers["mean"]) + ("" if half is None else f" ± {shown(half)}")


def _overview(groups: Sequence[Group]) -> dict[str, Any]:
    runs = [run for group in groups for run in group.runs]
    seeds = sorted({len(group.runs) for group in groups})
    return {
        "runs": len(runs),
        "settings": len(groups),
        "seeds": _extent(seeds),
        "one_seed": seeds[0] == 1,
        "people": _extent(sorted({run.summary["people"] for run in runs})),
        "days": _extent(sorted({run.summary["days"] for run in runs})),
        "simulators": sorted({str(run.summary.get("simulator")) for run in runs}),
    }


def _extent(values: list[int]) -> str:
    low, high = f"{values[0]:,}", f"{values[-1]:,}"
    return low if low == high else f"{low} to {high}"


def _privacy(groups: Sequence[Group]) -> list[dict[str, Any]]:
    return [{"label": g.label, "true_epsilon": None} | g.privacy | _verdict(g) for g in groups]


def _verdict(group: Group) -> dict[str, str]:
    """Return what is to be thought of a group's guarantee, in words."""
    privacy = group.privacy
    if privacy.get("noise") is None:
        used = privacy["per_release_epsilon"] is None
        return {"verdict": "not private" if used else "no message is used"}
    return {"verdict": "proved" if privacy.get("sound") is True else "NOT SOUND"}


def _statements(groups: Sequence[Group]) -> list[dict[str, Any]]:
    """Return each text once, with the labels it holds for; of the first seed of a group."""
    labels: dict[str, list[str]] = {}
    for group in groups:
        labels.setdefault(group.runs[0].statement, []).append(group.label)
    return [
        {"labels": names, "paragraphs": [p for p in text.split("\n\n") if p.strip()]}
        for text, names in labels.items()
    ]


def _ledger(group: Group) -> dict[str, Any]:
    """Return the first seed's ledger, days of equal releases in one row."""
    ledger = group.runs[0].ledger
    rows: list[dict[str, Any]] = []
    for release in ledger["releases"]:
        entry = {k: v for k, v in release.items() if k not in ("day", "spent") and v is not None}
        if rows and rows[-1]["entry"] == entry and rows[-1]["last"] == release["day"] - 1:
            rows[-1] |= {"last": release["day"], "spent": release.get("spent")}
        else:
            day = release["day"]
            rows.append({"entry": entry, "first": day, "last": day, "spent": release.get("spent")})
    return {"seed": group.runs[0].seed, "spent": ledger["spent"], "rows": rows}


def _parameters(groups: Sequence[Group]) -> list[dict[str, Any]]:
    """Return every setting of the runs: its values here, default, meaning and source."""
    text = resources.files(_PACKAGE).joinpath("parameters.csv").read_text("utf-8")
    known = {row["key"]: row for row in csv.DictReader(text.splitlines())}
    defaults = flatten(RunConfig().as_dict())
    rows = []
    for key in dict.fromkeys(key for group in groups for key in group.settings):
        values = list(dict.fromkeys(written(group.settings.get(key)) for group in groups))
        entry = known.get(key, {"meaning": _description(key), "source": ""})
        rows.append(
            {
                "key": key,
                "values": values,
                "default": written(defaults[key]) if key in defaults else "–",
                "meaning": entry["meaning"],
                "source": entry["source"],
            }
        )
    return rows


def _description(key: str) -> str:
    """Return what the configuration itself says of a setting."""
    section, _, name = key.rpartition(".")
    fields: Any = RunConfig.model_fields
    if section in fields:
        fields = getattr(fields[section].annotation, "model_fields", {})
    return (fields[name].description or "") if name in fields else ""


def _city_facts(groups: Sequence[Group]) -> list[dict[str, str]]:
    """Return the figures of the city, when a run took place in it."""
    simulators = {run.summary.get("simulator") for group in groups for run in group.runs}
    return reference_data.read_table("parameters.csv") if "city" in simulators else []


def _provenance(groups: Sequence[Group]) -> dict[str, Any]:
    runs = [(group.label, run) for group in groups for run in group.runs]
    libraries: dict[str, dict[str, None]] = {}
    for _, run in runs:
        found = run.provenance.get("libraries")
        listed = found if isinstance(found, dict) else {}
        for name, version in {"python": run.provenance.get("python"), **listed}.items():
            libraries.setdefault(str(name), {})[written(version)] = None
    codes = {(str(r.provenance.get("dnatrace")), str(r.provenance.get("commit"))) for _, r in runs}
    return {
        "libraries": {name: list(versions) for name, versions in libraries.items()},
        "codes": sorted(codes),
        "runs": [
            {
                "label": label,
                "seed": run.seed,
                "digest": run.provenance.get("config_digest"),
                "version": run.provenance.get("dnatrace"),
                "commit": run.provenance.get("commit"),
            }
            for label, run in runs
        ],
    }
