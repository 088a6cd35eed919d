"""Where names stand beside the points of a chart, so that none covers a point or another name."""

from collections.abc import Sequence
from dataclasses import dataclass

LETTER, LINE = 8.0, 13.0  # width and height of a letter of the chart, on the safe side
RADIUS = 7.0  # of a point, with its rim
_AWAY = 9.0  # from the centre of a point to its name


@dataclass(frozen=True, slots=True, kw_only=True)
class Box:
    """A rectangle of a chart, whose y grows downwards.

    Attributes:
        left: its left side.
        right: its right side.
        top: its upper side.
        bottom: its lower side.
    """

    left: float
    right: float
    top: float
    bottom: float

    def covers(self, other: "Box") -> bool:
        """Return whether two rectangles overlap."""
        beside = self.right <= other.left or other.right <= self.left
        return not beside and self.top < other.bottom and other.top < self.bottom


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where a name begins, or ends.

    Attributes:
        x: its position to the right.
        y: the position of its base line.
        ends: whether the name ends at x rather than begins.
        box: what it covers.
    """

    x: float
    y: float
    ends: bool
    box: Box


def names_beside(
    points: Sequence[tuple[float, float, str]], left: float, right: float
) -> list[Place]:
    """Return a place per point and name: to its right if that is free, else where least is covered.

    Names stay between `left` and `right`. Cost: O(points²).
    """
    discs = [_disc(x, y) for x, y, _ in points]
    placed: list[Place] = []
    for (x, y, name), own in zip(points, discs, strict=True):
        others = [disc for disc in discs if disc is not own] + [place.box for place in placed]

        def covered(place: Place, others: Sequence[Box] = others) -> int:
            outside = place.box.left < left or place.box.right > right
            return len(others) * outside + sum(place.box.covers(other) for other in others)

        placed.append(min(_around(x, y, LETTER * len(name)), key=covered))
    return placed


def _disc(x: float, y: float) -> Box:
    return Box(left=x - RADIUS, right=x + RADIUS, top=y - RADIUS, bottom=y + RADIUS)


def _around(x: float, y: float, width: float) -> list[Place]:
    """Return the places beside a point, best first; further ones last."""
    found = []
    for lower in (-7.0, 16.0, -22.0, 31.0):
        for ends in (False, True):
            begin = x - _AWAY - width if ends else x + _AWAY
            base = y + lower
            box = Box(left=begin, right=begin + width, top=base - LINE, bottom=base + 3.0)
            place = Place(x=x - _AWAY if ends else x + _AWAY, y=base, ends=ends, box=box)
            found.append(place)
    return found
