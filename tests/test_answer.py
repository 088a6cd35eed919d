"""The sentences on top of the report and of the live page, by hand."""

import itertools
import math
import re
from dataclasses import replace

import numpy as np
import pytest

from dnatrace.methods.public_facts import FLOOR
from dnatrace.report.answer import Side, Told, answer, how_sure, in_odds
from dnatrace.report.answering import _lead, overall
from dnatrace.report.grouping import Group, group_runs
from dnatrace.report.reading import read_runs
from dnatrace.runs import store
from dnatrace.runs.config import load_config
from dnatrace.runs.nesting import flatten
from dnatrace.runs.run import run as run_once
from dnatrace.sweeps.naming import METHOD, Names

PROVED = {
    "noise": "fast",
    "sound": True,
    "protects": False,
    "per_person_epsilon": 5.02,
    "per_release_epsilon": 1.0,
    "delta": 1e-3,
}
OPEN = {"noise": None, "per_release_epsilon": None}
SILENT = {"noise": None, "per_release_epsilon": 0.0}


def side(name, rates, *, method="m", privacy=PROVED, isolated=0.04, tests=8000, first=1, **others):
    runs = [
        Told(
            seed=seed,
            most_isolated=isolated,
            summary={
                "people": 10_000,
                "days": 100,
                "method": method,
                "attack_rate": rate,
                "tests_used": tests,
                "isolation_person_days": 5000,
                "peak_reached": True,
                "privacy": privacy,
            }
            | others,
        )
        for seed, rate in enumerate(rates, start=first)
    ]
    return Side(name=name, runs=runs)


MAIN = side("A", [0.0200, 0.0224])
NOTHING = side("nothing", [0.88, 0.882], method="none", privacy=SILENT, tests=0, isolated=0.0)


def test_what_was_done_brought_cost_and_promises():
    floor = side("floor", [0.0400, 0.0420], method="floor", privacy=SILENT)
    outcome, messages, cost, promise = answer(MAIN, nothing=NOTHING, floor=floor)
    assert outcome == (
        "Of 10,000 people 212 were infected in 100 days instead of 8,810 with nothing done."
    )
    # 200 and 196 fewer on the two seeds: 198 ± t(0.95, 1) · 2.83 / √2 = 12.6
    assert messages == (
        "Without any message between phones (the floor) 410 would have been infected: messages "
        "make it 198 ± 12.6 fewer."
    )
    assert cost == (
        "1 in 25 was at home on the worst day; on average a person had 0.8 tests and 0.5 days at "
        "home."
    )
    assert promise.startswith(
        "What one of your tests reveals to a housemate over all time: ε = 5.02, so that anybody "
        "who "
        # 0.7663 / (1 - 0.7663) = 3.28
        "guesses your result is right at most 76.6 times in 100, odds of 3.28 to 1; a coin is "
        "right 50 times, odds of 1 to 1"
    )
    assert "simulation" in promise


def test_chance_is_not_sold_as_an_effect():
    floor = side("floor", [0.0150, 0.0300], method="floor", privacy=SILENT)
    assert "no more than chance apart" in answer(MAIN, floor=floor)[1]
    other = side("B", [0.0190, 0.0236])
    assert answer(MAIN, other=other)[1] == (
        "B is no more than chance apart in 2 runs from A (+1 ± 69.5 infections); more may show."
    )
    one = side("A", [0.02])
    assert answer(one, floor=side("floor", [0.04], method="floor"))[1].endswith("been infected.")
    assert "another seed may come out quite differently" in how_sure(one, None)
    assert "more are on their way" in how_sure(one, None, asked=5)
    # 8,600 and 8,596 averted: 8,598 ± 12.6
    assert "8,598 ± 12.6 infections averted" in how_sure(MAIN, NOTHING)
    # 200 and 224 infected: 212 ± t(0.95, 1) · 17 / √2 = 75.8
    assert how_sure(MAIN, None) == "Means of 2 runs, with 90 % intervals: 212 ± 76 infected."
    other = side("B", [0.0500, 0.0500])
    assert how_sure(MAIN, NOTHING, other=other) == (
        "Means of 2 runs, with 90 % intervals: 212 ± 76 infected with A and 500 ± 0 infected with "
        "B; 8,598 ± 12.6 infections averted with A, seed by seed."
    )
    assert "may be chance" not in how_sure(MAIN, NOTHING)
    assert "may be chance" in how_sure(MAIN, side("n", [0.0150, 0.0300], method="none"))


