"""Beliefs as tables: the highest to read, all of them to a file."""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from dnatrace.errors import InputError
from dnatrace.files import replacing
from dnatrace.seir import State


def highest(beliefs: NDArray[np.float32], *, n: int) -> list[dict[str, Any]]:
    """Return the n people with the highest P(E) + P(I) on the last day, highest first."""
    last = beliefs[:, -1].astype(np.float64)
    score = last[:, State.E] + last[:, State.I]
    order = np.argsort(-score, kind="stable")[:n]
    return [
        {"person": int(p), "P(E)+P(I)": round(float(score[p]), 6)}
        | {f"P({s.name})": round(float(last[p, s]), 6) for s in State}
        for p in order
    ]


def check_format(path: Path) -> None:
    """Raise unless the name of the file tells CSV or Parquet."""
    if path.suffix not in (".csv", ".parquet"):
        raise InputError(f"{path}: the name must end in .csv or .parquet")


def write(beliefs: NDArray[np.float32], path: Path) -> None:
    """Write one row per person and day (person, day, S, E, I, R), whole or not at all."""
    check_format(path)
    n_people, n_days, _ = beliefs.shape
    columns: dict[str, NDArray[Any]] = {
        "person": np.repeat(np.arange(n_people, dtype=np.int32), n_days),
        "day": np.tile(np.arange(n_days, dtype=np.int32), n_people),
    }
    columns |= {s.name: np.ascontiguousarray(beliefs[:, :, s]).reshape(-1) for s in State}
    table = pa.table(columns)
    with replacing(path) as temporary:
        if path.suffix == ".csv":
            import pyarrow.csv as pacsv  # noqa: PLC0415

            pacsv.write_csv(table, temporary)
        else:
            import pyarrow.parquet as pq  # noqa: PLC0415

            pq.write_table(table, temporary)
