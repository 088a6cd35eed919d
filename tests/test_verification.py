"""The scripts of verification/ in their quick version, end to end."""

import csv
import json
import shutil
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from dnatrace.runs.person_audits import PersonAudit
from dnatrace.sweeps import sweep as sweeps
from dnatrace.sweeps.spread import Spread
from dnatrace.sweeps.study import Study
from tests.forked_sweeps import in_process

if not (Path(__file__).parents[1] / "verification").is_dir():
    pytest.skip("the verification suite is not in this distribution", allow_module_level=True)

from verification import (
    augmentation,
    city,
    closed_loop,
    effects,
    front_figure,
    inference,
    levers,
    ordering,
    person,
    person_audit,
    person_figure,
    privacy,
    private_methods,
    pythons,
    simulators,
    tally,
    threshold,
    units,
    world,
    world_advice,
    world_words,
)


@pytest.fixture(autouse=True)
def one_thread(threads):
    """Threads cost more than they bring in cities so small."""
    threads(1)


@pytest.fixture
def quick(monkeypatch, tmp_path, capsys):
    """Call a script in this process and return its rows, its record and what it prints."""
    monkeypatch.setattr(sweeps, "execute", in_process)

    def call(script, *more, code=0):
        out = tmp_path / "table.md"
        assert script.main(["--quick", "--out", str(out), *more]) == code
        shown = capsys.readouterr().out
        assert shown == out.read_text() + "\n"
        assert closed_loop.WARNING in shown
        assert str(tmp_path) not in shown
        rows = list(csv.DictReader((tmp_path / "table.csv").read_text().splitlines()))
        record = json.loads((tmp_path / "table.json").read_text())
        assert record["provenance"]["dnatrace"]
        assert len(record["seeds"]) == 2
        return rows, record, shown

    return call


def test_ordering(quick):
    rows, _, shown = quick(ordering)
    assert [r["method"] for r in rows] == list(ordering.ORDER)
    assert "184.5 ± 4.8" in shown


@pytest.mark.parametrize(("last", "is_ordered"), [(0.01, True), (0.24, False)])
def test_an_order_that_does_not_show_is_told(last, is_ordered, monkeypatch, capsys):
    peaks = dict(zip(ordering.ORDER, (0.5, 0.4, 0.3, 0.2, last), strict=True))
    study = Study(
        seeds=(1, 2),
        summaries={k: [{"peak_infected": v + d} for d in (0, 0.001)] for k, v in peaks.items()},
    )
    monkeypatch.setattr(closed_loop.Call, "study", lambda *_: study)
    assert ordering.main([]) == (0 if is_ordered else 1)
    assert ("the order does not show" in capsys.readouterr().out) is not is_ordered


def test_tally(quick):
    rows, record, _ = quick(tally)
    configs = {tuple(r[k] for k in ("method", "epsilon", "setting")): r for r in rows}
    assert len(configs) == len(rows) == 27
    assert configs["tally", tally.ONE, tally.PAPER]["difference"] == ""
    scarce = configs["tally, messages never alarm", tally.ONE, tally.SCARCE]
    tallied = configs["tally", tally.ONE, tally.SCARCE]
    expected = float(scarce["mean"]) - float(tallied["mean"])
    assert float(scarce["difference"]) == pytest.approx(expected)
    assert record["decoder"] == tally.load_decoder().digest


def test_person(quick, tmp_path):
    rows, record, _ = quick(person, "--curve", str(tmp_path / "curve.csv"))
    found = {tuple(r[k] for k in person.COLUMNS): r for r in rows}
    methods = [("public-facts", ""), ("fn", ""), ("fn", person.PAPER)]
    methods += [("headcount", "daily"), ("headcount", "news")]
    assert [key[:2] for key in found] == methods
    floor, *others = rows
    assert floor["difference"] == ""
    for row in others:
        expected = float(row["mean"]) - float(floor["mean"])
        assert float(row["difference"]) == pytest.approx(expected)
    assert set(record["decoders"]) == {"headcount", "headcount-news", "public-facts"}
    assert (tmp_path / "table.svg").read_text().count("<svg") == 1
    kept = list(csv.DictReader((tmp_path / "curve.csv").read_text().splitlines()))
    assert [r["mean"] for r in kept] == [r["mean"] for r in rows]


