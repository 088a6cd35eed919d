"""What `dnatrace plan` refuses, records and says; its search is in `test_plan.py`."""

import html
import itertools
import json
import os
import shlex
import shutil
from dataclasses import replace

import pytest
from rich.console import Console
from rich.measure import Measurement

import dnatrace as dt
from dnatrace.cli import plan as command
from dnatrace.cli._command import table
from dnatrace.plans import (
    assumptions,
    bearers,
    changes,
    comparison,
    files,
    instructions,
    labels,
    page,
    planning,
    questions,
    words,
)
from dnatrace.plans.actions import FLOOR, METHODS, NO_SCORES, Action, World
from dnatrace.plans.budgets import Budgets
from dnatrace.plans.comparison import STATUS_QUO
from dnatrace.plans.intervals import fewer
from dnatrace.plans.search import Effort
from dnatrace.runs.scenarios import read_scenario, scenario_names

from . import command_line
from .forked_sweeps import alone

TINY = {"people": 300, "days": 20, "initially_infected": 10}
WORLD = World(scenario="autumn", overrides=TINY)
BUDGETS = Budgets(tests=0.02, quarantine=0.05, epsilon=5.0)
ARGUMENTS = ("plan", "--scenario", "autumn", "--tests", 0.02, "--quarantine", 0.05, "--epsilon", 5)


@pytest.fixture(autouse=True, scope="module")
def _here():
    with alone():
        yield


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


def planned(store, *, world=WORLD, budgets=BUDGETS, evaluations=3):
    effort = Effort(evaluations=evaluations, seeds=2, first_seeds=1)
    planner = planning.Planner(world=world, budgets=budgets, effort=effort, store=store)
    return planning.make_plan(planner)


@pytest.fixture(scope="module")
def idle(tmp_path_factory):
    """Return a plan without any budget, which does nothing."""
    nothing = Budgets(tests=0.0, quarantine=0.0, epsilon=0.0)
    return planned(tmp_path_factory.mktemp("idle"), budgets=nothing)


CHANGED = "app.adoption 0.9 (0.28 there)"


def test_what_differs_from_the_scenario_is_named_everywhere(tmp_path):
    line = (*ARGUMENTS, *SMALL[:-1], "--set", "app.adoption=0.9", "--set", "tests.result_delay=0")
    shown = command_line.run(*line, "--out", tmp_path).stdout
    page_text = html.unescape((tmp_path / "plan.html").read_text("utf-8"))
    text = (tmp_path / "plan.md").read_text("utf-8")
    values = json.loads((tmp_path / "plan.json").read_bytes())
    named = f"Changed from the scenario: tests.result_delay 0 (1 there), {CHANGED}; sizes: "
    named += "people 100 (10,000 there), days 3 (100 there), initially_infected 50"
    for told in (shown, text, page_text, values["recommendation"]["depends"][0]):
        assert named.rpartition(",")[0] in told
        assert "What is called today is today in this changed world." in told
    for told in (shown, text, page_text, values["recommendation"]["in_short"]):
        assert "what is done today in the changed world" in told
    title = f"”), changed: tests.result_delay 0 (1 there), {CHANGED}"
    assert values["title"].endswith(title)
    assert text.splitlines()[0] == f"# {values['title']}"
    assert f"<h1>{values['title']}</h1>" in page_text
    assert "changed: 0.9 (0.28 there)" in page_text  # beside the source of 0.28
    adoption = {"key": "app.adoption", "value": 0.9, "in_scenario": 0.28, "is_size": False}
    assert adoption in values["changes"]


def changed(*settings, scenario="autumn", **overrides):
    world = World(scenario=scenario, settings=settings, overrides=overrides)
    return [(one.key, one.is_size) for one in changes.changes_of(world)]


def test_what_counts_as_a_change():
    assert changed() == changed("app.adoption=0.28") == changed(people=10_000) == []
    assert changed("days=20", people=20) == [
        *(("people", True), ("days", True)),
        ("initially_infected", True),  # no more than there are people
    ]
    assert changed("initially_infected=7") == [("initially_infected", False)]
    assert changed("method.decoder=x") == [("method.decoder", False)]
    assert changed("simulator=openabm") == [("simulator.name", False)]
    assert changed("policy.levers.symptoms.mild=0.3") == [
        *(("policy.symptoms.severe", False), ("policy.symptoms.mild", False)),
    ]
    for name in scenario_names():
        world = World(scenario=name, overrides={})
        assert changed(scenario=name) == []
        assert "Changed" not in changes.assumed(world)


def test_today_in_a_world_of_another_size_is_not_called_changed(idle):
    assert "changed world" not in words.recommendation(idle)["in_short"]
    assert "; sizes" not in words.recommendation(idle)["depends"][0]
    assert "scenario: sizes: people 300" in words.recommendation(idle)["depends"][0]
    assert "changed" not in files.title_of(idle)


