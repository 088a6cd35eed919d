"""`dnatrace infer`."""

import logging
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Argument, Option

from dnatrace._version import __version__
from dnatrace.cli._command import Answer, Force, command, table
from dnatrace.errors import InputError
from dnatrace.files import keep_inputs

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from pyarrow import Table

    from dnatrace.lists import Lists, Wording
    from dnatrace.records import ContactWindow
    from dnatrace.seir import TestErrors
    from dnatrace.tables import Rows

Columns = Annotated[
    str | None, Option(help="Your names for the columns of CONTACTS: sender=from,day=date.")
]
TestColumns = Annotated[
    str | None, Option(help="Your names for the columns of TESTS: positive=result.")
]
BelievedTransmission = Annotated[
    float | None, Option(help="fn: transmission per contact with I that phones assume.")
]
Transmission = Annotated[
    float | None, Option(help="bp, one-round: hazard of a contact on each day of an infection.")
]
Rounds = Annotated[int | None, Option(help="Updates of everybody (fn 5, bp at most 100).")]
IgnoreExtra = Annotated[bool, Option("--ignore-extra", help="Ignore other columns.")]
BothWays = Annotated[
    bool,
    Option("--both-ways", help="Add the other direction of contacts where the list lacks it."),
]
DaysBefore = Annotated[
    int, Option(min=0, max=1000, help="Days before day 0 on which infections may begin.")
]
IdMap = Annotated[Path | None, Option(help="Treat all ids as names; write a CSV of id, name.")]
KeepExtra = Annotated[
    Path | None,
    Option(
        help="Write CONTACTS again, all columns kept, with P(I) of both people: .csv, .parquet."
    ),
]

_LOG = logging.getLogger("dnatrace")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Given:
    """What was given: the lists, and how many people and days there are.

    Attributes:
        read: the lists; of a large file of contacts, who is in it instead of its rows.
        listed: the contacts as listed, without directions that were added.
        window: the contacts of a large file; None for others.
        people: the number of people.
        days: the number of days, with those before the lists.
    """

    read: "Lists"
    listed: "Rows"
    window: "ContactWindow | None" = None
    people: int
    days: int

    @property
    def n_contacts(self) -> int:
        return self.read.contacts.size if self.window is None else self.window.n_contacts


@dataclass(frozen=True, slots=True, kw_only=True)
class _Written:
    """Which files are asked for: all beliefs, names by id, and the contacts with beliefs."""

    out: Path | None
    id_map: Path | None
    keep_extra: Path | None

    def check(self, read: tuple[Path, ...], *, force: bool) -> None:
        """Raise rather than overwrite another file of the command, or an existing one."""
        from dnatrace.inference import belief_tables

        for path in (self.out, self.keep_extra):
            if path is not None:
                belief_tables.check_format(path)
        if self.out is not None:
            keep_inputs(self.out, read, force=force)
        others = [path for path in (*read, self.out) if path is not None]
        for option, path in (("--id-map", self.id_map), ("--keep-extra", self.keep_extra)):
            if path is None:
                continue
            if path.resolve() in [other.resolve() for other in others]:
                raise InputError(f"{option} {path}: is another file of this command")
            keep_inputs(path, (), force=force)
            others.append(path)
        if self.id_map is not None and self.id_map.suffix != ".csv":
            raise InputError(f"--id-map {self.id_map}: the name must end in .csv")

    def kept(self, contacts: Path) -> "Table | None":
        """Return the contact list with all its columns if it is to be written again."""
        from dnatrace.inference import belief_tables

        return None if self.keep_extra is None else belief_tables.kept_sheet(contacts)

    def write(self, beliefs: "NDArray[np.float32]", given: _Given, sheet: "Table | None") -> None:
        """Write what is asked for; `sheet` is the contact list that is kept."""
        from dnatrace.inference import belief_tables

        read = given.read
        if self.out is not None:
            first, date = -read.days_before, read.first_date
            belief_tables.write(
                beliefs, self.out, names=read.names, first_date=date, first_day=first
            )
            before = f", days {first} to -1 before the lists" if first else ""
            _LOG.info("wrote %s%s", self.out, before)
        if self.id_map is not None and read.names is not None:
            belief_tables.write_id_map(read.names, self.id_map)
            _LOG.info("wrote %s", self.id_map)
        if self.keep_extra is not None and sheet is not None:
            belief_tables.write_beside(beliefs, sheet, given.listed, self.keep_extra)
            _LOG.info("wrote %s", self.keep_extra)


