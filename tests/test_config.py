import hashlib
import json
import re
from pathlib import Path

import pytest

from dnatrace.errors import InputError
from dnatrace.runs.config import RunConfig, all_keys, load_config, preset_names
from dnatrace.simulators import covasim, openabm


def test_presets_all_load():
    assert set(preset_names()) == {
        "standard",
        "lifetime",
        "paper",
        "paper-code",
        "realistic",
        "quick",
    }
    configs = {name: load_config(preset=name) for name in preset_names()}
    assert len({c.digest for c in configs.values()}) == len(configs)
    assert configs["standard"].method.gamma == 0.2
    assert configs["paper"].method.release == "as_published"
    assert configs["paper-code"].isolation.days == 11
    assert configs["realistic"].app.by_age[0] == 0.0


def test_the_dictionary_names_every_key():
    text = (Path(__file__).parents[1] / "docs" / "parameters.md").read_text()
    missing = [key for key in all_keys(RunConfig) if f"`{key}`" not in text]
    assert missing == []


def test_layers_of_a_configuration(tmp_path):
    file = tmp_path / "mine.toml"
    file.write_text("people = 500\n[tests]\ncapacity = 0.02\n[seir]\np1 = 0.01\n")
    config = load_config(
        preset="paper",
        file=file,
        settings=[
            "seir.p1=0.02",
            "isolation.adherence_unit=event",
            "app.adoption=[1,1,1,1,1,1,1,1,0]",
        ],
        overrides={"method": "fn", "seed": 9, "epsilon": None},
    )
    assert config.people == 500
    assert config.tests.capacity == 0.02
    assert config.seir.p1 == 0.02
    assert config.isolation.adherence_unit == "event"
    assert config.app.by_age[-1] == 0.0
    assert (config.method.name, config.method.gamma, config.seed) == ("fn", 0.7, 9)
    assert config.privacy.epsilon == 1.0


def test_the_release_of_a_preset_is_for_its_own_method():
    assert load_config(preset="paper").method.release == "as_published"
    assert load_config(preset="paper", overrides={"method": "fn"}).method.release is None
    assert load_config(preset="paper", settings=["method.name=fn"]).method.release is None
    mine = load_config(preset="paper", overrides={"method": "dpfn", "release": "correlated"})
    assert mine.method.release == "correlated"
    assert load_config(preset="paper", overrides={"release": "linear"}).method.release == "linear"


def test_shortcuts_in_python():
    config = RunConfig(method="fn", epsilon=0.5, people=10, p1=0.05)
    assert (config.method.name, config.privacy.epsilon, config.seir.p1) == ("fn", 0.5, 0.05)
    both = RunConfig(method={"name": "fn", "gamma": 0.1}, release="x")
    assert (both.method.name, both.method.gamma, both.method.release) == ("fn", 0.1, "x")


@pytest.mark.parametrize("name", ["openabm", "covasim"])
def test_the_digest_tells_builds_of_outside_simulators_apart(name, monkeypatch):
    module = {"openabm": openabm, "covasim": covasim}[name]
    digests = []
    for build in (None, "a 1.0 (fork)", "a 1.0 (upstream)", "a 2.0 (fork)"):
        monkeypatch.setattr(module, "installed_build", lambda build=build: build)
        digests.append(RunConfig(simulator=name, method="random").digest)
    assert len(set(digests)) == 4


def test_the_digest_of_the_city_and_of_replay_has_no_build(monkeypatch):
    for module in (openabm, covasim):
        monkeypatch.setattr(module, "installed_build", lambda: pytest.fail("not to be asked"))
    for name in ("city", "replay"):
        config = RunConfig(simulator=name, method="random")
        values = config.as_dict()
        del values["method"]["decoder"]  # of tally alone
        text = json.dumps(values, sort_keys=True)
        assert config.digest == hashlib.blake2b(text.encode(), digest_size=8).hexdigest()


def test_the_digest_tells_settings_apart():
    assert RunConfig(seed=1).digest == RunConfig(seed=1).digest == RunConfig().digest
    assert RunConfig(seed=1).digest != RunConfig(seed=2).digest
    assert RunConfig(**RunConfig(seed=5, method="fn").as_dict()) == RunConfig(seed=5, method="fn")


@pytest.mark.parametrize(
    ("people", "expected"), [(3, 3), (10_000, 5), (100_000, 25), (200_000, 50), (10**6, 50)]
)
def test_initially_infected(people, expected):
    assert RunConfig(people=people).n_initially_infected == expected
    assert RunConfig(people=people, initially_infected=0).n_initially_infected == 0


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"colour": "red"}, "unknown key 'colour'"),
        ({"tests": {"capcity": 0.1}}, "unknown key 'tests.capcity'; did you mean 'tests.capacity'"),
        ({"tests": {"capacity": 1.5}}, "tests.capacity: input should be less than or equal to 1"),
        ({"tests": {"capacity": float("nan")}}, "tests.capacity: input should be a finite number"),
        ({"people": 0}, "people: input should be greater than or equal to 1, not 0"),
        ({"seed": -1}, "seed: input should be greater than or equal to 0"),
        ({"epsilon": 0}, "privacy.epsilon: input should be greater than 0"),
        ({"epsilon": float("inf")}, "privacy.epsilon: input should be a finite number"),
        ({"delta": 1.0}, "privacy.delta: input should be less than 1"),
        ({"gamma": 0.0}, "method.gamma: input should be greater than 0"),
        ({"score": "best"}, "method.score: input should be 'infected' or 'exposed-or-infected'"),
        ({"unit": "life"}, "privacy.unit: input should be 'release', 'contact' or 'pair'"),
        ({"app": {"adoption": [1, 1]}}, "app: give one share or 9"),
        ({"simulator": "sims"}, "simulator.name: input should be 'city'"),
        ({"days": 2.5}, "days: input should be a valid integer"),
    ],
)
def test_bad_values(values, message):
    with pytest.raises(InputError, match=re.escape(message)) as caught:
        RunConfig(**values)
    assert len(str(caught.value).splitlines()) == 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"preset": "best"}, "preset 'best' does not exist; there are lifetime"),
        ({"settings": ["people"]}, "--set people: expected section.key=value"),
        ({"settings": ["tests.size=3"]}, "unknown key 'tests.size'"),
        ({"settings": ["people.size=3"]}, "people: input should be a valid integer"),
    ],
)
def test_bad_sources(options, message):
    with pytest.raises(InputError, match=re.escape(message)):
        load_config(**options)


def test_bad_files(tmp_path):
    broken = tmp_path / "broken.toml"
    broken.write_text("people = \n")
    binary = tmp_path / "binary.toml"
    binary.write_bytes(b"\xff\xfe\x00")
    for path, message in [
        (tmp_path / "none.toml", "no such file"),
        (tmp_path, "is a directory"),
        (broken, "broken.toml: not valid TOML"),
        (binary, "binary.toml: cannot be read"),
    ]:
        with pytest.raises(InputError, match=message):
            load_config(file=path)
