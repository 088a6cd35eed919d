"""What a person is told about settings that have no effect."""

import pytest

from dnatrace.errors import InputError
from dnatrace.policy.levers import LeversSettings
from dnatrace.runs import health, notices
from dnatrace.runs.config import RunConfig, load_config
from dnatrace.runs.run import run
from dnatrace.simulators.catalogue import SIMULATORS
from dnatrace.simulators.city import CitySettings
from dnatrace.simulators.replay import ReplaySettings

from .command_line import run_process

LEVERS = {"name": "levers"}

REPLAY = ReplaySettings(contacts="contacts.csv")


@pytest.mark.parametrize(
    ("settings", "simulator", "told"),
    [
        (
            {"household": {"days": 10}},
            REPLAY,
            ["household: no effect: simulator 'replay' has no households"],
        ),
        (
            {"household": {"days": 10, "trigger": "symptoms"}},
            REPLAY,
            [
                "household: only the ill themselves stay at home: simulator 'replay' has no "
                "households"
            ],
        ),
        ({"household": {"days": 10}}, CitySettings(), []),
        (
            {"manual": {"capacity": 1.0}},
            REPLAY,
            [
                "manual: no effect: the meetings of simulator 'replay' are of kind random, for "
                "which its share is 0"
            ],
        ),
        ({"manual": {"capacity": 1.0, "random": 0.5}}, REPLAY, []),
        ({"manual": {"capacity": 1.0}}, CitySettings(), []),
        (
            {"release_tests": {"capacity": 0.1}, "household": {"days": 10}},
            CitySettings(),
            ["release_tests: no effect: no lever that is on has negative_ends"],
        ),
        (
            {"release_tests": {"capacity": 0.1}, "household": {"days": 9, "negative_ends": True}},
            CitySettings(),
            [],
        ),
        (
            {"quarantine": {"threshold": 0.5}},
            CitySettings(),
            ["quarantine.threshold: no effect: nobody is sent home by score"],
        ),
    ],
)
def test_levers_that_do_nothing_are_told(settings, simulator, told):
    assert LeversSettings(**settings).notices(simulator) == told


def test_what_does_nothing_is_told_when_a_configuration_is_loaded(caplog):
    load_config(overrides={"policy.name": "levers", "policy.release_tests.capacity": 0.1})
    assert "policy.release_tests: no effect: no lever that is on has" in caplog.text
    caplog.clear()
    replay = {"simulator.name": "replay", "simulator.contacts": "contacts.csv"}
    load_config(scenario="household", overrides=replay)
    assert "policy.household: no effect: simulator 'replay' has no households" in caplog.text


def test_budgets_of_less_than_one_person_are_told(caplog):
    budgets = {
        "symptoms": {"severe": 1.0, "capacity": 0.002},
        "quarantine": {"capacity": 0.002, "most_at_once": 0.003},
        "release_tests": {"capacity": 0.002},
        "manual": {"capacity": 0.002},
        "most_tests": 0.001,
        "most_quarantined": 0.001,
    }
    config = RunConfig(method="fn", people=300, tests={"capacity": 0.001}, policy=budgets | LEVERS)
    found = notices.too_small(config, 300)
    keys = [line.split()[0] for line in found]
    assert keys == ["tests.capacity", *(f"policy.{key}" for key, _, _ in config.policy.budgets())]
    assert len(keys) == 8
    assert (
        "policy.quarantine.capacity 0.002 of 300 people is less than one person: nobody is sent "
        "home by score"
    ) in found
    assert notices.too_small(config, 1000) == []
    none = RunConfig(method="none", people=300, policy=budgets | LEVERS)
    assert not any("by score" in line for line in notices.too_small(none, 300))
    config = load_config(
        scenario="quarantine", overrides={"method": "fn", "people": 300, "days": 2}
    )
    run(config)
    assert "policy.quarantine.capacity 0.002 of 300 people is less than" in caplog.text


SWEEP = """
people = 300
days = 2
seeds = [1, 2, 3]
scenario = "quarantine"
method = "fn"
tests.capacity = 0.001
"""


def test_a_sweep_tells_it_once_and_not_when_quiet(tmp_path):
    (tmp_path / "study.toml").write_text(SWEEP)
    done = run_process("sweep", "study.toml", "--store", "a", "--workers", "2", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("tests.capacity 0.001 of 300 people is less than one test") == 1
    assert done.stderr.count("policy.quarantine.capacity 0.002 of 300 people is less") == 1
    done = run_process("sweep", "study.toml", "--store", "b", "--workers", "2", "-q", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("key", ["variant.first", "imports_per_day"])
@pytest.mark.parametrize("name", ["city", "replay"])
def test_no_more_people_come_than_there_are(name, key):
    overrides = {"simulator": name, "people": 300, f"simulator.{key}": 301}
    with pytest.raises(
        InputError, match=rf"^simulator\.{key}: 301(\.0)? are more than all 300 people"
    ):
        load_config(overrides=overrides)
    load_config(overrides=overrides | {f"simulator.{key}": 300})


def test_people_of_a_list_are_counted_when_it_is_read(tmp_path):
    (tmp_path / "contacts.csv").write_text("sender,receiver,day\n0,1,0\n1,2,0\n")
    replay = {"name": "replay", "contacts": str(tmp_path / "contacts.csv")}
    config = RunConfig(simulator=replay | {"variant": {"first": 4}}, days=2, initially_infected=1)
    with pytest.raises(
        InputError, match=r"simulator\.variant\.first: 4 are more than all 3 people"
    ):
        run(config)


@pytest.mark.parametrize("people", [{}, {"people": 50}])
def test_a_list_without_rows_is_refused(tmp_path, people):
    (tmp_path / "empty.csv").write_text("sender,receiver,day\n")
    replay = {"name": "replay", "contacts": str(tmp_path / "empty.csv")}
    with pytest.raises(InputError, match=r"empty\.csv: has no rows$"):
        run(RunConfig(simulator=replay, days=2, **people))


def test_a_simulator_of_another_package_is_not_built_in(monkeypatch):
    class Elsewhere(CitySettings):
        """A simulator of somebody else."""

    Elsewhere.__module__ = "their_package.simulator"
    monkeypatch.setitem(SIMULATORS._plugins, "elsewhere", Elsewhere)
    monkeypatch.setattr(Elsewhere, "title", classmethod(lambda cls: "elsewhere"))
    told = health.examine()["simulator_notes"]
    assert (told["city"], told["elsewhere"]) == ("built in", "of package their_package")
