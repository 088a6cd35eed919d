"""Audits that are attached to a statement: of the same decoder, and of no more than was played."""

import pytest

from .command_line import run

HOUSEHOLD = ("audit", "--world", "household", "--draws", "1000", "-q", "--out")
SMALL = ("--people", "60", "--days", "3", "-q", "--out", "runs")


def stored(place, *options):
    assert run("run", *SMALL, *options, cwd=place).returncode == 0
    (path,) = (p for p in (place / "runs").iterdir() if p.is_dir())
    return path


@pytest.mark.parametrize("noise", ["fast", "secure"])
def test_an_audit_of_scores_says_that_the_threshold_was_not_played(noise, tmp_path):
    assert run(*HOUSEHOLD, "audit.json", cwd=tmp_path).returncode == 0
    path = stored(tmp_path, "--set", "policy=threshold", "--set", f"policy.noise={noise}")
    text = run("privacy", "statement", path, "--audit", "audit.json", cwd=tmp_path).stdout
    (audit,) = (part for part in text.split("\n\n") if part.startswith("Last audit: on "))
    assert audit.rstrip().endswith("in addition, and its cost and noise were not.")


def test_an_audit_beside_the_highest_scores_leaves_nothing_out(tmp_path):
    assert run(*HOUSEHOLD, "audit.json", cwd=tmp_path).returncode == 0
    path = stored(tmp_path)
    text = run("privacy", "statement", path, "--audit", "audit.json", cwd=tmp_path).stdout
    assert "Last audit: on " in text
    assert "Scores alone" not in text


def test_an_audit_of_another_decoder_says_how_to_audit_that_of_levers(tmp_path):
    """The named option is one that the statement then accepts."""
    assert run(*HOUSEHOLD, "audit.json", cwd=tmp_path).returncode == 0
    path = stored(tmp_path, "--scenario", "household")
    done = run("privacy", "statement", path, "--audit", "audit.json", cwd=tmp_path)
    assert done.returncode == 2
    assert "with the levers of this run phones use another decoder" in done.stderr
    setting = done.stderr.partition("audit --set ")[2].partition("`")[0]
    assert run(*HOUSEHOLD, "other.json", "--set", setting, cwd=tmp_path).returncode == 0
    done = run("privacy", "statement", path, "--audit", "other.json", cwd=tmp_path)
    assert (done.returncode, "Last audit: on " in done.stdout) == (0, True)
