"""Somebody else's package: the files of docs/plugins.md, installed, run, audited and stored."""

import json
import re
import runpy
import subprocess
import sys
from pathlib import Path
from typing import Literal

import pytest

from dnatrace.errors import InputError
from dnatrace.methods.base import MethodSettings
from dnatrace.methods.catalogue import METHODS
from dnatrace.methods.chance import RandomSettings
from dnatrace.methods.fn import FnSettings
from dnatrace.plugins import Catalogue, Plugin
from dnatrace.report import write_report
from dnatrace.runs import store
from dnatrace.simulators.catalogue import SIMULATORS
from dnatrace.sweeps import sweep as sweeps
from tests.forked_sweeps import in_process

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "plugins.md"

# What a user of the package would do, in one interpreter.
USE = """
import json, sys
from pathlib import Path
import numpy as np
import dnatrace as dt
from dnatrace.runs import audits, health, store
from dnatrace.runs.config import RunConfig, load_config
from dnatrace.runs.parameters import described_settings
from dnatrace.report import write_report
from neighbourhood import loud

config = load_config(
    settings=["simulator.reach=4", "policy.name=in-turn"],
    overrides={"method": "loud", "simulator": "ring", "people": 400, "days": 12,
               "initially_infected": 20, "method.threshold": 0.3},
)
result = dt.run(config)
path = store.write_run(result, Path(sys.argv[1]))
page = write_report(path).path.read_text("utf-8")

class Weak:
    name, score_grid = "weak", None
    def __init__(self, seed): self.seed = seed
    def perturb(self, values, sensitivity, *, multiplier, **key):
        from dnatrace.privacy.noise import FastNoise
        return FastNoise(seed=self.seed).perturb(
            values, sensitivity, multiplier=multiplier / 3, **key)

honest = audits.audit(config, draws=50_000)
RunConfig.model_fields["privacy"].annotation.source = lambda self, seed: Weak(seed)
weak = audits.audit(config, draws=20_000)
print(json.dumps({
    "summary": result.summary,
    "tests": result.daily["tests"].to_pylist(),
    "reach": config.simulator.reach,
    "digests": [config.digest, config.model_copy(update={"seed": 2}).digest],
    "models": [RunConfig(method={"name": "loud", "model": word}).digest for word in "ab"],
    "again": RunConfig(**store.read_json(path, "config.json")) == config,
    "honest": [honest.passed, honest.lower_bound],
    "weak": weak.passed,
    "doctor": health.examine()["simulator_notes"]["ring"],
    "schema": "LoudSettings" in json.dumps(RunConfig.model_json_schema()),
    "known": described_settings()["method.threshold"].of,
    "page": "messages from this on are loud" in page,
}))
"""


def files_of_the_page():
    pattern = r"^```(?:toml|python)\n# (\S+\.\w+)\n(.*?)^```"
    return dict(re.findall(pattern, PAGE.read_text("utf-8"), re.M | re.S))


@pytest.fixture(scope="module")
def package(tmp_path_factory):
    """The files of the page, built and installed by pip into a directory of their own."""
    source, site = (tmp_path_factory.mktemp(name) for name in ("source", "site"))
    blocks = files_of_the_page()
    del blocks["met_positives.py"]  # a ranker is not installed
    assert len(blocks) == 4
    for name, text in blocks.items():
        path = source / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    (source / "neighbourhood" / "__init__.py").touch()
    loud = source / "neighbourhood" / "loud.py"  # with one field more, named as one of `dna`
    extra = '    model: str = setting("a", "a word")\n\n    @property'
    loud.write_text(loud.read_text().replace("\n    @property", extra, 1))
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-index", "--no-deps"]
    command += ["--no-build-isolation", "--target", str(site), str(source)]
    subprocess.run(command, check=True, capture_output=True)
    return site