def test_two_plans_are_named_and_each_has_its_costs_and_its_promise():
    other = side("B", [0.0100, 0.0124], privacy=OPEN, isolated=0.5, tests=20_000)
    floor = side("floor", [0.0400, 0.0420], method="floor", privacy=SILENT)
    told = answer(MAIN, nothing=NOTHING, floor=floor, other=other)
    assert told[0] == (
        "With A 212 and with B 112 of 10,000 people were infected in 100 days instead of 8,810 "
        "with nothing done in the situation of A."
    )
    assert told[1] == "B has 100 ± 0 fewer infections than A, seed by seed."
    assert told[2].startswith("With A but without any message between phones (the floor) 410")
    assert told[3].startswith("With A: 1 in 25 was at home on the worst day; on average a person")
    assert told[4].startswith("With B: 1 in 2 was at home on the worst day; on average a person")
    assert "had 2 tests" in told[4]
    assert told[5].startswith("With A: what one of your tests reveals to a housemate")
    assert told[6].startswith("With B: what one of your tests reveals")
    assert "as they are" in told[6]
    assert len(told) == 7
    assert len(answer(MAIN, other=side("B", [0.01, 0.01]))) == 5  # the same promise is told once
    tells = side("B", [0.01], privacy=PROVED | {"policy_tells_of_cases": True})
    *_, common, more = answer(MAIN, other=tells)
    assert common.startswith("What one of your tests reveals to a housemate")
    assert more.startswith("With B: in addition, the policy tells people of a case")
    idle = side("B", [0.02], tests=0, isolated=0.0)
    assert "With B: nobody was tested and nobody stayed at home." in answer(MAIN, other=idle)


def test_plans_of_other_cities_are_compared_by_shares():
    other = side("B", [0.0100, 0.0124], people=5000)
    outcome, against, *_ = answer(MAIN, other=other)
    assert outcome == "With A 212 of 10,000 people were infected in 100 days."
    assert against == (
        "With B 56 of 5,000 people were infected in 100 days. B has 1 ± 0 fewer percentage points "
        "than A, seed by seed."
    )


def test_halves_of_people_are_rounded_away_from_zero():
    halves = side("A", [0.0486, 0.0487], isolated=0.4)
    told = answer(halves, nothing=side("nothing", [0.0137, 0.0138], method="none"))
    assert told[0] == (
        "Of 10,000 people 487 were infected in 100 days instead of 138 with nothing done."
    )
    assert told[1].startswith("1 in 3 was at home")


def test_doing_nothing_and_the_floor_count_on_the_seeds_of_the_setting():
    """Another seed is another epidemic: its number says nothing about what was done."""
    one = side("A", [0.0200])
    floor = side("floor", [0.0400, 0.0420], method="floor", privacy=SILENT)
    outcome, messages, *_ = answer(one, nothing=NOTHING, floor=floor)
    assert outcome.endswith(" instead of 8,800 with nothing done.")  # of seed 1 alone
    assert messages.endswith(" (the floor) 400 would have been infected.")
    elsewhere = side("A", [0.0200, 0.0224], first=2)  # seeds 2 and 3
    told = answer(elsewhere, nothing=NOTHING, floor=floor)
    assert told[0] == "Of 10,000 people 212 were infected in 100 days."
    assert not any("floor" in text or "instead" in text for text in told)
    assert "averted" not in how_sure(elsewhere, NOTHING)


