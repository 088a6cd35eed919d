import hashlib
import json
import re

import numpy as np
import pytest

import dnatrace as dt
from dnatrace.errors import InputError
from dnatrace.methods.catalogue import METHODS
from dnatrace.methods.fn import FnSettings
from dnatrace.policy.catalogue import POLICIES
from dnatrace.runs import presentation
from dnatrace.runs import run as runs
from dnatrace.runs.config import SCHEMA, RunConfig, load_config
from dnatrace.runs.presets import preset_names
from dnatrace.runs.run import build_simulator
from dnatrace.simulators import covasim, openabm
from dnatrace.simulators.city import CitySettings


@pytest.mark.parametrize(("method", "reads"), [("headcount", False), ("fn", True)])
def test_what_phones_believe_is_told_only_where_it_has_an_effect(method, reads, capsys):
    config = load_config(overrides={"method": method, "p1": 0.3, "people": 200, "days": 3})
    result = runs.run(config)
    presentation.show_run(result)
    assert result.summary["p1"] == (0.3 if reads else None)
    assert ("phones believe p1 0.3" in capsys.readouterr().out) == reads


def test_presets_all_load():
    assert set(preset_names()) == {
        "standard",
        "lifetime",
        "paper",
        "paper-best-reading",
        "paper-code",
        "realistic",
        "quick",
    }
    configs = {name: load_config(preset=name) for name in preset_names()}
    assert len({c.digest for c in configs.values()}) == len(configs)
    assert configs["realistic"].method.gamma == 0.2
    assert configs["paper"].method.release == "as_published"
    assert configs["paper-code"].isolation.days == 11
    assert configs["realistic"].app.by_age[0] == 0.0


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
    assert (config.method.name, config.method.score, config.seed) == ("fn", "infected", 9)
    assert config.privacy.epsilon == 1.0


def test_the_release_of_a_preset_is_for_its_own_method():
    assert load_config(preset="paper").method.release == "as_published"
    assert not hasattr(load_config(preset="paper", overrides={"method": "fn"}).method, "release")
    assert load_config(preset="paper", settings=["method.name=dna"]).method.release == "linear"
    mine = load_config(preset="paper", overrides={"method": "dpfn", "release": "correlated"})
    assert mine.method.release == "correlated"
    assert load_config(preset="paper", overrides={"release": "linear"}).method.release == "linear"


def test_a_table_of_a_method_holds_for_it_alone():
    values = {"gamma": 0.3, "dpfn-s": {"gamma": 0.4, "release": "restart"}, "dna": {"model": "x"}}
    own = RunConfig(method={"name": "dpfn-s"} | values).method
    assert (own.gamma, own.release) == (0.4, "restart")
    other = RunConfig(method={"name": "dpfn"} | values).method
    assert (other.gamma, other.release) == (0.3, "frozen")


def test_what_a_method_does_not_know_has_no_effect_and_is_told(caplog):
    assert RunConfig(method="fn", gamma=0.3) == RunConfig(method="fn")
    caplog.clear()
    with caplog.at_level("INFO"):
        load_config(overrides={"method": "fn", "gamma": 0.3})
        load_config(overrides={"method": "dpfn", "gamma": 0.3})
        load_config(preset="paper", overrides={"method": "fn"})  # the preset's, not the user's
    assert caplog.messages == ["method.gamma has no effect with method 'fn'"]


def test_short_names_keep_working_and_say_what_replaced_them(caplog):
    with caplog.at_level("INFO"):
        short = load_config(settings=["seir.p1=0.05", "method.name=dpfn-s", "method.rho=0.1"])
        full = load_config(
            settings=[
                "seir.transmission_per_contact=0.05",
                "method.name=dpfn-s",
                "method.exposure_spread=0.1",
            ]
        )
    assert short == full
    for preset in preset_names():  # also where the preset has the full name
        mine = load_config(preset=preset, overrides={"method": "dpfn", "method.mu_ref": 0.01})
        assert mine.method.mu_ref == 0.01
    assert caplog.messages == [
        "seir.p1 is now called seir.transmission_per_contact",
        "method.rho is now called method.exposure_spread",
    ]
    values = short.as_dict()
    assert values["seir"]["transmission_per_contact"] == short.seir.p1 == 0.05
    assert values["method"]["exposure_spread"] == short.method.rho == 0.1