@pytest.fixture(scope="module")
def used(package, tmp_path_factory):
    store = tmp_path_factory.mktemp("store")
    done = subprocess.run(
        [sys.executable, "-c", USE, str(store)],
        env={"PATH": "", "PYTHONPATH": f"{package}:{ROOT / 'src'}"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_an_installed_method_simulator_and_policy_run_together(used):
    summary = used["summary"]
    assert (summary["method"], summary["simulator"], summary["people"]) == ("loud", "ring", 400)
    assert (
        summary["message_bytes_per_person_day"] > 4
    )  # neighbours do meet, and their messages cost
    assert summary["privacy"]["sound"] is True
    assert summary["privacy"]["per_release_epsilon"] == pytest.approx(1.0)
    assert summary["privacy"]["per_contact_epsilon"] == pytest.approx(1.0)
    assert used["reach"] == 4
    assert used["tests"][0] == 32  # in turn, all eligible on the first day


def test_it_is_audited_and_too_little_noise_is_caught(used):
    passed, bound = used["honest"]
    assert passed
    assert bound > 0.5
    assert not used["weak"]


def test_it_is_named_stored_reported_and_described(used):
    assert len(set(used["digests"])) == 2
    assert used["again"]
    assert used["doctor"] == "of package neighbourhood"
    assert used["schema"]
    assert used["known"] == ["loud"]
    assert used["page"]


def test_the_ranker_of_the_page_runs_and_is_stored_and_reported(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(sweeps, "execute", in_process)
    monkeypatch.chdir(tmp_path)
    Path("met_positives.py").write_text(files_of_the_page()["met_positives.py"], "utf-8")
    runpy.run_path("met_positives.py", run_name="__main__")
    random, ranker = capsys.readouterr().out.splitlines()
    assert random.startswith("random 0.")
    assert random.endswith(" None")
    assert float(ranker.split()[-1]) < 0.0  # better than chance
    stored = [store.read_json(path, "config.json") for path in store.stored_runs(Path("runs"))]
    assert len(stored) == 6
    page = write_report(Path("runs")).path.read_text("utf-8")
    assert '<th scope="row">met positives 1.0</th><td>3</td>' in page


class WithoutBuild(MethodSettings):
    """Settings that cannot make a method."""

    name: Literal["theirs"] = "theirs"


class Point:
    """An entry point that loads what it is given."""

    def __init__(self, loaded):
        self.name, self.loaded = "theirs", loaded

    def load(self):
        if isinstance(self.loaded, Exception):
            raise self.loaded
        return self.loaded


@pytest.mark.parametrize(
    ("loaded", "reason"),
    [
        (ImportError("no module named x"), "no module named x"),
        (dict, "it is not a MethodSettings"),
        (ImportError("broken\nin two lines"), "broken in two lines"),
        (RandomSettings, "the name 'random' is taken"),
        (FnSettings, "it calls itself 'fn'"),
        (WithoutBuild, "it lacks build"),
    ],
)
def test_a_broken_package_of_others_is_left_out_with_a_line(loaded, reason, caplog, monkeypatch):
    monkeypatch.setattr("importlib.metadata.entry_points", lambda group: [Point(loaded)])
    catalogue = Catalogue(METHODS._kind, "dnatrace.methods", (RandomSettings,))
    assert catalogue.names == ["random"]
    assert caplog.messages == [f"method 'theirs' of another package left out: {reason}"]


def test_only_what_a_plugin_reads_by_content_is_left_out_of_a_digest(used):
    """A field that happens to be called as a path of `dna` counts."""
    assert len(set(used["models"])) == 2
    assert METHODS["dna"].read_by_content == ("model",)
    assert {key for kind in SIMULATORS for key in kind.read_by_content} == {"contacts"}


def test_names_that_do_not_exist_are_told():
    with pytest.raises(InputError, match="method 'magic' does not exist; there are none, random"):
        METHODS["magic"]
    assert Plugin.availability() == (True, "built in")