@pytest.mark.parametrize("name", scenario_names())
def test_what_a_plan_decides_is_not_assumed(idle, name):
    """A title may tell of tests by score: it is a name, and today has none."""
    there = replace(idle, world=World(scenario=name, overrides=TINY | {"people": 3000}))
    assumed, today = words.depends_lines(there)[:2]
    title = read_scenario(name).title
    full = read_scenario(name).name
    assert files.title_of(there) == f"What to do in the world of scenario {full} (“{title}”)"
    start = f"Assumed: the world of scenario {full} (“{title}”), except for what the plan decides: "
    assert assumed.startswith(start)
    assert ("whether staff trace" in assumed) == (name == "school-term")
    assert today.endswith("There are no scores today, so nothing is done by score.")
    asks = name not in ("paper", "tests-4")
    assert ("people with symptoms who ask are tested" in today) == asks
    assert ("nobody is tested or sent home" in today) != asks
    at_home = name in ("household", "school-term", "variant")
    assert ("housemates of a person who tested positive stay at home" in today) == at_home
    assert ("staff trace contacts by hand" in today) == (name == "school-term")


@pytest.mark.parametrize("name", ["paper", "quarantine"])
def test_today_does_nothing_by_score(name):
    """Without symptoms that are seen, nobody is tested or stays at home."""
    unseen = {"policy.symptoms.severe": 0.0, "policy.symptoms.mild": 0.0}
    usual = World(scenario=name, overrides=TINY | (unseen if name == "quarantine" else {})).usual
    found = dt.run(usual).summary
    assert found["tests_used"] == found["isolation_person_days"] == 0


def test_the_end_of_a_share_that_is_kept_is_not_rounded_to_0():
    told = words._gap({"share": 0.4, "low": 0.003, "high": 0.8})
    assert told == " Private messages have 40 % (0.3 to 80 %) of what exact ones gain."


def groups_of(**by_group):
    """Return rows as of `_groups`, whatever is asked for."""
    rows = [{"group": g, "n": m, "n_low": low, "n_high": h} for g, (low, m, h) in by_group.items()]
    return lambda plan, by, quantity: rows


def test_groups_with_more_infections_are_named(idle, monkeypatch):
    found = groups_of(a=(-3.0, -2.0, -1.0), b=(-1.0, 0.0, 1.0), c=(1.0, 2.0, 3.0))
    monkeypatch.setattr(bearers, "_groups", found)
    lines = words.bears_lines(idle)
    assert "More infections than today: people of a." in lines
    assert "No detectable reduction in infections: people of b." in lines
    alike = groups_of(a=(-3.0, -2.0, -1.0), b=(-3.0, -2.0, -1.0))
    monkeypatch.setattr(bearers, "_groups", alike)
    assert "More infections than today: people of a, people of b." in words.bears_lines(idle)


def test_what_is_borne_is_compared_with_today_in_english(idle, monkeypatch):
    monkeypatch.setattr(bearers, "_groups", groups_of(a=(-1.0, 0.1, 1.0), b=(-3.0, -2.0, -1.0)))
    line = "the most is borne by people of a: no detectable difference in days at home per person "
    assert f"By age {line}(−1.0 to 1.0), compared with today; the least by " in " ".join(
        words.bears_lines(idle)
    )
    monkeypatch.setattr(bearers, "_groups", groups_of(a=(1.0, 2.0, 3.0), b=(-3.0, -2.0, -1.0)))
    assert "2.0 (1.0 to 3.0) more days at home per person than today;" in " ".join(
        words.bears_lines(idle)
    )


def test_doing_nothing_is_compared_with_today(idle):
    said = words.recommendation(idle)
    row = next(row for row in idle.rows() if row["recommended"])
    assert row["tests_per_person"] == row["days_at_home_per_person"] == 0.0
    changed = fewer(row, "infections_averted_vs_status_quo", "infections")
    start = f"Do nothing. {words.NOTHING_FOUND} Compared with what is done today, which would end,"
    assert said["in_short"].startswith(f"{start} that means {changed} per 10,000 people in 20 days")
    assert f"{words.NOTHING_FOUND} " in said["brings"]
    assert f"(the scenario without tracing) {changed}" in said["brings"]
    assert "against doing nothing" not in said["brings"]


def worlds(monkeypatch, **ends):
    name = "infections_averted_vs_status_quo"
    rows = [
        {"key": key, "if": f"it is {key}", name: 0.5 * (low + high)}
        | {f"{name}_low": low, f"{name}_high": high}
        for key, (low, high) in ends.items()
    ]
    monkeypatch.setattr(assumptions, "rows_of", lambda *_: rows)


