"""Pages that run, their notebooks, and pages that are made from the code."""

import ast
import enum
import inspect
import json
import re
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

import dnatrace as dt
from dnatrace.runs.presentation import show_run
from dnatrace.runs.scenarios import ALIASES
from dnatrace.simulators.base import SEIR_OF_COURSE, CourseState
from dnatrace.simulators.disease import DiseaseParameters
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


def broken_links(text, directory):
    """The relative links and pictures of a text in Markdown that lead to no file."""
    prose = re.sub(r"^```.*?^```|`[^`\n]+`", "", text, flags=re.M | re.S)
    targets = re.findall(r"\]\((?!\w+:|#)([^)#\s]+)", prose)
    return [target for target in targets if not (directory / target).exists()]


@pytest.mark.parametrize("page", pages.TUTORIALS, ids=lambda page: page.stem)
def test_every_link_and_picture_of_a_notebook_leads_somewhere(page):
    kept = pages.notebook_of(page)
    cells = json.loads(kept.read_text("utf-8"))["cells"]
    prose = "\n".join("".join(c["source"]) for c in cells if c["cell_type"] == "markdown")
    assert "](../" in prose
    assert broken_links(prose, kept.parent) == []


def test_every_link_and_picture_of_a_page_leads_somewhere():
    """As read in the repository; tests/test_site.py follows those of the site, with anchors."""
    for page in [*ALL, *ROOT.glob("*.md")]:
        assert broken_links(page.read_text("utf-8"), page.parent) == [], page.name


def test_only_relative_links_of_a_notebook_are_moved():
    text = (
        "[a](a.md) ![b](../b.svg) [c](#c) [d](https://d.org/) [e](/e)\n\n```python\nx[0](1)\n```\n"
    )
    prose, code = (cell["source"] for cell in json.loads(pages.notebook(text))["cells"])
    assert prose == ["[a](../a.md) ![b](../../b.svg) [c](#c) [d](https://d.org/) [e](/e)"]
    assert code == ["x[0](1)"]


def test_the_lesson_on_own_contacts_says_where_its_files_are_before_it_reads_them():
    page = DOCS / "tutorials" / "own-contacts.md"
    before = page.read_text("utf-8").split("```python")[0]
    assert "`cd examples`" in before
    (place,) = re.findall(r"`%cd (\S+)`", before)
    examples = (pages.notebook_of(page).parent / place).resolve()
    assert examples == ROOT / "examples"
    read = re.findall(r'read_csv\("(.+?)"\)', page.read_text("utf-8"))
    assert read == ["contacts.csv", "tests.csv"]
    assert all((examples / name).is_file() for name in read)


def test_lessons_that_start_processes_say_what_a_file_needs():
    rule = '`if __name__ == "__main__":`'
    for page in pages.TUTORIALS:
        before, *after = page.read_text("utf-8").split("dt.compare(", 1)
        if after:
            assert "](index.md#in-a-file)" in before, page.name
            assert rule in before, page.name
    for name in ("tutorials/index.md", "start.md"):
        assert rule in (DOCS / name).read_text("utf-8"), name