def test_shortcuts_in_python():
    config = RunConfig(method="fn", epsilon=0.5, people=10, p1=0.05)
    assert (config.method.name, config.privacy.epsilon, config.seir.p1) == ("fn", 0.5, 0.05)
    both = RunConfig(method={"name": "dpfn", "gamma": 0.1}, release="analytic")
    assert (both.method.name, both.method.gamma, both.method.release) == ("dpfn", 0.1, "analytic")


@pytest.mark.parametrize("name", ["openabm", "covasim"])
def test_the_digest_tells_builds_of_outside_simulators_apart(name, monkeypatch):
    module = {"openabm": openabm, "covasim": covasim}[name]
    digests = []
    for build in (None, "a 1.0 (fork)", "a 1.0 (upstream)", "a 2.0 (fork)"):
        monkeypatch.setattr(module, "installed_build", lambda build=build: build)
        digests.append(RunConfig(simulator=name, method="random").digest)
    assert len(set(digests)) == 4


def test_the_digest_of_the_city_and_of_replay_asks_for_no_build(monkeypatch):
    for module in (openabm, covasim):
        monkeypatch.setattr(module, "installed_build", lambda: pytest.fail("not to be asked"))
    assert RunConfig(simulator="city").digest != RunConfig(simulator="replay").digest


def test_the_digest_is_of_what_has_an_effect_and_differs_from_its_default():
    """Known by hand, so that a new key with a default renames no stored run."""
    values = {"schema": SCHEMA, "seed": 7, "tests": {"capacity": 0.04}}
    values |= {"method": {"name": "fn", "content": "", "score": "infected"}}
    values |= {"policy": {"name": "highest-scores", "content": ""}}
    values |= {"simulator": {"name": "city", "content": ""}}
    expected = hashlib.blake2b(json.dumps(values, sort_keys=True).encode(), digest_size=8)
    config = RunConfig(seed=7, method="fn", score="infected", tests={"capacity": 0.04})
    assert config.digest == expected.hexdigest()


def test_settings_without_effect_do_not_name_a_run():
    assert RunConfig(method="fn", epsilon=0.1).digest == RunConfig(method="fn").digest
    assert RunConfig(method="dpfn", epsilon=0.1).digest != RunConfig(method="dpfn").digest
    exact = {"method": "traditional", "release": "exact"}
    assert RunConfig(**exact, delta=0.01).digest == RunConfig(**exact).digest
    idle = RunConfig(method="none", tests={"capacity": 0.5}, isolation={"days": 3})
    assert idle.digest == RunConfig(method="none").digest
    assert "privacy" not in RunConfig(method="fn").effective()
    three = {"rounds": 3}
    assert RunConfig(method="headcount", seir=three).digest == RunConfig(method="headcount").digest
    assert RunConfig(method="tally", seir=three).digest != RunConfig(method="tally").digest
    assert RunConfig(method="fn").effective()["tests"]["capacity"] == 0.08


def test_a_contact_list_counts_with_its_content(tmp_path):
    digests = []
    for name, row in (("a.csv", "0,1,0"), ("b.csv", "0,1,0"), ("c.csv", "1,0,0")):
        (tmp_path / name).write_text(f"sender,receiver,day\n{row}\n")
        simulator = {"name": "replay", "contacts": str(tmp_path / name)}
        digests.append(RunConfig(simulator=simulator).digest)
    assert digests[0] == digests[1] != digests[2]


def test_messages_are_of_own_tests_where_the_exchange_says_so():
    assert RunConfig(method="headcount").own_tests
    assert not RunConfig(method="headcount", seir={"exchange": "rounds"}).own_tests
    assert RunConfig(method="headcount", seir={"exchange": "rounds", "rounds": 1}).own_tests
    assert not RunConfig(method="tally", seir={"rounds": 2}).own_tests


def test_stored_configurations_load_again_old_and_new():
    config = RunConfig(seed=5, method="dna", gamma=0.1, unit="contact")
    assert RunConfig(**config.effective()) == config
    assert RunConfig(**config.effective()).digest == config.digest
    replay = RunConfig(simulator={"name": "replay", "contacts": "c.csv"})
    assert RunConfig(**replay.effective()).n_people is None
    old = {  # as they were stored before methods had settings of their own
        "people": 10000,
        "method": {
            "name": "fn",
            "release": None,
            "score": "infected",
            "gamma": 0.2,
            "mu_ref": 0.005,
            "rho": 0.05,
            "model": "dna",
            "decoder": "tally",
        },
        "seir": {"p0": 0.001, "p1": 0.05, "g": 0.99, "h": 0.1, "window": 14, "rounds": 5},
        "simulator": {"name": "city", "contacts": None},
    }
    assert RunConfig(**old) == RunConfig(method="fn", score="infected", p1=0.05, people=10000)


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


