import sys
from types import SimpleNamespace

import numpy as np
import pytest

from dnatrace.errors import InputError
from dnatrace.runs.config import RunConfig
from dnatrace.runs.run import build_loop, run
from dnatrace.simulators import covasim
from dnatrace.simulators.base import SEIR_OF_COURSE, ContactKind, CourseState
from dnatrace.simulators.covasim import Covasim

pytest.importorskip("covasim", reason="Covasim is not installed")


def exposed_or_infected(states):
    return int(np.isin(SEIR_OF_COURSE[states], (1, 2)).sum())


def with_adapter(seed, *, days, isolated=None):
    simulator = Covasim(n_people=2000, seed=seed, initially_infected=40, n_days=days)
    if isolated is not None:
        simulator.isolate(isolated)
    counts = []
    for _ in range(days):
        simulator.advance()
        counts.append(exposed_or_infected(simulator.states))
    return np.array(counts)


def alone(seed, *, days):
    """Covasim as its own documentation runs it."""
    sim = covasim.load().Sim(
        pop_size=2000, pop_infected=40, pop_type="hybrid", n_days=days, rand_seed=seed,
        pop_scale=1, rescale=False, verbose=0,
    )  # fmt: skip
    sim.run()
    results = sim.results if "n_exposed" in sim.results else sim.results.covid
    return np.array(results["n_exposed"])[:days]


def test_uncontrolled_epidemic_is_that_of_covasim_alone():
    days = 45
    if not covasim.installed_version().startswith("3."):
        # Named generators: the same numbers, day by day.
        expected = alone(1, days=days)
        assert np.array_equal(with_adapter(1, days=days), expected)
        held = with_adapter(1, days=days, isolated=np.arange(2000) % 4 == 0)
        assert not np.array_equal(held, expected)
        return
    # One global generator, which we do not share: the same law. Twelve seeds a side; four
    # standard errors of the difference have a false-alarm rate of about 1e-3 (22 degrees of
    # freedom), and the seeds are fixed.
    ours = np.array([with_adapter(seed, days=days).max() for seed in range(1, 13)])
    theirs = np.array([alone(seed, days=days).max() for seed in range(101, 113)])
    error = np.sqrt((ours.var(ddof=1) + theirs.var(ddof=1)) / 12)
    assert abs(ours.mean() - theirs.mean()) < 4 * error
    held = with_adapter(1, days=days, isolated=np.arange(2000) % 4 == 0).max()
    assert abs(held - theirs.mean()) > 4 * error


def test_closed_loop_isolates_without_contacts_or_infections():
    config = RunConfig(
        simulator="covasim", method="fn", people=2000, days=30, seed=3, initially_infected=40
    )
    loop = build_loop(config)
    simulator = loop.simulator
    isolated_days = infected_outside = 0
    for log in loop.run(30):
        assert not log.contacts.counts[log.isolated].any()
        assert not log.isolated[log.contacts.senders].any()
        newly = simulator.infected_on == log.day
        assert not newly[log.isolated].any()
        infected_outside += newly.sum()
        isolated_days += log.isolated.sum()
    assert isolated_days > 500
    assert infected_outside > 20


def test_runs_have_the_same_summary_and_a_method_helps():
    settings = {"simulator": "covasim", "people": 2000, "days": 30, "seed": 3,
                "initially_infected": 40}  # fmt: skip
    none, one, two = (run(RunConfig(method=m, **settings)) for m in ("none", "fn", "fn"))
    assert one.summary == two.summary
    assert one.provenance["simulator"].startswith("Covasim ")
    assert one.summary["simulator"] == "covasim"
    assert one.summary["attack_rate"] < 0.8 * none.summary["attack_rate"]
    groups = one.groups.to_pydict()
    assert sum(groups["people"][:9]) == 2000


def test_people_and_contacts_are_those_of_the_hybrid_population():
    simulator = Covasim(n_people=2000, seed=1, n_days=3)
    contacts = simulator.advance()
    kinds = np.bincount(contacts.kinds, minlength=3) / 2000
    assert kinds[ContactKind.HOUSEHOLD] == pytest.approx(2.1, abs=0.3)
    assert kinds[ContactKind.RANDOM] == pytest.approx(20, abs=1)
    assert 30 < kinds.sum() < 40
    assert np.bincount(simulator.age_groups, minlength=9).min() > 20
    # Everyone at home meets everyone else there, once.
    sizes = np.bincount(simulator.households)[simulator.households]
    at_home = contacts.receivers()[contacts.kinds == ContactKind.HOUSEHOLD]
    assert np.array_equal(np.bincount(at_home, minlength=2000), sizes - 1)


