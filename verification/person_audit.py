"""What one test of a person reveals, by method and world: `python -m verification.person_audit`.

Writes a table of exact costs, right guesses from drawn scores, and closed loops, and exits with 1
when a method exceeds what it claims for a person, or when a method without a bound for a person is
not refuted anywhere. `--quick` plays two worlds of some methods, with few draws.
"""

import argparse
import sys
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numba

from dnatrace.errors import InputError
from dnatrace.methods.base import release_of
from dnatrace.runs.config import RunConfig
from dnatrace.runs.person_audits import PersonAudit, audit_person, tell
from dnatrace.runs.worlds import WorldName, worlds
from dnatrace.sweeps.results import as_csv, origin, write_all

DOCS = Path(__file__).parents[1] / "docs"
DRAWS, QUICK_DRAWS = 1500, 1000
# Each with noise for ε = 1 per release.
METHODS: dict[str, dict[str, Any]] = {
    "headcount, daily": {"method": "headcount"},
    "headcount, news": {"method": "headcount", "release": "news"},
    "tally": {"method": "tally"},
    "traditional": {"method": "traditional"},
    "dna": {"method": "dna"},
    "dpfn-s": {"method": "dpfn-s"},
    "dpfn, frozen": {"method": "dpfn"},
    "dpfn, correlated": {"method": "dpfn", "release": "correlated"},
    "per-message, frozen": {"method": "per-message"},
    "fn, no noise": {"method": "fn"},
    "public-facts": {"method": "public-facts"},
}
QUICK = ("tally", "headcount, daily")
CLOSED = ("headcount, daily", "headcount, news", "tally", "public-facts")
REFUTED = ("tally", "traditional", "dna", "dpfn-s")  # must be, where a person's ε is claimed

