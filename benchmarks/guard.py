"""Compare the ratios of one run of the benchmarks with the committed ones.

Seconds depend on the machine and the hour; ratios between two things measured side by side are
steadier. Smaller is better for all of them. `python -m benchmarks.all` writes and compares them.
"""

import json
from dataclasses import dataclass
from pathlib import Path

FILE = Path(__file__).with_name("ratios.json")
MOST_SLOWER = 1.25
_RED, _PLAIN = "\033[31m", "\033[0m"


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """A ratio as committed and as measured now; None where one of the two is missing."""

    name: str
    committed: float | None
    measured: float | None

    @property
    def slower(self) -> bool:
        """Whether it is more than a quarter slower than it was."""
        if self.committed is None or self.measured is None:
            return False
        return self.measured > MOST_SLOWER * self.committed

    def line(self, *, colour: bool = True) -> str:
        """Return what to print, in red when it is slower."""
        shown = [f"{x:10.3g}" if x is not None else f"{'–':>10}" for x in self._values]
        text = f"{self.name:45s} {shown[0]} {shown[1]}"
        if not self.slower:
            return text
        text += f"  SLOWER: {self.measured / self.committed:.2f} times"  # type: ignore[operator]
        return f"{_RED}{text}{_PLAIN}" if colour else text

    @property
    def _values(self) -> tuple[float | None, float | None]:
        return self.committed, self.measured


def compare(committed: dict[str, float], measured: dict[str, float]) -> list[Compared]:
    """Return every ratio of either, by name."""
    names = sorted({*committed, *measured})
    return [Compared(name=n, committed=committed.get(n), measured=measured.get(n)) for n in names]


def read(path: Path = FILE) -> dict[str, float]:
    """Return the committed ratios; none when there is no file."""
    found: dict[str, float] = json.loads(path.read_text("utf-8")) if path.exists() else {}
    return found


def write(ratios: dict[str, float], path: Path = FILE) -> None:
    """Write ratios to be committed, with three digits."""
    rounded = {name: float(f"{value:.3g}") for name, value in sorted(ratios.items())}
    path.write_text(json.dumps(rounded, indent=2) + "\n", "utf-8")
