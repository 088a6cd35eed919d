"""The runs of a sweep by their setting, and what a store has of them."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from dnatrace.runs import store as stores
from dnatrace.runs.config import RunConfig
from dnatrace.sweeps.entries import labelled
from dnatrace.sweeps.stored import read_found
from dnatrace.sweeps.study import Study


def stored_study(
    configs: Sequence[RunConfig], store: Path, worlds: Mapping[str, str] | None = None
) -> Study[str]:
    """Return the part of a sweep that is in a store, labelled by what differs.

    Settings with a missing run are left out: a mean over other seeds is a different mean. `worlds`
    are the scenarios of configurations by digest, as `read_worlds` returns them.
    """
    study: Study[str] = Study(seeds=tuple(dict.fromkeys(c.seed for c in configs)), summaries={})
    for label, runs in by_label(configs, worlds).items():
        paths = [store / config.digest for config in runs]
        if all(map(stores.is_complete, paths)):
            found = [read_found(path) for path in paths]
            study.summaries[label] = [summary for summary, _ in found]
            study.groups[label] = [groups for _, groups in found]
    return study


def by_label(
    configs: Sequence[RunConfig], worlds: Mapping[str, str] | None = None
) -> dict[str, list[RunConfig]]:
    """Return the runs of each setting of a sweep, by the label of the setting."""
    together: dict[str, list[RunConfig]] = {}
    for config in configs:
        key = json.dumps(config.effective() | {"seed": None}, sort_keys=True)
        together.setdefault(key, []).append(config)
    firsts = [runs[0] for runs in together.values()]
    labels = labelled(firsts, [worlds.get(c.digest) for c in firsts] if worlds else None)
    return dict(zip(labels, together.values(), strict=True))


def first_by_label(
    configs: Sequence[RunConfig], worlds: Mapping[str, str] | None = None
) -> dict[str, RunConfig]:
    """Return the first run of each setting of a sweep, by the label of the setting."""
    return {label: runs[0] for label, runs in by_label(configs, worlds).items()}