@command(threads=True)
def infer(
    contacts: Annotated[Path, Argument(help="CSV or Parquet: sender, receiver, day.")],
    tests: Annotated[Path, Argument(help="CSV or Parquet: person, day, positive (0/1, yes/no).")],
    people: Annotated[int | None, Option(help="People (default: largest id + 1).")] = None,
    days: Annotated[int | None, Option(help="Days (default: largest day + 1).")] = None,
    days_before: DaysBefore = 0,
    p0: Annotated[float | None, Option(help="Infection from outside, per day.")] = None,
    p1: BelievedTransmission = None,
    g: Annotated[float | None, Option(help="fn: E to I, per day.")] = None,
    h: Annotated[float | None, Option(help="fn: I to R, per day.")] = None,
    transmission: Transmission = None,
    false_positive_rate: Annotated[float, Option(help="P(positive | not I).")] = 0.01,
    false_negative_rate: Annotated[float, Option(help="P(negative | I).")] = 0.001,
    inference: Annotated[str, Option(help="fn, one-round or bp.")] = "fn",
    rounds: Rounds = None,
    clip: Annotated[float | None, Option(help="Clip messages to [0, CLIP].")] = None,
    levels: Annotated[int | None, Option(help="Round messages to this many values.")] = None,
    out: Annotated[Path | None, Option(help="Write all beliefs: .csv or .parquet.")] = None,
    columns: Columns = None,
    test_columns: TestColumns = None,
    ignore_extra: IgnoreExtra = False,
    both_ways: BothWays = False,
    id_map: IdMap = None,
    keep_extra: KeepExtra = None,
    force: Force = False,
) -> Answer:
    """Infer who is infected from your own contact list and tests.

    Prints the 20 people most likely to be infected, or about to be, on the last day; --out writes
    everybody and every day. Ids are whole numbers from 0, or names; days are whole numbers from 0,
    or dates like 2020-03-01. Contacts are directed: two phones that met need two rows, unless
    --both-ways says that one row is a meeting.

    Example: dnatrace infer contacts.csv tests.csv --p1 0.05 --out beliefs.parquet
    """
    from dnatrace.inference import belief_tables
    from dnatrace.inference.infer import infer as infer_beliefs

    written = _Written(out=out, id_map=id_map, keep_extra=keep_extra)
    written.check((contacts, tests), force=force)
    wording = _wording((columns, test_columns), ignore_extra, written)
    given = _given((contacts, tests), (people, days, days_before), wording, both_ways)
    read, sheet = given.read, written.kept(contacts)
    beliefs = infer_beliefs(
        given.window or read.contacts,
        read.tests,
        n_people=given.people,
        n_days=given.days,
        **_model(inference, p0, {"p1": p1, "g": g, "h": h}, transmission),
        test_errors=_errors(false_positive_rate, false_negative_rate),
        inference=inference,
        rounds=rounds,
        clip=clip,
        levels=levels,
    )
    _tell_slips(given)
    written.write(beliefs, given, sheet)
    highest = belief_tables.highest(beliefs, n=20, names=read.names)
    values = _sizes(beliefs, given) | {"highest": highest, "version": __version__}
    return Answer(values=values, shown=[] if out else [_title(values, read), table(highest)])


def _given(
    files: tuple[Path, Path],
    sizes: tuple[int | None, int | None, int],
    wording: "Wording",
    both_ways: bool,
) -> _Given:
    """Return what the lists hold; a large Parquet file under our names is read batch by batch."""
    from dnatrace import directions
    from dnatrace.lists import Wording

    people, days, days_before = sizes
    plain = wording == Wording() and not days_before and not both_ways
    if plain and (large := _large(*files, people, days)) is not None:
        return large
    read = _read(*files, people, wording)
    read, people, days = _needed(read, people, days, days_before)
    listed = read.contacts
    if both_ways:
        read = replace(read, contacts=directions.both_ways(read.contacts))
    return _Given(read=read, listed=listed, people=people, days=days)


def _large(contacts: Path, tests: Path, people: int | None, days: int | None) -> _Given | None:
    """Return the window of a large Parquet file and lists without its rows; None for others.

    It is read batch by batch, with a progress bar. Slips in single ids are not looked for.
    """
    from dnatrace import parquet, tables
    from dnatrace.lists import Lists, read_plain_tests
    from dnatrace.runs.progress import tracker

    if not parquet.can_stream(contacts) or parquet.n_rows(contacts) < parquet.MANY_ROWS:
        return None
    test_rows = read_plain_tests(tests)
    n_people, n_days = parquet.sizes(contacts, test_rows, n_people=people, n_days=days)
    _LOG.info("%s: %d rows, read batch by batch", contacts, parquet.n_rows(contacts))
    window = parquet.window_of(contacts, n_people=n_people, n_days=n_days, track=tracker("batches"))
    met = tables.Rows(str(contacts), parquet.people_met(window))
    read = Lists(contacts=met, tests=test_rows)
    return _Given(window=window, read=read, listed=met, people=n_people, days=n_days)