def test_the_dead_have_no_contacts():
    simulator = Covasim(n_people=3000, seed=2, initially_infected=2500, n_days=60)
    for _ in range(45):
        dead = simulator.states == CourseState.DEATH
        contacts = simulator.advance()
        assert not contacts.counts[dead].any()
        assert not dead[contacts.senders].any()
    assert dead.sum() >= 5
    assert np.all(simulator.states[dead] == CourseState.DEATH)


def test_flags_become_one_state_each():
    never, later = np.nan, 9.0
    # infected, symptoms on, severe on, symptomatic, severe, critical, recovered, dead
    rows = [
        ((0, never, never, 0, 0, 0, 0, 0), CourseState.UNINFECTED),
        ((1, later, later, 0, 0, 0, 0, 0), CourseState.PRESYMPTOMATIC),
        ((1, later, never, 0, 0, 0, 0, 0), CourseState.PRESYMPTOMATIC_MILD),
        ((1, never, never, 0, 0, 0, 0, 0), CourseState.ASYMPTOMATIC),
        ((1, 2.0, later, 1, 0, 0, 0, 0), CourseState.SYMPTOMATIC),
        ((1, 2.0, never, 1, 0, 0, 0, 0), CourseState.SYMPTOMATIC_MILD),
        ((1, 2.0, 3.0, 1, 1, 0, 0, 0), CourseState.HOSPITALISED),
        ((1, 2.0, 3.0, 1, 1, 1, 0, 0), CourseState.CRITICAL),
        ((0, 2.0, 3.0, 0, 0, 0, 1, 0), CourseState.RECOVERED),
        ((0, 2.0, 3.0, 0, 0, 0, 0, 1), CourseState.DEATH),
    ]
    table = np.array([row for row, _ in rows])
    flags = {name: table[:, 3 + i] == 1 for i, name in enumerate(covasim._FLAGS)}
    states = covasim._course_states(table[:, 0] == 1, table[:, 1], table[:, 2], flags)
    assert states.tolist() == [state for _, state in rows]


def test_global_generators_are_left_alone():
    simulator = Covasim(n_people=500, seed=1, initially_infected=20, n_days=3)
    state = np.random.get_state()  # noqa: NPY002
    Covasim(n_people=500, seed=2, n_days=3)
    simulator.advance()
    after = np.random.get_state()  # noqa: NPY002
    assert np.array_equal(state[1], after[1])
    assert state[2:] == after[2:]


def test_it_ends_with_its_days_and_refuses_what_it_cannot_take():
    simulator = Covasim(n_people=100, n_days=2)
    simulator.advance()
    simulator.advance()
    with pytest.raises(InputError, match="built for 2 days"):
        simulator.advance()
    with pytest.raises(InputError, match="at least 10"):
        Covasim(n_people=3)
    with pytest.raises(InputError, match="takes seeds"):
        Covasim(seed=2**40)


def test_the_build_that_digests_hold_is_the_one_that_runs():
    assert Covasim(n_people=50, n_days=2).source == covasim.installed_build()


def test_absent_or_unknown_versions_are_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "covasim", SimpleNamespace(__version__="2.1.0"))
    with pytest.raises(InputError, match=r"Covasim 2\.1\.0 .*github\.com"):
        Covasim()
    monkeypatch.setitem(sys.modules, "covasim", None)
    with pytest.raises(InputError, match=r"Covasim cannot be imported .*dnatrace\[covasim\]"):
        Covasim()


def test_importing_it_leaves_no_trace(monkeypatch, tmp_path, capsys):
    import matplotlib as mpl

    (tmp_path / "covasim.py").write_text(
        "import warnings, matplotlib\n__version__ = '4.0.9'\nprint('banner')\n"
        "warnings.warn('old')\nmatplotlib.rcParams['font.size'] = 99\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "covasim")
    assert covasim.load().__version__ == "4.0.9"
    assert capsys.readouterr().out == ""
    assert mpl.rcParams["font.size"] != 99


def ever(**simulator):
    config = RunConfig(
        people=1000,
        days=25,
        seed=3,
        initially_infected=10,
        simulator={"name": "covasim"} | simulator,
    )
    loop = build_loop(config)
    for _ in range(25):
        loop.simulator.advance()
    return int((loop.simulator.infected_on >= 0).sum())


def test_its_transmission_and_imports_are_settings():
    assert ever(transmissibility=0.0) == 10
    assert ever(transmissibility=0.5) < ever() < ever(transmissibility=2.0)
    # Poisson of mean 50 among 1,000, some of them twice: standard deviation 7.
    assert 25 < ever(transmissibility=0.0, imports_per_day=2.0) - 10 < 80