def test_inference(quick, tmp_path):
    names = [name for name in inference.INFERENCES if name != "fn, p0 = 1e-5"]
    asked = ("--only", ";".join(names), "--tests", "0.04")
    rows, record, shown = quick(inference, "--figure", "--look", "--symptoms", *asked)
    sampled = [name for name in names if "policy.name" in inference.INFERENCES[name]]
    assert len(rows) == 2 * len(names) - len(sampled)
    assert {(r["tests"], r["symptoms"]) for r in rows} == {("0.04", "False"), ("0.04", "True")}
    assert "Scores against truth" in shown
    assert "People with symptoms" in shown
    tenths = [r for r in record["calibration"] if "share_true" in r]
    assert {r["inference"] for r in tenths} == set(inference.LOOKED_AT)
    for name in inference.LOOKED_AT:
        mine = [r for r in tenths if r["inference"] == name]
        assert 0.5 < sum(r["person_days"] for r in mine) / (2 * 10 * 150) <= 1.0
        assert all(r["mean_score"] <= 1.0 and r["share_true"] <= 1.0 for r in mine)
    assert (tmp_path / "table.svg").read_text().startswith("<?xml")


def test_rows_of_the_whole_table_of_inferences():
    """Every row at 4 % tests, those of the figure everywhere; fewer seeds where the page says n."""
    options = SimpleNamespace(only=None, symptoms=True, tests="0.08,0.04", quick=False)
    world = SimpleNamespace(**vars(options), simulator=None, people=None, days=None)
    call = closed_loop.Call(module="m", command="c", options=world, seeds=tuple(range(20)))
    configs = inference.configurations(call)
    alone = {name for name, capacity, asked in configs if capacity == 0.04 and not asked}
    assert alone == {*inference.MAIN, *inference.ONE_SETTING}
    others = {name for name, capacity, asked in configs if capacity == 0.08 or asked}
    assert others == set(inference.DRAWN)
    seeds = {label: len(inference.seeds_of(call, label)) for label in configs}
    assert seeds["bp", 0.08, False] == seeds["bp, 4 cold rounds", 0.04, False] == 20
    assert seeds["bp, 4 rounds", 0.04, False] == inference.N_ONE_SETTING
    assert seeds["bp", 0.08, True] == inference.N_SYMPTOMS


def test_inference_from_a_store(quick, tmp_path, capsys):
    """Rows have the runs that are there, from the first seed on; nothing is run."""
    kept = tmp_path / "store"
    asked = ("--tests", "0.04", "--store", str(kept), "--only")
    _, before, _ = quick(inference, *asked, "oracle;public-only")
    for run in kept.iterdir():
        config = json.loads((run / "config.json").read_text())
        first = config["seed"] == inference.FIRST_SEED
        if first == (config["method"]["name"] == "oracle"):
            shutil.rmtree(run)  # the first run of the oracle, the second of public-only
    _, after, shown = quick(inference, *asked, "oracle;public-only", "--figure", "--finished")
    [row] = after["rows"]
    assert (row["inference"], row["runs"]) == ("public-only", 1)
    assert row["values"] == before["rows"][1]["values"][:1]
    assert inference.FEWER in shown
    assert len(list(kept.iterdir())) == 2
    with pytest.raises(SystemExit):
        quick(inference, *asked, "oracle", "--finished")
    assert "the store has none of the runs" in capsys.readouterr().err


def test_units(quick, tmp_path):
    """Both units and both bounds stand side by side; only a method with a proof has a bound."""
    store = str(tmp_path / "store")
    rows, record, shown = quick(units, "--store", store)
    assert {r["unit"] for r in rows} == {"–", "release", "person"}
    private = [r for r in record["rows"] if r["epsilon"] is not None]
    bounded = {r["method"] for r in private if r["person_epsilon"] is not None}
    assert bounded == {"headcount, daily", "headcount, news"}
    by_name = {(r["method"], r["exchange"], r["unit"], r["epsilon"]): r for r in record["rows"]}
    best = by_name[units.BEST, "–", "–", None]
    tally = by_name["tally", units.FIVE, "release", 1.0]
    assert tally["to_best"] == pytest.approx(tally["mean"] - best["mean"])
    assert best["to_best"] is None
    assert "no bound" in shown
    again, _, _ = quick(units, "--store", store, "--finished")
    assert again == rows


def test_augmentation(quick):
    rows, record, _ = quick(augmentation)
    assert len(rows) == 2 + 2 * 2 * 2
    assert record["validation"] == [501, 502]
    assert all((r["difference"] != "") is (r["method"] == "dna") for r in rows)
    assert {r["gamma"] for r in rows} <= {"–", "0.7", "0.1 (best)", "0.2 (best)"}