def test_two_settings_are_compared_on_the_seeds_that_both_have():
    three = side("A", [0.0900, 0.0200, 0.0224])
    other = side("B", [0.0100, 0.0124, 0.0800], first=2)  # seeds 2, 3 and 4
    nothing = side("nothing", [0.88, 0.882], method="none", first=2)
    told = answer(three, nothing=nothing, other=other)
    assert told[0].startswith("With A 212 and with B 112 of 10,000 people were infected")
    assert "instead of 8,810 with nothing done" in told[0]
    assert told[1] == "B has 100 ± 0 fewer infections than A, seed by seed."
    sure = how_sure(three, nothing, other=other)
    assert "Means of 2 runs" in sure
    assert "212 ± 76 infected with A and 112 ± 76 infected with B" in sure


def test_settings_without_a_common_seed_are_not_compared():
    other = side("B", [0.0100, 0.0124, 0.0100], first=7)
    told = answer(MAIN, nothing=NOTHING, other=other)
    assert told[0].startswith("With A 212 of 10,000 people were infected in 100 days instead of")
    assert told[1] == (
        "With B 108 of 10,000 people were infected in 100 days. The two have no seed in common, "
        "so chance alone may explain the difference."
    )
    assert how_sure(MAIN, None, other=other).startswith("Means of 2 and 3 runs")


def test_odds_are_the_definition_in_words():
    told = in_odds(PROVED)
    assert "at most 151 times (e to the power of ε = 5.02)" in told  # exp(5.02) = 151.4
    assert "plus a chance of 0.001 (δ)" in told
    assert "right at most 76.6 of 100 times" in told
    assert "over a million times" in in_odds(PROVED | {"per_person_epsilon": 40.0})
    assert (
        "over 999 to 1"
        in answer(side("A", [0.02], privacy=PROVED | {"per_person_epsilon": 40.0}))[-1]
    )
    for open_end in (
        OPEN,
        SILENT,
        PROVED | {"sound": False},
        PROVED | {"per_person_epsilon": None},
    ):
        assert in_odds(open_end) == ""


@pytest.mark.parametrize(
    ("privacy", "words"),
    [
        (OPEN, "nothing is promised"),
        (SILENT, "nothing, because phones tell each other nothing (ε = 0)"),
        (PROVED | {"sound": False}, "NOT SOUND"),
        (PROVED | {"per_person_epsilon": None}, "no bound is proved; ε = 1 per release"),
        (PROVED | {"person_unfinished": True}, "so far: ε = 5.02"),
        (PROVED | {"policy_tells_of_cases": True}, "no ε covers that"),
        (PROVED | {"selection_epsilon": 1.0}, "threshold"),
    ],
)
def test_promises(privacy, words):
    assert words in answer(side("A", [0.02], privacy=privacy))[-1]


def test_an_unfinished_epidemic_and_idleness_are_told():
    rising = side("B", [0.02, 0.02], peak_reached=False)
    text = "he number of infected people (I) is still rising on the last day"
    assert answer(rising)[1] == f"T{text}: the peak is yet to come."
    assert answer(MAIN, other=rising)[1] == f"With B t{text}: the peak is yet to come."
    four = replace(MAIN, runs=[*MAIN.runs, *side("A", [0.02], peak_reached=False, first=3).runs])
    assert answer(four)[1] == f"T{text} in 1 of 3 runs: the peak of that run is yet to come."
    two = replace(MAIN, runs=[MAIN.runs[0], *side("A", [0.02] * 2, peak_reached=False).runs])
    assert answer(two)[1] == f"T{text} in 2 of 3 runs: the peak of these runs is yet to come."
    idle = side("A", [0.02], tests=0, isolated=0.0)
    assert "Nobody was tested and nobody stayed at home." in answer(idle)