def test_more_infected_than_people_are_refused(tmp_path):
    with pytest.raises(InputError, match="initially_infected: 5,000 are more than all 1,000 peop"):
        RunConfig(people=1000, initially_infected=5000)
    assert RunConfig(people=1000, initially_infected=1000).n_initially_infected == 1000
    assert load_config(preset="quick", overrides={"people": 7}).n_initially_infected == 7
    path = tmp_path / "contacts.csv"
    path.write_text("sender,receiver,day\n0,1,0\n1,2,0\n")
    replay = {"simulator": {"name": "replay", "contacts": str(path)}}
    assert (build_simulator(RunConfig(**replay)).infected_on == 0).sum() == 3
    with pytest.raises(InputError, match="initially_infected: 4 are more than all 3 people"):
        build_simulator(RunConfig(initially_infected=4, **replay))
    many = RunConfig(initially_infected=20_000, **replay)  # a list may have more than 10,000 people
    assert many.n_initially_infected == 20_000


@pytest.mark.parametrize(
    ("simulator", "key", "value"),
    [
        ("city", "contacts", "c.csv"),
        ("openabm", "imports_per_day", 2.0),
        ("openabm", "distancing", [{"from_day": 3, "work": 0.5}]),
        ("covasim", "season", {"amplitude": 0.1}),
        ("covasim", "vaccination", {"share": 0.5}),
        ("covasim", "variant", {"first": 5}),
        ("replay", "distancing", [{"from_day": 3, "work": 0.5}]),
    ],
)
def test_settings_that_a_simulator_does_not_have_are_refused(simulator, key, value):
    with pytest.raises(InputError, match=f"simulator.{key}: simulator '{simulator}' has none"):
        RunConfig(simulator={"name": simulator, key: value})


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
        ({"method": "dpfn", "gamma": 0.0}, "method.gamma: input should be greater than 0"),
        (
            {"method": "fn", "score": "best"},
            "method.score: input should be 'infected' or 'exposed-or-infected'",
        ),
        (
            {"unit": "life"},
            "privacy.unit: input should be 'person', 'release', 'contact' or 'pair'",
        ),
        ({"app": {"adoption": [1, 1]}}, "app.adoption: give one share or 9"),
        ({"simulator": "sims"}, "simulator 'sims' does not exist; there are city, replay"),
        ({"simulator": {"contacts": "x"}}, "simulator.contacts: simulator 'city' has none"),
        ({"method": "fn", "release": "x"}, "method.release: method 'fn' has none"),
        ({"method": {"gama": 1}}, "unknown key 'method.gama'; did you mean 'method.gamma'"),
        ({"policy": "hope"}, "policy 'hope' does not exist; there are highest-scores"),
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
        ({"settings": ["people"]}, "settings: 'people': expected section.key=value"),
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
    wide = tmp_path / "wide.toml"
    wide.write_text("people = 300\n", "utf-16")
    narrow = tmp_path / "narrow.toml"
    narrow.write_text("people = 300\n# für alle\n", "cp1252")
    for path, message in [
        (tmp_path / "none.toml", "no such file"),
        (tmp_path, "is a directory"),
        (broken, "broken.toml: not valid TOML"),
        (wide, "wide.toml: is encoded in UTF-16, expected UTF-8"),
        (narrow, "narrow.toml: line 2 is not encoded in UTF-8"),
    ]:
        with pytest.raises(InputError, match=message):
            load_config(file=path)


def test_a_mark_of_the_encoding_before_the_first_line_is_passed_over(tmp_path):
    path = tmp_path / "notepad.toml"
    path.write_text("people = 300\ndays = 7\n", "utf-8-sig", newline="\r\n")
    config = load_config(file=path)
    assert (config.people, config.days) == (300, 7)


