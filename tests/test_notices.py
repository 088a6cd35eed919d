"""What a person is told about settings that have no effect."""

import pytest

import dnatrace as dt
from dnatrace.errors import InputError
from dnatrace.methods.catalogue import METHODS
from dnatrace.policy.levers import LeversSettings
from dnatrace.runs import guarantees, health, notices
from dnatrace.runs.config import RunConfig, load_config
from dnatrace.runs.run import run
from dnatrace.simulators.catalogue import SIMULATORS
from dnatrace.simulators.city import CitySettings
from dnatrace.simulators.replay import ReplaySettings
from dnatrace.sweeps.study import compare

from .command_line import run as dnatrace
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


@pytest.mark.parametrize(
    ("simulator", "line"),
    [
        ({"variant": {"transmissibility": 2.0}}, "simulator.variant: first is 0: no effect"),
        ({"season": {"peak_day": 10}}, "simulator.season.peak_day: amplitude is 0: no effect"),
        (
            {"vaccination": {"against_infection": 0.9}},
            "simulator.vaccination: share is 0: no effect",
        ),
        (
            {"vaccination": {"share": 0.5}},
            "simulator.vaccination.share: against_infection and against_transmission are 0: no",
        ),
    ],
)
def test_what_is_switched_off_is_told_and_names_no_run(simulator, line, caplog):
    """Also of a configuration that is made in Python: once a process, when it runs."""
    plain = {"method": "none", "people": 60, "days": 3}
    config = RunConfig(**plain, simulator=simulator)
    assert config.digest == RunConfig(**plain).digest
    notices._TOLD.clear()
    first, second = run(config), run(RunConfig(**plain))
    assert caplog.text.count(line) == 1
    assert first.daily == second.daily
    run(config)
    assert caplog.text.count(line) == 1
    load_config(overrides=plain | {"simulator": simulator})
    assert caplog.text.count(line) == 2  # a configuration that is loaded says so each time


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"people": 1000}, "infects 50 of 10,000 people at first, and 50 of the 1,000 here"),
        ({"people": 100_000}, "50 of the 100,000 here; initially_infected=500 is the same share"),
        ({"people": 20}, "20 of the 20 here; initially_infected=1 is nearest to the same share"),
        ({"people": 1000, "initially_infected": 5}, None),
        ({"people": 10_000}, None),
        ({}, None),
    ],
)
def test_first_infections_of_a_scenario_are_meant_for_its_own_city(changes, told, caplog):
    notices._TOLD.clear()
    for _ in range(2):
        load_config(scenario="autumn", overrides={"method": "fn"} | changes)
    assert caplog.text.count("the same share") == (told is not None)
    assert told is None or told in caplog.text


def test_what_is_switched_on_is_not_told_and_names_a_run(caplog):
    plain = {"method": "none", "people": 60, "days": 3}
    on = [
        {"variant": {"first": 1, "transmissibility": 2.0}},
        {"season": {"amplitude": 0.1, "peak_day": 10}},
        {"vaccination": {"share": 0.5, "against_infection": 0.9}},
    ]
    configs = [load_config(overrides=plain | {"simulator": simulator}) for simulator in on]
    assert "no effect" not in caplog.text
    assert len({config.digest for config in (*configs, RunConfig(**plain))}) == 4


CHANGED = {
    "seir.rounds": 1,
    "seir.infection_from_outside": 0.02,
    "seir.transmission_per_contact": 0.2,
    "seir.exposed_to_infected": 0.9,
    "seir.infected_to_removed": 0.9,
    "tests.believed_false_positive_rate": 0.2,
    "tests.believed_false_negative_rate": 0.3,
}


OFF = {
    "household.adherence": 0.5,
    "household.trigger": "symptoms",
    "household.negative_ends": True,
    "quarantine.days": 14,
    "quarantine.adherence": 0.5,
    "quarantine.threshold": 0.5,
    "release_tests.after": 2,
    "manual.delay": 3,
    "manual.look_back": 14,
    "notification.look_back": 14,
    "notification.detection": 0.1,
}


def test_settings_of_levers_that_are_off_are_told_and_name_no_run(caplog):
    small = {"people": 200, "days": 9, "initially_infected": 20, "method": "fn"}
    plain = load_config(scenario="scarce", overrides=small)
    usual = run(plain)
    for key, value in OFF.items():
        caplog.clear()
        config = load_config(scenario="scarce", settings=[f"policy.{key}={value}"], overrides=small)
        lever = key.partition(".")[0]
        assert f"policy.{key} has no effect: policy.{lever} is off" in caplog.text
        assert config.digest == plain.digest
        assert run(config).daily == usual.daily
    caplog.clear()
    switched = {"policy.household.days": 0, "policy.quarantine.capacity": 0.0}
    assert load_config(scenario="scarce", overrides=small | switched).digest == plain.digest
    assert "no effect" not in caplog.text  # a switch does what it says


