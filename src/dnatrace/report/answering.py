"""The first paragraph of the report: which setting it is about, and what it is compared with."""

from collections.abc import Collection, Mapping, Sequence

import numpy as np

from dnatrace.methods.catalogue import METHODS
from dnatrace.methods.public_facts import FLOOR
from dnatrace.report.answer import Side, Told, answer, ever_infected, how_sure, on_common_seeds
from dnatrace.report.grouping import Group
from dnatrace.report.reading import StoredRun
from dnatrace.sweeps.naming import METHOD

_NEEDED = ("attack_rate", "tests_used", "isolation_person_days", "days")
# The settings that are compared, apart from the method and what is specific to it.
_OF_METHODS = ("method.", "privacy.")
_MOST_NAMED = 5  # seeds that a sentence lists


def overall(groups: Sequence[Group]) -> list[str]:
    """Return what the runs show in a few sentences; none if older versions stored too little.

    Of several settings that do something, the one with the fewest infections is described; of two,
    how they compare.
    """
    sides = {group.label: _side(group) for group in groups if _tells_enough(group)}
    known = [group for group in groups if group.label in sides]
    acting = [group for group in known if _acts(group) and group.method != FLOOR] or known
    if not acting:
        return []
    if len(acting) == 2:
        one, two = (group.label for group in acting)
        sides[one], sides[two] = on_common_seeds(sides[one], sides[two])
    best, lead = _lead(known, acting, sides)
    main, beside = best, _beside(best, known, sides)
    other: Group | None = None
    if len(acting) == 2:  # two are compared; one with something to compare with comes first
        (other,) = (group for group in acting if group is not best)
        if not any(beside.values()) and any((theirs := _beside(other, known, sides)).values()):
            main, other, beside = other, best, theirs
    compared = beside | {"other": other}
    found = {name: None if one is None else sides[one.label] for name, one in compared.items()}
    told = answer(sides[main.label], **found)
    sure = how_sure(sides[main.label], found["nothing"], other=found["other"])
    return [*lead, *told, sure]


def _lead(
    known: Sequence[Group], acting: Sequence[Group], sides: Mapping[str, Side]
) -> tuple[Group, list[str]]:
    """Return the setting to describe, and which had the fewest infections on common seeds.

    Means over different seeds are not comparable: without a common seed, the setting with the most
    runs is described.
    """
    if len(acting) == 1:
        return acting[0], []
    besides = " besides public facts alone" if _leaves_the_floor_out(known, acting) else ""
    seeds = [{run.seed for run in group.runs} for group in acting]
    common = set.intersection(*seeds)
    if not common:
        most = max(acting, key=lambda group: len(group.runs))
        why = "have no seed in common, so they are not ranked"
        about = "" if len(acting) == 2 else f" The following is about {most.label}."
        return most, [f"The {len(acting)} settings{besides} {why}.{about}"]
    best, *ties = _fewest_infected(acting, sides, common)
    names = " and ".join(group.label for group in (best, *ties))
    few = "equally few infections, fewer than the others" if ties else "the fewest infections"
    if len(ties) == len(acting) - 1:
        few = "equally few infections"
    about = f" The following is about {best.label}." if ties and len(acting) > 2 else ""
    where = "" if all(one == common for one in seeds) else f" on {_common(common)}"
    return best, [f"Of {len(acting)} settings{besides}, {names} had {few}{where}.{about}"]


def _common(seeds: Collection[int]) -> str:
    """Name the seeds that all settings have, few of them one by one."""
    if len(seeds) == 1:
        return f"seed {next(iter(seeds))}, the only one that all have"
    if len(seeds) > _MOST_NAMED:
        return f"the {len(seeds)} seeds that all have"
    *first, last = sorted(seeds)
    return f"the seeds that all have, {', '.join(map(str, first))} and {last}"


def _fewest_infected(
    acting: Sequence[Group], sides: Mapping[str, Side], seeds: Collection[int]
) -> list[Group]:
    """Return the settings with the fewest infections: one, unless their means are the same."""
    means = {group.label: sides[group.label].on(seeds).mean(ever_infected) for group in acting}
    fewest = min(means.values())
    return [group for group in acting if np.isclose(means[group.label], fewest, rtol=1e-9)]


def _leaves_the_floor_out(known: Sequence[Group], acting: Sequence[Group]) -> bool:
    labels = {group.label for group in acting}
    return any(group.method == FLOOR and group.label not in labels for group in known)


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