def test_private_methods(quick):
    rows, record, _ = quick(private_methods)
    assert [r["method"] for r in rows[:5]] == list(private_methods.BOUNDS)
    assert {(r["method"], r["release"]) for r in rows[5:]} == set(private_methods.METHODS)
    for chosen in record["chosen"]:
        means = {float(gamma): mean for gamma, mean in chosen["means"].items()}
        assert chosen["gamma"] == min(means, key=means.get)
        assert set(means) == {0.05, 0.1}
    unsound = [r for r in rows if r["release"] == "as_published" and r["method"] == "dpfn-s"]
    assert all(r["per_contact_epsilon"].startswith("not sound") for r in unsound)


def test_world(quick):
    rows, record, shown = quick(world)
    cells = [*list(world.CELLS)[:3], "adoption-60"]
    assert {r["scenario"] for r in rows} == set(cells)
    usual = [name for name in world.METHODS if name not in world.LEFT_OUT]
    assert [r["method"] for r in rows[: len(usual) + 1]] == [*usual, world.NOTHING]
    assert world.APP_RULE in {r["method"] for r in rows if r["scenario"] == "adoption-60"}
    by_label = {(r["scenario"], r["method"]): r for r in record["rows"]}
    none, some = (by_label["scarce", name] for name in (world.NOTHING, "fn (two rounds)"))
    pairs = zip(none["attack_rate_values"], some["attack_rate_values"], strict=True)
    expected = sum(1.5 * (a - b) for a, b in pairs) / 2  # of 150 people, in %
    told = {(r["against"], r["quantity"]): r["mean"] for r in some["averted"]}
    assert told[world.NOTHING, "infections averted"] == pytest.approx(expected)
    assert "## Averted and costs, against status quo" in shown
    assert "- adoption-60: against public facts exact counts have" in shown
    assert shown.startswith("# The world: scenarios and methods\n\n## What to do\n\n1. Rank people")
    assert set(world.PROTOTYPE) <= {(cell, name) for cell in world.CELLS for name in world.METHODS}
    rows, _, _ = quick(world, "--methods", "random")
    assert {r["method"] for r in rows} == {world.STATUS_QUO, "random", world.NOTHING}
    with pytest.raises(SystemExit):
        world.main(["--quick", "--methods", "by chance"])


def made_up_world(**infected):
    """Return a study of one scenario by the shares infected of its methods."""
    names = {"floor": world_words.FLOOR, "quo": world_words.STATUS_QUO}
    names |= {"exact": world_words.EXACT, "private": world_words.PRIVATE, "default": "headcount"}
    names |= {"beliefs": "fn (two rounds)"}
    cell, n_seeds = infected.pop("cell", "adoption-60"), 4
    wobble = [0.001 * ((7 * seed) % 5) for seed in range(n_seeds)]
    return Study(
        seeds=tuple(range(n_seeds)),
        summaries={
            (cell, names[key]): [
                {"attack_rate": share + w, "people": 1000, "isolation_person_days": 100.0}
                for w in (wobble if key != "exact" else wobble[::-1])
            ]
            for key, share in infected.items()
        },
    )


@pytest.mark.parametrize(
    ("infected", "use", "told"),
    [
        ({"exact": 0.4, "private": 0.4}, "public facts", "Send no messages"),
        ({"exact": 0.2, "private": 0.3}, world_words.PRIVATE, "`news` keeps 50 % of it in adop"),
        ({"exact": 0.2, "private": 0.4}, "public facts", "keeps nothing that could be told in ad"),
        # By chance: noise cannot gain what exact counts do not.
        ({"exact": 0.4, "private": 0.3}, "public facts", "Send no messages"),
        ({"floor": 0.5, "exact": 0.2, "private": 0.2}, "the levers alone", "Not shown in: adopt"),
        ({"exact": 0.4, "private": 0.4, "default": 0.6}, "public facts", "switch it off there"),
        ({"exact": 0.4, "private": 0.4, "default": 0.5}, "public facts", "is nowhere worse"),
        ({"exact": 0.4, "private": 0.4, "beliefs": 0.45}, "public facts", "Do not pass on bel"),
    ],
)
def test_the_advice_follows_from_the_runs(infected, use, told):
    page = world_advice.head(made_up_world(**({"quo": 0.5, "floor": 0.4} | infected)))
    assert page[:2] == ["## What to do", ""]
    (row,) = [line for line in page if line.startswith("| adoption-60 |")]
    assert f"| {use} |" in row
    assert told in "\n".join(page)
    beliefs = any("Do not pass on beliefs" in line for line in page)
    assert beliefs == ("beliefs" in infected)


