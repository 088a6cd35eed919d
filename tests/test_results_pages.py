"""What the pages of docs/results say about themselves: commands that can be typed as they stand."""

import argparse
import importlib
import json
import re
import shlex
from pathlib import Path

import pytest
import typer

from dnatrace.cli import app

if not (Path(__file__).parents[1] / "verification").is_dir():
    pytest.skip("the verification suite is not in this distribution", allow_module_level=True)

from verification import closed_loop

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
