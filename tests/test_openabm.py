import gc
import re
import sys

import numpy as np
import pytest

from dnatrace.errors import InputError
from dnatrace.runs import health
from dnatrace.runs.config import RunConfig
from dnatrace.runs.run import run
from dnatrace.simulators import _openabm_model, covasim, openabm
from dnatrace.simulators.base import ContactKind, CourseState
from dnatrace.simulators.openabm import OpenABM

from .fake_openabm import HOUSEHOLD_SIZE, install

needs_it = pytest.mark.skipif(not openabm.is_installed(), reason="OpenABM-Covid19 is not installed")
VARIANTS = ("fork", "upstream")


@pytest.fixture
def stand_in(monkeypatch, tmp_path):
    """Put a stand-in for the simulator before whatever is installed."""

    def put(variant, flaw=""):
        install(tmp_path, variant, flaw=flaw)
        monkeypatch.syspath_prepend(tmp_path)
        for name in ("covid19", "COVID19", "COVID19.model"):
            monkeypatch.delitem(sys.modules, name, raising=False)

    return put


def named(variant):
    """How a build is called; a version stands in it where the package says one."""
    return re.compile(rf"OpenABM-Covid19 (\d[\w.]* )?\((?:{variant})\)").fullmatch


def pairs(contacts, n):
    keys = contacts.receivers() * np.int64(n) + contacts.senders
    return np.sort(keys)


# With the stand-in: what we do with the simulator's memory and its process.


def test_transmissibility_is_a_factor_on_its_infectious_rate(stand_in, monkeypatch):
    stand_in("fork")
    monkeypatch.setenv("EXPECTED_RATE", "2.875")
    assert OpenABM(n_people=5000, transmissibility=0.5).n_people == 5000
    with pytest.raises(InputError):  # the stand-in refuses another rate
        OpenABM(n_people=5000)


@pytest.mark.parametrize("variant", VARIANTS)
def test_reads_people_pairs_and_isolation(stand_in, variant):
    stand_in(variant)
    simulator = OpenABM(n_people=5000, seed=2, initially_infected=50, n_days=20)
    assert named(variant)(simulator.source)
    assert np.array_equal(simulator.age_groups, np.arange(5000) % 9)
    assert np.array_equal(simulator.households, np.arange(5000) // HOUSEHOLD_SIZE)
    contacts = simulator.advance()
    at_home = contacts.receivers()[contacts.kinds == ContactKind.HOUSEHOLD]
    assert np.array_equal(np.bincount(at_home), np.full(5000, HOUSEHOLD_SIZE - 1))
    assert np.bincount(contacts.kinds)[ContactKind.RANDOM] == pytest.approx(15_000, rel=0.01)
    isolated = np.arange(5000) % 3 == 0
    simulator.isolate(isolated)
    contacts = simulator.advance()
    assert not contacts.counts[isolated].any()
    assert not isolated[contacts.senders].any()
    # Household edges come back when isolation ends.
    simulator.isolate(np.zeros(5000, dtype=bool))
    contacts = simulator.advance()
    assert np.sum(contacts.kinds == ContactKind.HOUSEHOLD) == 5000 * (HOUSEHOLD_SIZE - 1)
    assert np.sum(simulator.infected_on >= 0) == np.sum(simulator.states > 0) > 50


@pytest.mark.parametrize("variant", VARIANTS)
def test_isolation_can_keep_the_household(stand_in, variant):
    stand_in(variant)
    simulator = OpenABM(n_people=5000, isolation_keeps_household=True)
    simulator.isolate(np.ones(5000, dtype=bool))
    contacts = simulator.advance()
    assert np.all(contacts.kinds == ContactKind.HOUSEHOLD)
    assert contacts.senders.size == 5000 * (HOUSEHOLD_SIZE - 1)


@pytest.mark.parametrize("variant", VARIANTS)
def test_another_layout_is_refused(stand_in, variant):
    stand_in(variant, flaw="shifted")
    with pytest.raises(InputError, match="not laid out in memory"):
        OpenABM(n_people=5000)


def test_its_end_is_an_error_with_its_last_words(stand_in):
    stand_in("fork", flaw="exits")
    with pytest.raises(InputError, match=r"ended \(code 1\): Household sampling failed"):
        OpenABM(n_people=5000)


def test_models_beside_each_other_do_not_share_a_generator(stand_in):
    stand_in("fork")
    one, two = (OpenABM(n_people=5000, seed=3) for _ in range(2))
    for _ in range(3):
        assert np.array_equal(pairs(one.advance(), 5000), pairs(two.advance(), 5000))


def test_the_process_ends_with_the_simulator(stand_in):
    stand_in("fork")
    simulator = OpenABM(n_people=5000)
    process = simulator._line._process
    assert process.poll() is None
    del simulator
    gc.collect()
    assert process.returncode is not None


def test_days_beyond_its_memory_are_refused(stand_in):
    stand_in("fork")
    with pytest.raises(InputError, match="can run 30 days, not 31"):
        OpenABM(n_people=5000, n_days=31)


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"n_people": 4999}, "at least 5000"),
        ({"seed": 0}, "seeds of 1"),
        ({"seed": 2**31}, "seeds of 1"),
        ({"n_people": 5000, "initially_infected": 5001}, "between 0 and 5000"),
    ],
)
def test_what_would_end_its_process_is_refused_before(wrong, words):
    with pytest.raises(InputError, match=words):
        OpenABM(**wrong)


