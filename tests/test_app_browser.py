"""The live page in a real browser: headless Chromium of the system, driven by Playwright.

Skipped, with the reason, where there is no Chromium. `python -m tests.test_app_browser FOLDER`
takes the screenshots of docs/app.md.
"""

import json
import os
import re
import shlex
import signal
import socket
import sys
import tempfile
from contextlib import contextmanager
from multiprocessing.context import SpawnProcess
from pathlib import Path
from types import SimpleNamespace
from urllib.parse import urlsplit

import pytest
from PIL import Image

from dnatrace.app import controls, studies
from dnatrace.errors import InputError
from dnatrace.runs.nesting import flatten
from tests.app_server import PATIENCE, running, until
from tests.command_line import run as command
from tests.test_report_browser import CHROMIUM, overflows, playwright

axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="axe is not installed")
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine")

PHONE, DESK = 390, 1400
VIEWS = ("whatif", "inside", "attacker")
TINY = "preset=quick&a.people=300&a.days=12&a.initially_infected=8&seeds=2"
RULES = {"runOnly": {"type": "tag", "values": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa"]}}


@contextmanager
def launched():
    # A container's root has no sandbox; everybody else keeps it.
    arguments = ["--no-sandbox"] if os.geteuid() == 0 else []
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=arguments)
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    with running(tmp_path_factory.mktemp("page") / "store", 1) as found, launched() as browser:
        yield (*found, browser)


@pytest.fixture
def visit(served):
    address, _, _, browser = served
    contexts = []

    def open_page(link="", width=DESK, scheme="light", **options):
        context = browser.new_context(
            viewport={"width": width, "height": 900}, color_scheme=scheme, **options
        )
        context.set_default_timeout(1000 * PATIENCE)
        contexts.append(context)
        page = context.new_page()
        page.problems, page.requests = [], []
        page.on("pageerror", lambda error: page.problems.append(str(error)))
        page.on("request", lambda request: page.requests.append(request.url))
        page.on("console", lambda m: page.problems.append(m.text) if m.type == "error" else None)
        page.goto(f"{address}#{link}")
        page.wait_for_selector("html[data-ready]")
        return page

    yield open_page
    for context in contexts:
        context.close()


def wait(page, expression, arg=None, seconds=PATIENCE):
    """Wait until an expression holds; not in the page, whose policy allows no such script."""
    until(lambda: page.wait_for_timeout(20) or page.evaluate(expression, arg), seconds)


def answered(page, seconds=PATIENCE):
    """Wait until the answer is that of the last question, with all its runs.

    The page says at the press of Run, before anything else can happen, that its answer is not
    there (`aria-busy`); an old one does not satisfy this.
    """
    wait(
        page,
        "document.getElementById('answer').getAttribute('aria-busy') === 'false'"
        " && Boolean(document.getElementById('answer').dataset.study)",
        seconds=seconds,
    )
    return page


def violations(page):
    found = axe.Axe().run(page, options=RULES).response["violations"]
    return [(one["id"], [node["html"][:120] for node in one["nodes"]][:3]) for one in found]


def answers(address):
    """Whether a server listens."""
    place = urlsplit(address)
    with socket.socket() as connection:
        return connection.connect_ex((place.hostname, place.port)) == 0


def fits(page):
    """Wait until nothing is wider than the page: charts follow a change of width by a frame."""
    until(lambda: page.wait_for_timeout(20) or not overflows(page), 10)


def opened(page, view):
    page.locator(f"#tab-{view}").click()
    if view == "inside":
        page.wait_for_selector("#inside .map .person")
    if view == "attacker":
        page.wait_for_selector("#attacker .trace svg")


def path_of(page):
    return page.locator("#live .plot path.series").first.get_attribute("d")


# ---- Everybody, everywhere ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("width", "other", "scheme"), [(PHONE, DESK, "light"), (DESK, PHONE, "dark")]
)
def test_every_view_fits_and_passes_axe(visit, served, width, other, scheme):
    page = answered(visit(f"{TINY}&b.people=300&b.days=12&b.initially_infected=8", width, scheme))
    page.locator("#whatif details").evaluate_all("all => all.forEach(d => { d.open = true; })")
    run = page.locator("#run").bounding_box()  # in sight without scrolling, also with all unfolded
    assert run["y"] + run["height"] <= 900
    for view in VIEWS:
        opened(page, view)
        assert violations(page) == [], view
        for size in (other, width):
            page.set_viewport_size({"width": size, "height": 900})
            fits(page)
    assert page.problems == []
    assert all(url.startswith((served[0], "data:")) for url in page.requests)


