"""Train the decoders of `headcount` and `public-facts` for worlds with levers.

It is like `person_rounds`, on runs of the scenarios: people with symptoms ask for tests, results
come late, some people have the app, and some stay at home for reasons other than a positive result.
Decoders also read diaries, and finding somebody is worth the days that they will be infectious at
home. Days are kept up to a tenth of people infected: in these worlds most days have that many.
"""

from dataclasses import replace
from typing import Any

from dnatrace.methods.headcount import OF_WORLD
from dnatrace.methods.public_facts import FLOOR
from dnatrace.training.decoder import Settings
from dnatrace.training.decoder_rounds import Plan
from dnatrace.training.person_rounds import STUDENTS, Watcher

_SENT_HOME = {"policy.quarantine.capacity": 0.005}
SCENARIOS: tuple[dict[str, Any], ...] = (
    {"scenario": "adoption-60"},
    {"scenario": "uk-2020-autumn"},
    {"scenario": "scarce"},
    {"scenario": "adoption-60"} | _SENT_HOME,
    {"scenario": "household", "tests.capacity": 0.01},
    {"scenario": "uk-2020-autumn"} | _SENT_HOME,
    {"scenario": "school-term"},
    {"scenario": "quarantine"},
    {"scenario": "variant"},
    {
        "scenario": "uk-2020-autumn",
        "tests.capacity": 0.008,
        "policy.household.days": 10,
        "policy.quarantine.capacity": 0.002,
        "policy.most_quarantined": 0.02,
        "policy.symptoms.waits_at_home": True,
    },
    {"scenario": "household"},
    {"scenario": "quarantine"} | _SENT_HOME,
)
WORLD = Plan(
    network="world",
    students=tuple(replace(s, name=s.name + OF_WORLD, diary=True) for s in STUDENTS),
    watch=Watcher,
    settings=Settings(least_noise=0.04, most_noise=12.0, heads=True),
    first_seed=21_001,
    epsilons=(5.0, 30.0, 5.0, 1.0, 300.0),  # of a person
    scenarios=SCENARIOS,
    always={"method": "public-facts", "method.decoder": FLOOR, "seir.exchange": "own-tests"},
    most_infected=0.1,
)
