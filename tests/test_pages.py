"""Pages that run, their notebooks, and pages that are made from the code."""

import ast
import enum
import inspect
import json
import re
import shutil
import subprocess
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

import dnatrace as dt
from dnatrace.sweeps import sweep as sweeps
from docs.tools import figures, pages, reference
from tests import command_line
from tests.forked_sweeps import in_process

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
ALL = sorted(p for p in DOCS.rglob("*.md") if "_site" not in p.parts)
LESSONS = {
    "decoder",
    "epidemic",
    "own-contacts",
    "own-method",
    "phones-and-servers",
    "policy-study",
    "privacy",
}


@pytest.fixture
def here(monkeypatch):
    """Runs of a study in this process: starting others takes longer than the runs."""
    monkeypatch.setattr(sweeps, "execute", in_process)


def test_all_lessons_are_there():
    assert {page.stem for page in pages.TUTORIALS} == LESSONS
    listed = (DOCS / "tutorials" / "index.md").read_text("utf-8")
    assert all(f"]({name}.md)" in listed for name in LESSONS)


@pytest.mark.slow
@pytest.mark.parametrize("page", pages.RUN, ids=lambda page: page.stem)
def test_a_page_prints_what_it_says(page, tmp_path, here):
    """Stale? `python -m docs.tools.pages --write`."""
    assert pages.refreshed(page, tmp_path, write_figures=False) == page.read_text("utf-8")


def test_a_page_that_prints_something_else_is_told(tmp_path):
    page = tmp_path / "page.md"
    text = "```python\nprint(1)\n```\n\n```text\n{}\n```\n"
    for printed, is_fresh in ((1, True), (2, False)):
        page.write_text(text.format(printed))
        fresh = pages.refreshed(page, tmp_path / "work", write_figures=False)
        assert (fresh == page.read_text()) == is_fresh
    page.write_text("```python\npass\n```\n\n![A curve](figures/curve.svg)\n")
    with pytest.raises(RuntimeError, match=r"no figure for figures/curve\.svg"):
        pages.refreshed(page, tmp_path / "work", write_figures=False)
    page.write_text("```sh\nexit 3\n```\n")
    with pytest.raises(RuntimeError, match="exit code 3"):
        pages.refreshed(page, tmp_path / "work", write_figures=False)


@pytest.mark.parametrize("page", pages.TUTORIALS, ids=lambda page: page.stem)
def test_a_notebook_is_its_page(page):
    """Stale? `python -m docs.tools.pages --write`."""
    kept = json.loads(pages.notebook_of(page).read_text("utf-8"))
    text = page.read_text("utf-8")
    assert kept == json.loads(pages.notebook(text))
    assert (kept["nbformat"], kept["nbformat_minor"]) == (4, 5)
    assert len({cell["id"] for cell in kept["cells"]}) == len(kept["cells"])
    code = ["".join(c["source"]) for c in kept["cells"] if c["cell_type"] == "code"]
    assert [c.removeprefix("%%sh\n") for c in code] == [
        block.source.strip("\n") for block in pages.blocks(text)
    ]


# Blocks of code that other tests run: the plug-ins are installed by tests/test_plugins.py, commands
# are run by tests/test_readme.py, and the rest by the tests of what they call.
ELSEWHERE = {
    "plugins.md": "tests/test_plugins.py",
    "how-to/command-line.md": "tests/test_readme.py",
    "network.md": "tests/test_runtime.py",
    "training-data.md": "test_the_snippet_of_training_data_runs",
    "world.md": "test_the_snippet_of_the_world_runs",
}


def test_every_block_of_code_is_run_by_some_test():
    with_code = {
        page for page in ALL if re.search(r"^```(python|sh)\n", page.read_text("utf-8"), re.M)
    }
    assert with_code - set(pages.RUN) == {DOCS / name for name in ELSEWHERE}


def blocks_of(name):
    return re.findall(r"^```python\n(.*?)^```", (DOCS / name).read_text("utf-8"), re.M | re.S)


def test_the_snippet_of_the_world_runs(here, tmp_path, monkeypatch, capsys):
    (source,) = blocks_of("world.md")
    small = source.replace('"method": "fn"', '"method": "fn", "people": 200, "days": 6')
    small = small.replace("range(1, 5)", "range(1, 3)")
    assert small.count("200") == 1
    monkeypatch.chdir(tmp_path)
    exec(compile(small, "world.md", "exec"), {"__name__": "__main__"})
    assert "infections averted" in capsys.readouterr().out