def test_settings_of_levers_that_are_on_are_not_told(caplog):
    both = {"household.days": 10, "quarantine.capacity": 0.01, "release_tests.capacity": 0.1}
    both |= {"manual.capacity": 0.01, "notification.consent": 0.5}
    on = {f"policy.{key}": value for key, value in both.items()}
    plain = load_config(scenario="scarce", overrides={"people": 200, "method": "fn"} | on)
    for key, value in OFF.items():
        caplog.clear()
        config = load_config(
            scenario="scarce",
            settings=[f"policy.{key}={value}"],
            overrides={"people": 200, "method": "fn"} | on,
        )
        assert "is off" not in caplog.text
        assert config.digest != plain.digest, key


@pytest.mark.parametrize("preset", ["standard", "paper-code"])
@pytest.mark.parametrize("method", METHODS.names)
def test_what_phones_believe_names_a_run_where_it_has_an_effect(method, preset, caplog):
    """A key that names no run changes nothing, neither scores nor costs, and is told."""
    small = {"method": method, "people": 200, "days": 9, "initially_infected": 20}
    plain = load_config(preset=preset, overrides=small)
    usual = run(plain)
    for key, value in CHANGED.items():
        caplog.clear()
        config = load_config(preset=preset, overrides=small, settings=[f"{key}={value}"])
        section, _, own = key.partition(".")
        idle = not {(section, None), (section, own)}.isdisjoint(config.idle())
        assert (key in caplog.text) is idle
        assert (config.digest == plain.digest) is idle
        if idle:
            found = run(config)
            assert found.daily == usual.daily
            assert found.summary["privacy"] == usual.summary["privacy"]


def test_rounds_that_are_replaced_are_told(caplog):
    """The preset gives `fn` rounds of its own; without the preset those of the model count."""
    assert ("seir", "rounds") in load_config(settings=["method=fn", "seir.rounds=1"]).idle()
    assert "seir.rounds has no effect with method 'fn'" in caplog.text
    small = {"method": "fn", "people": 200, "days": 9, "initially_infected": 20}
    one, five = (run(RunConfig(**small, seir={"rounds": rounds})) for rounds in (1, 5))
    assert one.config.digest != five.config.digest
    assert one.daily != five.daily


@pytest.mark.parametrize(
    ("method", "key"),
    [
        ("none", "tests.capacity=0.2"),
        ("none", "isolation.adherence=0.5"),
        ("random", "tests.believed_false_positive_rate=0.3"),
        ("fn", "privacy.noise=secure"),
        ("fn", "privacy.epsilon=3"),
    ],
)
def test_settings_of_sections_without_effect_are_told(method, key, caplog):
    load_config(settings=[f"method={method}", key])
    assert f"{key.partition('=')[0]} has no effect with method '{method}'" in caplog.text
    caplog.clear()
    load_config(settings=["method=headcount", key])
    assert "no effect" not in caplog.text


def test_sections_of_a_file_without_effect_are_told(tmp_path, caplog):
    (tmp_path / "run.toml").write_text("method = 'fn'\n[privacy]\nepsilon = 1\n")
    load_config(file=tmp_path / "run.toml")
    assert "privacy.epsilon has no effect with method 'fn'" in caplog.text


def test_a_section_may_be_given_as_a_whole():
    config = load_config(overrides={"simulator": {"season": {"amplitude": 0.2}}, "people": 60})
    assert config.simulator.season.amplitude == 0.2


def test_a_comparison_tells_what_does_nothing(caplog):
    notices._TOLD.clear()
    config = RunConfig(method="none", people=60, days=3, simulator={"vaccination": {"share": 0.5}})
    compare({"vaccinated": config}, seeds=[1, 2], workers=1)
    assert caplog.text.count("simulator.vaccination.share: against_infection and") == 1


def test_nobody_is_told_of_a_case_at_home_where_there_are_no_households(tmp_path):
    """The summary and the statement of a replay do not say it; those of a city do."""
    (tmp_path / "contacts.csv").write_text("sender,receiver,day\n0,1,0\n1,0,0\n")
    replay = {"name": "replay", "contacts": str(tmp_path / "contacts.csv")}
    common = {"days": 3, "initially_infected": 1}
    common["policy"] = {"name": "levers", "household": {"days": 10}}
    city = run(RunConfig(people=60, **common))
    assert city.summary["privacy"]["policy_tells_of_cases"]
    said = "tells people, without noise, that somebody they met or live with"
    assert said in guarantees.state(city.config, city.ledger)
    alone = run(RunConfig(simulator=replay, **common))
    assert "policy_tells_of_cases" not in alone.summary["privacy"]
    assert said not in guarantees.state(alone.config, alone.ledger)