def test_levers(quick, capsys, monkeypatch):
    pytest.importorskip("covasim", reason="Covasim is not installed")
    capsys.readouterr()  # it greets
    rows, record, shown = quick(levers)
    assert [row["number"] for row in rows] == list(levers.NUMBERS)
    ours, theirs = (record["rows"][0][f"{name}_values"] for name in ("levers", "covasim"))
    gap = sum(a - b for a, b in zip(ours, theirs, strict=True)) / 2
    assert float(rows[0]["difference"]) == pytest.approx(gap)
    assert "Tracing averts at least" in shown

    def made_up(ever):
        return lambda size, seed, traced: dict.fromkeys(levers.NUMBERS, ever(seed, traced))

    monkeypatch.setattr(levers, "by_levers", made_up(lambda seed, traced: 20 if traced else 90))
    for more, code in ((1, 0), (30, 1)):  # within the spread of the seeds, and far from it
        theirs = made_up(lambda seed, traced, more=more: 20 + more * (1 + 2 * (seed % 2) - 1.5))
        monkeypatch.setattr(levers, "by_covasim", theirs if more == 1 else made_up(lambda *_: 50))
        assert levers.main(["--seeds", "4"]) == code
        assert ("DISAGREE" in capsys.readouterr().out) == (code == 1)
    untraced = made_up(lambda seed, traced: 50)  # tracing without effect: nothing was compared
    monkeypatch.setattr(levers, "by_levers", untraced)
    assert levers.main(["--seeds", "4"]) == 1
    with pytest.raises(SystemExit):
        levers.main(["--seeds", "1"])


def test_effects(quick):
    rows, _, shown = quick(effects)
    assert [row["effect"] for row in rows] == [effect.name for effect in effects.EFFECTS]
    assert "Rice et al. 2020" in shown


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ([0.25, 0.27, 0.26], "agrees"),
        ([0.05, 0.06, 0.05], "smaller"),
        ([0.70, 0.72, 0.71], "larger"),
        ([-0.3, 0.6, 0.2], "not told apart from 0"),
        ([-0.01, 0.01, 0.0], "NOT THERE"),
        ([-0.2, -0.21, -0.2], "WRONG SIGN"),
    ],
)
def test_verdicts_on_effects(values, said):
    effect = effects.EFFECTS[0]  # published: 27 % smaller
    assert effects.verdict(effect, Spread(values=np.array(values))) == said
    assert (said in effects.FAILED) == said.isupper()


def test_simulators(quick):
    methods = "none,dpfn-s/linear:method.gamma=0.2"
    rows, _, shown = quick(simulators, "--methods", methods, "--preset", "paper-code")
    assert len(rows) == 2 * len(simulators.UNCONTROLLED)
    contacts = [float(r["mean"]) for r in rows if r["metric"] == simulators.CONTACTS]
    assert all(5 < mean < 20 for mean in contacts)
    assert "## Without intervention" in shown
    assert "- city, simulator: built in." in shown
    assert "2.6 ± 0.6 |" in shown  # measured independently, with that release and γ


def test_a_simulator_that_fails_is_told(quick):
    rows, _, shown = quick(simulators, "--simulators", "city,replay", code=1)
    assert {r["simulator"] for r in rows} == {"city"}
    assert "- FAILED: none on replay, seed 3001: simulator.contacts: replay needs" in shown


def test_a_quick_call_writes_nothing_into_docs(capsys):
    with pytest.raises(SystemExit):
        ordering.main(["--quick", "--out", str(closed_loop.DOCS / "results" / "x.md")])
    assert "writes nothing into docs/" in capsys.readouterr().err


def test_a_store_resumes(quick, tmp_path, monkeypatch):
    first = quick(ordering, "--store", str(tmp_path / "runs"))
    monkeypatch.setattr(sweeps, "execute", None)  # nothing may be run again
    assert quick(ordering, "--store", str(tmp_path / "runs"))[0] == first[0]


def test_city(capsys, monkeypatch):
    assert city.main(["--quick"]) == 0
    assert "352 quantities, 0 off" in capsys.readouterr().out
    read = city.read_reference

    def wrong(name):
        rows = read(name)
        if name == "household_sizes.csv":
            rows[0]["fraction_of_households"] = "0.5"
        return rows

    monkeypatch.setattr(city, "read_reference", wrong)
    assert city.main(["--quick"]) == 1
    assert "352 quantities, 1 off" in capsys.readouterr().out