@pytest.mark.slow
def test_the_snippet_of_training_data_runs(tmp_path, monkeypatch):
    size = ("--people", "400", "--days", "12", "--set", "initially_infected=20")
    done = command_line.run("dataset", "--out", "data", *size, "-q", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    monkeypatch.chdir(tmp_path)
    (source,) = blocks_of("training-data.md")
    names = {}
    exec(compile(source, "training-data.md", "exec"), names)
    assert names["samples"].infected.mean() == pytest.approx(0.5)  # as the page says
    assert names["dense"].shape == (3, 14 * 128)


def test_the_drawings_are_what_the_script_draws():
    """Stale? `python -m docs.tools.figures`."""
    for name, draw in figures.DRAWINGS.items():
        kept = (figures.FIGURES / name).read_text("utf-8")
        assert kept == draw()
        root = ET.fromstring(kept)
        assert root.find("{*}title").text
        assert len(root.find("{*}desc").text) > 100


@pytest.mark.parametrize("name", sorted(reference.PAGES))
def test_the_reference_is_made_from_the_code(name):
    """Stale? `python -m docs.tools.reference`."""
    assert (DOCS / "reference" / name).read_text("utf-8") == reference.PAGES[name]()


def shown_signatures():
    page = (DOCS / "reference" / "python.md").read_text("utf-8")
    for name in dt.__all__:
        thing = getattr(dt, name)
        shown = re.search(rf"^## `{name}`\n\n```\n(.*?)```", page, re.M | re.S)
        plain = inspect.isclass(thing) and not issubclass(thing, enum.Enum)
        if shown and plain and name != "RunConfig":
            yield thing, " ".join(shown[1].split())


def test_classes_can_be_made_as_the_reference_shows():
    """Each argument in its place or by name, as printed; each that is required is printed."""
    seen = []
    for thing, shown in shown_signatures():
        (tree,) = ast.parse(f"def {shown.replace('…', '...')}: ...").body
        optional = len(tree.args.defaults)
        places = [a.arg for a in tree.args.args]
        by_name = [a.arg for a in tree.args.kwonlyargs]
        needed = places[: len(places) - optional]
        values = zip(by_name, tree.args.kw_defaults, strict=True)
        needed_names = [name for name, default in values if default is None]
        fields = getattr(thing, "model_fields", {})
        in_files = {name: field.alias or name for name, field in fields.items()}
        signature = inspect.signature(thing)
        for more in ([], by_name):
            given = {in_files.get(name, name): 0 for name in (*needed_names, *more)}
            signature.bind(*(places if more else needed), **given)
        assert len(signature.parameters) == len(places) + len(by_name)
        seen.append(thing.__name__)
    assert {"ContactWindow", "TestLog", "TestErrors", "Beliefs", "Stream"} <= set(seen)


def test_the_reference_has_every_public_name_and_every_command():
    python = (DOCS / "reference" / "python.md").read_text("utf-8")
    public = [n for n in dt.__all__ if n != "__version__"]
    assert [n for n in public if f"\n## `{n}`\n" not in python] == []
    commands = (DOCS / "reference" / "commands.md").read_text("utf-8")
    names = ("run", "privacy statement", "config parameters", "app", "reproduce", "plan")
    assert [n for n in names if f"\n## `dnatrace {n}`\n" not in commands] == []
    assert "`--epsilon`" in commands


def test_the_help_says_for_which_networks_an_option_or_a_command_is():
    """As `train` and `export` refuse them for others."""
    commands = " ".join(reference.commands_page().split())
    assert "| `--tallies` | | tally, tally-largest: newest tallies that are read" in commands
    assert "Decoders (of tally, headcount and public-facts) cannot be exported." in commands


def test_every_picture_has_a_text_for_those_who_do_not_see_it():
    for page in [*ALL, ROOT / "README.md"]:
        for alternative, target in re.findall(r"!\[([^]]*)\]\(([^)]+)\)", page.read_text("utf-8")):
            assert len(alternative) > 15, (page.name, target)


def test_links_to_other_sites_have_a_proper_form():
    """Whether they answer cannot be asked without a network."""
    for page in [*ALL, ROOT / "README.md"]:
        for url in re.findall(r"\]\((\w+:[^)]*)\)", page.read_text("utf-8")):
            assert re.fullmatch(r"https://[\w.-]+\.[a-z]{2,}(/\S*)?", url), (page.name, url)


@pytest.mark.skipif(shutil.which("Rscript") is None, reason="R is not installed")
def test_the_snippet_of_r_reads_what_pandas_reads(tmp_path):
    for seed in (1, 2):
        run = tmp_path / "runs" / str(seed)
        run.mkdir(parents=True)
        result = dt.run(dt.RunConfig(method="fn", people=100, days=20, seed=seed))
        result.to_pandas().to_csv(run / "daily.csv", index=False)
    page = (DOCS / "how-to" / "reading-results.md").read_text("utf-8")
    (source,) = re.findall(r"^```r\n(.*?)^```", page, re.M | re.S)
    done = subprocess.run(
        ["Rscript", "-e", source], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    rows = [line.split() for line in done.stdout.splitlines()]
    assert rows[0] == ["day", "infected"]
    assert [row[0] for row in rows[1:]] == ["1", "10", "20"]
