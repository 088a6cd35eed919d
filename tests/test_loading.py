"""Configurations from the command line, from Python and from files: the same, or one clear line."""

import json

import pytest

from dnatrace.errors import InputError
from dnatrace.methods.catalogue import METHODS
from dnatrace.runs import run as runs
from dnatrace.runs import store
from dnatrace.runs.config import SCHEMA, RunConfig, load_config

from .command_line import run

TINY = {"people": 60, "days": 2, "seed": 7}


def digest_of_command(monkeypatch, *arguments):
    """Return the digest of what a command would run."""
    chosen = []

    def note(config, **_):
        chosen.append(config)
        raise InputError("noted")

    with monkeypatch.context() as patched:
        patched.setattr(runs, "run", note)
        run("run", *arguments)
    return chosen[0].digest


@pytest.mark.parametrize("method", METHODS.names)
def test_the_command_is_load_config_with_overrides(method, monkeypatch):
    """As docs/outputs.md and the docstring of RunConfig say."""
    command = digest_of_command(monkeypatch, "--method", method, "--people", "60", "--days", "2")
    overrides = {"method": method, "people": 60, "days": 2}
    assert load_config(overrides=overrides).digest == command


TABLE = {"policy": {"noise": "secure"}}


@pytest.mark.parametrize(
    ("settings", "overrides", "file"),
    [
        (["policy=threshold", "policy.noise=secure"], {}, ""),
        (["policy.noise=secure", "policy=threshold"], {}, ""),
        (["policy={name='threshold'}", "policy.noise=secure"], {}, ""),
        ([], {"policy": "threshold", "policy.noise": "secure"}, ""),
        ([], {"policy.noise": "secure", "policy": "threshold"}, ""),
        (["policy=threshold"], TABLE, ""),
        (["policy.noise=secure"], {}, "policy = 'threshold'\n"),
        (["policy=threshold"], {}, "policy.noise = 'secure'\n"),
    ],
)
def test_a_name_and_a_setting_of_a_plug_in_add_up_in_any_order(settings, overrides, file, tmp_path):
    """One replaced the other: the highest scores, or noise that protects nobody, were run."""
    path = tmp_path / "run.toml"
    path.write_text(file)
    config = load_config(settings=settings, overrides=overrides, file=path)
    assert (config.policy.name, config.policy.noise) == ("threshold", "secure")


def test_run_config_applies_no_preset():
    """So for two methods it is not what the command line runs, as its docstring says."""
    plain = {method: RunConfig(method=method).digest for method in METHODS.names}
    usual = {method: load_config(overrides={"method": method}).digest for method in METHODS.names}
    assert {method for method in plain if plain[method] != usual[method]} == {"fn", "bp"}


def stored(config, tmp_path):
    """Return the configuration of a run as a store has it."""
    (tmp_path / "run").mkdir()
    path = tmp_path / "run" / "config.json"
    path.write_text(json.dumps(config.effective()))
    return path


@pytest.mark.parametrize(
    "settings",
    [
        *({"method": method} for method in METHODS.names),
        {"method": "fn", "policy": {"name": "levers", "household": {"days": 7}}},
        {"method": "headcount", "seir": {"exchange": "rounds", "p1": 0.3}},
        {"method": "none", "simulator": {"name": "city", "distancing": [{"from_day": 2}]}},
    ],
)
def test_the_configuration_of_a_stored_run_is_a_file_for_a_run(settings, tmp_path, monkeypatch):
    for config in (RunConfig(**TINY, **settings), load_config(preset="realistic", overrides=TINY)):
        path = stored(config, tmp_path)
        assert load_config(file=path).digest == config.digest
        assert digest_of_command(monkeypatch, "--config", path) == config.digest
        path.unlink()
        path.parent.rmdir()


