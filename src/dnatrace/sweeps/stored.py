"""What a comparison reads of a stored run, checked: a damaged file is named."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from dnatrace.errors import InputError
from dnatrace.runs.checked import read_summary

_ALWAYS = "peak_infected"  # in every summary; other numbers may be newer than the run

Found = tuple[dict[str, Any], list[dict[str, Any]]]  # summary and groups of a run


def read_found(run: Path) -> Found:
    """Return summary and groups of a stored run.

    Raises:
        InputError: one of the two is missing or damaged; the run has to be repeated.
    """
    try:
        groups = pq.read_table(run / "groups.parquet").to_pylist()
        summary = read_summary(run)
        if summary.get(_ALWAYS) is None:
            raise InputError(f"summary.json lacks '{_ALWAYS}'")
    except FileNotFoundError:
        raise InputError(f"{run}: is damaged, remove it: groups.parquet is missing") from None
    except (OSError, pa.ArrowException, InputError) as error:
        raise InputError(f"{run}: is damaged, remove it: {str(error).splitlines()[0]}") from error
    return summary, groups
