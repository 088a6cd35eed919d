"""What in contact lists may be a slip: told, a few lines however many there are, never mended."""

import difflib
import unicodedata
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from dnatrace.directions import lacks_reverse
from dnatrace.lists import AS_NAMES, Lists
from dnatrace.records import ContactWindow
from dnatrace.sheets import read_file
from dnatrace.tables import Rows

_EARLY = 2  # days on which hardly anybody can be in I in the model yet: E comes first
# Ids of digits that are no plain number: 007, 0x1F, 12e4, and 1.000 for a thousand.
_NOT_PLAIN = r"^\s*(?:0[0-9]+|0[xX][0-9a-fA-F]+|[0-9]+[eE][0-9]+|[0-9]{1,3}\.[0-9]{3})\s*$"
# What programs and people write where there is no name.
_NO_NAMES = ("nan", "none", "null", "na", "n/a", "nil", "unknown", "-", "?", "#n/a")
_IDS = ("sender", "receiver", "person")
_MANY = 10  # possible ids per person; from here on they are hardly positions in a list
_TOLD = 3  # possible slips of each kind that are listed one by one
_ONE_WAY = 0.95  # of contacts; where more lack the other direction, rows are meetings, it seems
_SAMPLE = 10_000  # contacts of a window that are looked at for this
_SIMILAR = 0.75  # of two names, by difflib's ratio: one letter in four may differ


def possible_slips(read: Lists) -> list[str]:
    """Return possible slips in ids, one line each; a few lines however many there are."""
    lines = _early(read) + _not_plain(read) + _gaps(read) + _no_names(read) + _tested_alone(read)
    spellings: dict[str, list[str]] = {}
    for name in read.names or ():
        spellings.setdefault(_seen(name.casefold()), []).append(name)
    same = [_told_apart(names) for names in spellings.values() if len(names) > 1]
    lines += [f"{names} are taken to be different people" for names in same[:_TOLD]]
    if len(same) > _TOLD:
        lines.append(f"so are the people of {len(same) - _TOLD} more names that look alike")
    return lines + _one_way(read.contacts)


def _tested_alone(read: Lists) -> list[str]:
    """Return who is tested and in no contact, the first of them one by one."""
    alone = read.without_contacts()
    lines = [f"{read.tests.name}: {_alone(read, person)}" for person in alone[:_TOLD]]
    if len(alone) > _TOLD:
        lines.append(f"{read.tests.name}: so are {len(alone) - _TOLD} more who are tested")
    return lines


def possible_slips_of_window(read: Lists, window: ContactWindow) -> list[str]:
    """Return possible slips in tests and in a window whose rows were not kept, one line each."""
    return _early(read) + _not_plain(read) + _tested_alone(read) + _one_way_in(read, window)