def test_a_stored_run_is_repeated_from_its_own_configuration(tmp_path):
    (tmp_path / "contacts.csv").write_text("sender,receiver,day\n0,1,0\n1,2,0\n2,0,1\n")
    contacts = f"simulator.contacts={tmp_path / 'contacts.csv'}"
    options = ("--simulator", "replay", "--set", contacts, "--set", "initially_infected=1")
    done = run("run", "-q", "--method", "fn", "--days", "3", *options, "--out", "a", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    (made,) = store.stored_runs(tmp_path / "a")
    done = run("run", "-q", "--config", made / "config.json", "--out", "b", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    (again,) = store.stored_runs(tmp_path / "b")
    assert again.name == made.name
    assert (again / "summary.json").read_bytes() == (made / "summary.json").read_bytes()


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('{"schema": 2}', f"is of schema 2, and this version reads schema {SCHEMA}"),
        ("{}", f"has no number of its schema, and this version reads schema {SCHEMA}"),
        ("[1]", "expected settings, as in the config.json of a run"),
        ("{", "not valid JSON: "),
        (f'{{"schema": {SCHEMA}, "days": 0}}', "days: input should be greater than or equal to 1"),
    ],
)
def test_a_json_file_that_is_no_configuration_is_one_line(tmp_path, text, told):
    path = tmp_path / "config.json"
    path.write_text(text)
    with pytest.raises(InputError) as raised:
        load_config(file=path)
    assert str(raised.value).startswith(f"{path}: {told}")
    with pytest.raises(InputError, match=r"absent\.json: no such file"):
        load_config(file=tmp_path / "absent.json")


def test_errors_name_the_file_that_has_them_and_no_other(tmp_path):
    path = tmp_path / "run.toml"
    path.write_text("[tests]\ncapacity = 2\n")
    with pytest.raises(InputError, match=rf"^{path}: tests\.capacity: input should be"):
        load_config(file=path)
    path.write_text("metod = 'fn'\n")
    with pytest.raises(InputError, match=rf"^{path}: unknown key 'metod'"):
        load_config(file=path)
    path.write_text("[tests]\ncapacity = 0.5\n")
    with pytest.raises(InputError, match=r"^tests\.capacity: input should be"):
        load_config(file=path, settings=["tests.capacity=2"])


@pytest.mark.parametrize(
    ("setting", "told"),
    [
        ("app.adoption=[0,0,0,0,0,0,0,0,1.2]", "app.adoption: input should be less than or equal"),
        ("tests.capacity=true", "tests.capacity: input should be a valid number, not True"),
        ("privacy.epsilon=true", "privacy.epsilon: input should be a valid number, not True"),
        ("tests.capacity='0.5'", "tests.capacity: input should be a valid number, not '0.5'"),
        ("app.adoption=[1,1,1,1,true,1,1,1,1]", "app.adoption: input should be a valid number"),
        ("app.adoption=[0.1,0.2]", "app.adoption: give one share or 9, one per age group"),
        ("simulator.vaccination.share=[1]", "simulator.vaccination.share: give one share or 9"),
        (
            "method.susceptibility_by_age=[1,1]",
            "method.susceptibility_by_age: give at least 9 values, not 2",
        ),
        ("tests=3", "tests: is a table of settings (false_positive_rate, "),
        ("policy.household=3", "policy.household: is a table of settings (days, "),
    ],
)
def test_a_wrong_setting_is_named_with_what_is_wrong(setting, told):
    with pytest.raises(InputError) as raised:
        load_config(settings=["method=fn", "policy.name=levers", setting])
    assert str(raised.value).startswith(told)


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("--p1", "2"), "--p1: seir.transmission_per_contact: input should be less than"),
        (("--people", "0"), "--people: input should be greater than or equal to 1, not 0"),
        (("--set", "days=0"), "days: input should be greater than or equal to 1, not 0"),
        (("--set", "days"), "--set days: expected section.key=value"),
        (("--set", "days=3", "--set", "days=4"), "--set days=3, --set days=4: choose one of them"),
    ],
)
def test_a_wrong_option_is_named(arguments, told):
    done = run("run", *arguments)
    assert done.returncode == 2
    assert done.stderr.startswith(f"dnatrace: {told}")


def test_a_setting_given_twice_with_one_value_is_taken(monkeypatch):
    twice = ("--set", "days=3", "--set", "days=3")
    assert digest_of_command(monkeypatch, *twice) == digest_of_command(monkeypatch, "--days", "3")