_INTRODUCTION = (
    "`python -m verification.person_audit --out docs/results/person-audit.md`, commit {commit}. "
    "Noise for ε = 1 per release, δ = 0.001. Two worlds differ in one test result of A, negative "
    "or positive; B keeps everything they are told over the life of the test. ε is exact for the "
    "noisy numbers of these worlds, so an upper bound for scores. Claimed: what a method promises "
    "for one test of a person; where it promises nothing (*), what it promises for a contact. "
    "✗: above the claim. B never met A in the worlds common-contacts and relay; in the city the "
    "worst of all receivers counts."
)
_CLOSED = (
    "Closed loop, household: the policy tests the highest scores in both worlds (nobody isolates, "
    "because absence is seen without any score). {draws:,} draws of all scores of a housemate, and "
    "an attacker who weighs them linearly: ε is at least the bound, with 99 % confidence."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A method and what was found in each world."""

    name: str
    found: dict[str, PersonAudit]

    @property
    def as_it_must_be(self) -> bool:
        """Whether proved claims hold everywhere, and false ones are refuted somewhere."""
        passed = [audit.passed for audit in self.found.values()]
        proved = all(audit.proved for audit in self.found.values())
        return all(passed) if proved else self.name not in REFUTED or not all(passed)


def main(arguments: Sequence[str] | None = None) -> int:
    """Play the worlds, print the page and return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--draws", type=int, default=DRAWS)
    parser.add_argument("--out", type=Path, default=None)
    parser.add_argument("--table", type=Path, help="a CSV file for the package")
    chosen = parser.parse_args(arguments)
    if chosen.quick and chosen.out is not None and DOCS in chosen.out.resolve().parents:
        parser.error("--quick writes nothing into docs/")
    numba.set_num_threads(1)  # worlds are so small that a second thread would only wait
    names = QUICK if chosen.quick else tuple(METHODS)
    places = (WorldName.COUPLE, WorldName.RELAY) if chosen.quick else tuple(WorldName)
    draws = QUICK_DRAWS if chosen.quick else chosen.draws
    rows, missing = _rows(names, places)
    closed, _ = _rows([n for n in names if n in CLOSED], [WorldName.HOUSEHOLD], draws)
    text = _page(rows, closed, missing, draws, quick=chosen.quick)
    print(text)
    if chosen.out is not None:
        chosen.out.write_text(text, "utf-8")
    if chosen.table is not None:
        write_all({chosen.table.name: as_csv(_figures(rows))}, chosen.table.parent)
    return 0 if all(row.as_it_must_be for row in rows) else 1


def _rows(
    names: Sequence[str], places: Sequence[WorldName], draws: int = 0
) -> tuple[list[Row], list[str]]:
    """Return what was found, exactly or with draws in a closed loop, and what cannot run here."""
    rows, missing = [], []
    for name in names:
        config = RunConfig(**METHODS[name])
        try:
            found = {
                str(place): audit_person(config, place, draws=draws, closed=draws > 0)
                for place in places
            }
        except InputError as error:
            missing.append(f"{name}: {error}")
            continue
        rows.append(Row(name=name, found=found))
        print(f"  {name}", file=sys.stderr, flush=True)
    return rows, missing


def _page(
    rows: Sequence[Row], closed: Sequence[Row], missing: Sequence[str], draws: int, *, quick: bool
) -> str:
    places = list(rows[0].found)
    parts = [
        "# What one test of a person tells, end to end",
        _filled(_INTRODUCTION.format(commit=origin()["commit"] or "unknown")),
        _table(["method", "ε claimed", *places], [_costs(row) for row in rows]),
        "Right guesses in 100 of the best attacker who sees the noisy numbers (a coin: 50):",
        _table(["method", *places], [_guesses(row) for row in rows]),
        _filled(_CLOSED.format(draws=draws)),
        _table(["method", "ε claimed", "ε at least", "right guesses"], _closed(closed)),
        *(_filled(f"Not played: {line}.") for line in missing),
        *([] if quick else _city()),
        "Research software, not a medical device.",
    ]
    return "\n\n".join(parts) + "\n"


def _figures(rows: Sequence[Row]) -> list[dict[str, Any]]:
    """Return what was found for methods with noise, as the package shows it beside "no bound"."""
    settings = {row.name: RunConfig(**METHODS[row.name]).method for row in rows}
    return [
        {
            "method": settings[row.name].name,
            "release": release_of(settings[row.name]) or "",
            "world": place,
            "epsilon": f"{audit.epsilon:.3g}",
            "right_guesses": f"{100 * audit.success:.0f}",
        }
        for row in rows
        for place, audit in row.found.items()
        if settings[row.name].adds_noise and audit.epsilon is not None
    ]


def _filled(text: str) -> str:
    return textwrap.fill(text, 100, break_on_hyphens=False, break_long_words=False)


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    return "\n".join([*lines, *("| " + " | ".join(row) + " |" for row in rows)])


def _costs(row: Row) -> list[str]:
    claims = {f"{a.claimed_epsilon:.2f}{'' if a.proved else ' *'}" for a in row.found.values()}
    cells = [_number(a.epsilon) + ("" if a.passed else " ✗") for a in row.found.values()]
    return [row.name, " / ".join(sorted(claims)), *cells]


def _guesses(row: Row) -> list[str]:
    return [row.name, *(f"{100 * a.success:.0f}" for a in row.found.values())]


def _closed(rows: Sequence[Row]) -> list[list[str]]:
    return [
        [
            row.name,
            f"{audit.claimed_epsilon:.2f}{'' if audit.proved else ' *'}",
            (f"{audit.drawn.lower_bound:.2f}" if audit.drawn else "–")
            + ("" if audit.passed else " ✗"),
            f"{100 * audit.success:.0f}",
        ]
        for row in rows
        for audit in row.found.values()
    ]


def _number(epsilon: float | None) -> str:
    return "–" if epsilon is None else "unbounded" if epsilon == float("inf") else f"{epsilon:.3g}"


def _city() -> list[str]:
    """Return whom one test of a person reaches in the city, for the methods that count."""
    rows = []
    for name in ("headcount, daily", "tally", "dpfn-s", "dna", "traditional"):
        try:
            rows.append([name, *_by_kind(RunConfig(**METHODS[name]))])
        except InputError as error:
            rows.append([name, str(error), "", ""])
    head = ["method", "μ of a housemate", "μ of another contact", "μ of who never met them"]
    title = "In the city, the mean over its tested people of the worst receiver of each kind:"
    return [title, _table(head, rows)]


def _by_kind(config: RunConfig) -> list[str]:
    totals = [0.0, 0.0, 0.0]
    played = worlds(WorldName.CITY, config)
    for world in played:
        assert world.households is not None
        squares, met = tell(config, world).squares, world.meets()
        home = world.households == world.households[world.tested]
        squares[world.tested] = 0.0
        for k, kind in enumerate((home, met & ~home, ~met & ~home)):
            totals[k] += float(squares[kind].max(initial=0.0)) ** 0.5
    return [f"{total / len(played):.2f}" for total in totals]


if __name__ == "__main__":
    sys.exit(main())
