"""Scenarios: they load, every number has its source, and what is given wins over them."""

import json
from pathlib import Path

import pytest

import dnatrace as dt
from dnatrace.errors import InputError
from dnatrace.runs import notices
from dnatrace.runs.config import RunConfig, load_config
from dnatrace.runs.nesting import flatten
from dnatrace.runs.run import run
from dnatrace.runs.scenarios import ALIASES, read_scenario, scenario_names
from dnatrace.runs.store import write_run
from dnatrace.settings import Settings, setting
from dnatrace.sweeps.sweep import expand

from . import command_line

SUITE = {
    *("paper", "tests-4", "scarce", "household", "quarantine", "uk-2020-autumn", "adoption-60"),
    *("school-term", "variant"),
}


def test_the_suite_is_there():
    assert set(dt.scenarios()) == set(scenario_names()) == SUITE
    assert read_scenario("autumn").name == ALIASES["autumn"] == "uk-2020-autumn"


@pytest.mark.parametrize("name", scenario_names())
def test_a_scenario_loads_and_every_number_has_a_source(name):
    scenario = dt.scenarios()[name]
    assert set(scenario.sources) == set(flatten(scenario.settings))
    assert all(len(row["source"]) > 3 for row in scenario.as_rows())
    config = load_config(scenario=name)
    told = flatten(config.as_dict())
    for key, value in flatten(scenario.settings).items():
        if key != "simulator.distancing":
            assert told[key] == value, key
    assert config.method == load_config().method  # a scenario says nothing about the method


def sourceless(section, path):
    """Yield numbers of a section that mean something (not: none, all, unchanged) without source."""
    for name, field in type(section).model_fields.items():
        value, key = getattr(section, name), f"{path}.{name}"
        if isinstance(value, Settings):
            yield from sourceless(value, key)
        elif (
            isinstance(value, int | float)
            and value not in (0, 1)  # nor True, nor False
            and not (field.json_schema_extra or {}).get("source")
        ):
            yield key


def test_every_default_of_the_world_names_its_source():
    config = RunConfig(policy={"name": "levers"})
    sections = ("policy", "isolation", "tests", "app", "simulator")
    assert [key for name in sections for key in sourceless(getattr(config, name), name)] == []

    class Lever(Settings):
        days: int = setting(10, "by nobody")
        share: float = setting(1.0, "all of them")
        delay: int = setting(3, "by somebody", source="a paper")

    assert list(sourceless(Lever(), "lever")) == ["lever.days"]


CHOSEN = ("chosen", "as the isolation of a case", "levers of policy/")
PAGE = Path(__file__).parents[1] / "docs" / "world.md"


def checked_sources():
    """Return the names of sources in the table of the page that says how each was checked."""
    table = (
        PAGE.read_text("utf-8").partition("## How sources were checked")[2].partition("\n## ")[0]
    )
    return [line.split("|")[1].strip() for line in table.splitlines() if line.startswith("| ")][1:]


def unchecked(source):
    return not source.startswith(CHOSEN) and not any(name in source for name in checked_sources())


def test_the_page_says_how_every_source_was_checked():
    assert len(checked_sources()) > 10
    for scenario in dt.scenarios().values():
        for key, source in scenario.sources.items():
            assert not unchecked(source), f"{scenario.name}: {key}: {source}"
    assert unchecked("Nobody et al. 2020")


def test_what_is_given_wins():
    config = load_config(
        scenario="autumn", settings=["policy.quarantine.capacity=0.005"], overrides={"method": "fn"}
    )
    assert config.policy.quarantine.capacity == 0.005
    assert config.policy.quarantine.adherence == 0.6
    assert config.policy.symptoms.mild == 0.5
    assert load_config(scenario="autumn", overrides={"people": 20}).n_initially_infected == 20
    assert load_config(scenario="autumn").policy.quarantine.capacity == 0.0  # and is gone again


def test_a_scenario_that_does_not_exist():
    with pytest.raises(InputError, match="scenario 'spring' does not exist; there are adoption-60"):
        load_config(scenario="spring")


def test_scenarios_in_a_sweep():
    grid = {"scenario": ["scarce", "household"], "method": {"name": "fn"}}
    configs = expand({"seeds": [1], "people": 100, "grid": grid})
    assert [c.tests.capacity for c in configs] == [0.01, 0.004]


def test_scenarios_on_the_command_line():
    done = command_line.run(
        "run",
        "--scenario",
        "school-term",
        "--method",
        "fn",
        "--people",
        "300",
        "--days",
        "5",
        "--json",
    )
    assert done.returncode == 0, done.stderr
    wrong = command_line.run("run", "--scenario", "spring")
    assert wrong.returncode == 2
    assert "scenario 'spring' does not exist" in wrong.stderr


def test_scenarios_are_listed_with_their_sources():
    listed = command_line.run("config", "scenarios").stdout
    assert [line.split()[0] for line in listed.splitlines()] == scenario_names()
    one = command_line.run("config", "scenarios", "autumn").stdout
    assert "app.adoption = 0.28  (NHS app (Wymant et al. 2021): 28 % of people)" in one
    told = json.loads(command_line.run("config", "scenarios", "--json").stdout)
    assert told["scarce"]["settings"]["tests"] == {"capacity": 0.01}
    assert command_line.run("config", "scenarios", "spring").returncode == 2


@pytest.mark.parametrize("name", sorted(SUITE))
def test_every_scenario_runs(name):
    config = load_config(
        scenario=name, overrides={"people": 300, "days": 6, "method": "fn", "seed": 4}
    )
    result = dt.run(config)
    assert result.summary["people"] == 300
    assert result.summary["attack_rate"] > 0


def test_a_scenario_over_a_list_has_no_more_first_infections_than_people(tmp_path, caplog):
    """All 20 people of a list were infected on day 0 without a word, and 50 were stored."""
    contacts = tmp_path / "c.csv"
    rows = "".join(f"{i},{(i + 1) % 20},0\n{(i + 1) % 20},{i},0\n" for i in range(20))
    contacts.write_text("sender,receiver,day\n" + rows)
    replay = {"simulator.name": "replay", "simulator.contacts": str(contacts), "method": "none"}
    notices._TOLD.clear()
    config = load_config(scenario="variant", overrides=replay | {"days": 3})
    assert config.initially_infected == 20
    told = "infects 50 of 10,000 people at first, and 20 of the 20 here; initially_infected=1 is"
    assert told in caplog.text
    assert "simulator.variant.first=1 is nearest to the same share" in caplog.text
    stored = write_run(run(config), tmp_path / "runs")
    again = load_config(file=stored / "config.json")
    assert again.digest == config.digest == stored.name
