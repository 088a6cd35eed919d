"""What `dnatrace plan` refuses, records and says; its search is in `test_plan.py`."""

import itertools
import shlex
from dataclasses import replace

import numba
import pytest

from dnatrace.cli import plan as command
from dnatrace.plans import planning, questions
from dnatrace.plans.actions import METHODS, Action, World
from dnatrace.plans.budgets import Budgets
from dnatrace.sweeps import sweep as sweeps

from . import command_line
from .forked_sweeps import in_process

TINY = {"people": 300, "days": 20, "initially_infected": 10}
WORLD = World(scenario="autumn", overrides=TINY)
BUDGETS = Budgets(tests=0.02, quarantine=0.05, epsilon=5.0)
ARGUMENTS = ("plan", "--scenario", "autumn", "--tests", 0.02, "--quarantine", 0.05, "--epsilon", 5)


@pytest.fixture(autouse=True, scope="module")
def _here():
    """Runs in this process, on one thread, as in `test_plan.py`."""
    before = numba.get_num_threads()
    numba.set_num_threads(1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sweeps, "execute", in_process)
        yield
    numba.set_num_threads(before)


# Written by an action as the world has them: who complies, whether there are staff, levers at all.
OF_THE_WORLD = {
    *("policy.symptoms.adherence", "policy.household.adherence", "policy.quarantine.adherence"),
    *("policy.manual.capacity", "policy.name"),
}


def test_whatever_an_action_writes_is_decided_by_the_plan_or_taken_from_the_world():
    whole = Action(method="headcount", epsilon=5.0, by_score=1.0, household_days=5, staff=False)
    shortcuts = {"method": "method.name", "release": "method.release"}
    shortcuts |= {"epsilon": "privacy.epsilon", "unit": "privacy.unit"}
    written = {*whole._settings(WORLD, BUDGETS), *itertools.chain(*METHODS.values())}
    keys = {shortcuts.get(key, key) for key in written}
    assert keys - OF_THE_WORLD <= set(command._DECIDED)
    assert not OF_THE_WORLD & set(command._DECIDED)


@pytest.mark.parametrize(
    "setting",
    [
        "policy.most_quarantined=0.5",
        "policy.most_tests=0.001",
        "policy.levers.most_tests=0.001",
        "policy={household={days=3}}",
        "tests.capacity=0.1",
        "release=news",
    ],
)
def test_what_a_plan_decides_cannot_be_set(tmp_path, setting):
    ended = command_line.run(*ARGUMENTS, "--quick", "-q", "--set", setting, cwd=tmp_path)
    assert ended.returncode == 2
    assert ended.stderr.startswith(f"dnatrace: --set {setting}: ")
    assert ended.stderr.endswith("is what a plan decides\n")
    assert len(ended.stderr.splitlines()) == 1


def test_who_complies_can_be_set():
    kept = World(
        scenario="autumn", settings=("policy.levers.household.adherence=0.3",), overrides=TINY
    )
    assert Action(household_days=5).config(kept, BUDGETS).policy.household.adherence == 0.3
    assert not command._is_decided("policy.levers.household.adherence")


@pytest.mark.parametrize("quick", [True, False])
@pytest.mark.parametrize("size", [{}, {"people": 400}, {"people": 400, "days": 9}])
def test_the_recorded_command_repeats_the_plan(quick, size):
    setting = "app.adoption=[0.1, 0.2, 0.3, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1]"
    planner = planning.Planner(
        world=planning.world_of("autumn", [setting], quick=quick, **size),
        budgets=replace(BUDGETS, tests=0.012345678),
        effort=planning.effort_of(None, 4, quick=quick),
        store=None,
        seed=3,
    )
    words = shlex.split(command._command_line(planner, quick))
    assert words[:2] == ["dnatrace", "plan"]
    flags = {"--quick": True} if quick else {}
    pairs = [word for word in words[2:] if word != "--quick"]
    given = dict(zip(pairs[::2], pairs[1::2], strict=True)) | flags
    expected = {"--scenario": "autumn", "--tests": "0.012345678", "--quarantine": "0.05"}
    expected |= {"--epsilon": "5", "--set": setting, "--seeds": "4", "--seed": "3"}
    expected |= {"--evaluations": "12" if quick else "200"}
    assert given == expected | {f"--{name}": str(value) for name, value in size.items()} | flags


SMALL = ("--people", 100, "--days", 3, "--evaluations", 1, "--seeds", 1, "-q", "--json")


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """Return a directory with a finished plan."""
    out = tmp_path_factory.mktemp("written") / "out"
    assert command_line.run(*ARGUMENTS, *SMALL, "--out", out).returncode == 0
    return out


def test_all_files_of_a_plan_are_guarded(written):
    assert {path.name for path in written.iterdir()} == {*questions.NAMES, "runs"}


@pytest.mark.parametrize(
    "changed",
    [
        ("--seed", 1),
        ("--seeds", 2),
        ("--evaluations", 2),
        ("--days", 4),
        ("--tests", 0.03),
        ("--epsilon", 4),
        ("--scenario", "variant"),
        ("--set", "app.adoption=0.3"),
        ("--quick",),
    ],
)
def test_a_plan_of_another_question_is_kept(written, changed):
    before = (written / "plan.md").read_bytes()
    ended = command_line.run(*ARGUMENTS, *SMALL, *changed, "--out", written)
    assert (ended.returncode, ended.stdout) == (2, "")
    assert ended.stderr == (
        f"dnatrace: {written}/plan.json: is a plan for another question; --force replaces it\n"
    )
    assert (written / "plan.md").read_bytes() == before


def test_the_same_question_is_answered_again(written):
    (written / "plan.md").write_text("changed")
    line = ("plan", "--scenario", "uk-2020-autumn", *ARGUMENTS[3:], *SMALL)  # its whole name
    assert command_line.run(*line, "--out", written).returncode == 0
    assert (written / "plan.md").read_text("utf-8").startswith("# What to do")


@pytest.mark.parametrize(
    ("name", "text"), [("plan.md", "mine"), ("plan.json", '{"budgets": 1}'), ("plan.json", "[")]
)
def test_files_that_are_not_of_a_plan_are_kept(tmp_path, name, text):
    (tmp_path / name).write_text(text)
    line = (*ARGUMENTS, *SMALL, "--out", tmp_path)
    ended = command_line.run(*line)
    assert ended.stderr == f"dnatrace: {tmp_path / name}: exists already; --force replaces it\n"
    assert ended.returncode == 2
    assert [path.name for path in tmp_path.iterdir()] == [name]
    assert (tmp_path / name).read_text() == text


def test_force_replaces(tmp_path):
    (tmp_path / "plan.md").write_text("mine")
    ended = command_line.run(*ARGUMENTS, *SMALL, "--out", tmp_path, "--force")
    assert (ended.returncode, ended.stderr) == (0, "")
    assert (tmp_path / "plan.md").read_text("utf-8").startswith("# What to do")
