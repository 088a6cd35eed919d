"""What a run claims holds for the noise and the objects that made it, not for its configuration."""

import json
from dataclasses import dataclass, replace

import pytest

import dnatrace as dt
from dnatrace.errors import InputError
from dnatrace.inference.exchange import NeighbourRounds
from dnatrace.privacy.accounting import Target
from dnatrace.privacy.noise import FastNoise
from dnatrace.report.page import SIMULATED, _verdict
from dnatrace.runs import guarantees
from dnatrace.runs.presentation import privacy_line
from dnatrace.runs.run import build_loop, run

from .command_line import run as dnatrace
from .private_methods import made
from .reference_headcount import headcount

SMALL = {"people": 60, "days": 3, "initially_infected": 10}


@pytest.fixture(scope="module")
def fast():
    return run(dt.RunConfig(method="dpfn-s", **SMALL))


def test_fast_noise_is_a_simulation_wherever_costs_are_told(fast, tmp_path):
    privacy = fast.summary["privacy"]
    assert (privacy["sound"], privacy["protects"], privacy["noise"]) == (True, False, "fast")
    assert "SIMULATION" in privacy_line(privacy)
    assert "proved." not in privacy_line(privacy)
    assert "SIMULATION" in guarantees.state(fast.config, fast.ledger)
    assert all(FastNoise(seed=1).name == e.noise for e in fast.ledger.events if e.day > 1)
    stored = dt.runs.store.write_run(fast, tmp_path)
    title = dnatrace("privacy", "ledger", stored).stdout.splitlines()[0]
    assert "SIMULATION" in title
    assert json.loads((stored / "ledger.json").read_text())["spent"]["protects"] is False


@dataclass
class Reported:
    """The part of a group of runs that a verdict reads."""

    privacy: dict


def test_the_report_calls_proved_what_protects_and_nothing_else(fast):
    privacy = fast.summary["privacy"]
    assert _verdict(Reported(privacy)) == SIMULATED
    older = {key: value for key, value in privacy.items() if key != "protects"}
    assert _verdict(Reported(older)) == SIMULATED
    assert _verdict(Reported(older | {"noise": "secure"})) == "proved"
    assert _verdict(Reported(privacy | {"protects": True, "noise": "secure"})) == "proved"
    assert _verdict(Reported(privacy | {"sound": False})) == "NOT SOUND"


def test_an_object_with_noise_of_its_own_is_not_secure_because_the_configuration_says_so():
    config = dt.RunConfig(method="dpfn-s", noise="secure", **SMALL)
    result = run(config, method=made("dpfn-s", noise=FastNoise(seed=1)))
    assert result.summary["privacy"]["noise"] == "fast"
    assert not result.summary["privacy"]["protects"]
    text = guarantees.state(result.config, result.ledger)
    assert "SIMULATION" in text
    assert "secure" not in text


def test_an_object_is_held_to_its_own_epsilon_not_to_that_of_the_configuration():
    config = dt.RunConfig(method="dpfn-s", epsilon=1.0, **SMALL)
    for epsilon in (0.5, 4.0):
        result = run(config, method=made("dpfn-s", target=Target(epsilon=epsilon)))
        privacy = result.summary["privacy"]
        assert privacy["epsilon"] == pytest.approx(epsilon)
        assert privacy["per_release_epsilon"] == pytest.approx(epsilon)
        text = guarantees.state(result.config, result.ledger)
        assert "no target was stated" in text
        assert "ε = 1 at" not in text


def test_an_object_cannot_promise_a_person_what_its_messages_do_not_keep():
    """It was set up for messages from own tests; those of the configuration pass through others."""
    config = dt.RunConfig(seir={"exchange": "rounds"}, **SMALL)
    with pytest.raises(InputError, match="own-tests"):
        run(config, method=headcount(own_tests=True))
    result = run(config, method=headcount(own_tests=False))
    assert result.summary["privacy"]["per_person_epsilon"] is None


def test_a_loop_put_together_by_hand_is_held_to_it_as_well():
    loop = build_loop(dt.RunConfig(**SMALL), method=headcount(own_tests=True))
    exchange = NeighbourRounds(parameters=loop.parameters, test_errors=dt.TestErrors(), rounds=2)
    next(loop.run(1))  # messages from own tests are what it was set up for
    with pytest.raises(InputError, match="pass through others"):
        next(replace(loop, exchange=exchange).run(1))
