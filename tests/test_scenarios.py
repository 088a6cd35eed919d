"""Scenarios: they load, every number has its source, and what is given wins over them."""

import json

import pytest

import dnatrace as dt
from dnatrace.errors import InputError
from dnatrace.runs.config import load_config
from dnatrace.runs.nesting import flatten
from dnatrace.runs.scenarios import ALIASES, read_scenario, scenario_names
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
