"""The report in a real browser: headless Chromium of the system, driven by Playwright.

Skipped, with the reason, where there is no Chromium (`apt-get install chromium`).
"""

import json
import os
import re
import shutil

import numpy as np
import pyarrow.parquet as pq
import pytest

from dnatrace.report import measures, write_report
from dnatrace.report.grouping import group_runs
from dnatrace.report.page import shown_difference
from dnatrace.report.reading import read_runs
from dnatrace.runs.quantities import DAILY, RESULTS, shown
from tests.report_store import DAYS, HOSTILE, SEEDS, copy_run, poison

playwright = pytest.importorskip("playwright.sync_api", reason="Playwright is not installed")
CHROMIUM = next(
    (
        found
        for name in ("chromium", "chromium-browser", "google-chrome")
        if (found := shutil.which(name))
    ),
    None,
)
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine")

PHONE, DESK = 390, 1440
CHARTS = ("curves", "epsilon", "pareto", "burden")


@pytest.fixture(scope="module")
def browser():
    # A container's root has no sandbox; everybody else keeps it.
    arguments = ["--no-sandbox"] if os.geteuid() == 0 else []
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=arguments)
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def report(report_store, tmp_path_factory):
    return write_report(report_store, tmp_path_factory.mktemp("browser") / "report.html").path


@pytest.fixture
def visit(browser):
    """Open a page and note every request, and everything that went wrong."""
    pages = []

    def open_page(path, width=DESK, **options):
        page = browser.new_page(viewport={"width": width, "height": 900}, **options)
        pages.append(page)
        page.requests, page.problems, page.failures = [], [], {}
        page.on("request", lambda request: page.requests.append(request.url))
        page.on("requestfailed", lambda r: page.failures.update({r.url: r.failure}))
        page.on("pageerror", lambda error: page.problems.append(str(error)))
        page.on("dialog", lambda dialog: (page.problems.append("dialog"), dialog.dismiss()))
        page.on(
            "console",
            lambda message: (
                page.problems.append(message.text) if message.type in ("error", "warning") else None
            ),
        )
        page.goto(path.as_uri(), wait_until="load")
        return page

    yield open_page
    for page in pages:
        page.close()


def changed(report, tmp_path, old, new):
    """A copy of the report with one text replaced."""
    text = report.read_text("utf-8")
    assert old in text
    (tmp_path / "changed.html").write_text(text.replace(old, new, 1), "utf-8")
    return tmp_path / "changed.html"


def without_policy(report, tmp_path):
    text = report.read_text("utf-8")
    (policy,) = re.findall(r'<meta http-equiv="Content-Security-Policy"[^>]*>', text)
    return changed(report, tmp_path, policy, "")


def overflows(page):
    return page.evaluate("document.documentElement.scrollWidth > window.innerWidth")


def button(page, section, name):
    return page.locator(f"#{section} .legend button").get_by_text(name, exact=True)


def series(page, section, name):
    return page.locator(f'#{section} g[data-series="{name}"]')


def path_of(page, section, name):
    return series(page, section, name).locator("path.series").get_attribute("d")


# ---- Opens everywhere, asks for nothing -------------------------------------------------------


@pytest.mark.parametrize("width", [PHONE, DESK])
def test_opens_whole_and_alone(visit, report, width):
    page = visit(report, width)
    assert page.requests == [report.as_uri()]
    assert page.problems == []
    assert not overflows(page)
    for chart in CHARTS:
        picture = page.locator(f"#{chart} figure svg[role=img]")
        assert picture.count() == 1
        assert picture.bounding_box()["width"] > 0.85 * min(width - 32, 1100)
        assert len(picture.get_attribute("aria-label")) > 40
        assert picture.locator("path.series, circle.dot, line.level").count() > 3
    page.locator("details").evaluate_all("all => all.forEach(d => { d.open = true; })")
    assert not overflows(page)
    assert page.problems == []