def test_a_store_is_answered_by_its_best_setting(report_store):
    groups = group_runs(read_runs(report_store)[0])
    told = overall(groups)
    rates = {g.label: sum(r.summary["attack_rate"] for r in g.runs) for g in groups}
    acting = {label: rate for label, rate in rates.items() if label != "none"}
    assert told[0] == (
        f"Of 8 settings in which something is done, {min(acting, key=acting.get)} had the fewest "
        "infections."
    )
    infected = min(acting.values()) / 3 * 300
    nothing = rates["none"] / 3 * 300
    assert told[1].startswith(f"Of 300 people {infected:.0f} were infected in 20 days")
    assert f"instead of {nothing:.0f} with nothing done" in told[1]


def test_settings_with_equally_few_infections_are_all_named(report_store):
    """And the floor, which is not among the settings that are counted, is said to be left out."""
    groups = group_runs(read_runs(report_store)[0])
    one = next(group for group in groups if group.label != "none")
    twin = replace(one, label="twin")
    floor = replace(one, label="floor", settings=dict(one.settings) | {METHOD: FLOOR})
    assert overall([one, twin])[0].startswith(
        f"Of 2 settings, {one.label} and twin had equally few infections."
    )
    told = overall([one, twin, floor])[0]
    assert told.startswith(f"Of 2 settings besides public facts alone, {one.label} and twin had")


def test_public_facts_with_levers_of_their_own_are_a_setting_like_others(report_store):
    """They are the floor of settings with the same levers alone; a plan recommends them."""
    groups = {group.label: group for group in group_runs(read_runs(report_store)[0])}
    fn, idle = groups["fn"], groups["none"]
    levers = dict(fn.settings) | {METHOD: FLOOR, "policy.quarantine.capacity": 0.01}
    better = tuple(replace(run, summary=run.summary | {"attack_rate": 0.0}) for run in fn.runs)
    policy = replace(fn, label="policy", settings=levers, runs=better)
    ours = replace(fn, settings=dict(fn.settings) | {"policy.quarantine.capacity": 0.0})
    assert overall([policy, ours])[0] == "Of 2 settings, policy had the fewest infections."
    floor = replace(policy, settings=dict(ours.settings) | {METHOD: FLOOR})
    assert "policy" not in " ".join(overall([floor, ours]))
    alone = overall([idle, policy, replace(policy, label="other")])[0]
    assert "besides public facts alone" not in alone
    assert alone.startswith("Of 2 settings in which something is done, policy and other had")


def test_settings_of_other_length_are_not_called_floors(report_store):
    groups = {group.label: group for group in group_runs(read_runs(report_store)[0])}
    base = dict(groups["fn"].settings) | {METHOD: FLOOR}
    three = [replace(groups["fn"], label=name, settings=base | {"x": name}) for name in "abc"]
    told = overall([*three, lasting(replace(three[0], label="d"), 30)])
    assert told[0].startswith("Of 3 settings, a and b and c had equally few")
    assert "besides public facts alone" not in " ".join(told)


def test_a_setting_described_alone_is_named_where_others_stand_beside_it(report_store):
    groups = {group.label: group for group in group_runs(read_runs(report_store)[0])}
    idle, fn = groups["none"], groups["fn"]
    assert not any("following" in text for text in overall([idle, fn]))
    again = replace(idle, label="again", settings=dict(idle.settings) | {"people": 301})
    assert overall([idle, again, fn])[0] == "The following is about fn."


def test_the_fewest_infections_are_those_on_common_seeds(report_store):
    groups = {group.label: group for group in group_runs(read_runs(report_store)[0])}
    one, two, three = (groups[name] for name in ("public-only", "fn", "dpfn-s, ε 1"))
    infected = lambda group: [run.summary["attack_rate"] for run in group.runs]  # noqa: E731
    part = replace(one, runs=one.runs[:1])
    told = overall([part, two, three])[0]
    best = min((part, two, three), key=lambda group: infected(group)[0])
    assert told.endswith(
        f" {best.label} had the fewest infections on seed 1, the only one that all have."
    )
    part, rest = replace(one, runs=one.runs[1:]), replace(two, runs=two.runs[1:])
    assert "on the seeds that all have, 2 and 3." in overall([part, rest, three])[0]
    assert " on " not in overall([part, rest])[0]
    apart = replace(three, runs=three.runs[:1])
    told = overall([part, rest, apart])
    assert told[0] == (
        "The 3 settings have no seed in common, so they are not ranked. The following is about "
        f"{part.label}."
    )
    assert overall([rest, apart])[0] == (
        "The 2 settings have no seed in common, so they are not ranked."
    )


