"""What workers do: whole runs that report every day, and the warm-up."""

from typing import Any

import numpy as np

from dnatrace.app.asked import NOTHING
from dnatrace.app.workers import Tell
from dnatrace.methods.public_facts import FLOOR
from dnatrace.runs import store
from dnatrace.runs.config import RunConfig, load_config
from dnatrace.runs.quantities import DAILY
from dnatrace.runs.run import run

# The columns of a day, in this order: what the charts show.
COLUMNS = ("day", *dict.fromkeys(column for quantity in DAILY for column in quantity.columns))
_WARM = {"people": 200, "days": 3}


def run_and_tell(tell: Tell, config: RunConfig) -> dict[str, bytes]:
    """Run a configuration, report the row of every day, and return the files of the run."""
    result = run(config, watch=lambda row: tell(as_row(row)))
    return store.render(result)


def as_row(row: dict[str, Any]) -> list[Any]:
    """Return the columns of a day that charts show; None for missing numbers."""
    values = (row.get(column) for column in COLUMNS)
    return [None if value is None or not np.isfinite(value) else value for value in values]


def warm_up() -> None:
    """Load and compile what the first request will need."""
    for method in (None, FLOOR, NOTHING):
        run(load_config(overrides=_WARM | {"method": method}))