def test_worse_is_called_worse(idle, monkeypatch):
    def robust(low, high):
        name = "infections_averted_vs_status_quo"
        here = {name: 0.5 * (low + high), f"{name}_low": low, f"{name}_high": high}
        return " ".join(words._robust(idle, here))

    worlds(monkeypatch, dry=(-5.0, -1.0), wet=(-1.0, 1.0), hot=(1.0, 2.0))
    said = "worse than today if it is dry. It is not shown to be better than today if it is wet."
    assert robust(1.0, 2.0) == f"It is {said}"
    assert robust(-2.0, -1.0) == f"It is better than today if it is hot. It is also {said}"
    worlds(monkeypatch, dry=(-5.0, -1.0), wet=(-5.0, -1.0))
    assert robust(-1.0, 1.0) == "It is worse than today if it is dry; or if it is wet."
    worlds(monkeypatch, hot=(1.0, 2.0))
    assert robust(1.0, 2.0) == "It stays better than today where one assumption is wrong (hot)."
    assert robust(-1.0, 1.0) == "It is better than today if it is hot."


def test_worlds_that_change_nothing_are_not_in_the_headline(idle):
    assert assumptions.without_effect(idle.study, idle.other_worlds) == {"fewer users"}
    assert "have the app" not in words.recommendation(idle)["in_short"]
    assert "all stays the same" in words.world_lines(idle)[1]


def test_a_world_in_which_only_days_at_home_differ_is_not_the_same(tmp_path):
    """Nobody infects anybody, so that infections are the same whoever complies."""
    still = World(scenario="autumn", overrides=TINY | {"simulator.transmissibility": 0.0})
    found = planned(tmp_path, world=still)
    home = found.study.difference(
        f"fewer follow: {STATUS_QUO}", STATUS_QUO, "isolation_person_days"
    )
    assert home.mean < 0.0
    assert "fewer follow" not in assumptions.without_effect(found.study, found.other_worlds)


def test_what_no_score_decides_has_no_price_of_privacy(idle):
    said = words.recommendation(idle)
    assert said["privacy"] == "Nothing: this plan uses no scores, so that no messages are needed."
    assert not {step.key for step in idle.steps} & {"epsilon", "messages", "exact messages"}
    assert not Action(method=NO_SCORES).uses_scores
    assert not Action(method=FLOOR, tests=0.0).uses_scores
    assert Action(method=FLOOR).uses_scores
    assert Action(method=FLOOR, tests=0.0, by_score=0.5).uses_scores
    idle_scores, none = Action(method=FLOOR, tests=0.0), Action(tests=0.0)
    assert instructions.instead(idle_scores, none, WORLD, BUDGETS) == "The same"
    assert "no scores" not in comparison.neighbours(idle_scores, WORLD, BUDGETS).configs
    assert "read all scores" not in words.promise(idle_scores, idle)
    twins = comparison.privacy_twins(Action(method=NO_SCORES), WORLD, BUDGETS)
    assert twins.steps == []
    assert {"exact messages", "truth", "app rule"} <= set(twins.configs)  # still shown


def test_more_of_what_is_not_used_is_not_measured(idle):
    lines = words.margin_lines(idle, parts=False)
    line = "One more percent in quarantine was not measured: this plan uses no quarantine."
    assert lines[-1] == line
    assert "more quarantine" not in {step.key for step in idle.steps}
    assert lines[0].startswith("One more percent of tests in the budget (the plan then tests up to")

    def keys(action, budgets=BUDGETS, world=WORLD):
        return set(comparison.neighbours(action, world, budgets).configs)

    assert not keys(Action(tests=0.0)) & {"more tests", "more quarantine"}
    told = comparison.not_measured(Action(tests=0.0), WORLD, BUDGETS)
    assert told[0].endswith("this plan leaves unused the tests that it has.")
    assert len(told) == 2
    for action in (Action(waits=True), Action(household_days=5), Action(method=FLOOR, by_score=1)):
        assert {"more tests", "more quarantine"} <= keys(action)
        assert not comparison.not_measured(action, WORLD, BUDGETS)
    school = World(scenario="school-term", overrides=TINY | {"people": 3000})
    assert "more quarantine" in keys(Action(), world=school)  # staff send people home
    assert "more quarantine" not in keys(Action(staff=False), world=school)