def test_options_of_privacy_without_noise_are_told(tmp_path):
    small = ["--people", 150, "--days", 3, "--json"]
    for method, told in (("fn", True), ("random", True), ("dpfn", False)):
        done = dnatrace("run", "--method", method, "--epsilon", 3, *small, cwd=tmp_path)
        line = f"--epsilon has no effect: method '{method}' adds no noise"
        assert (line in done.stderr) is told


@pytest.mark.parametrize(
    ("setting", "line"),
    [
        ("simulator.vaccination.share=0.5", "simulator.vaccination.share: against_infection and"),
        (
            "simulator.variant={first=3, from_day=50}",
            "variant.first: from_day 50 is after the last",
        ),
        ("simulator.distancing=[{from_day=50, work=0.5}]", "distancing: from_day 50 is after"),
        ("seir.p1=0.5", "seir.transmission_per_contact (p1) has no effect with method 'headcount'"),
        ("tests.false_positive_rate=1.0", "add up to more than 1"),
    ],
)
def test_settings_that_change_nothing_are_told(setting, line, caplog):
    dt.load_config(settings=[setting], overrides={"days": 20})
    assert line in caplog.text
    caplog.clear()
    dt.load_config(overrides={"days": 100})
    assert caplog.text == ""


def test_what_phones_believe_names_no_run_of_a_method_that_does_not_ask():
    for method in ("headcount", "public-facts", "bp", "one-round", "traditional", "none"):
        same = dt.RunConfig(method=method, p1=0.5).digest == dt.RunConfig(method=method).digest
        assert same, method
    rounds = {"method": "headcount", "seir": {"exchange": "rounds"}}
    other = {"method": "headcount", "seir": {"exchange": "rounds", "p1": 0.5}}
    assert dt.RunConfig(**rounds).digest != dt.RunConfig(**other).digest
    assert dt.RunConfig(method="tally", p1=0.5).digest != dt.RunConfig(method="tally").digest


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"method": "fn", "epsilon": 1.5}, ["privacy.epsilon has no effect with method 'fn'"]),
        (
            {"method": "none", "tests": {"capacity": 0.5}},
            ["tests.capacity has no effect with method 'none'"],
        ),
        (
            {"method": "random", "p1": 0.3},
            ["seir.transmission_per_contact (p1) has no effect with method 'random'"],
        ),
        (
            {"method": {"name": "fn", "gamma": 0.3}},
            ["method.gamma has no effect with method 'fn'"],
        ),
        (
            {"method": "fn", "policy": {"name": "highest-scores", "epsilon": 3.0}},
            ["policy.epsilon has no effect with policy 'highest-scores'"],
        ),
        ({"method": "fn"}, []),
        ({"method": "headcount", "epsilon": 1.5}, []),
    ],
)
def test_runs_made_in_python_tell_what_is_idle(given, told, caplog, monkeypatch):
    monkeypatch.setattr(notices, "_TOLD", set())
    small = {"people": 60, "days": 2, "initially_infected": 3}
    overrides = given | small
    for make in (lambda: dt.RunConfig(**overrides), lambda: dt.load_config(overrides=overrides)):
        caplog.clear()
        notices._TOLD.clear()
        dt.run(make())
        assert [r.message for r in caplog.records if "no effect" in r.message] == told


def test_what_options_and_presets_give_is_told_once(caplog, monkeypatch):
    monkeypatch.setattr(notices, "_TOLD", set())
    small = {"people": 60, "days": 2, "initially_infected": 3}
    dt.run(dt.load_config(settings=["method=fn", "privacy.delta=0.1"], overrides=small))
    assert caplog.text.count("privacy.delta has no effect") == 1
    caplog.clear()
    dt.run(dt.load_config(preset="lifetime", settings=["method=fn"], overrides=small))
    assert "privacy" not in caplog.text  # nobody asked for the preset's ε


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"people": 1000}, ["imports_per_day=0.02", "variant.first=1"]),
        ({"people": 100_000}, ["imports_per_day=2", "variant.first=100"]),
        ({"people": 1000, "simulator.variant.first": 10}, ["imports_per_day=0.02"]),
        ({"people": 10_000}, []),
    ],
)
def test_arrivals_of_a_scenario_are_meant_for_its_own_city(changes, told, caplog):
    notices._TOLD.clear()
    for _ in range(2):
        given = {"method": "fn", "initially_infected": 5} | changes
        load_config(scenario="variant", overrides=given)
    assert caplog.text.count("is the same share") == len(told)
    for setting in told:
        assert f"here; simulator.{setting} is the same share" in caplog.text