@pytest.mark.parametrize("variant", VARIANTS)
def test_builds_are_told_apart_without_a_model(stand_in, variant, tmp_path, monkeypatch):
    stand_in(variant)
    assert named(variant)(openabm.installed_build())
    config = RunConfig(simulator="openabm", method="random")
    without_version = config.digest
    # A known build is not imported again.
    with monkeypatch.context() as patch:
        patch.setattr(openabm, "describe", lambda: pytest.fail("asked again"))
        assert config.digest == without_version
    versioned = tmp_path / "versioned"
    versioned.mkdir()
    install(versioned, variant)
    about = versioned / "covid19-1.2.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: covid19\nVersion: 1.2\n")
    monkeypatch.syspath_prepend(versioned)
    assert openabm.installed_build() == f"OpenABM-Covid19 1.2 ({variant})"
    assert config.digest != without_version
    simulator = OpenABM(n_people=5000, seed=2)
    assert simulator.source == openabm.installed_build()
    simulator.close()


def test_the_digest_without_the_simulator(monkeypatch):
    monkeypatch.setattr(openabm, "is_installed", lambda: False)
    assert openabm.installed_build() is None
    assert len(RunConfig(simulator="openabm", method="random").digest) == 16


def test_absence_names_the_project_and_its_address(monkeypatch):
    monkeypatch.setattr(openabm, "is_installed", lambda: False)
    with pytest.raises(InputError, match=r"OpenABM-Covid19 .*github\.com/BDI-pathogens"):
        OpenABM()
    with pytest.raises(InputError, match=r"not on PyPI"):
        openabm.describe()


def test_a_broken_installation_says_what_is_missing(monkeypatch, tmp_path):
    (tmp_path / "covid19.py").write_text("import a_module_that_is_nowhere\n")
    (tmp_path / "COVID19").mkdir()
    (tmp_path / "COVID19" / "__init__.py").write_text("")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "covid19", raising=False)
    with pytest.raises(InputError, match="a_module_that_is_nowhere"):
        OpenABM()
    assert openabm.installed_build() is None


def test_doctor_tells_which_simulators_are_usable(stand_in, monkeypatch):
    monkeypatch.setattr(openabm, "is_installed", lambda: False)
    report = health.examine()
    assert report["simulators"].keys() == {"city", "replay", "covasim", "openabm"}
    assert not report["simulators"]["openabm"]
    assert openabm.ADDRESS in report["simulator_notes"]["openabm"]
    monkeypatch.undo()
    stand_in("upstream")
    report = health.examine()
    assert report["simulators"]["openabm"]
    assert named("upstream")(report["simulator_notes"]["openabm"])
    monkeypatch.setattr(covasim, "installed_version", lambda: "2.0.0")
    assert not health.examine()["simulators"]["covasim"]


# With the simulator itself, where it is installed.


@pytest.fixture
def model():
    """One model in this process, to compare with what it says itself."""
    return _openabm_model.Model(
        n_people=6000, seed=5, initially_infected=100, keeps_household=False
    )


def own_pairs(model, folder):
    """Return (receiver, sender, kind) of the last step as the simulator itself lists them."""
    if model.variant == "fork":
        day = model._c.time - 1
        rows = np.array(model._compiled.get_contacts_daily(model._c, day))
        return rows[:, [0, 1, 3]]
    model._c.params.output_file_dir = str(folder)
    model._compiled.write_interactions(model._c)
    (file,) = folder.glob("interactions*.csv")
    return np.loadtxt(file, delimiter=",", skiprows=1, dtype=int)[:, [0, 7, 5]]


def in_order(rows):
    return rows[np.lexsort(rows.T)]


@needs_it
def test_pairs_by_views_are_those_it_lists_itself(model, tmp_path):
    isolated = np.arange(6000) % 7 == 0
    nobody = np.zeros(6000, dtype=bool)
    for day in range(1, 9):
        away = np.isin(model.states(), (6, 7, 8, 10))
        model.isolate(isolated if day > 4 else nobody, away)
        model.step()
        first, second, kinds = model.pairs()
        ours = np.concatenate(
            [np.stack([first, second, kinds], axis=1), np.stack([second, first, kinds], axis=1)]
        )
        theirs = own_pairs(model, tmp_path)
        assert np.array_equal(in_order(ours), in_order(theirs))
        assert (day > 4) == (not isolated[first].any())


@needs_it
def test_states_by_views_are_those_it_counts_itself(model):
    for _ in range(15):
        model.step()
        counts = np.bincount(model.states(), minlength=11)
        for state in range(1, 11):
            assert counts[state] == model._compiled.utils_n_current(model._c, state)
    assert counts[CourseState.SYMPTOMATIC_MILD] > 0


@needs_it
def test_closed_loop_on_it_reproduces_and_a_method_helps():
    settings = {"simulator": "openabm", "people": 6000, "days": 35, "seed": 2,
                "initially_infected": 40}  # fmt: skip
    none, one, two = (run(RunConfig(method=m, **settings)) for m in ("none", "fn", "fn"))
    assert one.summary == two.summary
    assert named("fork|upstream")(one.provenance["simulator"])
    assert one.summary["attack_rate"] < 0.8 * none.summary["attack_rate"]
    contacts = none.daily.column("contacts").to_pylist()
    assert contacts[0] / 6000 == pytest.approx(12.6, abs=0.3)
