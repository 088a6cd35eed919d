"""The first paragraph of the report: which setting it is about, and what it is compared with."""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence

import numpy as np

from dnatrace.methods.catalogue import METHODS
from dnatrace.methods.public_facts import FLOOR
from dnatrace.report.answer import (
    Side,
    Told,
    answer,
    how_sure,
    listed,
    on_common_seeds,
    share_infected,
)
from dnatrace.report.grouping import Group
from dnatrace.report.reading import StoredRun
from dnatrace.sweeps.naming import METHOD

_NEEDED = ("attack_rate", "tests_used", "isolation_person_days", "days")
# The settings that are compared, apart from the method and what is specific to it.
_OF_METHODS = ("method.", "privacy.")
_MOST_NAMED = 5  # seeds that a sentence lists


def overall(groups: Sequence[Group]) -> list[str]:
    """Return what the runs show in a few sentences; none if older versions stored too little.

    Of several settings that do something, the one with the fewest infections per person is
    described; of two, how they compare. Settings of other length than most are left out.
    """
    sides = {group.label: _side(group) for group in groups if _tells_enough(group)}
    known = [group for group in groups if group.label in sides]
    apart = [g for g in known if not _acts(g) or _is_floor_of_another(g, known)]
    acting = [group for group in known if group not in apart] or known
    if not acting:
        return []
    which = _which(apart) if acting is not known else ""
    acting, left_out = _of_one_length(acting, sides)
    if len(acting) == 2:
        one, two = (group.label for group in acting)
        sides[one], sides[two] = on_common_seeds(sides[one], sides[two])
    best, lead = _lead(which, acting, sides)
    main, beside = best, _beside(best, known, sides)
    other: Group | None = None
    if len(acting) == 2:  # two are compared; one with something to compare with comes first
        (other,) = (group for group in acting if group is not best)
        if not any(beside.values()) and any((theirs := _beside(other, known, sides)).values()):
            main, other, beside = other, best, theirs
    compared = beside | {"other": other}
    if not lead and len(known) > 1 + len([one for one in compared.values() if one]):
        lead = [f"The following is about {main.label}."]
    found = {name: None if one is None else sides[one.label] for name, one in compared.items()}
    told = answer(sides[main.label], **found)
    sure = how_sure(sides[main.label], found["nothing"], other=found["other"])
    return [*lead, *left_out, *told, sure]


def _of_one_length(acting: list[Group], sides: Mapping[str, Side]) -> tuple[list[Group], list[str]]:
    """Return the settings of the most frequent number of days, and a sentence about the others.

    Where no two lasted equally long, all are returned.
    """
    lasted = Counter(sides[group.label].first["days"] for group in acting)
    usual = max(lasted, key=lambda days: (lasted[days], days))
    if len(lasted) == 1 or lasted[usual] == 1:
        return acting, []
    alike = [group for group in acting if sides[group.label].first["days"] == usual]
    n = len(acting) - len(alike)
    others = listed(sorted(days for days in lasted if days != usual))
    who = "One setting" if n == 1 else f"{n} settings"
    text = (
        f"{who} that lasted {others} days instead of {usual} {'is' if n == 1 else 'are'} left out"
    )
    return alike, [f"{text}: runs of different length do not compare policies."]


def _lead(
    which: str, acting: Sequence[Group], sides: Mapping[str, Side]
) -> tuple[Group, list[str]]:
    """Return the setting to describe, and which had the fewest infections on common seeds.

    Means over different seeds or days are not comparable: without a common seed, or where settings
    lasted differently long, the one with the most runs is described.
    """
    if len(acting) == 1:
        return acting[0], []
    seeds = [{run.seed for run in group.runs} for group in acting]
    common = set.intersection(*seeds)
    lasted = sorted({sides[group.label].first["days"] for group in acting})
    if not common or len(lasted) > 1:
        most = max(acting, key=lambda group: len(group.runs))
        why = f"lasted {listed(lasted)} days" if len(lasted) > 1 else "have no seed in common"
        about = "" if len(acting) == 2 else f" The following is about {most.label}."
        return most, [f"The {len(acting)} settings{which} {why}, so they are not ranked.{about}"]
    best, *ties = _fewest_infected(acting, sides, common)
    names = " and ".join(group.label for group in (best, *ties))
    infections = f"infections{_per_person(acting, sides)}"
    few = f"equally few {infections}, fewer than the others" if ties else f"the fewest {infections}"
    if len(ties) == len(acting) - 1:
        few = f"equally few {infections}"
    about = f" The following is about {best.label}." if ties and len(acting) > 2 else ""
    where = "" if all(one == common for one in seeds) else f" on {_common(common)}"
    return best, [f"Of {len(acting)} settings{which}, {names} had {few}{where}.{about}"]