def test_files_of_many_runs_are_not_files_of_one(tmp_path):
    for text, line in (
        ("seeds = [1]\n", "'seeds' belongs to a file of many runs: dnatrace sweep"),
        ("preset = 'quick'\n", "'preset' is an option of a run: --preset quick"),
    ):
        (tmp_path / "run.toml").write_text(text)
        done = run("run", "--config", "run.toml", cwd=tmp_path)
        assert (done.returncode, done.stderr) == (2, f"dnatrace: run.toml: {line}\n")
    (tmp_path / "many.toml").write_text("seed = 4\nseeds = [1]\n")
    done = run("sweep", "many.toml", "--store", "runs", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (
        2,
        "dnatrace: many.toml: seed: give seeds, a list, instead\n",
    )


@pytest.mark.parametrize(
    ("call", "told"),
    [
        (
            lambda: load_config(overrides={"epsilon": 2.0, "privacy.epsilon": 3.0}),
            "privacy.epsilon=2.0, privacy.epsilon=3.0: choose one of them",
        ),
        (
            lambda: RunConfig(epsilon=2.0, privacy={"epsilon": 3.0}),
            "privacy.epsilon=2.0, privacy.epsilon=3.0: choose one of them",
        ),
        (
            lambda: RunConfig(privacy=RunConfig(epsilon=3.0).privacy, epsilon=2.0),
            "privacy is given whole, and epsilon beside it: choose one of them",
        ),
    ],
)
def test_a_key_given_different_values_in_python_is_refused(call, told):
    """One won without a word, and which depended on their order."""
    with pytest.raises(InputError) as raised:
        call()
    assert str(raised.value) == told


def test_dotted_keys_are_keys_of_python_and_of_files(tmp_path):
    """They were unknown, and the key that was meant was the same key."""
    config = RunConfig(people=200, **{"tests.capacity": 0.02, "method.name": "fn"})
    assert config == RunConfig(people=200, tests={"capacity": 0.02}, method="fn")
    (tmp_path / "run.toml").write_text('"tests.capacity" = 0.02\n[tests]\nresult_delay = 2\n')
    tests = load_config(file=tmp_path / "run.toml").tests
    assert (tests.capacity, tests.result_delay) == (0.02, 2)
    with pytest.raises(InputError, match=r"tests.capacity=0.02, tests.capacity=0.1: choose one"):
        RunConfig(**{"tests.capacity": 0.02, "tests": {"capacity": 0.1}})
    (tmp_path / "run.toml").write_text('"tests.capacity" = 0.02\ntests.capacity = 0.1\n')
    with pytest.raises(InputError, match=r"tests.capacity=0.1, tests.capacity=0.02: choose one"):
        load_config(file=tmp_path / "run.toml")
    with pytest.raises(InputError, match=r"unknown key 'tests.capasity'; did you mean 'tests.cap"):
        RunConfig(**{"tests.capasity": 0.02})


def test_a_key_given_the_same_value_twice_is_taken():
    assert load_config(overrides={"epsilon": 2, "privacy.epsilon": 2.0}).privacy.epsilon == 2.0
    assert load_config(settings=["days=3"], overrides={"days": 4}).days == 4
    assert load_config(settings=["days=3", "days=4"]).days == 4  # in the order of the list


@pytest.mark.parametrize(("kind", "name"), [("preset", "quick"), ("scenario", "autumn")])
def test_nothing_lies_under_the_configuration_of_a_stored_run(tmp_path, kind, name):
    """It has nearly every key, so a preset did nothing without a word."""
    path = store.write_run(runs.run(RunConfig(**TINY)), tmp_path) / "config.json"
    with pytest.raises(InputError, match=f"^{kind} '{name}', .*config.json: choose one of them; "):
        load_config(file=path, **{kind: name})
    done = run("run", f"--{kind}", name, "--config", path)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    (tmp_path / "run.toml").write_text("days = 2\n")
    load_config(file=tmp_path / "run.toml", **{kind: name})


def test_settings_of_a_statement_replace_its_usual_ones():
    """It chooses a small city unless told; the city that was asked for is no contradiction."""
    words = ("privacy", "statement", "--method", "fn", "--set", "people=120", "--set", "days=3")
    done = run(*words)
    assert done.returncode == 0, done.stderr
    assert "From a run of 120 people and 3 days that was made" in done.stdout


@pytest.mark.parametrize("name", ["preset", "scenario"])
def test_what_lies_under_a_configuration_is_no_key_of_it(name):
    """A key was suggested that has nothing to do with it: 'release' for 'preset'."""
    told = f"'{name}' is no key of a configuration: give --{name} on the command line, "
    with pytest.raises(InputError) as raised:
        RunConfig(**{name: "quick"})
    assert str(raised.value) == f"{told}dt.load_config({name}=…) in Python"
    done = run("run", "--set", f"{name}=quick", *("--people", 60, "--days", 2))
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"dnatrace: {told}")