def test_nothing_done_on_another_seed_is_not_mentioned(report_store):
    groups = {group.label: group for group in group_runs(read_runs(report_store)[0])}
    idle, fn = replace(groups["none"], runs=groups["none"].runs[:1]), groups["fn"]
    assert not any("nothing done" in text for text in overall([idle, fn]))
    both = overall([groups["none"], replace(fn, runs=fn.runs[:1])])
    nothing = idle.runs[0].summary["attack_rate"] * 300
    assert f"instead of {nothing:.0f} with nothing done" in both[0]


def test_two_settings_of_a_store_are_compared(report_store):
    groups = group_runs(read_runs(report_store)[0])
    (idle,) = (group for group in groups if group.label == "none")
    acting = [group for group in groups if group is not idle][:2]
    told = overall([idle, *acting])
    assert re.fullmatch(
        r"Of 2 settings in which something is done, .* had the fewest infections\.", told[0]
    )
    names = [group.label for group in acting]
    assert told[1].startswith("With ")
    assert "instead of" in told[1]
    assert all(f"ith “{name}” " in told[1] for name in names)
    assert re.search(r" (more|fewer) infections than | no more than chance apart ", " ".join(told))
    for name in names:
        assert any(text.startswith(f"With “{name}”: ") and "days at home" in text for text in told)


def test_an_older_store_has_no_paragraph(report_store):
    groups = group_runs(read_runs(report_store)[0])
    for group in groups:
        for run in group.runs:
            run.summary["tests_used"] = None
    assert overall(groups) == []


@pytest.mark.parametrize(
    ("privacy", "words"),
    [
        (OPEN, "nothing is promised, scores are shown as they are"),
        (SILENT, "nothing, because phones tell each other nothing"),
    ],
)
def test_the_noise_of_a_threshold_is_not_that_of_scores(privacy, words):
    """A published threshold has noise, whether scores have any or not."""
    published = privacy | {"noise": "fast", "scores_noised": False, "sound": False}
    told = " ".join(answer(side("a", [0.1, 0.2], privacy=published)))
    assert words in told
    assert "NOT SOUND" not in told


def told_of(tmp_path, *asked):
    """The first paragraph of a report on runs of a small city, three seeds each."""
    for seed, more in itertools.product((1, 2, 3), asked):
        overrides = {"people": 300, "days": 20, "seed": seed} | more
        scenario = overrides.pop("scenario", None)
        config = load_config(scenario=scenario, overrides=overrides)
        store.write_run(run_once(config), tmp_path)
    groups = group_runs(read_runs(tmp_path)[0])
    return {group.label: group for group in groups}, " ".join(overall(groups))


def test_what_a_scenario_does_without_tracing_is_not_nothing(tmp_path):
    """Tests of people with symptoms and quarantine go on with the method `none`."""
    levers = {"scenario": "household", "method": "none"}
    groups, told = told_of(tmp_path, levers, levers | {"method": "fn"})
    assert groups["none"].runs[0].summary["isolation_person_days"] > 0
    assert "with nothing done" not in told
    assert "Of 2 settings" in told


def test_the_status_quo_and_nothing_at_all_have_labels_of_their_own(tmp_path):
    """The second has no policy, since none would have an effect."""
    levers = {"scenario": "adoption-60", "method": "none"}
    nothing = levers | {"policy.name": "highest-scores"}
    groups, told = told_of(tmp_path, levers, nothing, levers | {"method": "fn"})
    assert set(groups) == {"none", "none, policy.name levers", "fn"}
    assert groups["none"].runs[0].summary["isolation_person_days"] == 0
    rate = np.mean([one.summary["attack_rate"] for one in groups["none"].runs])
    assert f"instead of {math.floor(300 * rate + 0.5)} with nothing done" in told


