"""A store of real, small runs for the tests of the report."""

import json
import shutil
from pathlib import Path

import numba
import pyarrow as pa
import pyarrow.parquet as pq

from dnatrace.runs import store
from dnatrace.runs.config import RunConfig
from dnatrace.runs.run import run

SEEDS = (1, 2, 3)
DAYS = 20
SETTINGS = {
    "none": {"method": "none"},
    "public-only": {"method": "public-only"},
    "fn": {"method": "fn"},
    "fn, isolation.adherence 0.5": {"method": "fn", "isolation": {"adherence": 0.5}},
    "dpfn-s, ε 0.3": {"method": "dpfn-s", "epsilon": 0.3},
    "dpfn-s, ε 1": {"method": "dpfn-s", "epsilon": 1.0},
    "dpfn-s, ε 3": {"method": "dpfn-s", "epsilon": 3.0},
    "dpfn-s, release as_published, ε 1": {"method": "dpfn-s", "release": "as_published"},
    "dpfn-s, ε 1, false negatives 0.3": {
        "method": "dpfn-s",
        "tests": {"false_negative_rate": 0.3},
    },
}


def config_of(label, seed):
    return RunConfig(people=300, days=DAYS, initially_infected=8, seed=seed, **SETTINGS[label])


def fill(path):
    before = numba.get_num_threads()
    numba.set_num_threads(1)  # so small a city only waits for a second thread
    for label in SETTINGS:
        for seed in SEEDS:
            config = config_of(label, seed)
            store.write_files(store.render(run(config)), path, config.digest)
    numba.set_num_threads(before)
    return path


def copy_run(path, to, label, seed=SEEDS[0]):
    """Copy one run into a store of its own, where a test may break it."""
    name = config_of(label, seed).digest
    return Path(shutil.copytree(path / name, to / name))


HOSTILE = "</script><script>window.hacked = 1</script><img src=https://example.invalid/x onerror=y>"


def poison(run):
    """Put markup into every text of a run."""
    config = json.loads((run / "config.json").read_text())
    config["method"]["name"] = config["simulator"]["contacts"] = HOSTILE
    config["<b>key"] = HOSTILE
    (run / "config.json").write_text(json.dumps(config))
    summary = json.loads((run / "summary.json").read_text())
    summary |= {"method": HOSTILE, "simulator": HOSTILE}
    texts = ("mechanism", "unit", "release", "noise")
    summary["privacy"] |= dict.fromkeys(texts, HOSTILE)
    (run / "summary.json").write_text(json.dumps(summary))
    provenance = dict.fromkeys(("dnatrace", "commit", "config_digest", "python"), HOSTILE)
    (run / "provenance.json").write_text(json.dumps(provenance | {"libraries": {HOSTILE: HOSTILE}}))
    ledger = json.loads((run / "ledger.json").read_text())
    ledger["releases"] = [{"day": 1, "kind": HOSTILE, HOSTILE: HOSTILE, "spent": HOSTILE}]
    (run / "ledger.json").write_text(json.dumps(ledger))
    (run / "statement.txt").write_text(HOSTILE)
    groups = pq.read_table(run / "groups.parquet").to_pylist()
    for row in groups:
        row["grouped_by"] = row["group"] = HOSTILE
    pq.write_table(pa.Table.from_pylist(groups), run / "groups.parquet")
