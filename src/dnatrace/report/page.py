"""Assemble the parts and write the page."""

import base64
import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from dnatrace._version import __version__
from dnatrace.errors import InputError
from dnatrace.files import check_file, keep_inputs, replacing
from dnatrace.report import measures
from dnatrace.report.answering import overall
from dnatrace.report.grouping import Group, group_runs, labelled
from dnatrace.report.reading import read_runs
from dnatrace.runs import quantities
from dnatrace.runs.guarantees import scores_noised
from dnatrace.runs.parameters import Setting, described_settings
from dnatrace.runs.presentation import noise_that_protects_nobody, target_words
from dnatrace.runs.quantities import EPSILONS, SUMMARY, shown
from dnatrace.runs.store import is_complete, stored_runs
from dnatrace.simulators.catalogue import SIMULATORS
from dnatrace.sweeps.extent import told_apart
from dnatrace.sweeps.naming import Names, short, written

_PACKAGE = "dnatrace.report"
_GENERATOR, _HEAD_BYTES = b'<meta name="generator" content="dnatrace ', 4096
_UNSIGNED = '<meta name="dnatrace-page" content="0000000000000000">'
_RUN_NAME = re.compile(rb"<td><code>([0-9a-f]{16})</code></td>")  # of each run on a page
SIMULATED = "SIMULATION: proved for ideal noise, the noise of the runs protects nobody"


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """A page that was written.

    Attributes:
        path: where the page is.
        runs: how many runs count on it.
        settings: how many groups of runs that differ only in their seed it has.
        bytes: its size.
        baseline: the label of the chosen baseline, as the page has it; None for none.
        differences: the differences from it, one row per other setting.
        other_extent: lines that name the settings of other length or size than the baseline.
        left_out: names of runs that could not be read.
        repeated: names of runs with the settings and the seed of another one, which counts.
        unsaid: what labels leave out.
    """

    path: Path
    runs: int
    settings: int
    bytes: int
    baseline: str | None
    differences: list[dict[str, Any]]
    other_extent: list[str]
    left_out: list[str]
    repeated: list[str]
    unsaid: str


def write_report(directory: Path, out: Path | None = None, baseline: str | None = None) -> Report:
    """Write the page of a store of runs, or of one run; the same bytes for the same runs.

    Args:
        directory: a store, or the directory of a run.
        out: the page; `report.html` in the directory when None. Replaced whole or not at all.
        baseline: the label of the setting with which the page compares the others when it is
            opened, or the label that a person gave to one of its runs.

    Raises:
        InputError: there is no run that can be read or no such label, or the page cannot be
            written.
    """
    runs, left_out = read_runs(directory)
    path = directory / "report.html" if out is None else out
    if out is None:
        check_file(path)
    else:
        if out.suffix not in (".html", ".htm"):
            raise InputError(f"{out}: the name must end in .html")
        read = (p for n in ("*", "*/*") for p in directory.glob(n) if p.suffix != ".html")
        keep_inputs(out, read)
    groups = group_runs(runs)
    chosen = None if baseline is None else labelled(groups, baseline)
    extents = {group.label: group.extent for group in groups}
    page = render(groups, chosen, left_out).encode("utf-8")
    with replacing(path) as temporary:
        temporary.write_bytes(page)
    return Report(
        path=path,
        runs=sum(len(group.runs) for group in groups),
        settings=len(groups),
        bytes=len(page),
        baseline=None if chosen is None else chosen.label,
        differences=[] if chosen is None else measures.differences(groups, chosen),
        other_extent=[] if chosen is None else told_apart(extents, chosen.label),
        left_out=left_out,
        repeated=_repeated(groups),
        unsaid=_unsaid(groups),
    )


def _unsaid(groups: Sequence[Group]) -> str:
    """Return in words what labels leave out; empty if that is nothing."""
    left_out = Names([group.settings for group in groups]).unsaid
    return ", ".join(f"{short(key)} {written(value)}" for key, value in left_out.items())


def _repeated(groups: Sequence[Group]) -> list[str]:
    again = [run for group in groups for run in group.repeated]
    return sorted(str(run.provenance.get("config_digest")) for run in again)