def test_the_checks_can_fail(visit, report, tmp_path):
    """An image from elsewhere, a script of somebody else and a wide element are noticed."""
    foreign = '<main><img src="https://example.invalid/x.png"><script>window.hacked = 1</script>'
    page = visit(changed(report, tmp_path, "<main>", foreign))
    assert "https://example.invalid/x.png" in page.requests
    assert page.failures == {"https://example.invalid/x.png": "csp"}  # the page's policy stops it
    assert page.evaluate("window.hacked") is None
    assert len(page.problems) >= 2
    open_to_all = without_policy(report, tmp_path)
    page = visit(changed(open_to_all, tmp_path, "<main>", foreign))
    assert page.failures["https://example.invalid/x.png"] != "csp"
    assert page.evaluate("window.hacked") == 1
    page.evaluate(
        "document.body.append(Object.assign(document.createElement('pre'),"
        "{textContent: 'x'.repeat(999)}))"
    )
    assert overflows(page)


def test_a_single_run(visit, report_store, tmp_path):
    path = copy_run(report_store, tmp_path, "dpfn-s, ε 1")
    page = visit(write_report(path).path, PHONE)
    assert page.problems == []
    assert page.locator("figure svg[role=img]").count() == 2
    assert page.locator("#curves .legend").is_hidden()
    for absent in ("epsilon", "robustness", "pareto"):  # nothing to compare: left out, links too
        assert page.locator(f"#{absent}, nav a[href='#{absent}']").count() == 0
    assert page.locator("header .answer").inner_text().startswith("Of 300 people")


def test_hostile_texts_are_shown_as_texts(visit, report_store, tmp_path):
    path = copy_run(report_store, tmp_path, "dpfn-s, ε 1")
    poison(path)
    page = visit(write_report(path).path)
    assert page.problems == []
    assert page.requests == [page.url]
    assert page.evaluate("window.hacked") is None
    assert page.locator("#results tbody th").inner_text() == HOSTILE
    page.locator("#curves .plot").hover()
    assert HOSTILE in page.locator("#curves .tip").inner_text()
    assert page.locator("img").count() == 0


def test_a_store_of_an_older_version(visit, report_store, tmp_path):
    """No deaths anywhere, no peak of fn, nobody in hospital: charts draw the rest."""
    store = shutil.copytree(report_store, tmp_path / "store")
    for run in store.iterdir():
        summary = json.loads((run / "summary.json").read_text())
        gone = {"deaths", "peak_infected"} if summary["method"] == "fn" else {"deaths"}
        kept = {key: value for key, value in summary.items() if key not in gone}
        (run / "summary.json").write_text(json.dumps(kept))
        daily = pq.read_table(run / "daily.parquet").drop_columns(["hospitalised"])
        pq.write_table(daily, run / "daily.parquet")
    page = visit(write_report(store).path)
    assert page.locator("#epsilon line.level").count() == 2  # none and public-only, without fn
    for chart in ("epsilon", "pareto"):
        assert "no values" not in page.locator(f"#{chart} .plot").inner_text()
        page.locator(f"#{chart} select[name=quantity]").select_option(value="deaths")
        assert "There are no values." in page.locator(f"#{chart} .plot").inner_text()
    page.locator("#curves select[name=quantity]").select_option(value="hospitalised")
    assert "There are no values." in page.locator("#curves .plot").inner_text()
    page.locator("#curves .plot").hover()
    assert page.problems == []


def test_without_scripts_every_table_can_be_read(visit, report):
    page = visit(report, java_script_enabled=False)
    assert page.locator("noscript").inner_text().startswith("Charts need JavaScript")
    assert page.locator(".controls").first.is_hidden()
    page.locator("#curves summary").click()
    assert page.locator("#curves details table").count() == len(DAILY)
    assert page.locator("#curves details table").last.is_visible()


# ---- Interactive ---------------------------------------------------------------------------------