def test_axe_and_the_other_checks_can_fail(visit):
    page = visit()
    page.evaluate(
        "document.querySelector('main').append(Object.assign(document.createElement('img'),"
        "{src: 'https://example.invalid/x.png'}), document.createElement('input'))"
    )
    assert {"image-alt", "label"} <= {name for name, _ in violations(page)}
    until(lambda: page.wait_for_timeout(20) or page.problems)
    assert "Content Security Policy" in page.problems[0]


def test_the_keyboard_is_enough(visit):
    page = visit(TINY.replace("seeds=2", "seeds=1"))
    answered(page)
    page.locator("#question [name=situation]").first.focus()
    page.keyboard.press("ArrowDown")  # the next situation
    assert page.locator("#question [name=situation]:checked").input_value() != "quick"
    reached = set()
    for _ in range(80):
        page.keyboard.press("Tab")
        reached.add(page.evaluate("document.activeElement.id || document.activeElement.className"))
        if page.evaluate("document.activeElement.id") == "run":
            break
    controls = page.locator("#controls .cell.a :is(input, select)")
    assert {one.get_attribute("id") for one in controls.all()} <= reached
    assert {"compare", "run"} <= reached
    page.locator("#tab-whatif").focus()
    page.keyboard.press("ArrowRight")
    assert page.locator("#tab-inside").get_attribute("aria-selected") == "true"
    page.wait_for_selector("#inside .map .person")
    page.locator("#inside .map").focus()
    before = page.locator("#inside-person").input_value()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowUp")
    assert int(page.locator("#inside-person").input_value()) == int(before) + 1
    assert page.locator("#inside-day").input_value() == "1"
    assert page.locator("#inside .about").inner_text().startswith("Day 2:")
    page.keyboard.press("Shift+Tab")
    assert page.problems == []


# ---- Ask and be answered ------------------------------------------------------------------------


def test_a_click_answers_with_the_numbers_of_the_command_line(visit):
    page = visit(TINY)
    answered(page)
    page.locator("#c-tests-capacity-a").fill("4")
    old = page.locator("#answer").get_attribute("data-study")
    page.locator("#run").click()
    answered(page)
    assert page.locator("#answer").get_attribute("data-study") != old
    assert page.locator("#sure").inner_text().startswith("Means of 2")
    assert page.locator("#sentence").inner_text().startswith("Of 300 people")
    page.locator("#digits summary").click()
    page.locator("#digits tbody tr").nth(30).wait_for()
    shown = {
        row.locator("th").inner_text(): row.locator("td").inner_text()
        for row in page.locator("#digits tbody tr").all()
    }
    page.locator("#take summary", has_text="command line").click()
    line = page.locator("#commands pre").inner_text()
    assert "tests.capacity=0.04" in line
    printed = json.loads(command(*shlex.split(line)[1:], "-q").stdout)
    printed.pop("seconds")
    assert shown == {k: json.dumps(v, ensure_ascii=False) for k, v in flatten(printed).items()}
    page.locator("#promises summary").click()
    assert "ε" in page.locator("#promises").inner_text()
    assert page.problems == []


def test_an_old_answer_does_not_look_like_the_new_one(visit):
    """The server is slow: between the press and the first word the page says that it waits."""
    page = answered(visit(TINY))
    old = page.locator("#answer").get_attribute("data-study")
    held = []

    def hold(route):
        held.append(route)

    page.route("**/studies", hold)
    page.locator("#c-tests-capacity-a").fill("3")
    page.locator("#run").click()
    assert page.locator("#answer").get_attribute("aria-busy") == "true"
    assert page.locator("#progress").inner_text().startswith("Asking")
    until(lambda: page.wait_for_timeout(20) or held)
    assert page.locator("#answer").get_attribute("data-study") == old
    assert page.locator("#answer").get_attribute("aria-busy") == "true"
    held.pop().continue_()
    answered(page)
    assert page.locator("#answer").get_attribute("data-study") != old
    assert page.locator("#progress").inner_text().startswith("All")
    page.locator("#c-tests-capacity-a").fill("2")
    page.locator("#run").click()
    until(lambda: page.wait_for_timeout(20) or held)
    held.pop().abort()  # it could not be asked: the last answer stands, and the trouble is told
    answered(page)
    assert "does not answer" in page.locator("#trouble").inner_text()
    assert page.locator("#progress").inner_text().startswith("All")