def render(
    groups: Sequence[Group], baseline: Group | None = None, left_out: Sequence[str] = ()
) -> str:
    """Return the page. All text from files is escaped; only scripts with known hashes run."""
    names = Names([group.settings for group in groups])
    results, curves = measures.results(groups), measures.curves(groups)
    data = {
        "methods": list(dict.fromkeys(group.method for group in groups)),
        "results": results,
        "curves": curves,
        "epsilon": measures.privacy_against_outcome(groups, names, results["rows"]),
        "burden": measures.burdens(groups),
    }
    styles = asset("report.css")
    scripts = "".join(asset(name) for name in ("scales.js", "charts.js", "report.js"))
    page = environment().get_template("report.html")
    text = page.render(
        **data,
        groups=groups,
        baseline=baseline,
        left_out=left_out,
        repeated=_repeated(groups),
        styles=styles,
        scripts=scripts,
        policy=security_policy(styles, scripts),
        data=embedded(data),
        version=__version__,
        overview=_overview(groups),
        answer=overall(groups),
        unsaid=_unsaid(groups),
        table_days=measures.table_days(curves),
        robustness=measures.robustness(groups, names),
        summary=SUMMARY,
        epsilons=EPSILONS,
        privacy=[_privacy(group) for group in groups],
        statements=_statements(groups),
        ledgers=[_ledger(group) for group in groups],
        parameters=_parameters(groups),
        figures=_figures(groups),
        provenance=_provenance(groups),
    )
    return _signed(text)


def _privacy(group: Group) -> dict[str, Any]:
    """Return what the table of privacy shows of a setting; costs that still grow are so far."""
    privacy = group.privacy
    return {
        "label": group.label,
        "verdict": _verdict(group),
        "target": target_words(privacy),
        "so_far": group.so_far,
        **privacy,
    }


def embedded(data: Any) -> str:
    """Return JSON that cannot end the script element it is embedded in."""
    text = json.dumps(data, allow_nan=False, ensure_ascii=False, separators=(",", ":"))
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def security_policy(styles: str, scripts: str = "") -> str:
    """Return a content security policy: no requests anywhere, no scripts or styles but ours."""
    scripted = f"script-src '{_hash(scripts)}'; " if scripts else ""
    return (
        f"default-src 'none'; style-src '{_hash(styles)}'; {scripted}"
        "base-uri 'none'; form-action 'none'"
    )


def _hash(text: str) -> str:
    digest = hashlib.sha256(text.encode("utf-8")).digest()
    return "sha256-" + base64.b64encode(digest).decode("ascii")


