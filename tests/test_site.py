"""The site as `make docs` builds it, read by a program and in Chromium, without a network."""

import os
import re
import shutil
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"


@pytest.fixture(scope="session")
def site(tmp_path_factory):
    """Build the site as `make docs` does; a warning is an error."""
    target = tmp_path_factory.mktemp("site")
    (recipe,) = re.findall(r"-m (sphinx .*)$", (ROOT / "Makefile").read_text(), re.M)
    words = [str(target / "html") if w == "docs/_site" else w for w in recipe.split()]
    command = [sys.executable, "-m", *words, "-d", str(target / "kept")]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return target / "html"


class Page(HTMLParser):
    """The links, anchors and foreign parts of a page."""

    def __init__(self, path):
        super().__init__()
        self.links, self.ids, self.loaded = [], set(), []
        self.feed(path.read_text("utf-8"))

    def handle_starttag(self, tag, attributes):
        found = dict(attributes)
        self.ids.add(found.get("id") or found.get("name"))
        if tag == "a" and "href" in found:
            self.links.append(found["href"])
        if tag in ("script", "img", "link", "iframe"):
            self.loaded.append(found.get("src") or found.get("href") or "")


def test_every_page_is_in_the_site(site):
    sources = {p.relative_to(DOCS) for p in DOCS.rglob("*.md") if "_site" not in p.parts}
    assert len(sources) > 50
    assert [s for s in sorted(sources) if not (site / s).with_suffix(".html").is_file()] == []


def test_every_link_and_anchor_leads_somewhere(site):
    pages = {path.resolve(): Page(path) for path in site.rglob("*.html")}
    broken, followed = [], 0
    for path, page in pages.items():
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme or link == "#":
                continue
            followed += 1
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            anchor = unquote(parts.fragment)
            known = pages[target].ids if target in pages else {anchor}
            if not target.is_file() or (anchor and anchor not in known):
                broken.append((path.name, link))
    assert broken == []
    assert followed > 1000


def test_nothing_is_loaded_from_elsewhere(site):
    for path in site.rglob("*.html"):
        foreign = [x for x in Page(path).loaded if urlsplit(x).scheme in ("http", "https")]
        assert foreign == [], path.name
    for style in site.rglob("*.css"):
        assert not re.search(r"url\(['\"]?https?:", style.read_text("utf-8")), style.name


def test_a_warning_fails_the_build(tmp_path):
    """The control: a link to nowhere is not built."""
    (tmp_path / "conf.py").write_text(
        (DOCS / "conf.py").read_text().replace("Path(__file__).parents[1]", f"Path({str(ROOT)!r})")
    )
    (tmp_path / "_static").mkdir()
    (tmp_path / "index.md").write_text("# A page\n\n[nowhere](nowhere.md)\n")
    command = [sys.executable, "-m", "sphinx", "--fail-on-warning", "-q", "-b", "html"]
    done = subprocess.run(
        [*command, str(tmp_path), str(tmp_path / "out")],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode != 0
    assert "nowhere.md" in done.stderr


# ---- in a real browser -------------------------------------------------------------------------

CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")


@pytest.fixture
def reader(site):
    """A page of the site opened from its files, as somebody without a network does."""
    playwright = pytest.importorskip("playwright.sync_api", reason="Playwright is not installed")
    arguments = ["--no-sandbox"] if os.geteuid() == 0 else []
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=arguments)
        page = browser.new_page(viewport={"width": 1200, "height": 900})
        page.requests, page.problems = [], []
        page.on("request", lambda request: page.requests.append(request.url))
        page.on("pageerror", lambda error: page.problems.append(str(error)))
        page.goto((site / "index.html").as_uri())
        yield page
        assert [u for u in page.requests if not u.startswith(("file:", "data:"))] == []
        assert page.problems == []
        browser.close()


# From the first page to the proof of a method, and on through every part: what to click, and the
# heading that must then be there.
WAY = [
    ("Explanation", "Explanation"),
    ("The person", "Guarantees"),
    ("results/person-audit.md", "What one test of a person tells"),
    ("Tutorials", "Tutorials"),
    ("An epidemic in ten minutes", "An epidemic in ten minutes"),
    ("what differential privacy promises here", "What differential privacy promises here"),
    ("how to read one", "Reading a privacy statement"),
    ("The glossary", "Glossary"),
    ("the method", "The method"),
    ("Start here", "Start here"),
    ("What is this?", "What is this?"),
]


@pytest.mark.browser
@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine")
def test_a_reader_follows_links_and_searches(reader):
    for text, heading in WAY:
        reader.get_by_role("link", name=text).first.click()
        shown = reader.locator("h1").first.inner_text()
        assert shown.startswith(heading), (text, shown)
    reader.locator("button.search-button__button:visible").first.click()
    reader.locator("input[type=search]:visible").first.fill("sensitivity")
    reader.keyboard.press("Enter")
    reader.wait_for_url("**/search.html?q=sensitivity*")
    found = reader.locator("#search-results li a")
    found.first.wait_for()
    titles = found.all_inner_texts()
    assert any("Guarantees" in title for title in titles), titles
    found.first.click()
    reader.wait_for_url(lambda url: "search.html" not in url)
    reader.locator("h1").first.wait_for()  # on a busy machine the page comes later than its address
    assert reader.locator("h1").count() == 1