def test_sizes_of_less_than_one_person_are_none():
    def plain(people=300, budgets=BUDGETS, **action):
        return Action(**action).plain(budgets, people)

    few = Budgets(tests=0.0005, quarantine=0.0005, epsilon=0.0)
    assert plain(2000, few, tests=0.75, waits=True) == Action(tests=0.0)
    assert plain(2000, few, tests=1.0, household_days=5) == Action(household_days=5)
    assert plain(1000, few, tests=1.0, household_days=5) == Action(tests=0.0, staff=False)
    assert plain(None, few, tests=0.75).tests == 0.75  # the simulator decides how many there are
    scored = {"method": FLOOR, "tests": 0.5}  # 3 tests per day
    assert plain(**scored, for_scores=0.75, waits=True) == Action(**scored, for_scores=1.0)
    assert plain(**scored, for_scores=0.25).for_scores == 0.25
    assert plain(100, **scored, by_score=0.1).by_score == 0.0
    ends = {"tests": 0.5, "household_days": 5, "negative_ends": True}
    assert plain(**ends, to_release=0.25) == Action(**ends)
    assert plain(**ends, to_release=0.5).to_release == 0.5


def test_a_budget_of_less_than_one_test_is_told_once_in_its_words(tmp_path):
    line = ["plan", "--scenario", "autumn", "--tests", 0.005, "--quarantine", 0, "--epsilon", 0]
    line += [*SMALL[:-2], "--store", tmp_path]
    told = "--tests 0.005 of 100 people is less than one person: nobody can be tested per day"
    loud = command_line.run(*line)
    assert loud.stderr.count("less than one") == 1
    assert f"warning: {told}\n" in loud.stderr
    quiet = command_line.run(*line, "-q")
    assert quiet.stderr == ""
    assert quiet.stdout.startswith("Do nothing.")
    assert "0.5 %" not in quiet.stdout.partition("The front")[0]


def test_today_with_less_than_one_test_by_score_is_not_warned_about(idle):
    tiny = replace(WORLD, overrides=TINY | {"people": 100})
    assert (tiny.usual.tests.capacity, WORLD.usual.tests.capacity) == (0.0, 0.004)
    small = replace(idle, world=tiny, budgets=replace(idle.budgets, quarantine=0.001))
    assert any("nobody can be in quarantine." in note for note in files.notes(small, small=True))


def test_a_row_of_the_console_fits_into_80_columns(idle, monkeypatch):
    """Usual numbers on one line; where tests have four digits, a cell is wrapped."""
    wide = ["4,270 (−3,840 to 4,690)", "−4,270 (−4,690 to −3,840)", "", "0.056 (0.030 to 0.081)"]
    console = Console(width=1000)

    def widths(tests):
        monkeypatch.setattr(files, "_numbers", lambda row: [*wide, tests])
        made = (table(rows) for rows in files.short_tables(idle))
        return [Measurement.get(console, console.options, one) for one in made]

    assert all(width.maximum <= 80 for width in widths("0.308 (0.301 to 0.316)"))
    assert all(width.minimum <= 80 for width in widths("0.0186 (0.0182 to 0.0190)"))


@pytest.mark.parametrize(
    "points",
    [
        [(400.0, 100.0, "plan"), (409.0, 107.0, "5"), (405.0, 95.0, "status quo")],
        [(200.0, 100.0, "status quo"), (240.0, 96.0, "1"), (160.0, 96.0, "2")],
        [(700.0, 100.0, "status quo"), (690.0, 99.0, "plan")],
    ],
)
def test_names_cover_no_point_and_no_other_name(points):
    places = labels.names_beside(points, 70.0, 720.0)
    boxes = [place.box for place in places]
    assert all(70.0 <= box.left < box.right <= 720.0 for box in boxes)
    for mine, box in enumerate(boxes):
        assert not any(box.covers(other) for other in boxes[mine + 1 :])
        assert not any(
            box.covers(labels._disc(x, y))
            for place, (x, y, _) in enumerate(points)
            if place != mine
        )


def test_a_name_stands_to_the_right_where_nothing_is_in_the_way():
    first, second = labels.names_beside([(100.0, 50.0, "1"), (300.0, 50.0, "2")], 70.0, 720.0)
    assert (first.x, first.y, first.ends) == (109.0, 43.0, False)
    assert (second.x, second.ends) == (309.0, False)


@pytest.mark.browser
def test_no_table_of_the_page_is_cut_off_at_1200_pixels(idle, tmp_path):
    playwright = pytest.importorskip("playwright.sync_api", reason="Playwright is not installed")
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    if chromium is None:
        pytest.skip("no Chromium on this machine")
    (tmp_path / "plan.html").write_bytes(page.render(idle, "dnatrace plan", small=True))
    arguments = ["--no-sandbox"] if os.geteuid() == 0 else []
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=chromium, args=arguments)
        view = browser.new_page(viewport={"width": 1200, "height": 900})
        view.goto((tmp_path / "plan.html").as_uri())
        cut = "all => all.filter(one => one.scrollWidth > one.clientWidth).length"
        assert view.locator(".wide").evaluate_all(cut) == 0
        browser.close()
