"""What is compared: configurations, some with an object instead of their method, and labels."""

import json
from collections.abc import Mapping, Sequence
from numbers import Real
from typing import Any

import numpy as np

from dnatrace.errors import (
    InputError,
    require_at_least,
    require_callable,
    require_path,
    require_text,
    require_whole,
)
from dnatrace.runs.config import RunConfig
from dnatrace.runs.nesting import flatten
from dnatrace.runs.run import require_config
from dnatrace.sweeps.sweep import check_seeds

# A configuration, or one with an object that replaces its method, and a name for the object.
Entry = RunConfig | tuple[RunConfig, Any] | tuple[RunConfig, Any, str]


def name_of(entry: tuple[Any, ...]) -> str | None:
    """Return the name of an object, if it has one."""
    return entry[2] if len(entry) > 2 else None


def check(configs: Any) -> None:
    """Raise unless these are several configurations, some of them with an object."""
    several = [*configs.values()] if isinstance(configs, Mapping) else configs
    for entry in several if isinstance(several, list | tuple) else [several]:
        config = entry[0] if isinstance(entry, tuple) and len(entry) in (2, 3) else entry
        require_config(config, "dt.compare takes a list of configurations")
    if not isinstance(several, list | tuple):
        raise InputError("dt.compare takes a list of configurations, or a dict by label, not one")
    labels = [*configs] if isinstance(configs, Mapping) else []
    for kind in (str, Real):  # a column of a table holds one of them
        if labels and all(isinstance(label, kind) for label in labels):
            return
    if labels:
        raise InputError(f"labels: give texts, or numbers alone, not {labels!r}")


def checked_seeds(given: Any) -> tuple[int, ...]:
    """Return the seeds of a list or array; raise unless they are distinct whole numbers."""
    seeds = given.tolist() if isinstance(given, np.ndarray) else given
    if not isinstance(seeds, Sequence) or isinstance(seeds, bytes | str):
        raise InputError(f"seeds: give a list such as [1, 2, 3], not {given!r}")
    check_seeds(seeds)
    return tuple(map(int, seeds))


def check_where(*, workers: Any, cluster: Any, store: Any, track: Any) -> None:
    """Raise unless these are a number of processes, an address, a path and a function, or None."""
    require_whole(workers=workers)
    if workers is not None:
        require_at_least("workers", workers, 1)
    require_text(cluster=cluster)
    require_path(store=store)
    require_callable(track=track)


def config_of(entry: Entry) -> RunConfig:
    """Return the configuration of an entry."""
    return entry[0] if isinstance(entry, tuple) else entry


def labelled(entries: Sequence[Entry]) -> dict[str, Entry]:
    """Return entries by what differs between them."""
    settings = [flatten(config_of(entry).effective()) | {"seed": None} for entry in entries]
    differing = [
        key
        for key in dict.fromkeys(key for values in settings for key in values)
        if len({json.dumps(values[key]) for values in settings if key in values}) > 1
    ]
    labelled: dict[str, Entry] = {}
    for entry, values in zip(entries, settings, strict=True):
        parts = [name_of(entry) or type(entry[1]).__name__] if isinstance(entry, tuple) else []
        for key in differing:
            if key == "method.name":
                parts += [] if isinstance(entry, tuple) else [values[key]]
            elif key in values:
                parts.append(f"{key.rpartition('.')[2]}={values[key]}")
        label = ", ".join(parts) or values["method.name"]
        n_same = sum(other.partition(" #")[0] == label for other in labelled)
        labelled[f"{label} #{n_same + 1}" if n_same else label] = entry
    return labelled
