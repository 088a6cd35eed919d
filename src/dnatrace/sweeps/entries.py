"""What is compared: configurations, some with an object instead of their method, and labels."""

import logging
import re
from collections.abc import Hashable, Iterable, Mapping, Sequence
from numbers import Real
from typing import Any

import numpy as np

from dnatrace.errors import (
    InputError,
    closest,
    require_at_least,
    require_callable,
    require_path,
    require_text,
    require_whole,
    shown,
)
from dnatrace.runs.config import RunConfig
from dnatrace.runs.nesting import flatten
from dnatrace.runs.run import require_config
from dnatrace.sweeps.extent import Extent, told_apart
from dnatrace.sweeps.naming import METHOD, Names, short, written
from dnatrace.sweeps.sweep import check_seeds

_LOG = logging.getLogger(__name__)
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
    _check_names([entry for entry in several if isinstance(entry, tuple)])
    labels = [*configs] if isinstance(configs, Mapping) else []
    for kind in (str, Real):  # a column of a table holds one of them
        if labels and all(isinstance(label, kind) for label in labels):
            return
    if labels:
        raise InputError(f"labels: give texts, or numbers alone, not {shown(labels)}")


def tell_of_pairs(configs: Mapping[Any, Entry], baseline: Any = None) -> None:
    """Report labels that are the same run, and those that no difference can be taken of.

    A pair of labels is one run where what differs between them has no effect: with a method that
    adds no noise any two ε. Different people or days make a difference that is not one of policies.
    """
    runs: dict[str, Any] = {}
    plain = {key: entry for key, entry in configs.items() if isinstance(entry, RunConfig)}
    for label, config in plain.items():
        first = runs.setdefault(config.model_copy(update={"seed": 0}).digest, label)
        if first != label:
            _LOG.warning(
                "%r and %r are the same run: what differs between them has no effect", first, label
            )
    sizes = {label: config_of(entry) for label, entry in configs.items()}
    if not sizes:
        return
    extents = {
        label: Extent(people=config.n_people, days=config.days) for label, config in sizes.items()
    }
    usual = next(iter(sizes)) if baseline is None else baseline
    called = f"{usual}" if baseline is None else "the baseline"
    for line in told_apart(extents, usual, called=called):
        _LOG.warning("%s", line)


def _check_names(entries: Sequence[tuple[Any, ...]]) -> None:
    """Raise if two objects have one name, since a name stands for all runs of an object."""
    named: dict[str, Any] = {}
    for entry in entries:
        name = name_of(entry)
        if name is not None and named.setdefault(name, entry[1]) is not entry[1]:
            raise InputError(f"name '{name}': two objects have it, and a name identifies runs")


def checked_seeds(given: Any) -> tuple[int, ...]:
    """Return the seeds of a list or array; raise unless they are distinct whole numbers."""
    seeds = given.tolist() if isinstance(given, np.ndarray) else given
    if not isinstance(seeds, Sequence) or isinstance(seeds, bytes | str):
        raise InputError(f"seeds: give a list such as [1, 2, 3], not {shown(given)}")
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


def labelled(
    entries: Sequence[Entry], scenarios: Sequence[str | None] | None = None
) -> dict[str, Entry]:
    """Return entries by what differs between them, named as in the report.

    `scenarios` are those of the entries, where they are known.
    """
    settings = [_settings(entry) for entry in entries]
    return dict(zip(Names(settings, scenarios).unique(settings), entries, strict=True))


def meant(label: str, entries: Mapping[str, Entry], what: str = "baseline") -> str:
    """Return the label that a person means, however it is typed; raise unless there is one."""
    settings = {name: _settings(entry) for name, entry in entries.items()}
    found = Names([*settings.values()]).meant(label, settings)
    if len(found) == 1:
        return found[0]
    known = "; ".join(found or entries)
    if found:
        raise InputError(f"{what} '{label}' is the label of several settings: {known}")
    raise InputError(f"{what} '{label}' is not among the settings: {known}")


def unsaid(entries: Sequence[Entry]) -> str:
    """Return in words what labels leave out because it is usual; empty if that is nothing."""
    usual = Names([_settings(entry) for entry in entries]).unsaid
    return ", ".join(f"{short(key)} {written(value)}" for key, value in usual.items())


def _settings(entry: Entry) -> dict[str, Any]:
    """Return the settings of an entry by dotted key, without the seed; an object by its name."""
    values = flatten(config_of(entry).effective())
    if isinstance(entry, tuple):
        values[METHOD] = name_of(entry) or type(entry[1]).__name__
    return {key: value for key, value in values.items() if key not in ("schema", "seed")}


def _called(name: object) -> str:
    """Return a name as messages quote it, and something that is no name in one short line."""
    return str(name) if isinstance(name, str | Real) else shown(name)


def _numbers(label: object) -> list[str]:
    """Return the numbers in a label: with another number it is another setting, and no slip."""
    return re.findall(r"[0-9.]+", str(label))


def check_label(label: object, labels: Iterable[object], what: str = "label") -> None:
    """Raise unless a label is among others."""
    known = list(labels)
    if not isinstance(label, Hashable) or label not in known:
        listed = ", ".join(f"'{one}'" for one in known)
        guess = closest(label, [str(one) for one in known if _numbers(one) == _numbers(label)])
        raise InputError(f"{what} '{_called(label)}' is not among the labels: {listed}{guess}")


def check_metric(metric: object, summaries: Sequence[Mapping[str, Any]]) -> None:
    """Raise unless a metric is a number, or absent, in every summary."""
    numbers = [
        [name for name, value in one.items() if isinstance(value, int | float | None)]
        for one in summaries
    ]
    if not isinstance(metric, str) or any(metric not in known for known in numbers):
        listed = ", ".join(numbers[0] if numbers else ())
        guess = closest(metric, numbers[0] if numbers else ())
        raise InputError(
            f"metric '{_called(metric)}' is not among the numbers of a summary: {listed}{guess}"
        )
