"""Damage to the files of a stored run, one place at a time."""

import json
import math
import shutil

import pyarrow as pa
import pyarrow.parquet as pq

JSON_FILES = ("summary.json", "config.json", "ledger.json", "provenance.json", "timing.json")
TABLES = ("daily.parquet", "groups.parquet")
GONE = object()
VALUES = (None, -1, 0.5, 1e308, 10**30, "x", "", [], {}, [None], {"a": None}, True, math.nan, GONE)


def leaves(values, path=()):
    """Yield the path of every value of nested JSON, containers too; of a list the first."""
    items = values.items() if isinstance(values, dict) else enumerate(values[:1])
    for key, value in items:
        yield (*path, key)
        if isinstance(value, dict | list):
            yield from leaves(value, (*path, key))


def cases(run):
    """Yield every damage to a run: the name of a file, a path or a column, and a value."""
    for name in JSON_FILES:
        for path in leaves(json.loads((run / name).read_text())):
            yield from ((name, path, value) for value in VALUES)
    for name in TABLES:
        for column in pq.read_table(run / name).column_names:
            yield from ((name, column, value) for value in (None, "x", math.nan, -1, 1e308, GONE))


def damage(run, case):
    """Damage a run, and return how to mend it."""
    name, place, value = case
    before = (run / name).read_bytes()
    if name in TABLES:
        _damage_table(run / name, place, value)
    else:
        values = json.loads(before)
        inner = values
        for key in place[:-1]:
            inner = inner[key]
        if value is GONE:
            del inner[place[-1]]
        else:
            inner[place[-1]] = value
        (run / name).write_text(json.dumps(values))
    return lambda: (run / name).write_bytes(before)


def _damage_table(path, column, value):
    table = pq.read_table(path)
    place = table.column_names.index(column)
    if value is GONE:
        table = table.drop_columns([column])
    else:
        table = table.set_column(place, column, pa.array([value] * table.num_rows))
    pq.write_table(table, path)


def commands(run):
    """Return the commands that read a stored run."""
    store, page = run.parent, run.parent.parent / "page.html"
    return (
        ("list", store),
        ("list", store, "--json"),
        ("list", store, "--csv"),
        ("report", store, "--out", page, "--force"),
        ("report", run, "--out", page, "--force", "--json"),
        ("privacy", "ledger", run),
        ("privacy", "ledger", run, "--json"),
        ("privacy", "statement", run),
    )


def copy_of(run, to):
    """Return a copy of a run in a store of its own."""
    return shutil.copytree(run, to / "store" / run.name)