def test_privacy(capsys, monkeypatch):
    assert privacy.main(["--quick"]) == 0
    assert "4 of 4 as they must be" in capsys.readouterr().out
    planted = privacy.Case(name="weak", make=privacy._maker("dpfn-s", "linear"), claimed=0.1)
    monkeypatch.setattr(privacy, "_quick_cases", lambda: [planted])
    assert privacy.main(["--quick"]) == 1
    assert "FAILED" in capsys.readouterr().out


def test_person_audit(capsys, tmp_path):
    out = tmp_path / "table.md"
    assert person_audit.main(["--quick", "--out", str(out)]) == 0
    text = out.read_text()
    assert capsys.readouterr().out == text + "\n"
    rows = [line.split(" | ") for line in text.splitlines() if line.startswith("| tally |")]
    assert rows[0][2:] == ["167 ✗", "7.05 ✗ |"]
    assert "| headcount, daily | 5.02 |" in text
    with pytest.raises(SystemExit):
        person_audit.main(["--quick", "--out", str(closed_loop.DOCS / "results" / "x.md")])


@pytest.mark.parametrize(
    ("name", "proved", "mu", "good"),
    [
        ("headcount, daily", True, 1.0, True),
        ("headcount, daily", True, 3.0, False),  # more than is promised
        ("tally", False, 30.0, True),
        ("tally", False, 1.0, False),  # a false claim that is not refuted is told
        ("dpfn, frozen", False, 1.0, True),
    ],
)
def test_a_person_audit_that_is_not_as_it_must_be_is_told(name, proved, mu, good):
    found = PersonAudit(
        world="couple",
        claimed_epsilon=5.02,
        proved=proved,
        delta=1e-3,
        mu=mu,
        largest_move=1.0,
        met=True,
        releases=14,
    )
    assert person_audit.Row(name=name, found={"couple": found}).as_it_must_be is good


def test_threshold(quick):
    rows, _, shown = quick(threshold)
    assert [r["policy"] for r in rows] == list(threshold.POLICIES)
    assert float(rows[0]["tests used"]) == 1.0
    assert all(float(r["tests used"]) <= 1.0 for r in rows)
    assert rows[0]["difference"] == ""
    assert "noisy" not in shown


def test_pythons(capsys, tmp_path):
    """This interpreter beside itself would only install; those that are not there are told."""
    assert pythons.main(["--quick", "no-such-python"]) == 0
    assert capsys.readouterr().out == "no-such-python: not installed here, not checked\n"
    assert pythons.version_of(sys.executable).startswith("Python 3.")
    assert set(pythons.numbers_of(sys.executable, tmp_path)) == {"fn", "headcount", "dna"}
    other = pythons.Found(python="p", version="Python 3.99", same=False, passed=False)
    assert "OTHER NUMBERS" in str(other)


def test_an_interpreter_with_other_numbers_fails(capsys, monkeypatch):
    found = pythons.Found(python="p", version="Python 3.99", same=False, passed=False)
    monkeypatch.setattr(pythons, "check", lambda python, *, quick: found)
    assert pythons.main(["p"]) == 1


def test_no_panel_of_the_figure_of_a_person_is_cut():
    """Panels share an axis: the largest mean of any of them is in sight."""
    results = Path(__file__).parents[1] / "docs" / "results"
    rows = json.loads((results / "person.json").read_text("utf-8"))["rows"]
    panels = person_figure.panels_of(rows).axes
    assert len(panels) == 3
    assert all(max(row["mean"] for row in rows) < axes.get_ylim()[1] for axes in panels)
    assert all(min(row["mean"] for row in rows) > axes.get_ylim()[0] for axes in panels)


def test_the_picture_of_the_readme_shows_both_results(tmp_path, capsys):
    """Its points are those of the results that are kept, and all of them are in sight."""
    out = tmp_path / "front.svg"
    assert front_figure.main(["--out", str(out)]) == 0
    assert capsys.readouterr().out == "wrote front.svg\n"
    assert out.read_text("utf-8").count("<svg") == 1
    kept = [
        json.loads((front_figure.RESULTS / f"{n}.json").read_text())
        for n in ("inference", "person")
    ]
    rows = [one["rows"] for one in kept]
    without, plenty, scarce = front_figure.drawn(*rows).axes
    labels = {label for axes in (without, plenty) for label in axes.get_legend_handles_labels()[1]}
    assert {*front_figure.SHOWN, "headcount, daily", "headcount, news"} <= labels
    for axes, capacity in ((plenty, 0.08), (scarce, 0.04)):
        means = [row["mean"] for row in rows[1] if row["capacity"] == capacity]
        assert axes.get_ylim()[0] < min(means) <= max(means) < axes.get_ylim()[1]
