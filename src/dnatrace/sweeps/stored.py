"""What a comparison reads of a stored run, checked: a damaged file is named."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from dnatrace.errors import InputError
from dnatrace.runs import store as stores
from dnatrace.runs.quantities import SUMMARY

_ALWAYS = "peak_infected"  # in every summary; other numbers may be newer than the run

Found = tuple[dict[str, Any], list[dict[str, Any]]]  # summary and groups of a run


def read_found(run: Path) -> Found:
    """Return summary and groups of a stored run.

    Raises:
        InputError: one of the two is missing or damaged; the run has to be repeated.
    """
    try:
        groups = pq.read_table(run / "groups.parquet").to_pylist()
        summary = stores.read_summary(run)
    except FileNotFoundError:
        raise InputError(f"{run}: is damaged, remove it: groups.parquet is missing") from None
    except (OSError, pa.ArrowException, InputError) as error:
        raise InputError(f"{run}: is damaged, remove it: {str(error).splitlines()[0]}") from error
    wrong = [name for name in SUMMARY if not isinstance(summary.get(name), int | float | None)]
    wrong += [_ALWAYS] if summary.get(_ALWAYS) is None else []
    if wrong:
        why = f"'{wrong[0]}' is not a number; remove the directory to repeat the run"
        raise InputError(f"{run / 'summary.json'}: is damaged: {why}")
    return summary, groups