def test_the_same_link_gives_the_same_picture(visit):
    link = f"{TINY}&b.people=300&b.days=12&b.initially_infected=8&b.method.name=fn"
    first, second = answered(visit(link)), answered(visit(link))
    until(lambda: first.wait_for_timeout(20) or path_of(first) == path_of(second) is not None)
    assert first.locator("#table").inner_text() == second.locator("#table").inner_text()
    assert first.evaluate("location.hash") == second.evaluate("location.hash")
    assert second.locator("#compare").is_checked()
    assert second.locator("#c-method-name-b").input_value() == "fn"
    assert second.locator("#c-people-a").input_value() == "300"
    second.locator("#c-people-a").fill("200")  # another link, restored in the same page
    second.locator("#take summary", has_text="Restore").click()
    second.locator("#restore").fill(f"http://127.0.0.1:1/old/#{link}")
    second.locator("#restore-go").click()
    wait(second, "document.getElementById('c-people-a').value === '300'")
    answered(second)
    until(lambda: first.wait_for_timeout(20) or path_of(first) == path_of(second))


def test_a_question_names_the_length_of_both_plans_where_they_differ(visit):
    page = answered(visit(f"{TINY}&b&b.people=300"))
    asked = page.locator("#asked").inner_text()
    assert re.search(r"A: [^.]*, days 12\b", asked)
    assert re.search(r"B: “[^.]*, people 300, days [1-9]", asked)  # of its situation: not changed
    assert "so these numbers do not compare policies" in page.locator("#meaning").inner_text()


def test_two_situations_are_compared_directly(visit):
    """Plenty of tests against quarantine by score: B has a card and levers of its own."""
    page = answered(visit(f"{TINY}&b"))
    page.locator("#situation-b").select_option(label="Quarantine by score")
    wait(page, "document.getElementById('c-tests-capacity-b').value === '1'")
    assert page.locator("#c-tests-capacity-a").input_value() == "8"
    assert page.locator("#levers").get_attribute("open") is not None
    assert page.locator("#c-policy-quarantine-capacity-b").input_value() == "0.2"
    assert page.locator("#c-policy-quarantine-capacity-a").input_value() == ""
    assert page.locator("#c-people-b").input_value() == "300"  # as large and as long as A
    assert page.locator("#c-days-b").input_value() == "12"
    assert "b.initially_infected=8" in page.evaluate("location.hash")
    page.locator("#run").click()
    answered(page)
    assert "b.scenario=quarantine" in page.evaluate("location.hash")
    assert "B: “Quarantine by score”" in page.locator("#asked").inner_text()
    said = page.locator("#meaning").inner_text()
    assert "With A but without any message between phones (the floor)" in said
    assert re.search(r"With A: .* on average a person had .* days at home", said)
    assert re.search(r"With B: .* on average a person had .* days at home", said)
    assert "odds of" in said
    heads = page.locator("#table thead th").all_inner_texts()
    assert heads == ["", "A", "B", "Floor of A", "Nothing done"]
    again = answered(visit(page.evaluate("location.hash").lstrip("#")))
    assert again.locator("#table").inner_text() == page.locator("#table").inner_text()
    # A lever that is typed for A chooses its policy; another policy takes its levers along.
    page.locator("#c-policy-household-days-a").fill("10")
    wait(page, "document.getElementById('c-policy-name-a').value === 'levers'")
    page.locator("#c-policy-name-a").focus()
    page.locator("#c-policy-name-a").select_option("highest-scores")
    wait(page, "!location.hash.includes('a.policy.household')")
    wait(page, "document.getElementById('c-policy-household-days-a').value === ''")
    assert page.locator("#question [aria-invalid=true]").count() == 0
    assert page.problems == []


