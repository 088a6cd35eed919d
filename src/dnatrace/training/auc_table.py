"""The AUC table: which models, on which samples, and how it is shown."""

import logging
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from dnatrace._version import __version__
from dnatrace.errors import InputError
from dnatrace.networks.architecture import Architecture
from dnatrace.networks.decoder import is_decoder
from dnatrace.networks.model_file import SUFFIX
from dnatrace.networks.runtime import DEFAULT_MODEL, Model, load_model, model_path
from dnatrace.runs.progress import Track
from dnatrace.sweeps.results import as_json, as_text, markdown_table, origin, write_all
from dnatrace.training import evaluation
from dnatrace.training import generate as training_data
from dnatrace.training.dataset import read_info, read_samples
from dnatrace.training.evaluation import DELTA, EPSILON, GROUPS, Area, Row, TestData

_LOG = logging.getLogger(__name__)
SMALL_PEOPLE, SMALL_DAYS, SMALL_SEED = 8000, 80, 7900

_NAMES = {
    "fn": "FN",
    "network": "network alone",
    "combined": "FN + network",
    "public_only": "public-only network",
}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class AucTable:
    """A table and what it was made from."""

    model: Model
    models: tuple[Model, ...]
    data: TestData
    rows: tuple[Row, ...]

    def as_json(self) -> dict[str, Any]:
        """Return the areas of the requested model, and all rows."""
        samples = self.data.samples
        groups = [_areas(self.rows, group, self.model) for group in GROUPS]
        return {
            "auc": groups[0],
            "auc_not_isolated": groups[1],
            "published": dict(evaluation.PUBLISHED),
            "rows": [_row_json(row) for row in self.rows],
            "models": [{"name": short_name(m)} | _model_json(m) for m in self.models],
            "samples": len(samples),
            "positives": int(samples.infected.sum()),
            "data": self.data.description,
            "data_digest": self.data.digest,
            "confidence": evaluation.CONFIDENCE,
            "epsilon": EPSILON,
            "delta": DELTA,
            "version": __version__,
        }


def choose_models(model: str | None) -> tuple[Model, ...]:
    """Return a model and the others in its directory, itself first.

    A table also needs the network alone and the one without messages, and `dnatrace train` writes
    them into one directory. Of two models of one architecture, the first by name counts; files that
    are not complete models are skipped, unless asked for.
    """
    path = model_path(model or DEFAULT_MODEL)
    first = load_model(model or DEFAULT_MODEL)
    chosen = {_place(first.architecture): first}
    for other in sorted(path.parent.glob(f"*{SUFFIX}")):
        if other.resolve() == path.resolve():
            continue
        try:
            if is_decoder(other):
                continue
            beside = load_model(other)
        except InputError as error:
            _LOG.warning("passed over: %s", error)
            continue
        chosen.setdefault(_place(beside.architecture), beside)
    mine = _place(first.architecture)
    # Models with the requested network, γ and target come before others.
    rest = sorted(chosen.items(), key=lambda item: (item[0][:3] != mine[:3], item[0]))
    return (first, *(model for _, model in rest if model is not first))


def short_name(model: Model) -> str:
    """Return the name of a model without directory and suffix, however it was given."""
    return Path(model.name).name.replace(SUFFIX, "")


def _place(a: Architecture) -> tuple[str, float, bool, str]:
    """Return what distinguishes the models of a table: network, γ, target, variant."""
    return str(a.kind), a.gamma, a.with_exposed, str(a.variant)


def read_test_data(directory: Path) -> TestData:
    """Return the test split of a dataset."""
    info = read_info(directory)
    runs = info.origin.get("runs", {}).get("test", {})
    size = f"{info.origin.get('people', 0):,} people, {info.origin.get('days', 0)} days"
    seeds = tuple(runs.get("seeds", ()))
    return TestData(
        samples=read_samples(directory, "test"),
        parameters=info.parameters,
        test_errors=info.test_errors,
        others_kept=info.others_kept("test"),
        description=f"test split, policy {info.origin.get('policy')}, {size}, seeds {list(seeds)}",
        digest=info.digest,
        seeds=seeds,
    )


def small_test_data(
    *, people: int = SMALL_PEOPLE, days: int = SMALL_DAYS, track: Track | None = None
) -> TestData:
    """Return samples of a small run on a seed that no dataset uses by default; takes seconds."""
    seeds = {"train": (SMALL_SEED + 1,), "validation": (SMALL_SEED + 2,), "test": (SMALL_SEED,)}
    plan = training_data.plan_dataset(people=people, days=days, seeds=seeds)
    samples, kept = training_data.collect_split(plan, "test", track=track)
    return TestData(
        samples=samples,
        parameters=plan.config.seir.parameters,
        test_errors=plan.config.tests.believed,
        others_kept=kept,
        description=(
            f"SMALL VERSION: a run made for the occasion, policy {plan.config.method.name}, "
            f"{people:,} people, {days} days, seed {SMALL_SEED}: intervals are wide"
        ),
        digest=None,
        seeds=(SMALL_SEED,),
    )


def make_table(
    models: tuple[Model, ...], data: TestData, *, resamplings: int = evaluation.RESAMPLINGS
) -> AucTable:
    """Return the table of these models on these samples; the first model is the main one."""
    for model in models:
        _check_model(model, data)
    rows = evaluation.evaluate(data, models, resamplings=resamplings)
    return AucTable(model=models[0], models=models, data=data, rows=tuple(rows))