@cache
def environment(package: str = _PACKAGE) -> Environment:
    """Return what renders the templates of a package; every text is escaped."""
    made = Environment(
        loader=PackageLoader(package),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters |= {
        "at": measures.cell,
        "number": shown,
        "spread": shown_spread,
        "written": written,
    }
    return made


def asset(name: str) -> str:
    """Return a style sheet or a script of the page."""
    return resources.files(_PACKAGE).joinpath("templates", name).read_text("utf-8")


def shown_spread(numbers: Mapping[str, Any] | None) -> str:
    """Return mean ± half-width."""
    if numbers is None:
        return "–"
    return quantities.shown_spread(numbers["mean"], numbers["half"])


def shown_difference(numbers: Mapping[str, Any] | None) -> str:
    """Return a difference with its sign."""
    if numbers is None:
        return "–"
    return quantities.shown_difference(numbers["mean"], numbers["half"])


def _overview(groups: Sequence[Group]) -> dict[str, Any]:
    runs = [run for group in groups for run in group.runs]
    seeds = sorted({len(group.runs) for group in groups})
    return {
        "runs": len(runs),
        "settings": len(groups),
        "seeds": _extent(seeds),
        "one_seed": seeds[0] == 1,
        "people": _extent(sorted({run.summary["people"] for run in runs})),
        "days": _extent(sorted({run.daily["day"].size for run in runs})),
        "simulators": sorted({str(run.summary.get("simulator", "–")) for run in runs}),
    }


def _extent(values: list[int]) -> str:
    low, high = f"{values[0]:,}", f"{values[-1]:,}"
    return low if low == high else f"{low} to {high}"


def _verdict(group: Group) -> str:
    """Return a verdict on a group's guarantee, in words."""
    privacy = group.privacy
    if "noise" not in privacy:
        return "–"
    if not scores_noised(privacy):
        return "not private" if privacy["per_release_epsilon"] is None else "no message is used"
    if privacy.get("sound") is not True:
        return "NOT SOUND"
    if privacy.get("protects", privacy["noise"] == "secure"):
        return "proved"
    if privacy["noise"] in (privacy.get("simulated") or {"": privacy["noise"]}).values():
        return SIMULATED  # that of every part
    return (
        f"SIMULATION: proved for ideal noise, {noise_that_protects_nobody(privacy)} protects nobody"
    )


def _statements(groups: Sequence[Group]) -> list[dict[str, Any]]:
    """Return each text once, with the labels it applies to; from the first seed of a group."""
    labels: dict[str, list[str]] = {}
    for group in groups:
        labels.setdefault(group.runs[0].statement, []).append(group.label)
    return [
        {"labels": names, "paragraphs": [p for p in text.split("\n\n") if p.strip()]}
        for text, names in labels.items()
    ]


def _ledger(group: Group) -> dict[str, Any]:
    """Return the first seed's ledger, with days of equal releases in one row."""
    rows: list[dict[str, Any]] = []
    for release in group.runs[0].ledger["releases"]:
        day, spent = release["day"], release.get("spent")
        entry = {k: v for k, v in release.items() if k not in ("day", "spent") and v is not None}
        if rows and rows[-1]["entry"] == entry and rows[-1]["last"] == day - 1:
            rows[-1] |= {"last": day, "spent": spent}
        else:
            rows.append({"entry": entry, "first": day, "last": day, "spent": spent})
    return {"label": group.label, "seed": group.runs[0].seed, "rows": rows}


def _parameters(groups: Sequence[Group]) -> list[dict[str, Any]]:
    """Return every setting but the seed, with its values in the groups where it has an effect."""
    known, unknown = described_settings(), Setting(meaning="", source="", default="–")
    keys = dict.fromkeys([*known, *(key for group in groups for key in group.settings)])
    return [
        {
            "key": key,
            "setting": known.get(key, unknown),
            "values": {written(g.settings[key]): None for g in groups if key in g.settings},
        }
        for key in keys
        if key != "seed"
    ]


def _figures(groups: Sequence[Group]) -> list[dict[str, str]]:
    """Return the published figures of the simulators in which runs took place."""
    names = {run.summary.get("simulator") for group in groups for run in group.runs}
    return [row for kind in SIMULATORS if kind.title() in names for row in kind.figures()]


def _provenance(groups: Sequence[Group]) -> dict[str, Any]:
    """Return how many versions of the code made the runs, and which libraries they used."""
    libraries: dict[str, dict[str, None]] = {}
    codes = set()
    for origin in (run.provenance for group in groups for run in group.runs):
        codes.add((str(origin.get("dnatrace")), str(origin.get("commit"))))
        found = origin.get("libraries")
        listed = found if isinstance(found, dict) else {}
        for name, version in {"python": origin.get("python"), **listed}.items():
            libraries.setdefault(str(name), {})[written(version)] = None
    return {"codes": len(codes), "libraries": libraries}


def _signed(text: str) -> str:
    """Return a page that says by its digest whether somebody has edited it since."""
    return text.replace(_UNSIGNED, _UNSIGNED.replace("0" * 16, _digest(text)), 1)


def _digest(text: str) -> str:
    return hashlib.blake2b(text.encode("utf-8"), digest_size=8).hexdigest()


def _is_as_written(page: bytes) -> bool:
    """Whether nobody has edited a page; older versions did not sign theirs."""
    text = page.decode("utf-8", "replace")
    found = re.search(_UNSIGNED.replace("0" * 16, "([0-9a-f]{16})"), text)
    return found is None or _digest(text.replace(found[0], _UNSIGNED, 1)) == found[1]


def is_page_of(path: Path, directory: Path) -> bool:
    """Whether a file is a page that this package wrote of this store: every run on it is there.

    A page that somebody has edited is theirs.
    """
    if not path.is_file():
        return False
    with path.open("rb") as file:
        head = file.read(_HEAD_BYTES)
        page = head + file.read() if _GENERATOR in head else b""
    own = path.resolve().parent == directory.resolve()  # the page that a store keeps of itself
    names = [directory] if is_complete(directory) else stored_runs(directory)
    shown = set(_RUN_NAME.findall(page))
    if not page or not _is_as_written(page):
        return False
    return own or (bool(shown) and shown <= {one.name.encode() for one in names})