def test_an_answer_to_other_settings_says_so_and_in_what_they_differ(visit):
    page = answered(visit(TINY))
    stale = page.locator("#stale")
    assert stale.is_hidden()
    page.locator("#c-tests-capacity-a").fill("3")
    stale.wait_for(state="visible")
    assert "A: tests per day 3 % instead of 8 %" in stale.inner_text()
    page.locator("#seeds").fill("1")
    wait(page, "document.getElementById('stale').textContent.includes('1 runs per plan instead')")
    page.locator("#compare").check()
    wait(page, "document.getElementById('stale').textContent.includes('there is a plan B')")
    page.locator("#stale-back").click()
    stale.wait_for(state="hidden")
    answered(page)
    assert page.locator("#c-tests-capacity-a").input_value() == "8"
    assert page.locator("#seeds").input_value() == "2"
    assert not page.locator("#compare").is_checked()
    page.locator("#c-tests-capacity-a").fill("8.0")  # the same in other words
    wait(page, "location.hash.includes('a.tests.capacity=0.08')")
    page.locator("#c-tests-capacity-a").fill("9")
    stale.wait_for(state="visible")
    page.locator("#run").click()
    answered(page)
    assert stale.is_hidden()
    assert page.problems == []


@pytest.mark.parametrize(
    ("link", "words"),
    [
        ("", "Not understood in this link: “an empty link”. Nothing was restored"),
        ("hello", "“hello”. Nothing was restored; a link of this page ends like #preset="),
        ("http://x/#presett=quick&seeds=many", "“presett=quick”, “seeds=many”"),
        ("#preset=no&scenario=nowhere", "“preset=no”, “scenario=nowhere”. Nothing was restored"),
        (f"#{TINY}&zoo=1&b.preset=no", "“zoo=1”, “b.preset=no”. The rest was restored."),
        (f"#{TINY}&a.tests.capacity=7", "cannot be, so nothing was run: tests.capacity: input"),
        (f"#{TINY}&a.tests.capacty=0.07", "did you mean"),
        (
            f"#{TINY}00",
            "This link asks for what cannot be, so nothing was run: Runs per plan: a wh",
        ),
    ],
)
def test_a_bad_link_says_which_part_was_not_understood(visit, link, words):
    page = answered(visit(f"{TINY}&a.seed=5"))
    assert page.locator("#linked").is_hidden()
    page.locator("#restore").evaluate("field => { field.closest('details').open = true; }")
    page.locator("#restore").fill(link)
    page.locator("#restore-go").click()
    page.locator("#linked").wait_for(state="visible")
    wait(page, "words => document.getElementById('linked').textContent.includes(words)", words)
    if "Nothing was restored" in page.locator("#linked").inner_text():
        assert "a.seed=5" in page.evaluate("location.hash")  # as it was
    else:
        assert "a.seed=5" not in page.evaluate("location.hash")
    if link.startswith("#"):  # the same when the page is opened with it
        fresh = visit(link.lstrip("#"))
        wait(fresh, "words => document.getElementById('linked').textContent.includes(words)", words)


def test_a_wrong_link_asks_nothing_and_shows_the_values_of_the_rest(visit):
    page = visit("preset=quick&a.tests.capacity=0.04&a.people=500&a.foo=3")
    assert "nothing was run: unknown key 'foo'" in page.locator("#linked").inner_text()
    begin = "Choose a situation and press Run. Or begin with a question:"
    assert page.locator("#progress").inner_text() == begin
    assert page.locator("#answer").get_attribute("aria-busy") == "false"
    shown = {key: page.locator(f"#c-{key}-a").input_value() for key in ("tests-capacity", "people")}
    assert shown == {"tests-capacity": "4", "people": "500"}
    assert page.locator("#c-days-a").input_value() == "40"  # of the preset
    assert page.locator("#c-method-name-a").input_value() == "headcount"


def test_every_wrong_share_is_told_in_the_units_of_its_field(visit):
    page = visit("preset=quick")
    found = controls.offered()
    scaled = [one["key"] for one in (*found["controls"], *found["levers"]) if one.get("scale")]
    assert len(scaled) == 7
    page.locator("details").evaluate_all("all => all.forEach(d => { d.open = true; })")
    for key in scaled:
        name = key.replace(".", "-")
        field, problem = (page.locator(f"#c-{name}-a{end}") for end in ("", "-problem"))
        for typed, words in (("700", "at most 100 %, not 700 %"), ("-5", "at least 0 %, not −5 %")):
            field.fill(typed)
            problem.wait_for(state="visible")
            wait(
                page,
                "([i, w]) => document.getElementById(i).textContent === w",
                [f"c-{name}-a-problem", words.replace(" %", "\u00a0%")],
            )
        field.fill("")
        problem.wait_for(state="hidden")
    alone = visit("preset=quick&a.tests.capacity=7")  # the link is told in its own units
    assert "less than or equal to 1, not 7" in alone.locator("#linked").inner_text()
    assert "not 700" in alone.locator("#c-tests-capacity-a-problem").inner_text()