@pytest.mark.parametrize(
    ("guard", "file"), [('if __name__ == "__main__":', "script.py"), ("if True:", "-")]
)
def test_the_script_of_the_tutorials_runs(guard, file, tmp_path):
    """Workers read a script again, which must be guarded; on standard input there is no file."""
    page = (DOCS / "tutorials" / "index.md").read_text("utf-8")
    (source,) = re.findall(r"^```\n(import dnatrace.*?)^```", page, re.M | re.S)
    small = source.replace("people=600, days=40", "people=50, days=2").replace("(1, 6)", "(1, 3)")
    script = small.replace('if __name__ == "__main__":', guard)
    assert small != source
    assert guard in script
    (tmp_path / "script.py").write_text(script, "utf-8")
    done = subprocess.run(
        [sys.executable, file],
        input=script,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert '[["random","fn"]]' in done.stdout


def test_pages_about_a_copy_of_the_repository_keep_it_editable():
    """`pip install '.[train]'` would replace the editable package of `make run` by a copy."""
    for page in ALL:
        if "results" not in page.relative_to(DOCS).parts:
            found = re.findall(r"pip install (?:\S+ )*?'?\.[\['`\s].*", page.read_text("utf-8"))
            assert [line for line in found if " -e " not in line] == [], page.name


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


def entries_of(page):
    """The entries of a glossary by the words in bold at their beginning."""
    return dict(re.findall(r"^\*\*([^*]+)\*\*((?:.+\n)+)", page.read_text("utf-8"), re.M))


def test_what_pages_say_of_e_and_i_is_what_the_simulator_counts(capsys):
    factors = DiseaseParameters().course_factors()
    assert (factors[SEIR_OF_COURSE == dt.State.E] > 0.0).all()  # people in E infect
    names = [state.name for state in CourseState if SEIR_OF_COURSE[state] == dt.State.I]
    assert names == ["SYMPTOMATIC", "SYMPTOMATIC_MILD", "HOSPITALISED", "CRITICAL"]
    entries = entries_of(DOCS / "reference" / "glossary.md")
    assert "may infect others. In the phones' model" in " ".join(entries["E, exposed"].split())
    assert "infected with symptoms" in entries["I, infected"]
    lesson = " ".join((DOCS / "tutorials" / "epidemic.md").read_text("utf-8").split())
    assert "People in E may infect others" in lesson
    assert "(infected, not yet infectious)" not in lesson

    result = dt.run(dt.RunConfig(method="none", people=100, days=4))
    assert result.summary["peak_infected"] == max(result.daily["infected"].to_pylist()) / 100
    assert "% infected (I), " in repr(result)
    show_run(result)
    assert "\nInfected (I) by day  " in capsys.readouterr().out


def test_a_short_name_of_a_scenario_is_explained():
    listed = command_line.run("config", "scenarios").stdout.splitlines()
    page = " ".join((DOCS / "world.md").read_text("utf-8").split())
    for short, name in ALIASES.items():
        (line,) = (line for line in listed if line.startswith(f"{name} "))
        assert line.endswith(f" (short name: {short})")
        assert f"`{short}` is a short name of `{name}`" in page


@pytest.mark.parametrize(
    "words", [("run",), ("audit",), ("plan",), ("sweep",), ("config", "scenarios")], ids=" ".join
)
def test_paragraphs_of_help_fill_the_lines_of_a_terminal(words):
    done = command_line.run_process(*words, "--help", COLUMNS="80")
    prose = done.stdout.split("╭")[0]  # the panels of options begin
    paragraphs = re.split(r"\n\s*\n", prose)[2:]
    assert any(paragraph.lstrip().startswith("Example: dnatrace") for paragraph in paragraphs)
    for paragraph in paragraphs:
        lines = [line.strip() for line in paragraph.splitlines()]
        assert all(60 <= len(line) <= 80 for line in lines[:-1]), paragraph


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_a_missing_library_of_data_frames_is_named_in_one_line(library, here, monkeypatch):
    """The package does not bring them; lessons and how-to say so where they use them."""
    small = dt.RunConfig(method="none", people=50, days=2)
    made = (dt.run(small), dt.compare({"none": small}, seeds=[1]))
    monkeypatch.setitem(sys.modules, library, None)  # as if it were not installed
    for each in made:
        with pytest.raises(dt.InputError) as raised:
            getattr(each, f"to_{library}")()
        assert str(raised.value) == f"to_{library}() needs {library}: pip install {library}"
    for name in ("tutorials/epidemic.md", "tutorials/policy-study.md", "how-to/reading-results.md"):
        text = (DOCS / name).read_text("utf-8")
        assert "`pip install pandas`" in text
        assert f"to_{library}()" in text


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
        run = tmp_path / "small" / str(seed)
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