def test_hover_tells_the_values_of_the_runs(visit, report, report_store):
    page = visit(report)
    plot, tip = page.locator("#curves .plot"), page.locator("#curves .tip")
    assert tip.is_hidden()
    box = plot.bounding_box()
    plot.hover(position={"x": box["width"] - 16, "y": 100})
    assert tip.is_visible()
    assert tip.locator(".title").inner_text() == f"day {DAYS}"
    last = [
        pq.read_table(run / "daily.parquet")["infected"][-1].as_py() / 300 * 1000
        for run in report_store.iterdir()
        if '"method": "none"' in (run / "summary.json").read_text()
    ]
    assert len(last) == len(SEEDS)
    expected = float(f"{np.mean(last):.3g}")
    (told,) = re.findall(r"none: ([\d.]+) ± ", tip.inner_text())
    assert float(told) == pytest.approx(expected, rel=2e-3)
    page.mouse.move(2, 2)
    assert tip.is_hidden()


@pytest.mark.parametrize("section", ["epsilon", "pareto"])
def test_hover_names_the_nearest_point(visit, report, section):
    page = visit(report)
    dot = page.locator(f"#{section} svg[role=img] circle.dot").last
    dot.hover()
    tip = page.locator(f"#{section} .tip")
    assert tip.is_visible()
    assert tip.locator(".title").inner_text().startswith("dpfn-s")
    ring = page.locator(f"#{section} .ring")
    assert ring.get_attribute("cx") == dot.get_attribute("cx")


@pytest.mark.parametrize("section", CHARTS)
def test_a_method_is_hidden_and_comes_back(visit, report, section):
    page = visit(report)
    assert series(page, section, "none").count() == 1
    toggle = button(page, section, "none")
    assert toggle.get_attribute("aria-pressed") == "true"
    toggle.click()
    assert series(page, section, "none").count() == 0
    assert series(page, section, "fn").count() == 1
    assert toggle.get_attribute("aria-pressed") == "false"
    assert "are shown" in page.locator(f"#{section} .note").inner_text()
    toggle.click()
    assert series(page, section, "none").count() == 1


def test_many_settings_start_with_one_a_method(visit, report):
    page = visit(report)
    pressed = page.locator('#curves .legend button[aria-pressed="true"]')
    assert pressed.all_inner_texts() == ["none", "public-only", "fn", "dpfn-s, ε 1"]
    button(page, "curves", "none").click()
    page.locator("#curves .legend button.all", has_text="show all").click()
    assert page.locator("#curves g[data-series]").count() == 9
    page.locator("#curves .legend button.all", has_text="hide all").click()
    assert page.locator("#curves g[data-series]").count() == 0
    assert "Nothing is shown" in page.locator("#curves .plot").inner_text()
    page.locator("#curves .plot").hover()
    assert page.problems == []


def test_another_quantity_redraws_chart_and_table(visit, report):
    page = visit(report)
    before = path_of(page, "curves", "fn")
    page.locator("#curves summary").click()
    assert page.locator("#curves details table:visible").count() == 1
    page.locator("#curves select[name=quantity]").select_option(label="At home")
    assert path_of(page, "curves", "fn") != before
    label = page.locator("#curves svg[role=img]").get_attribute("aria-label")
    assert label.startswith("At home by day")
    assert page.locator("#curves details p:visible").inner_text().startswith("At home, ‰")
    page.locator("#curves select[name=quantity]").select_option(label="Infected (I)")
    assert path_of(page, "curves", "fn") == before
    page.locator("#curves input[name=log]").check()
    assert path_of(page, "curves", "fn") != before
    assert page.problems == []


def test_every_choice_of_every_chart_draws(visit, report):
    page = visit(report)
    for select in page.locator("figure select").all():
        for option in select.locator("option").all():
            select.select_option(value=option.get_attribute("value"))
    for box in page.locator("figure input[type=checkbox]").all():
        box.check()
    numbers = page.locator("figure svg [d], figure svg [cx]").evaluate_all(
        "all => all.map(e => e.getAttribute('d') + e.getAttribute('cx') + e.getAttribute('cy'))"
    )
    assert len(numbers) > 20
    assert not [text for text in numbers if "NaN" in text or "undefined" in text]
    assert page.problems == []