def test_where_no_run_can_begin_the_page_says_why_once_and_that_there_is_no_answer(
    served, tmp_path, monkeypatch
):
    def refused(process):
        raise BlockingIOError(11, "Resource temporarily unavailable")

    *_, browser = served
    monkeypatch.setattr(SpawnProcess, "start", refused)
    with running(tmp_path / "store", 1) as (address, *_):
        page = browser.new_page()
        try:
            page.goto(f"{address}#{TINY}")
            answered(page)
            for _ in range(2):  # as it happens, and as a page that opens later finds it
                assert page.locator("#progress").inner_text() == "All runs failed."
                assert page.locator("#sentence").inner_text().startswith("There is no answer")
                assert page.locator("#notes p").all_inner_texts() == [
                    "A run failed: worker processes cannot be started: "
                    "[Errno 11] Resource temporarily unavailable"
                ]
                page.reload()
                answered(page)
            monkeypatch.undo()
            page.locator("#run").click()
            answered(page)
            assert page.locator("#sentence").inner_text().startswith("Of 300 people")
            assert page.locator("#notes p").count() == 0
        finally:
            page.close()


def test_a_question_and_its_commands_are_told_in_the_words_of_the_page(visit):
    page = answered(visit(f"{TINY}&b.people=300&b.days=12&b.privacy.unit=person"))
    assert "ε holds for “one test of a person, for ever”" in page.locator("#asked").inner_text()
    said = page.locator("#one-seed").text_content()
    assert "with seed 1" in said
    assert "seeds 1 to 2" in said
    card = page.locator("#situations .card").first.text_content()
    assert "8\u00a0%" in card  # on one line
    differences = " ".join(page.locator("#table small").all_inner_texts())
    assert "−" in differences
    assert "-" not in differences


def test_wrong_values_are_refused_as_they_are_typed(visit):
    page = answered(visit(TINY))
    field = page.locator("#c-tests-capacity-a")
    field.fill("300")
    problem = page.locator("#c-tests-capacity-a-problem")
    problem.wait_for(state="visible")
    assert problem.inner_text() == "at most 100\u00a0%, not 300\u00a0%"  # as the field has it
    assert field.get_attribute("aria-invalid") == "true"
    before = page.locator("#sentence").inner_text()
    study = page.locator("#answer").get_attribute("data-study")
    page.locator("#run").click(force=True)
    answered(page)  # at once: nothing was asked
    assert page.locator("#answer").get_attribute("data-study") == study
    assert page.locator("#sentence").inner_text() == before
    field.fill("5")
    problem.wait_for(state="hidden")
    page.locator("#c-people-a").fill("1,200")  # as the page itself writes numbers
    wait(page, "location.hash.includes('people=1200')")
    page.locator("#c-people-a").fill("1.300")  # as others write them: not one person and a bit
    wait(page, "location.hash.includes('people=1300')")
    field.fill("6 %")
    wait(page, "location.hash.includes('tests.capacity=0.06')")
    page.locator("#seeds").fill("0")
    page.locator("#problem-seeds").wait_for(state="visible")
    page.locator("#seeds").fill("2")
    page.locator("#reset").click()
    wait(page, "document.getElementById('c-people-a').value === '2000'")
    assert page.problems == []


def test_text_from_links_is_never_markup(visit):
    hostile = "%3Cimg%20src%3Dx%20onerror%3D%22window.hacked%3D1%22%3E"
    page = visit(f"{TINY}&a.{hostile}={hostile}")
    page.locator("#problem-a").wait_for(state="visible")
    assert "<img src=x" in page.locator("#problem-a").inner_text()
    assert page.locator("img").count() == 0
    assert page.evaluate("window.hacked") is None