def test_messages_without_privacy_pay_in_the_small_city():
    """Of preset quick: one exchange and ages, as in standard; with five rounds it was luck.

    Peaks in ‰ on seeds 1 to 30: floor 29.1 ± 2.8, fn 22.0 ± 1.4, with five rounds 26.2 ± 1.9; on
    seed 1, which everybody sees first, 35.5, 28.5 and 36.5. Of the first six seeds fn is 10.9 below
    the floor on average, with five rounds 3.4.
    """
    quick = dt.load_config(preset="quick", overrides={"method": "fn"})
    assert quick.method == dt.load_config(overrides={"method": "fn"}).method

    def peaks(method):
        config = dt.load_config(preset="quick", overrides={"method": method})
        seeds = (config.model_copy(update={"seed": seed}) for seed in range(1, 7))
        return np.array([1000 * dt.run(one).summary["peak_infected"] for one in seeds])

    differences = peaks("fn") - peaks("public-facts")
    assert differences[0] < 0
    assert differences.mean() < -7


NO_FRACTIONS = [True, "0.5", b"0.5", np.True_, np.array(True), np.array("0.5")]


def fractions(values, path=()):
    """Return the paths of all fractional numbers in nested values."""
    inner = values.items() if isinstance(values, dict) else ()
    inner = enumerate(values) if isinstance(values, list) else inner
    found = [path] if isinstance(values, float) else []
    return found + [one for key, value in inner for one in fractions(value, (*path, key))]


def changed(values, path, value):
    """Return a deep copy with another value at a path."""
    if not path:
        return value
    copy = dict(enumerate(values)) if isinstance(values, list) else dict(values)
    copy[path[0]] = changed(copy[path[0]], path[1:], value)
    return list(copy.values()) if isinstance(values, list) else copy


@pytest.mark.parametrize(
    "plugin",
    [
        *({"method": name} for name in METHODS.names),
        *({"policy": {"name": name}} for name in POLICIES.names),
        *({"simulator": {"name": name}} for name in ("openabm", "covasim")),
        {"simulator": {"name": "city", "distancing": [{"from_day": 1}]}},
        {"app": {"adoption": [0.5] * 9}},
    ],
    ids=str,
)
def test_no_fraction_is_true_or_a_text(plugin):
    values = RunConfig(**plugin).as_dict()
    assert len(fractions(values)) > 10
    for path in fractions(values):
        key = ".".join(step for step in path if isinstance(step, str))
        for wrong in (True, "0.5"):
            with pytest.raises(InputError) as raised:
                RunConfig(**changed(values, path, wrong))
            assert str(raised.value) == f"{key}: input should be a valid number, not {wrong!r}"


def fraction_makers():
    """Return ways to give a fraction: alone, absent by default, in a list, in a table, copied."""
    return {
        "epsilon": lambda v: RunConfig(epsilon=v).privacy.epsilon,
        "capacity": lambda v: RunConfig(tests={"capacity": v}).tests.capacity,
        "p1": lambda v: dt.SeirParameters(p1=v).p1,
        "copy": lambda v: dt.SeirParameters().model_copy(update={"p1": v}).p1,
        "absent": lambda v: FnSettings(own_p0=v).own_p0,
        "tuple": lambda v: dt.CourseParameters(susceptibility=[v] * 9).susceptibility[3],
        "array": lambda v: dt.CourseParameters(susceptibility=np.array([v] * 9)).susceptibility[3],
        "either": lambda v: RunConfig(app={"adoption": v}).app.adoption,
        "list": lambda v: RunConfig(app={"adoption": [v] * 9}).app.adoption[3],
        "table": lambda v: CitySettings(distancing=[{"from_day": 1, "work": v}]).distancing[0].work,
        "elsewhere": lambda v: RunConfig(method={"name": "headcount", "rho": v}) and v,
    }


@pytest.mark.parametrize("way", fraction_makers())
def test_a_fraction_is_a_number_of_whatever_kind(way):
    make = fraction_makers()[way]
    for right in (1, 0.5, *(kind(0.5) for kind in (np.float64, np.float32, np.float16, np.array))):
        assert make(right) == right
    for right in (np.int64(1), np.uint8(1), np.array(1)):
        assert make(right) == 1.0
    for wrong in NO_FRACTIONS:
        with pytest.raises(InputError, match="input should be a valid number, not "):
            make(wrong)


def test_an_absent_fraction_stays_absent():
    assert FnSettings(own_p0=None).own_p0 is None
    assert RunConfig(tests={"believed_false_positive_rate": None}) == RunConfig()