def test_privacy_axes(visit, report):
    page = visit(report)
    places = {}
    for axis in ("epsilon", "per_pair_epsilon"):
        page.locator("#epsilon select[name=axis]").select_option(value=axis)
        dots = series(page, "epsilon", "dpfn-s").locator("circle.dot")
        assert dots.count() == 3
        places[axis] = [float(dot.get_attribute("cx")) for dot in dots.all()]
        assert places[axis] == sorted(places[axis])
    equal_steps = np.diff(places["epsilon"])  # 0.3, 1, 3 on a logarithmic axis
    assert equal_steps[0] / equal_steps[1] == pytest.approx(np.log(1 / 0.3) / np.log(3), rel=1e-3)
    unsound = button(page, "epsilon", "dpfn-s, release as_published")
    page.locator("#epsilon select[name=axis]").select_option(value="epsilon")
    if unsound.get_attribute("aria-pressed") == "false":
        unsound.click()
    assert page.locator("#epsilon circle.hollow").count() == 1


def test_the_results_show_differences_from_a_chosen_setting(visit, report, report_store):
    groups = {group.label: group for group in group_runs(read_runs(report_store)[0])}
    page = visit(report)
    differences = page.locator("#results small.difference")
    assert differences.count() == 0
    page.locator("#results select[name=baseline]").select_option(label="none")
    place = list(groups).index("fn")
    shown = page.locator("#results tbody tr").nth(place).locator("small.difference")
    (row,) = measures.differences([groups["fn"]], groups["none"])
    assert shown.first.inner_text() == f"difference {shown_difference(row['peak_infected'])}"
    own = page.locator("#results tbody tr").nth(list(groups).index("none"))
    assert set(own.locator("small.difference").all_inner_texts()) == {"baseline"}
    assert "Differences from none are means" in page.locator("#results .note").inner_text()
    assert not overflows(page)
    page.locator("#results select[name=baseline]").select_option(label="no setting")
    assert differences.count() == 0
    assert page.problems == []


def test_numbers_have_the_digits_of_the_terminal(visit, report):
    """Halves above all, negative ones too, and those that binary numbers miss by a hair."""
    random = np.random.default_rng(1)
    halves = (np.arange(-4000, 4000) + 0.5) / 8
    values = [
        *halves,
        *(number / 10**digits for digits in range(8) for number in range(-3005, 3000, 10)),
        *(random.normal(size=500) * 10.0 ** random.integers(-9, 10, 500)),
        *(0.0, -0.0, 999.5, 999.49, 1000.5, -1000.5, 1234567.5, 1e-5, -1.235e-7, 5.125 - 1e-14),
    ]
    values = [float(value) for value in values]
    page = visit(report)
    assert page.evaluate("values => values.map(shown)", values) == [shown(v) for v in values]
    assert shown(-5.125) == "−5.13"
    assert (shown(486.5), shown(137.5)) == ("487", "138")


def test_differences_have_the_digits_of_the_terminal(visit, report, report_store):
    groups = {group.label: group for group in group_runs(read_runs(report_store)[0])}
    page = visit(report)
    labels = page.locator("#results [name=baseline] option").all_inner_texts()[1:]
    for base in labels:
        page.locator("#results [name=baseline]").select_option(label=base)
        rows = {row["label"]: row for row in measures.differences([*groups.values()], groups[base])}
        for place, label in enumerate(labels):
            cells = page.locator("#results tbody tr").nth(place).locator("small.difference")
            found = dict(zip([q.key for q in RESULTS], cells.all_inner_texts(), strict=True))
            for q in measures.DIFFERENCES if label != base else ():
                assert found[q.key] == f"difference {shown_difference(rows[label][q.key])}"


def test_settings_without_a_common_seed_have_no_difference(visit, report_store, tmp_path):
    copy_run(report_store, tmp_path / "store", "none", SEEDS[0])
    copy_run(report_store, tmp_path / "store", "fn", SEEDS[1])
    page = visit(write_report(tmp_path / "store", baseline="none").path)
    shown = page.locator("#results small.difference").all_inner_texts()
    assert set(shown) == {"baseline", "difference –"}
    assert page.problems == []