def _common(seeds: Collection[int]) -> str:
    """Name the seeds that all settings have, few of them one by one."""
    if len(seeds) == 1:
        return f"seed {next(iter(seeds))}, the only one that all have"
    if len(seeds) > _MOST_NAMED:
        return f"the {len(seeds)} seeds that all have"
    return f"the seeds that all have, {listed(sorted(seeds))}"


def _per_person(acting: Sequence[Group], sides: Mapping[str, Side]) -> str:
    """Say that shares are compared; nothing where that is the same as comparing counts."""
    sizes = {sides[group.label].first["people"] for group in acting}
    return " per person" if len(sizes) > 1 else ""


def _fewest_infected(
    acting: Sequence[Group], sides: Mapping[str, Side], seeds: Collection[int]
) -> list[Group]:
    """Return the settings with the smallest share of infected people: one, unless of equal mean."""
    means = {group.label: sides[group.label].on(seeds).mean(share_infected) for group in acting}
    fewest = min(means.values())
    return [group for group in acting if np.isclose(means[group.label], fewest, rtol=1e-9)]


def _is_floor_of_another(group: Group, known: Sequence[Group]) -> bool:
    """Whether a setting is another one without its messages, rather than a policy of its own."""
    others = [one for one in known if one.method != FLOOR and _acts(one)]
    return group.method == FLOOR and any(_agree(group, one) for one in others)


def _which(apart: Sequence[Group]) -> str:
    """Say which settings are ranked, where some are apart because others are compared to them."""
    done = " in which something is done" if any(not _acts(group) for group in apart) else ""
    floor = " besides public facts alone" if any(_acts(group) for group in apart) else ""
    return done + floor


def _beside(
    main: Group, known: Sequence[Group], sides: Mapping[str, Side]
) -> dict[str, Group | None]:
    """Return the runs without action and the floor of a setting, where they have its seeds."""
    ours = sides[main.label]
    paired = [g for g in known if _agree(g, main) and sides[g.label].on_seeds_of(ours)]
    return {
        "nothing": next((g for g in paired if g is not main and not _acts(g)), None),
        "floor": next((g for g in paired if g.method == FLOOR), None),
    }


def _tells_enough(group: Group) -> bool:
    return all(run.summary.get(key) is not None for run in group.runs for key in _NEEDED)


def _side(group: Group) -> Side:
    return Side(name=f"“{group.label}”", runs=[_told(run) for run in group.runs])


def _told(run: StoredRun) -> Told:
    isolated = np.nan_to_num(run.daily["isolated"]).max() / run.summary["people"]
    return Told(seed=run.seed, summary=run.summary, most_isolated=float(isolated))


def _acts(group: Group) -> bool:
    """Whether anybody is tested or stays at home: by the method, or by the policy without it.

    It is assumed of methods that are not installed here.
    """
    by_method = group.method not in METHODS or METHODS[group.method].gives_tests
    costs = ("tests_used", "isolation_person_days")
    return by_method or any(run.summary[key] > 0 for run in group.runs for key in costs)


def _agree(one: Group, other: Group) -> bool:
    """Whether two groups agree in every setting that both have, apart from their methods."""
    common = set(one.settings) & set(other.settings) - {METHOD}
    compared = [key for key in common if not key.startswith(_OF_METHODS)]
    return all(one.settings[key] == other.settings[key] for key in compared)
