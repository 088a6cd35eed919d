"""What `make coverage` measured, by package: `python -m docs.tools.coverage .coverage.json`."""

import json
import sys
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

PAGE = Path(__file__).parents[1] / "project" / "coverage.md"
_HEAD = """\
# Coverage

The table shows how many lines of `src/dnatrace` the tests of `make quick` run, as measured by
`make coverage`. The slow tests, which `make test` adds, are not counted. The measurement does not
see lines of compiled kernels, so packages with kernels have more coverage than shown. This is a
figure, not a gate.

"""


def by_room(measured: dict[str, Any]) -> dict[str, tuple[int, int]]:
    """Return (lines run, lines) of each subpackage, and of all."""
    rooms: dict[str, tuple[int, int]] = defaultdict(lambda: (0, 0))
    for name, file in measured["files"].items():
        room = Path(name).parts[2].removesuffix(".py")
        is_room = len(Path(name).parts) > 3
        for key in (f"`{room}/`" if is_room else "modules", "**all**"):
            run, lines = rooms[key]
            counted = file["summary"]
            rooms[key] = (run + counted["covered_lines"], lines + counted["num_statements"])
    return dict(rooms)


def page(measured: dict[str, Any]) -> str:
    """Return the table of packages, the total last."""
    rooms = by_room(measured)
    rows = [f"| {room} | {lines} | {run / lines:.0%} |" for room, (run, lines) in _sorted(rooms)]
    return _HEAD + "\n".join(["| package | lines | run |", "|---|---|---|", *rows]) + "\n"


def _sorted(rooms: dict[str, tuple[int, int]]) -> list[tuple[str, tuple[int, int]]]:
    found = [(room, counts) for room, counts in rooms.items() if counts[1]]
    return sorted(found, key=lambda row: (row[0] == "**all**", row[0]))


def main(arguments: Sequence[str] | None = None) -> None:
    """Write the page from the JSON file that coverage wrote."""
    (file,) = sys.argv[1:] if arguments is None else arguments
    PAGE.write_text(page(json.loads(Path(file).read_text("utf-8"))), "utf-8")


if __name__ == "__main__":
    main()