def test_the_keyboard_is_enough(visit, report):
    page = visit(report)
    tip = page.locator("#curves .tip")
    for _ in range(60):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.matches('#curves .plot')"):
            break
    assert page.evaluate("document.activeElement.matches('#curves .plot')")
    page.keyboard.press("ArrowRight")
    assert tip.locator(".title").inner_text() == "day 1"
    page.keyboard.press("ArrowRight")
    assert tip.locator(".title").inner_text() == "day 2"
    page.keyboard.press("End")
    assert tip.locator(".title").inner_text() == f"day {DAYS}"
    page.keyboard.press("Escape")
    assert tip.is_hidden()
    button(page, "curves", "none").focus()
    page.keyboard.press("Space")
    assert series(page, "curves", "none").count() == 0
    assert page.evaluate("document.activeElement.textContent") == "none"
    page.locator("#curves select").focus()
    page.keyboard.press("ArrowDown")
    assert (
        "exposed or infected" in page.locator("#curves svg[role=img] title").text_content().lower()
    )


# ---- Widths, themes, paper ---------------------------------------------------------------------


def test_a_turned_phone_redraws(visit, report):
    page = visit(report, DESK)
    for width in (PHONE, 844, PHONE):
        page.set_viewport_size({"width": width, "height": 700})
        page.wait_for_function(
            "w => document.querySelector('#curves svg[role=img]').viewBox.baseVal.width <= w",
            arg=width,
        )
        assert not overflows(page)
    page.locator("#pareto svg[role=img] circle.dot").last.hover()
    tip, plot = (page.locator(f"#pareto .{name}").bounding_box() for name in ("tip", "plot"))
    assert tip["x"] >= plot["x"] - 1
    assert tip["x"] + tip["width"] <= plot["x"] + plot["width"] + 1


def luminance(colour):
    channels = [int(c) / 255 for c in re.findall(r"\d+", colour)[:3]]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return np.dot(linear, [0.2126, 0.7152, 0.0722])


def contrast(one, other):
    bright, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (bright + 0.05) / (dark + 0.05)


def test_contrast_as_the_guidelines_compute_it():
    assert contrast("rgb(0, 0, 0)", "rgb(255, 255, 255)") == pytest.approx(21.0)
    assert contrast("rgb(119, 119, 119)", "rgb(255, 255, 255)") == pytest.approx(4.48, abs=0.01)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_texts_and_lines_stand_out(visit, report, scheme):
    page = visit(report, color_scheme=scheme)
    style = "e => [getComputedStyle(e).color, getComputedStyle(e).backgroundColor]"
    ink, paper = page.locator("body").evaluate(style)
    assert (luminance(paper) < 0.1) == (scheme == "dark")
    assert contrast(ink, paper) > 7
    assert contrast(page.locator("figcaption").first.evaluate(style)[0], paper) > 4.5
    strokes = page.locator("#curves path.series").evaluate_all(
        "all => all.map(e => getComputedStyle(e).stroke)"
    )
    colours = [stroke for stroke in strokes if stroke.startswith("rgb")]
    assert len(colours) >= 4
    assert min(contrast(colour, paper) for colour in colours) > 3


def test_paper(visit, report):
    page = visit(report, color_scheme="dark")
    page.emulate_media(media="print", color_scheme="dark")
    background = page.locator("body").evaluate("e => getComputedStyle(e).backgroundColor")
    assert luminance(background) > 0.9
    assert page.locator(".controls").first.is_hidden()
    assert page.locator("nav").is_hidden()
    opened = "document.querySelectorAll('details[open]').length"
    assert page.evaluate(opened) == 0
    page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    assert page.locator("#curves details table:visible").count() == 1
    assert page.locator("#privacy details p").first.is_visible()
    page.evaluate("window.dispatchEvent(new Event('afterprint'))")
    assert page.evaluate(opened) == 0
    document = page.pdf(format="A4")
    assert document.startswith(b"%PDF")
    assert len(document) > 50_000
    assert page.problems == []