def test_after_a_tie_of_several_it_is_said_which_is_described():
    three = {name: side(name, [0.1, 0.1]) for name in ("a", "b")} | {"c": side("c", [0.2, 0.2])}
    groups = [
        Group(label=name, plain=True, settings={METHOD: name}, runs=tuple(one.runs), repeated=())
        for name, one in three.items()
    ]
    best, (lead,) = _lead("", groups, three)
    assert best.label == "a"
    assert lead.endswith(
        "a and b had equally few infections, fewer than the others. The following is about a."
    )


def test_what_a_scenario_says_is_not_called_unsaid():
    settings = [
        flatten(load_config(scenario=name, overrides={"method": "none"}).effective())
        for name in ("household", "uk-2020-autumn", "scarce")
    ]
    names = Names(
        [{k: v for k, v in one.items() if k not in ("schema", "seed")} for one in settings]
    )
    assert not {"policy.household.days", "app.adoption"} & set(names.unsaid)


def test_nothing_done_averts_nothing_against_itself():
    """A setting in which nothing is done is compared neither with itself nor called chance."""
    text = how_sure(NOTHING, NOTHING)
    assert "averted" not in text
    assert "chance" not in text


def groups_of(sides):
    return [
        Group(label=name, plain=True, settings={METHOD: name}, runs=tuple(one.runs), repeated=())
        for name, one in sides.items()
    ]


def test_cities_of_different_size_are_ranked_by_shares():
    """343 of 500 are fewer infections than 1,166 of 2,000, and a larger share."""
    sides = {"a": side("a", [0.686], people=500), "b": side("b", [0.583], people=2000)}
    groups = groups_of(sides)
    best, lead = _lead("", groups, sides)
    assert best.label == "b"
    assert lead == ["Of 2 settings, b had the fewest infections per person."]


def test_runs_of_different_length_are_not_compared():
    other = side("B", [0.3, 0.31], days=60)
    told = answer(MAIN, other=other)
    assert told[0] == "With A 212 of 10,000 people were infected in 100 days."
    assert told[1] == (
        "With B 3,050 of 10,000 people were infected in 60 days. A lasted 100 days and B 60, so "
        "these numbers do not compare policies."
    )
    assert not re.search(r"more|fewer|chance", " ".join(told[:2]))
    assert how_sure(MAIN, None, other=other) == (
        "Means of 2 runs, with 90 % intervals: 212 ± 76 of 10,000 infected in 100 days with A and "
        "3,050 ± 316 of 10,000 infected in 60 days with B."
    )


def lasting(group, days):
    runs = [replace(run, summary=run.summary | {"days": days}) for run in group.runs]
    return replace(group, runs=tuple(runs), settings=dict(group.settings) | {"days": days})


def test_only_settings_of_the_same_length_are_ranked(report_store):
    groups = {group.label: group for group in group_runs(read_runs(report_store)[0])}
    one, two, three = (groups[name] for name in ("public-only", "fn", "dpfn-s, ε 1"))
    long = replace(lasting(three, 50), label="long")
    told = overall([one, two, long])
    assert told[0].startswith("Of 2 settings, ")
    assert told[1] == (
        "One setting that lasted 50 days instead of 20 is left out: runs of different length do "
        "not compare policies."
    )
    assert not any("long" in text for text in told[2:])
    told = " ".join(overall([one, long]))
    assert told.startswith("The 2 settings lasted 20 and 50 days, so they are not ranked. With ")
    assert "lasted 20 days and “long” 50, so these numbers do not compare policies." in told
    assert not re.search(r"fewest|(more|fewer) (infections|percentage)|chance apart from", told)
    told = overall([one, long, replace(lasting(two, 30), label="mid")])
    assert told[0].startswith("The 3 settings lasted 20, 30 and 50 days, so they are not ranked.")