def test_ten_clicks_two_tabs_and_a_stop(visit, served):
    desk = served[1]
    link = "preset=quick&a.people=20000&a.days=400&seeds=3"
    page, other = visit(link), visit(link)
    for _ in range(10):
        page.locator("#run").click()
    until(
        lambda: (
            page.wait_for_timeout(20)
            or page.evaluate("document.querySelector('#live .plot path.series')")
        )
    )
    going = [s for s in desk.studies._studies.values() if s.state == "running"]
    assert len(going) == 1
    page.locator("#stop").click()
    for one in (page, other):
        answered(one)
        assert one.locator("#progress").inner_text().startswith("Stopped")
        assert one.locator("#stop").is_disabled()
    assert page.problems == other.problems == []


def test_a_killed_worker_and_a_full_disk_are_told_and_nothing_is_lost(visit, served, monkeypatch):
    desk = served[1]
    page = visit("preset=quick&a.people=5000&a.days=400&a.seed=31&seeds=1")
    wait(page, "Boolean(document.querySelector('#live .plot path.series'))")
    victims = [worker for worker in desk.team._workers if worker.task is not None]
    os.kill(victims[0].process.pid, signal.SIGKILL)
    answered(page)
    assert "ended (code -9)" in page.locator("#notes").inner_text()
    assert page.locator("#progress").inner_text().startswith("All 3 runs are over")
    assert page.locator("#sentence").inner_text().startswith("Of 5,000 people")

    def full(files, store, digest, **_):
        raise InputError(f"{store}: cannot be written: No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(studies.stores, "write_files", full)
        page = answered(visit(f"{TINY}&a.seed=32"))
    assert "No space left on device" in page.locator("#notes").inner_text()
    assert page.locator("#sentence").inner_text().startswith("Of 300 people")
    assert page.problems == []


def test_a_chart_is_read_and_taken_away(visit):
    page = answered(visit(TINY))
    before = path_of(page)
    page.locator("#live [name=quantity]").select_option("ever_infected")
    wait(
        page,
        "before => document.querySelector('#live .plot path.series').getAttribute('d') !== before",
        arg=before,
    )
    page.locator("#live .plot").focus()
    page.keyboard.press("End")
    assert page.locator("#live .tip .title").inner_text() == "day 12"
    page.locator("#live .legend button").first.click()
    wait(page, "!document.querySelector('#live [data-series=\"A\"]')")
    page.locator("#live .legend button").first.click()
    taken = {}
    for name in ("take-svg", "take-png", "take-report", "take-days", "take-runs"):
        with page.expect_download() as download:
            page.locator(f"#{name}").click()
        taken[download.value.suggested_filename] = Path(download.value.path()).read_bytes()
    assert taken["dnatrace-chart.svg"].startswith(b"<svg")
    assert b"Nothing done" in taken["dnatrace-chart.svg"]
    assert taken["dnatrace-chart.png"].startswith(b"\x89PNG")
    assert b"Of 300 people" in taken["dnatrace-report.html"]
    assert len(taken["dnatrace-days.csv"].splitlines()) == 1 + 3 * 2 * 12
    page.locator("#take summary", has_text="TOML").click()
    assert "people = 300" in page.locator("#tomls pre").inner_text()
    assert page.problems == []


def test_parameters_are_found_and_set(visit):
    page = answered(visit(TINY))
    page.locator("#all summary").click()
    page.locator("#find").fill("vaccination share")
    rows = page.locator("#parameters .name:visible")
    until(lambda: page.wait_for_timeout(20) or rows.count() == 1)
    assert "simulator.vaccination.share" in rows.inner_text()
    page.locator("#p-simulator-vaccination-share-a").fill("0.5")
    wait(page, "location.hash.includes('a.simulator.vaccination.share=0.5')")
    page.locator("#p-simulator-vaccination-share-a").fill("2")
    page.locator("#p-simulator-vaccination-share-a-problem").wait_for(state="visible")
    assert page.problems == []


# ---- Inside, and the attacker -------------------------------------------------------------------


def test_a_neighbourhood_lives(visit):
    page = visit(f"{TINY}&view=inside")
    page.wait_for_selector("#inside .map .person")
    assert page.locator("#inside .map .person").count() >= 150
    page.locator("#inside .map .person .body").nth(7).click()
    assert page.locator("#inside-person").input_value() == "7"
    page.locator("#inside-day").fill("11")
    assert page.locator("#inside table tbody tr").count() == 12
    assert re.match(
        r"Day 12: .*The phone has heard of", page.locator("#inside .about").inner_text()
    )
    for layer in ("heard", "quiet", "shown"):
        page.locator("#inside-layer").select_option(layer)
        assert page.locator("#inside .map .person.score").count() > 100
    page.get_by_role("button", name="Play", exact=True).click()
    wait(page, "document.getElementById('inside-day').value !== '11'")
    page.get_by_role("button", name="Pause").click()
    assert page.problems == []


def test_the_attacker_learns_what_noise_is_for(visit):
    page = visit(f"{TINY}&view=attacker")
    page.wait_for_selector("#attacker .trace svg")
    page.get_by_role("button", name="Positive", exact=True).click()
    assert re.match(
        r"Last round: (right|wrong), the test", page.locator("#attacker .verdict").inner_text()
    )
    assert re.search(r"with noise\s+[01] of 1 ", page.locator("#attacker .tally").inner_text())
    page.locator("#attacker-noise").uncheck()
    wait(page, "document.querySelector('#attacker .about').textContent.includes('Without noise')")
    page.get_by_role("button", name="Guess 20 rounds").click()
    assert "20 of 20 (100 %)" in page.locator("#attacker .tally").inner_text()
    assert page.problems == []


def test_screenshots_of_the_main_views(visit, tmp_path):
    taken = take_screenshots(answered(visit(TINY)), tmp_path)
    assert [path.name for path in taken] == [f"app-{view}.png" for view in VIEWS]
    assert all(path.stat().st_size > 20_000 for path in taken)


def test_what_is_measured_can_be_measured(visit, served):
    """The parts of `python -m verification.app`, on a tiny city: no figure is held to anything."""
    measured = pytest.importorskip("verification.app")
    page = visit(f"{TINY}&a.seed=77&view=attacker")
    page.locator("#tab-whatif").click()
    found = measured.first_question(page)
    page = visit(f"{TINY}&a.seed=78&view=attacker")
    page.locator("#tab-whatif").click()
    found |= measured.frames(page)
    this = measured.Server(SimpleNamespace(pid=os.getpid()), served[0], 0.0)
    this.warm()
    found |= measured.memory(this, 4)
    assert len(found) == 7
    assert all(value >= 0 for value in found.values())


def test_zz_a_stopped_server_is_told_and_nothing_is_lost(visit, served):
    """The last one: it stops the server."""
    page = answered(visit(TINY))
    served[2].should_exit = True
    until(lambda: page.wait_for_timeout(20) or not answers(served[0]), PATIENCE)
    page.locator("#c-tests-capacity-a").fill("3")
    page.locator("#run").click()
    page.locator("#trouble").wait_for(state="visible")
    assert "Start `dnatrace app` again" in page.locator("#trouble").inner_text()
    assert page.locator("#sentence").inner_text().startswith("Of 300 people")


def take_screenshots(page, folder):
    """Take every view as it stands; of a question that is answered."""
    taken = []
    for view in VIEWS:
        opened(page, view)
        if view == "inside":
            page.locator("#inside-day").fill(
                str(min(24, int(page.locator("#inside-day").get_attribute("max"))))
            )
        if view == "attacker":
            page.get_by_role("button", name="Guess 20 rounds").click()
        page.evaluate("scrollTo(0, 0)")
        page.wait_for_timeout(100)
        taken.append(folder / f"app-{view}.png")
        page.screenshot(path=taken[-1], clip={"x": 0, "y": 0, "width": DESK, "height": 900})
    return taken


def main(folder):
    """Write the screenshots of the documentation."""
    link = "#preset=standard&b.tests.capacity=0.04&seeds=5"
    with (
        tempfile.TemporaryDirectory() as store,
        running(Path(store)) as found,
        launched() as browser,
    ):
        page = browser.new_page(viewport={"width": DESK, "height": 900})
        page.set_default_timeout(600_000)
        page.goto(found[0] + link)
        page.wait_for_selector("html[data-ready]")
        for path in take_screenshots(answered(page, 900), Path(folder)):
            Image.open(path).convert("RGB").quantize(96).save(path, optimize=True)
            print(f"{path}: {path.stat().st_size / 1000:.0f} kB")


if __name__ == "__main__":
    main(*sys.argv[1:])
