"""What the pages of results and reproduction say of themselves: commands, commits, runs."""

import argparse
import importlib
import json
import math
import re
import shlex
from pathlib import Path

import pytest
import typer

from dnatrace.cli import app
from dnatrace.paper import search
from dnatrace.paper.claims import published_rows
from dnatrace.paper.places import PLACES
from dnatrace.paper.reading import Reading, best_reading
from dnatrace.paper.scores import screened_numbers
from dnatrace.paper.setting import (
    BOUNDS,
    FRESH_SEEDS,
    FULL,
    Setting,
    configuration,
    methods_of,
    points_of,
)

if not (Path(__file__).parents[1] / "verification").is_dir():
    pytest.skip("the verification suite is not in this distribution", allow_module_level=True)

from verification import closed_loop, inference, world

DOCS = Path(__file__).parents[1] / "docs"
RESULTS = DOCS / "results"
SCRIPT, COMMAND = "python -m verification.", "dnatrace "
PAGES = sorted(path.name for path in RESULTS.glob("*.md"))
RECORDS = sorted(path.name for path in RESULTS.glob("*.json"))


class ParsedError(Exception):
    """Ends a script once it has read its options."""


def spans(text):
    """Return what stands between backticks, and lines of code with those that continue them."""
    found = re.findall(r"(?<!`)`([^`]+)`(?!`)", text)
    lines = re.findall(r"^    (\S.*)$", re.sub(r"\\\n\s*", "", text), flags=re.MULTILINE)
    return [" ".join(span.split()) for span in (*found, *lines)]


def commands_of(name):
    """Return the commands that a page or a record names."""
    text = (RESULTS / name).read_text("utf-8")
    if name.endswith(".md"):
        said = spans(text)
    else:
        said = []

        def note(pairs):
            said.extend(v for k, v in pairs if k == "command" and isinstance(v, str))

        json.loads(text, object_pairs_hook=note)
    return [one for one in said if one.startswith((SCRIPT, COMMAND, "python verification"))]


def parse_script(words, monkeypatch):
    """Let a script read its options, and nothing more."""
    read = argparse.ArgumentParser.parse_args

    def and_end(parser, *arguments):
        read(parser, *arguments)
        raise ParsedError

    monkeypatch.setattr(argparse.ArgumentParser, "parse_args", and_end)
    name, *options = words
    with pytest.raises(ParsedError):
        importlib.import_module(name).main(options)


def parse_command(words):
    """Let the parser of `dnatrace` read a command; one without its arguments is a mere name."""
    command = typer.main.get_command(app)
    while hasattr(command, "commands"):
        name, *words = words
        command = command.commands[name]
    try:
        command.make_context("dnatrace", words)
    except Exception as error:
        if type(error).__name__ != "MissingParameter":
            raise


@pytest.mark.parametrize("name", [name for name in (*PAGES, *RECORDS) if commands_of(name)])
def test_commands_of_results_can_be_typed(name, monkeypatch):
    for command in commands_of(name):
        assert not command.startswith("python verification"), command
        words = shlex.split(command.partition("|")[0])  # figure|table: the first of several
        if command.startswith(SCRIPT):
            with monkeypatch.context() as patched:
                parse_script(words[2:], patched)
        else:
            parse_command(words[1:])


def test_a_script_tells_its_command_as_a_shell_reads_it():
    options = argparse.ArgumentParser()
    for name in ("--only", "--store"):
        options.add_argument(name)
    options.set_defaults(quick=True, out=None, seeds=1, first_seed=1)
    words = ["--only", "fn, 2 rounds;it's", "--store", "/somewhere/runs"]
    command = closed_loop.read_call(options, "verification.inference", words).command
    assert shlex.split(command)[3:] == [*words[:-1], "…"]
    assert command.endswith("--store …")


@pytest.mark.parametrize(("script", "option"), [("world", "--methods"), ("inference", "--only")])
def test_names_in_commands_of_results_exist(script, option):
    known = {"world": {*world.METHODS, world.APP_RULE}, "inference": set(inference.INFERENCES)}
    asked = set()
    for name in (*PAGES, *RECORDS):
        for words in map(shlex.split, commands_of(name)):
            if words[:3] == ["python", "-m", f"verification.{script}"] and option in words:
                asked |= set(words[words.index(option) + 1].split(";"))
    assert asked
    assert asked <= known[script]