def _check_model(model: Model, data: TestData) -> None:
    """Raise if a model has seen the test runs, or was trained for another p1."""
    runs = model.provenance.get("dataset", {}).get("origin", {}).get("runs", {})
    learned = [s for split in ("train", "validation") for s in runs.get(split, {}).get("seeds", ())]
    seen = set(learned) & set(data.seeds)
    if seen:
        raise InputError(f"model '{model.name}' was trained on seed {min(seen)}, which is tested")
    trained = model.provenance.get("parameters", {}).get("p1", data.parameters.p1)
    if trained != data.parameters.p1:
        raise InputError(
            f"model '{model.name}' was trained with p1 = {trained:g}, "
            f"the data has p1 = {data.parameters.p1:g}"
        )


def _areas(rows: tuple[Row, ...], group: str, model: Model) -> dict[str, Any]:
    kind, gamma, with_exposed, _ = _place(model.architecture)
    same = (gamma, evaluation.target_name(with_exposed))
    mine = [
        r
        for r in rows
        if r.group == group
        and (r.gamma, r.target) == same
        and r.network in ("", kind)
        and not r.detail
    ]
    before, after = (dict.fromkeys(_NAMES, _plain(None)) for _ in range(2))
    for row in mine:
        (before if row.projection == "before" else after)[row.prediction] = _plain(row.area)
    return {
        **{name: after[name][0] for name in _NAMES},
        "intervals": {name: after[name][1] for name in _NAMES},
        "before_projection": {name: before[name][0] for name in _NAMES if name != "fn"},
        "after_projection": {name: after[name][0] for name in _NAMES if name != "fn"},
    }


def _plain(area: Area | None) -> tuple[float | None, list[float] | None]:
    """Return value and interval of an area."""
    return (None, None) if area is None else (area.value, [area.low, area.high])


def _row_json(row: Row) -> dict[str, Any]:
    values = asdict(row)
    for name in ("area", "gain"):
        values[name], values[f"{name}_interval"] = _plain(getattr(row, name))
    return values


def _model_json(model: Model) -> dict[str, Any]:
    a = model.architecture
    return {
        "network": str(a.kind),
        "variant": str(a.variant),
        "gamma": a.gamma,
        "lipschitz": model.lipschitz,
        "lipschitz_before_projection": model.before_projection().lipschitz,
        "digest": model.certificate.digest,
    }


def table_rows(table: AucTable, group: str) -> list[dict[str, str]]:
    """Return the rows of a group as text, areas in percent."""
    return [
        {
            "prediction": _label(row),
            "network": f"{row.network}, {row.projection}" if row.network else "",
            "γ": f"{row.gamma:g}",
            "target": row.target,
            "AUC": _percent(row.area),
            "over FN": _percent(row.gain, signed=True) if row.network else "",
            "paper": "" if row.published is None else f"{100 * row.published:.1f}",
        }
        for row in table.rows
        if row.group == group
    ]


def _label(row: Row) -> str:
    noise = {"noise": f"noise, ε = {EPSILON:g}"}
    detail = noise.get(row.detail, row.detail)
    return _NAMES[row.prediction] + (f", {detail}" if detail else "")


def _percent(area: Area | None, *, signed: bool = False) -> str:
    if area is None:
        return "–"
    sign = "+" if signed else ""
    value, low, high = (f"{100 * x:{sign}.1f}" for x in (area.value, area.low, area.high))
    return f"{value} [{low}, {high}]"


def as_markdown(table: AucTable) -> bytes:
    """Return the table as a page."""
    samples = table.data.samples
    lines = [
        "# AUC of the predictions",
        "",
        f"Produced by `dnatrace evaluate`, commit {origin()['commit'] or 'unknown'}. "
        "Areas under the ROC curve in percent, with "
        f"{100 * evaluation.CONFIDENCE:.0f} % intervals over resampled people, of person-days in "
        "the target's state against all others. Networks before and after projection; `over FN` is "
        "the gain over FN with the same γ and target.",
        "",
        f"Data: {table.data.description}; {len(samples):,} samples, "
        f"{int(samples.infected.sum()):,} in state I, "
        f"{100 * samples.isolated.mean():.0f} % in isolation.",
        "",
        f"Noise: Gaussian for ε = {EPSILON:g}, δ = {DELTA:g} and the sensitivity p1·γ·(1 + L/C) "
        "that Algorithm 1 of the paper states, scores then clipped to [0, γ]. "
        "The published figures are of OpenABM-Covid19.",
    ]
    for group in GROUPS:
        rows = table_rows(table, group)
        lines += ["", f"## Over {group if group == 'everybody' else 'people not isolated'}", ""]
        lines += markdown_table(list(rows[0]), [list(row.values()) for row in rows])
    return as_text(lines)


def check_page(path: Path) -> None:
    """Raise, before the work is done, if the page cannot be written."""
    if path.suffix != ".md":
        raise InputError(f"{path}: the name must end in .md")
    if not path.parent.is_dir():
        raise InputError(f"{path.parent}: no such directory to write to")


def write_page(table: AucTable, path: Path) -> None:
    """Write the table as Markdown, and as JSON next to it."""
    check_page(path)
    page = {path.name: as_markdown(table), f"{path.stem}.json": as_json(table.as_json())}
    write_all(page, path.parent)