def _one_way_in(read: Lists, window: ContactWindow) -> list[str]:
    """Return a warning if hardly a contact of the busiest day has one in the other direction."""
    busiest = max(window, key=lambda day: day.senders.size)
    size = busiest.senders.size
    looked_at = np.arange(0, size, max(1, size // _SAMPLE))
    receivers = np.searchsorted(busiest.offsets, looked_at, side="right") - 1
    lacking = sum(
        int(receiver) not in busiest.senders[busiest.offsets[sender] : busiest.offsets[sender + 1]]
        for sender, receiver in zip(busiest.senders[looked_at], receivers, strict=True)
    )
    return _told_one_way(read.contacts.name, lacking, looked_at.size)


def _one_way(contacts: Rows) -> list[str]:
    """Return a warning if hardly a contact has a row in the other direction."""
    return _told_one_way(contacts.name, int(lacks_reverse(contacts).sum()), contacts.size)


def _told_one_way(name: str, lacking: int, looked_at: int) -> list[str]:
    if lacking <= _ONE_WAY * looked_at:
        return []
    which = "no contact has" if lacking == looked_at else "hardly a contact has"
    why = "contacts are directed, and a sender hears nothing of the receiver"
    remedy = "infer --both-ways, simulator.both_ways of replay"
    said = f"{name}: {which} a row in the other direction: {why}"
    return [f"{said} (if a row is a meeting, add the reverse rows: {remedy})"]


def _seen(name: str) -> str:
    """Return a name as it looks: accents in one way, no signs that nobody sees, single spaces."""
    if name.isascii():
        return " ".join(name.split())
    visible = "".join(sign for sign in name if unicodedata.category(sign) != "Cf")
    return " ".join(unicodedata.normalize("NFC", visible).split())


def _told_apart(names: list[str]) -> str:
    """Return names; those that look the same are spelled out."""
    look_same = len({_seen(name) for name in names}) < len(names)
    return " and ".join(map(ascii if look_same else repr, names))


def _early(read: Lists) -> list[str]:
    columns = read.tests.columns
    early = (columns["positive"] == 1) & (columns["day"] < _EARLY)
    n = int(np.count_nonzero(early))
    if not n:
        return []
    said = (
        f"{n} positive test{'s' if n > 1 else ''} on the first two days say{'' if n > 1 else 's'}"
    )
    why = "everybody is assumed susceptible before day 0 (infer --days-before 14 begins earlier)"
    return [f"{read.tests.name}: {said} little: {why}"]


def _not_plain(read: Lists) -> list[str]:
    """Return which ids of CSV files look different once they are read as numbers."""
    lines = []
    for rows in (read.contacts, read.tests) if read.names is None else ():
        path = Path(rows.name)
        if path.suffix == ".parquet" or not path.is_file():
            continue
        if (written := _first_not_plain(rows, path)) is not None:
            lines.append(
                f"{path}: {written} is read as the number {_number(written)} "
                f"({AS_NAMES}: ids are names)"
            )
    return lines


def _first_not_plain(rows: Rows, path: Path) -> str | None:
    """Return the first id that is written otherwise than as a plain number; None if none is.

    Cost: one more reading of the columns of ids, as text.
    """
    called = [rows.called.get(name, name) for name in _IDS if name in rows.columns]
    table = read_file(path, as_text=called)
    for name in called:
        written = table[name].cast(pa.string())
        if (place := pc.index(pc.match_substring_regex(written, _NOT_PLAIN), True).as_py()) >= 0:
            return str(written[place]).strip()
    return None


def _no_names(read: Lists) -> list[str]:
    """Return which names look as if there were none."""
    found = [name for name in read.names or () if name.casefold() in _NO_NAMES]
    return [f"{name!r} is taken to be the name of one person" for name in found]


def _number(written: str) -> int:
    """Return what a number in hexadecimals, with an exponent, a point or zeros before it is."""
    if "x" in written.lower():
        return int(written, 16)
    return int(written) if written.isdecimal() else int(float(written))


def _gaps(read: Lists) -> list[str]:
    """Return a warning if most ids are unused: then they are names rather than positions."""
    columns = (*(read.contacts.columns[c] for c in ("sender", "receiver")),)
    ids = np.unique(np.concatenate([*columns, read.tests.columns["person"]]))
    if read.names is not None or not ids.size or ids[-1] + 1 < _MANY * ids.size:
        return []
    told = f"{read.contacts.name}: ids go up to {ids[-1]} and {ids.size} of them are in the lists"
    return [f"{told}: the others are taken to be people, too ({AS_NAMES}: ids are names)"]


def _alone(read: Lists, person: int) -> str:
    """Return that a person has no contact, and which id may have been meant."""
    text = f"{read.tests.person(person)} is tested and in no contact"
    if read.names is None:
        return text
    tested_alone = set(read.without_contacts())
    others = [name for i, name in enumerate(read.names) if i not in tested_alone]
    close = difflib.get_close_matches(read.names[person], others, n=1, cutoff=_SIMILAR)
    return f"{text}; did you mean {close[0]}?" if close else text
