"""Golden runs: the same numbers as before, for every method and release, on one thread and on two.

A digest covers the whole daily table, the table of groups and the summary without what names the
code or the run. One thread and two have the same bits; in the digest numbers have twelve digits, as
the last ones of a mean or a logarithm depend on the processor. After a change that is meant to
change numbers: `python -m tests.test_golden`, and say so in the changelog under Results.
"""

import hashlib
import json
from pathlib import Path

import numba
import numpy as np
import pytest

import dnatrace as dt
from dnatrace.methods.catalogue import METHODS
from dnatrace.runs.metrics import reproduction_numbers

FILE = Path(__file__).parent / "golden.json"
SMALL = {"people": 400, "days": 24, "seed": 5, "initially_infected": 12}
UNNAMED = ("version", "config_digest")  # of the summary: they name code and run, not results
# Keys and columns that are younger than the digests.
NEWER = (
    *("peak_reached", "quarantine_person_days", "quarantine_person_days_uninfected", "notices"),
    *("quarantined", "quarantined_exposed_or_infected", "imported_infections"),
    *("quarantine_days_per_person", "quarantine_days_uninfected_per_person"),
)
NEWER_COSTS = (
    "protects",
    "selection_epsilon",
    "per_person_epsilon",
    "person_unfinished",
    "person_measured",
    "per_person_day_epsilon",
    "meetings_per_day",
    "floor",
    "scores_noised",
    "simulated",
    "unfinished",
    "target_kept",
    "target_life_epsilon",
)  # of its privacy
# Columns and keys that have another name now than when the digests were made.
RENAMED = {"isolated_exposed_or_infected": "isolated_ill"}

VARIANTS = {
    "fn, P(I)": {"method": "fn", "score": "infected"},
    "dpfn-s, linear, per contact": {"method": "dpfn-s", "unit": "contact"},
    "dpfn-s, linear, per pair, P(I)": {"method": "dpfn-s", "unit": "pair", "score": "infected"},
    "dpfn, frozen, per pair": {"method": "dpfn", "unit": "pair"},
    "dpfn-s, without shrinkage": {"method": {"name": "dpfn-s", "rho": 0.0}},
    "tally, per contact": {"method": "tally", "unit": "contact", "epsilon": 0.3},
    "dna, the paper's network": {
        "method": {"name": "dna", "model": "dna-paper", "release": "as_published"},
        "score": "infected",
        "gamma": 0.7,
    },
    "tally, delays, dropout, adoption": {
        "method": "tally",
        "tests": {"order_delay": 1, "result_delay": 2, "capacity": 0.2},
        "isolation": {"dropout": 0.1, "adherence": 0.7, "adherence_unit": "event"},
        "app": {"adoption": [0.5, 1, 1, 1, 1, 1, 1, 0.7, 0.2]},
    },
    "fn, household kept, adherence by person, short window": {
        "method": "fn",
        "isolation": {"keeps_household": True, "adherence": 0.6, "days": 5},
        "seir": {"window": 6, "rounds": 2, "p1": 0.05},
    },
    "replay": {"method": "dpfn-s", "simulator": "replay"},
    "fn, all levers": {
        "method": "fn",
        "tests": {"capacity": 0.02, "order_delay": 1, "result_delay": 1},
        "policy": {
            "name": "levers",
            "symptoms": {"severe": 1.0, "mild": 0.5, "waits_at_home": True, "adherence": 0.8},
            "household": {"days": 6, "adherence": 0.8, "negative_ends": True},
            "quarantine": {"capacity": 0.01, "days": 5, "dropout": 0.1},
            "release_tests": {"capacity": 0.02, "after": 3},
            "manual": {"capacity": 0.01, "random": 0.3},
            "notification": {"consent": 0.7, "adherence": 0.6},
        },
    },
    "public-only, all times": {
        "method": "public-only",
        "simulator": {
            "name": "city",
            "transmissibility": 0.9,
            "distancing": [{"from_day": 3, "work": 0.6, "school": 0.2, "random": 0.5}],
            "season": {"amplitude": 0.3, "peak_day": 40},
            "imports_per_day": 1.0,
            "vaccination": {"share": 0.3, "against_infection": 0.5, "against_transmission": 0.4},
            "variant": {"first": 6, "from_day": 5, "transmissibility": 1.6},
        },
    },
}
CASES = {
    ", ".join((method.title(), release)) if release else method.title(): {"method": method.title()}
    | ({"release": str(release)} if release else {})
    for method in METHODS
    for release in method.releases() or (None,)
} | VARIANTS


def contact_list(path):
    rows = [
        f"{a},{b},{day}" for day in range(9) for a in range(200) for b in ((a * 7 + day) % 200,)
    ]
    rows = [row for row in rows if len({*row.split(",")[:2]}) == 2]
    path.write_text("sender,receiver,day\n" + "\n".join(rows) + "\n")
    return path


def table_of(settings, folder):
    settings = SMALL | settings
    if settings.get("simulator") == "replay":
        contacts = str(contact_list(folder / "contacts.csv"))
        settings |= {"simulator": {"name": "replay", "contacts": contacts}, "people": 200}
    result = dt.run(dt.RunConfig(**settings))
    summary = {k: v for k, v in result.summary.items() if k not in UNNAMED + NEWER}
    summary["p1"] = result.config.seir.p1  # in the digests also where it has no effect
    summary["privacy"] = {k: v for k, v in summary["privacy"].items() if k not in NEWER_COSTS}
    values = {
        "daily": as_before(result.daily.to_pydict()),
        "groups": result.groups.to_pydict(),
        "summary": summary,
    }
    values = {
        part: {RENAMED.get(key, key): value for key, value in named.items() if key not in NEWER}
        for part, named in values.items()
    }
    return json.dumps(values, sort_keys=True)


def as_before(daily):
    """Return a daily table in which imported infections count as caught here, as in the digests."""
    if not any(daily["imported_infections"]):
        return daily
    numbers = reproduction_numbers(
        np.array(daily["new_infections"], float), SMALL["initially_infected"]
    )
    return daily | {"reproduction_number": numbers.tolist()}


def digest_of(table):
    text = json.dumps(json.loads(table, parse_float=lambda number: f"{float(number):.12g}"))
    return hashlib.blake2b(text.encode(), digest_size=8).hexdigest()


def test_every_method_and_release_has_its_golden_run():
    assert set(json.loads(FILE.read_text())) == set(CASES)


@pytest.mark.parametrize("case", CASES)
def test_golden_run(case, tmp_path, threads):
    golden = json.loads(FILE.read_text())[case]
    tables = set()
    for n in {1, min(2, numba.config.NUMBA_NUM_THREADS)}:
        threads(n)
        tables.add(table_of(CASES[case], tmp_path))
    assert len(tables) == 1, "one thread and two differ"
    assert digest_of(tables.pop()) == golden


def test_a_digest_tells_numbers_apart_but_for_their_last_digits():
    first, same, other = (json.dumps({"peak": 0.1 + x}) for x in (0.0, 1e-16, 1e-10))
    assert first != same
    assert digest_of(first) == digest_of(same) != digest_of(other)


if __name__ == "__main__":
    import tempfile

    with tempfile.TemporaryDirectory() as scratch:
        tables = {case: table_of(settings, Path(scratch)) for case, settings in CASES.items()}
    found = {case: digest_of(table) for case, table in tables.items()}
    FILE.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n")