# --- what docs/results/index.md and docs/how-to/reproducing-results.md promise ---

BY_HAND = {"README.md", "index.md", "readings.md"}
WITHOUT_COMMIT = {"auc-table.md", "person-audit.md", "private-methods.md"}
WITHOUT_EPIDEMICS = {"cluster.md", "rows.md", "person-audit.md", "theorems.md"}


@pytest.mark.parametrize("name", sorted({*PAGES} - BY_HAND))
def test_a_page_names_its_command_its_commit_and_its_seeds(name):
    text = (RESULTS / name).read_text("utf-8")
    assert commands_of(name)
    has_commit = re.search(r"\b[0-9a-f]{40}\b", text) is not None
    assert has_commit is (name not in WITHOUT_COMMIT)
    assert has_commit is ("ommit unknown" not in text)
    assert "seed" in text or name in WITHOUT_EPIDEMICS


def test_pages_without_a_commit_are_named():
    said = (RESULTS / "index.md").read_text("utf-8").partition("were not kept")[0]
    assert set(re.findall(r"\]\(([a-z-]+\.md)\)", said)) == WITHOUT_COMMIT


def test_every_script_that_runs_something_has_a_quick_version(monkeypatch):
    seen = []

    def and_end(parser, *_):
        seen.append(parser)
        raise ParsedError

    monkeypatch.setattr(argparse.ArgumentParser, "parse_args", and_end)
    without = set()
    for path in sorted((DOCS.parent / "verification").glob("*.py")):
        module = importlib.import_module(f"verification.{path.stem}")
        if hasattr(module, "main") and path.stem != "__init__":
            with pytest.raises(ParsedError):
                module.main([])
            if "--quick" not in seen[-1]._option_string_actions:
                without.add(path.stem)
    assert without == {"front_figure"}  # it draws stored results


# --- what docs/reproduce.md says about runs ---


def runs_of(configs, seeds):
    return len({config.digest for config in configs}) * len(seeds)


def searched_runs():
    """Return the runs of a search that stays where it begins, and how many pairs may add."""
    start, places = best_reading(), [place for place in PLACES if not place.of_areas]
    configs = [
        start.with_changes(((place.name, option.name),)).configuration(*number, FULL)
        for place in places
        for option in place.options
        for number in screened_numbers(place.methods)
    ]
    groups = dict.fromkeys(place.methods for place in places)
    numbers = sum(len(screened_numbers(methods)) for methods in groups)
    pairs = math.comb(search.MOST_PAIRED, 2) * numbers * len(search.SCREENING_SEEDS)
    return runs_of(configs, search.SCREENING_SEEDS), pairs


def test_the_numbers_of_runs_are_those_of_the_code():
    page = (DOCS / "reproduce.md").read_text("utf-8")
    told = {
        row[0]: row[1] for row in re.findall(r"\| `dnatrace reproduce (\w+).*\| (.*) \|\n", page)
    }
    for target in ("figure", "table"):
        points = points_of(target, methods_of(target, None)[0], FULL)
        n = runs_of([configuration(point, FULL) for point in points], FULL.seeds)
        assert told[target] == f"{n} runs"
    alone, pairs = searched_runs()
    both = [
        reading.configuration(method, scenario, FULL)
        for reading in (best_reading(), Reading())
        for method, scenario, *_ in published_rows("table")
    ]
    fresh = runs_of(both, FRESH_SEEDS)
    assert told["readings"] == (
        f"{alone} runs, and up to {pairs} for two places at a time; with `--fresh` {fresh} more"
    )


@pytest.mark.parametrize("target", ["figure", "table"])
def test_the_page_names_the_settings_that_have_bounds(target):
    page = " ".join((DOCS / "reproduce.md").read_text("utf-8").split())
    shown, absent = re.search(
        r"`random` are shown under (.*?): .*? They are not run under (.*?),", page
    ).groups()
    points = points_of(target, methods_of(target, None)[0], FULL)
    with_bounds = {point.setting.value for point in points if point.method in BOUNDS}
    assert set(re.findall(r"\*\*(.*?)\*\*", shown)) == with_bounds
    assert set(re.findall(r"\*\*(.*?)\*\*", absent)) == {*Setting} - with_bounds
    assert {
        "rates": "swapped",
        "adherence": "event",
    }.items() <= best_reading().differences().items()
