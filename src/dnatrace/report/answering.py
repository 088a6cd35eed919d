"""The first paragraph of the report: which setting it is about, and what it is compared with."""

from collections.abc import Sequence

import numpy as np

from dnatrace.methods.catalogue import METHODS
from dnatrace.methods.public_facts import FLOOR
from dnatrace.report.answer import Side, Told, answer, ever_infected, how_sure
from dnatrace.report.grouping import Group
from dnatrace.report.reading import METHOD, StoredRun

_NEEDED = ("attack_rate", "tests_used", "isolation_person_days", "days")
# The settings that are compared, apart from the method and what is specific to it.
_OF_METHODS = ("method.", "privacy.")


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
    best, *ties = _fewest_infected(acting, sides)
    names = " and ".join(group.label for group in (best, *ties))
    few = "equally few infections, fewer than the others" if ties else "the fewest infections"
    besides = " besides public facts alone" if _leaves_the_floor_out(known, acting) else ""
    lead = [f"Of {len(acting)} settings{besides}, {names} had {few}."]
    main, beside = best, _beside(best, known)
    other: Group | None = None
    if len(acting) == 2:  # two are compared; one with something to compare with comes first
        (other,) = (group for group in acting if group is not best)
        if not any(beside.values()) and any(_beside(other, known).values()):
            main, other, beside = other, best, _beside(other, known)
    compared = beside | {"other": other}
    found = {name: None if one is None else sides[one.label] for name, one in compared.items()}
    told = answer(sides[main.label], **found)
    sure = how_sure(sides[main.label], found["nothing"], other=found["other"])
    return [*(lead if len(acting) > 1 else []), *told, sure]


def _fewest_infected(acting: Sequence[Group], sides: dict[str, Side]) -> list[Group]:
    """Return the settings with the fewest infections: one, unless their means are the same."""
    means = {group.label: sides[group.label].mean(ever_infected) for group in acting}
    fewest = min(means.values())
    return [group for group in acting if np.isclose(means[group.label], fewest, rtol=1e-9)]


def _leaves_the_floor_out(known: Sequence[Group], acting: Sequence[Group]) -> bool:
    labels = {group.label for group in acting}
    return any(group.method == FLOOR and group.label not in labels for group in known)


def _beside(main: Group, known: Sequence[Group]) -> dict[str, Group | None]:
    """Return the runs without action and the floor of a setting, where they exist."""
    return {
        "nothing": next((g for g in known if not _acts(g) and _agree(g, main)), None),
        "floor": next((g for g in known if g.method == FLOOR and _agree(g, main)), None),
    }


def _tells_enough(group: Group) -> bool:
    return all(run.summary.get(key) is not None for run in group.runs for key in _NEEDED)


def _side(group: Group) -> Side:
    return Side(name=f"“{group.label}”", runs=[_told(run) for run in group.runs])


def _told(run: StoredRun) -> Told:
    isolated = np.nan_to_num(run.daily["isolated"]).max() / run.summary["people"]
    return Told(seed=run.seed, summary=run.summary, most_isolated=float(isolated))


def _acts(group: Group) -> bool:
    """Whether a method gives tests; assumed of methods that are not installed here."""
    return group.method not in METHODS or METHODS[group.method].gives_tests


def _agree(one: Group, other: Group) -> bool:
    """Whether two groups agree in every setting that both have, apart from their methods."""
    common = set(one.settings) & set(other.settings) - {METHOD}
    compared = [key for key in common if not key.startswith(_OF_METHODS)]
    return all(one.settings[key] == other.settings[key] for key in compared)
