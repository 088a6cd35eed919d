"""How many people settings have and how long they last: where they differ, differences mislead."""

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import TypeVar

Label = TypeVar("Label", bound=Hashable)


@dataclass(frozen=True, slots=True, kw_only=True)
class Extent:
    """The size of the city and the length of the runs of a setting; None where it is unknown."""

    people: int | None
    days: int | None

    def as_long_as(self, other: "Extent") -> bool:
        """Whether both last equally long: else their difference is not one of policies."""
        return self.days == other.days


def told_apart(
    extents: Mapping[Label, Extent], baseline: Label, *, called: str = "the baseline"
) -> list[str]:
    """Return lines that name the settings of other length or size than a baseline."""
    base = extents[baseline]
    longer = [(k, e.days) for k, e in extents.items() if not e.as_long_as(base)]
    known = [(k, e.people) for k, e in extents.items() if None not in (e.people, base.people)]
    larger = [(label, people) for label, people in known if people != base.people]
    lines = []
    if longer:
        who = "; ".join(f"{label} lasts {days} days" for label, days in longer)
        why = "Without a difference, which would not be one of policies"
        lines.append(f"{why}: {who}, {called} {base.days}.")
    if larger:
        who = "; ".join(f"{label} has {people:,} people" for label, people in larger)
        lines.append(f"Compared per person: {who}, {called} {base.people:,}.")
    return lines