def _errors(false_positive_rate: float, false_negative_rate: float) -> "TestErrors":
    """Return how often tests err; rates that reverse their meaning are reported."""
    from dnatrace.seir import TestErrors

    errors = TestErrors(
        false_positive_rate=false_positive_rate, false_negative_rate=false_negative_rate
    )
    if errors.misleads:
        _LOG.warning(
            "warning: the error rates of tests add up to more than 1: a positive test "
            "is then evidence against infection"
        )
    return errors


def _model(
    inference: str, p0: float | None, fn: dict[str, float | None], transmission: float | None
) -> dict[str, Any]:
    """Return the parameters of the inference's model, with defaults where none are given."""
    from dnatrace.inference.course import CourseParameters
    from dnatrace.seir import SeirParameters

    if inference == "fn":
        given, course, idle = {"p0": p0} | fn, False, {"transmission": transmission}
    else:
        given, course, idle = {"p0": p0, "transmission": transmission}, True, fn
    for name, value in idle.items():
        if value is not None:
            raise InputError(f"--{name} has no effect with --inference {inference}")
    values = {name: value for name, value in given.items() if value is not None}
    if p0 == 0.0:
        _LOG.warning("warning: --p0 0: nobody is ever infected, whatever tests say")
    if course:
        return {"course": CourseParameters(**values)}
    return {"parameters": SeirParameters(**values)}


def _wording(
    columns: tuple[str | None, str | None], ignore_extra: bool, written: _Written
) -> "Wording":
    from dnatrace import lists, tables

    return lists.Wording(
        contacts=lists.parse_columns(columns[0], tables.CONTACT_COLUMNS, "--columns"),
        tests=lists.parse_columns(columns[1], tables.TEST_COLUMNS, "--test-columns"),
        ignore_extra=ignore_extra,
        keep_extra=written.keep_extra is not None,
        as_names=written.id_map is not None,
    )


def _read(contacts: Path, tests: Path, people: int | None, wording: "Wording") -> "Lists":
    from dnatrace import lists

    read = lists.read_lists(contacts, tests, wording)
    if people is None and not (read.contacts.size or read.tests.size):
        raise InputError(
            f"{contacts}, {tests}: neither has a row; --people says how many there are"
        )
    if read.names is not None:
        n = len(read.names)
        many = "s, numbered in the order of their first appearance" if n != 1 else ""
        _LOG.info("%d name%s", n, many)
    if read.first_date is not None:
        _LOG.info("day 0 is %s, the earliest date of both files", read.first_date)
    return read


def _needed(
    read: "Lists", people: int | None, days: int | None, days_before: int
) -> "tuple[Lists, int, int]":
    """Return the lists with days before them, and how many people and days that makes.

    A day that is too late is told as the lists write it.
    """
    from dnatrace import tables

    both = (read.contacts, read.tests)
    people = tables.people_of(*both) if people is None else people
    days = tables.days_of(*both) if days is None else days
    if days_before:
        for rows in both:
            tables.check_days(rows, days)
    return read.begun_before(days_before), people, days + days_before


def _tell_slips(given: _Given) -> None:
    """Warn of possible slips; in the contacts of a large file, of those that need no rows."""
    from dnatrace.slips import possible_slips, possible_slips_of_window

    if given.window is None:
        lines = possible_slips(given.read)
    else:
        lines = possible_slips_of_window(given.read, given.window)
    for line in lines:
        _LOG.warning("warning: %s", line)


def _sizes(beliefs: "NDArray[np.float32]", given: _Given) -> dict[str, Any]:
    """Return the sizes of the input, and the dates of the first and last day if there are any."""
    n_people, n_days, _ = beliefs.shape
    read = given.read
    values: dict[str, Any] = {"people": n_people, "days": n_days, "days_before": read.days_before}
    values |= {"contacts": given.n_contacts, "tests": read.tests.size}
    values |= {"tested_without_contacts": len(read.without_contacts())}
    if read.first_date is None:
        return values
    last = read.date_of(n_days - 1)
    return values | {"first_date": read.first_date.isoformat(), "last_date": str(last)}


def _title(values: dict[str, Any], read: "Lists") -> str:
    """Return what the table shows; days have the numbers of the lists."""
    day = f"day {values['days'] - 1 - read.days_before}"
    if "last_date" in values:
        day += f" ({values['last_date']}; day 0 is {read.date_of(read.days_before)})"
    return f"Highest P(E) + P(I) on {day} of {values['people']:,} people"
