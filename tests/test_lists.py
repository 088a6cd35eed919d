"""Contact lists as people have them: names, dates, semicolons, columns of other names."""

import csv
import gzip
import json
import re
import zipfile
from collections import Counter
from datetime import date, datetime

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dnatrace as dt
from dnatrace import directions, tables
from dnatrace.errors import InputError
from dnatrace.lists import Wording, parse_columns, read_lists
from dnatrace.tables import CONTACT_COLUMNS
from tests.command_line import run

CONTACTS = (
    "von;an;datum;ort\nAnna;Ben;2020-03-02;Büro\nBen; Anna;2020-03-02;Büro\nCem;Ben;2020-03-04;\n"
)
TESTS = "name\ttag\tergebnis\nDora\t2020-03-05\tno\nAnna\t2020-03-01\tPositive\n"
GERMAN = Wording(
    contacts={"sender": "von", "receiver": "an", "day": "datum"},
    tests={"person": "name", "day": "tag", "positive": "ergebnis"},
    ignore_extra=True,
)
OPTIONS = ["--columns", "sender=von,receiver=an,day=datum", "--ignore-extra"]
OPTIONS += ["--test-columns", "person=name, day=tag, positive=ergebnis"]
NAMES = ("Anna", "Ben", "Cem", "Dora")


@pytest.fixture
def files(tmp_path):
    write(tmp_path, CONTACTS, TESTS)
    return tmp_path


def write(path, contacts, tests="person,day,positive\n"):
    (path / "contacts.csv").write_text(contacts, "utf-8")
    (path / "tests.csv").write_text(tests, "utf-8")


def read(path, wording=None):
    return read_lists(path / "contacts.csv", path / "tests.csv", wording)


def columns(rows):
    return {name: values.tolist() for name, values in rows.columns.items()}


def test_names_dates_separators_and_columns(files):
    found = read(files, GERMAN)
    assert found.names == NAMES  # row by row, the sender first, then the tests
    assert found.first_date == date(2020, 3, 1)  # of the tests: both files count
    assert found.date_of(4) == date(2020, 3, 5)
    expected = {"sender": [0, 1, 2], "receiver": [1, 0, 1], "day": [1, 1, 3]}
    assert columns(found.contacts) == expected
    assert columns(found.tests) == {"person": [3, 0], "day": [4, 0], "positive": [0, 1]}


def test_parquet_with_dates_is_the_same(tmp_path, files):
    table = pa.table(
        {
            "sender": ["Anna", "Ben", "Cem"],
            "receiver": ["Ben", "Anna", "Ben"],
            "day": [date(2020, 3, 2), date(2020, 3, 2), date(2020, 3, 4)],
        }
    )
    pq.write_table(table, tmp_path / "contacts.parquet")
    tests = {"tests": GERMAN.tests, "ignore_extra": True}
    found = read_lists(tmp_path / "contacts.parquet", files / "tests.csv", Wording(**tests))
    expected = read(files, GERMAN)
    assert columns(found.contacts) == columns(expected.contacts)
    assert (found.names, found.first_date) == (expected.names, expected.first_date)


def test_plain_files_are_what_the_strict_reader_reads(tmp_path):
    contacts = "day,kind,sender,receiver\n3,home,0,2\n0,work,2,1\n"
    write(tmp_path, contacts, "person,day,positive\n1,2,true\n")
    found = read(tmp_path)
    assert (found.names, found.first_date, found.date_of(1)) == (None, None, None)
    assert columns(found.contacts) == columns(tables.read_contacts(tmp_path / "contacts.csv"))
    assert columns(found.tests) == columns(tables.read_tests(tmp_path / "tests.csv"))
    write(tmp_path, "sender,receiver,day\n")
    assert columns(read(tmp_path).contacts) == {"sender": [], "receiver": [], "day": []}
    assert read_lists(tmp_path / "contacts.csv").tests.size == 0


@pytest.mark.parametrize("separator", [",", ";", "\t"])
def test_the_strict_reader_recognises_separators(tmp_path, separator):
    path = tmp_path / "contacts.csv"
    path.write_text("sender,receiver,day\n0,1,2\n".replace(",", separator))
    assert columns(tables.read_contacts(path)) == {"sender": [0], "receiver": [1], "day": [2]}


def test_numbers_beside_dates_stay_numbers_and_can_be_taken_for_names(tmp_path):
    write(
        tmp_path,
        "sender,receiver,day\n7,0012,2020-03-01\n",
        "person,day,positive\n3,2020-03-01,1\n",
    )
    assert columns(read(tmp_path).contacts) == {"sender": [7], "receiver": [12], "day": [0]}
    found = read(tmp_path, Wording(as_names=True))
    assert found.names == ("7", "0012", "3")
    assert columns(found.tests)["person"] == [2]


@pytest.mark.parametrize("word", ["1", "true", "Yes", "POSITIVE"])
@pytest.mark.parametrize("other", ["0", "False", "no", "negative"])
def test_results_may_be_words(tmp_path, word, other):
    write(
        tmp_path, "sender,receiver,day\na,b,0\n", f"person,day,positive\na,0,{word}\nb,0,{other}\n"
    )
    assert columns(read(tmp_path).tests)["positive"] == [1, 0]


@pytest.mark.parametrize(
    ("contacts", "tests", "message"),
    [
        ("a,b,0\na,1,0\n", "", "contacts.csv: row 1, column 'sender': 'a' is not a whole number"),
        ("0,1,0\n", "0,0,1\nbob,0,1\n", "tests.csv: row 2, column 'person': 'bob' is not a whole"),
        ("a,b,0\na,,0\n", "", "contacts.csv: row 2, column 'receiver': the value is missing"),
        ("a,b,0\nb, b,0\n", "", "contacts.csv: row 2, column 'receiver': b meets themselves"),
        ("a,b,1.5\n", "", "row 1, column 'day': '1.5' is neither a whole number nor a date like"),
        ("a,b,01.03.2020\n", "", "column 'day': '01.03.2020' is neither a whole number nor a date"),
        ("a,b,2020-03-01\na,b,3\n", "", "row 2, column 'day': '3' is not a date like 2020-03-01"),
        ("a,b,2020-03-01\na,b,2020-02-30\n", "", "row 2, column 'day': '2020-02-30' is not a date"),
        ("a,b,2020-03-01\n", "a,3,1\n", "tests.csv: row 1, column 'day': '3' is not a date"),
        ("a,b,2020-03-01 08:00\n", "", "'2020-03-01 08:00' has a time of day: give the date alone"),
        (
            "a,b,2020-03-01\na,b,2020-03-02T08:00Z\n",
            "",
            "'2020-03-02T08:00Z' has a time of day: giv",
        ),
        (
            "a,b,0001-01-01\n",
            "",
            "'0001-01-01' is neither a whole number nor a date like 2020-03-01",
        ),
        ("a,b,-1\n", "", "contacts.csv: row 1, column 'day': -1 is outside the window"),
        ("a,b,0\n", "a,0,perhaps\n", "tests.csv: row 1, column 'positive': 'perhaps' is not a res"),
        ("a,b,0\n", "a,0,2\n", "tests.csv: row 1, column 'positive': '2' is not a result (0/1, "),
        ("a,b,0\n", "a,0,1\na,0,no\n", "column 'positive': a has two different results on day 0"),
        ("a,b,1900-03-01\n", "a,2020-01-01,1\n", "2020-01-01 is 43,770 days after the earliest"),
    ],
)
def test_bad_rows_are_named(tmp_path, contacts, tests, message):
    write(tmp_path, "sender,receiver,day\n" + contacts, "person,day,positive\n" + tests)
    with pytest.raises(InputError, match=re.escape(message)):
        infer(tmp_path)


def infer(path):
    found = read(path)
    return dt.infer(found.contacts, found.tests)


def test_messages_have_the_names_of_the_file(tmp_path):
    write(tmp_path, "von,an,day\n0,1,0\n1,1,0\n")
    wording = Wording(contacts={"sender": "von", "receiver": "an"})
    found = read(tmp_path, wording)
    with pytest.raises(InputError, match=r"contacts\.csv: row 2, column 'an': person 1 meets"):
        dt.infer(found.contacts, found.tests)
    write(tmp_path, "von,an,day\n0,1,0\n1,1.5,0\n")
    with pytest.raises(InputError, match=r"row 2, column 'an': 1\.5 is not a whole number"):
        read(tmp_path, wording)


@pytest.mark.parametrize(
    ("header", "wording", "message"),
    [
        (
            "sender,receiver,day,x,y",
            {},
            "unknown columns 'x', 'y' (expected sender, receiver, day; ",
        ),
        ("sender,receiver,day,x", {}, "unknown column 'x' (expected sender"),
        ("sender,receiver", {}, "column 'day' is missing (expected sender, receiver, day; the"),
        ("Sender,receiver,day", {}, "receiver, day; the file has Sender, receiver, day)"),
        (
            "sender,receiver,day",
            {"day": "d"},
            "column 'd' is missing (expected sender, receiver, d; the file has sender, ",
        ),
        ("sender,receiver,day,d", {"day": "d"}, "unknown column 'day'"),
        ("sender,receiver,day,day", {}, "column 'day' appears more than once"),
        ("sender,receiver,day", {"receiver": "sender"}, "one column cannot stand for two"),
    ],
)
def test_bad_headers_are_named(tmp_path, header, wording, message):
    write(tmp_path, header + "\n")
    with pytest.raises(InputError, match=re.escape(message)) as raised:
        read(tmp_path, Wording(contacts=wording, ignore_extra=False))
    assert str(raised.value).split(": ")[0].endswith("contacts.csv")


@pytest.mark.parametrize("text", ["sender", "sender=", "wer=von", "sender=a,sender=b", "=a"])
def test_columns_that_cannot_be_understood(text):
    with pytest.raises(InputError, match="--columns"):
        parse_columns(text, tables.CONTACT_COLUMNS, "--columns")


def test_infer_shows_names_and_dates(files):
    done = run("infer", "contacts.csv", "tests.csv", *OPTIONS, cwd=files)
    assert done.returncode == 0, done.stderr
    assert "on day 4 (2020-03-05; day 0 is 2020-03-01) of 4 people" in done.stdout
    assert "Anna" in done.stdout
    assert "day 0 is 2020-03-01, the earliest date of both files" in done.stderr
    answer = json.loads(
        run("infer", "contacts.csv", "tests.csv", *OPTIONS, "--json", cwd=files).stdout
    )
    assert {(row["person"], row["name"]) for row in answer["highest"]} == set(enumerate(NAMES))
    assert (answer["first_date"], answer["last_date"]) == ("2020-03-01", "2020-03-05")
    assert (answer["people"], answer["days"], answer["contacts"], answer["tests"]) == (4, 5, 3, 2)
    assert sorted(path.name for path in files.iterdir()) == ["contacts.csv", "tests.csv"]


def warned(path, contacts, tests, *options):
    """What is told of slips in lists of meetings, other than the directions of contacts."""
    options = ("--both-ways", *options)
    write(path, "sender,receiver,day\n" + contacts, "person,day,positive\n" + tests)
    done = run("infer", "contacts.csv", "tests.csv", *options, cwd=path)
    assert done.returncode == 0, done.stderr
    lines = done.stderr.splitlines()
    return [line.removeprefix("warning: ") for line in lines if line.startswith("warning: ")]


EXCEL = "sender;receiver;day\r\nAnna;Bün;2020-03-02\r\nBün;Anna;2020-03-02\r\n\r\n"


@pytest.mark.parametrize("text", [EXCEL, EXCEL.replace("day", "tág")])
@pytest.mark.parametrize(
    ("encoding", "message"),
    [
        ("utf-8-sig", None),
        ("latin-1", "is not encoded in UTF-8 (save it as CSV UTF-8)"),
        ("utf-16", "contacts.csv: is encoded in UTF-16, expected UTF-8"),
    ],
)
def test_files_as_spreadsheets_write_them(tmp_path, text, encoding, message):
    write(tmp_path, "", "person;day;positive\r\nAnna;2020-03-02;yes\r\n\r\n")
    (tmp_path / "contacts.csv").write_bytes(text.encode(encoding))
    wording = Wording(contacts={} if "day" in text else {"day": "tág"})
    if message is None:
        assert read(tmp_path, wording).names == ("Anna", "Bün")
        return
    with pytest.raises(InputError, match=re.escape(message)) as caught:
        read(tmp_path, wording)
    line = 2 if "day" in text else 1  # the first in which there is such a letter
    assert encoding == "utf-16" or f"contacts.csv: line {line} is" in str(caught.value)


def test_wrong_lists_are_one_line_without_remarks_on_slips(tmp_path):
    write(tmp_path, "sender,receiver,day\n0,1,0\n", "person,day,positive\n-1,0,1\n")
    for more in ([], ["--people", "2"]):
        done = run("infer", "contacts.csv", "tests.csv", *more, cwd=tmp_path)
        assert done.returncode == 2
        assert done.stderr.startswith("dnatrace: tests.csv: row 1, column 'person': -1 is outside")
        assert len(done.stderr.splitlines()) == 1


def test_a_name_too_many_is_told_by_name(tmp_path):
    write(tmp_path, "sender,receiver,day\nAnna,Ben,0\nAnna,Cem,1\n", "person,day,positive\n")
    done = run("infer", "contacts.csv", "tests.csv", "--people", "2", "-q", cwd=tmp_path)
    problem = "Cem is one too many: there are 3 names and room for 2 people (line 3 of the file)"
    expected = f"dnatrace: contacts.csv: row 2, column 'receiver': {problem}\n"
    assert (done.returncode, done.stderr) == (2, expected)


def test_places_that_cannot_be_written_are_told_before_the_work(tmp_path, monkeypatch):
    write(tmp_path, "sender,receiver,day\na,b,0\n", "person,day,positive\na,0,1\n")
    monkeypatch.setattr("dnatrace.inference.infer.infer", None)  # not called
    for option, place, message in (
        ("--id-map", ".", ".: is a directory, expected the name of a file to write"),
        ("--id-map", "nowhere/ids.csv", "nowhere: no such directory to write to"),
        ("--out", "nowhere/beliefs.csv", "nowhere: no such directory to write to"),
    ):
        done = run("infer", "contacts.csv", "tests.csv", option, place, cwd=tmp_path)
        assert (done.returncode, done.stderr) == (2, f"dnatrace: {message}\n")


def test_a_slip_of_a_name_is_told(tmp_path):
    contacts = "Anna,Ben,0\nBen,Cem,1\n"
    assert warned(tmp_path, contacts, "Anna,2,1\nBen,1,0\n") == []
    assert warned(tmp_path, contacts, "Ana,2,1\nDora,1,0\n") == [
        "tests.csv: Ana is tested and in no contact; did you mean Anna?",
        "tests.csv: Dora is tested and in no contact",
    ]
    many = "".join(f"stranger{i},2,1\n" for i in range(9))
    assert warned(tmp_path, contacts, many)[3:] == ["tests.csv: so are 6 more who are tested"]
    twice = warned(tmp_path, contacts + "anna,Cem,1\n", "Anna,2,1\n")
    assert twice == ["'Anna' and 'anna' are taken to be different people"]
    assert warned(tmp_path, "0,1,0\n", "9,2,1\n") == [
        "tests.csv: person 9 is tested and in no contact"
    ]
    answer = run("infer", "contacts.csv", "tests.csv", "--json", cwd=tmp_path).stdout
    assert json.loads(answer)["tested_without_contacts"] == 1


def test_infer_writes_names_dates_and_the_map(files):
    options = [*OPTIONS, "--out", "beliefs.csv", "--id-map", "ids.csv", "--people", "5"]
    done = run("infer", "contacts.csv", "tests.csv", *options, cwd=files)
    assert done.returncode == 0, done.stderr
    table = pacsv.read_csv(files / "beliefs.csv")
    assert table.column_names == ["person", "day", "name", "date", "S", "E", "I", "R"]
    rows = table.to_pylist()
    assert [row["name"] for row in rows[::5]] == [*NAMES, ""]  # a fifth whom no list mentions
    assert {row["date"] for row in rows if row["day"] == 4} == {date(2020, 3, 5)}
    found = read(files, GERMAN)
    expected = dt.infer(found.contacts, found.tests, n_people=5)
    np.testing.assert_allclose(table["I"].to_numpy(), expected[:, :, 2].reshape(-1), rtol=1e-4)
    with (files / "ids.csv").open(encoding="utf-8", newline="") as file:
        assert list(csv.reader(file)) == [
            ["id", "name"],
            *([str(i), n] for i, n in enumerate(NAMES)),
        ]


@pytest.mark.parametrize("taken", ["contacts.csv", "./tests.csv", "beliefs.csv"])
def test_the_map_takes_no_other_file(files, taken):
    before = {path: path.read_bytes() for path in files.iterdir()}
    options = [*OPTIONS, "--out", "beliefs.csv", "--id-map", taken]
    done = run("infer", "contacts.csv", "tests.csv", *options, cwd=files)
    assert done.returncode == 2
    assert f"--id-map {taken.removeprefix('./')}: is another file of this command" in done.stderr
    assert {path: path.read_bytes() for path in files.iterdir()} == before


def test_a_list_with_names_and_dates_is_replayed(tmp_path):
    write(tmp_path, "sender;receiver;day\nAnna;Ben;2020-03-02\nBen;Cem;2020-03-03\n")
    replay = ["run", "--simulator", "replay", "--set", "simulator.contacts=contacts.csv"]
    replay += ["--method", "fn", "--days", "4", "--json", "-q"]
    done = run(*replay, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    named = json.loads(done.stdout)
    write(tmp_path, "sender,receiver,day\n0,1,0\n1,2,1\n")
    plain = json.loads(run(*replay, cwd=tmp_path).stdout)
    assert named["people"] == plain["people"] == 3
    assert named["attack_rate"] == plain["attack_rate"]


def test_days_before_the_lists_are_below_zero(tmp_path):
    """The days of the lists keep their numbers, also in files and messages."""
    write(tmp_path, "sender,receiver,day\n0,1,2\n1,0,2\n", "person,day,positive\n0,2,1\n")
    given = ("infer", "contacts.csv", "tests.csv", "--days-before", 5)
    assert "on day 2 of 2 people" in run(*given, cwd=tmp_path).stdout
    done = run(*given, "--out", "b.csv", cwd=tmp_path)
    assert done.stderr == "wrote b.csv, days -5 to -1 before the lists\n"
    assert pacsv.read_csv(tmp_path / "b.csv")["day"].to_pylist() == [*range(-5, 3)] * 2
    late = run(*given, "--days", 2, cwd=tmp_path)
    assert "column 'day': 2 is outside the window of days 0 … 1" in late.stderr
    longer = json.loads(run(*given, "--days", 4, "--json", cwd=tmp_path).stdout)
    assert (longer["days"], longer["days_before"]) == (9, 5)
    write(
        tmp_path, "sender,receiver,day\n0,1,2024-03-01\n", "person,day,positive\n0,2024-03-02,1\n"
    )
    assert "on day 1 (2024-03-02; day 0 is 2024-03-01)" in run(*given, cwd=tmp_path).stdout
    run(*given, "--out", "d.parquet", cwd=tmp_path)
    table = pq.read_table(tmp_path / "d.parquet")
    first = {name: table[name][0].as_py() for name in ("day", "date")}
    assert first == {"day": -5, "date": date(2024, 2, 25)}


# --- what other programs write ---


def test_times_at_midnight_are_dates(tmp_path):
    """As pandas writes dates to Parquet; a time of day or a zone would have to be rounded."""

    def infer(**kind):
        first, second = datetime(2024, 3, 1), datetime(2024, 3, 4, **kind.pop("time", {}))
        days = pa.array([first, second], pa.timestamp("us", **kind))
        contacts = pa.table({"sender": ["A", "A"], "receiver": ["B", "B"], "day": days})
        tests = pa.table({"person": ["A"], "day": days[1:], "positive": [True]})
        pq.write_table(contacts, tmp_path / "c.parquet")
        pq.write_table(tests, tmp_path / "t.parquet")
        return run("infer", "c.parquet", "t.parquet", cwd=tmp_path)

    assert "on day 3 (2024-03-04; day 0 is 2024-03-01) of 2 people" in infer().stdout
    for kind in ({"time": {"hour": 13}}, {"tz": "Europe/Berlin"}):
        done = infer(**kind)
        assert done.returncode == 2
        assert "column 'day': " in done.stderr
        assert "has a time of day: give the date alone, like 2020-03-01" in done.stderr


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"sender": [[1]]}, "column 'sender' holds list<element: int64>, expected whole numbers"),
        ({"sender": [b"\xff\xfe"]}, "column 'sender' holds binary, expected whole numbers"),
        ({"sender": [0], "again": [1]}, "not a readable Parquet file: Multiple matches"),
    ],
)
def test_columns_of_other_kinds_are_named(tmp_path, columns, message):
    table = pa.table(columns | {"receiver": [1], "day": [2]})
    names = ["sender" if name == "again" else name for name in table.column_names]
    pq.write_table(table.rename_columns(names), tmp_path / "c.parquet")
    (tmp_path / "t.csv").write_text("person,day,positive\n")
    done = run("infer", "c.parquet", "t.csv", cwd=tmp_path)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1), done.stderr
    assert f"c.parquet: {message}" in done.stderr


def test_people_called_true_and_false_are_names(tmp_path):
    write(tmp_path, "sender,receiver,day\ntrue,false,2\n", "person,day,positive\ntrue,3,true\n")
    done = run("infer", "contacts.csv", "tests.csv", "--json", cwd=tmp_path)
    assert json.loads(done.stdout)["highest"][0]["name"] == "true"


def test_numbers_that_are_written_otherwise_are_told(tmp_path):
    for written, read in (("0x1F", 31), ("12e1", 120), ("007", 7)):
        (told, *_) = warned(tmp_path, f"{written},1,2\n", "")
        said = f"contacts.csv: {written} is read as the number {read}"
        assert told == f"{said} (infer --id-map, simulator.as_names of replay: ids are names)"


def test_numbers_in_other_columns_are_no_ids(tmp_path):
    """A postcode that is ignored, and a day with a zero before it, are not taken for ids."""
    rows = "sender,receiver,day,postcode\n0,1,03,01234\n"
    (tmp_path / "contacts.csv").write_text(rows, "utf-8")
    (tmp_path / "tests.csv").write_text("person,day,positive\n0,04,1\n", "utf-8")
    done = run("infer", "contacts.csv", "tests.csv", "--ignore-extra", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "is read as the number" not in done.stderr


def test_many_names_that_look_the_same_are_counted(tmp_path):
    rows = "".join(f"P{i},p{i},2\n" for i in range(5))
    told = warned(tmp_path, rows, "")
    assert "so are the people of 2 more names that look alike" in told


@pytest.mark.parametrize("other", ["Jo\u0308rg", "J\u00f6rg\u200b"])
def test_names_that_look_the_same_are_told(tmp_path, other):
    """Of two ways to write an accent, or with a sign that nobody sees."""
    first = "J\u00f6rg"
    told = warned(tmp_path, f"{first},Ben,2\n", f"{other},3,1\n")
    assert told[-1] == f"{first!a} and {other!a} are taken to be different people"


def test_many_days_before_are_no_days_of_the_lists(tmp_path):
    write(tmp_path, "sender,receiver,day\n0,1,2\n", "person,day,positive\n0,3,1\n")
    given = ("infer", "contacts.csv", "tests.csv", "--days-before", 1000, "--json")
    assert json.loads(run(*given, cwd=tmp_path).stdout)["days"] == 1004


def test_a_list_of_names_is_csv(tmp_path):
    write(tmp_path, "sender,receiver,day\nA,B,2\n", "person,day,positive\nA,3,1\n")
    done = run("infer", "contacts.csv", "tests.csv", "--id-map", "m.parquet", cwd=tmp_path)
    line = "--id-map m.parquet: the name must end in .csv"
    assert (done.returncode, done.stderr) == (2, f"dnatrace: {line}\n")


def test_nobody_is_infected_where_nothing_comes_from_outside(tmp_path):
    told = warned(tmp_path, "0,1,2\n", "0,3,1\n", "--p0", 0)
    assert told == ["--p0 0: nobody is ever infected, whatever tests say"]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("contacts.xlsx", "xl/workbook.xml", "is an Excel workbook: save it as CSV UTF-8"),
        ("contacts.csv", "xl/workbook.xml", "is an Excel workbook: save it as CSV UTF-8"),
        ("contacts.ods", "content.xml", "is an OpenDocument spreadsheet: save it as CSV UTF-8"),
        ("contacts.zip", "contacts.csv", "is a zip archive: unpack it first"),
        ("contacts.xls", b"\xd0\xcf\x11\xe0" + bytes(99), "is an Excel workbook: save it as CSV"),
        (
            "contacts.csv.gz",
            gzip.compress(b"sender,receiver,day\n", mtime=0),
            "is compressed: unpack it",
        ),
        ("contacts.csv", b"PK\x03\x04" + bytes(9), "is a zip archive: unpack it first (if it is a"),
        ("contacts.csv", b'{"sender": 1}', "is JSON, expected a CSV or Parquet file"),
    ],
)
def test_files_of_other_kinds_are_named(tmp_path, name, content, message):
    write(tmp_path, "")
    if isinstance(content, bytes):
        (tmp_path / name).write_bytes(content)
    else:
        with zipfile.ZipFile(tmp_path / name, "w") as archive:
            archive.writestr(content, "…")
    done = run("infer", tmp_path / name, tmp_path / "tests.csv")
    assert done.returncode == 2
    assert f"{name}: {message}" in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_parquet_of_another_name_is_told(tmp_path):
    write(tmp_path, "")
    pq.write_table(pa.table({"sender": [0], "receiver": [1], "day": [0]}), tmp_path / "c.pq")
    done = run("infer", tmp_path / "c.pq", tmp_path / "tests.csv")
    assert "c.pq: is a Parquet file, whose name has to end in .parquet" in done.stderr


@pytest.mark.parametrize(
    ("contacts", "tests", "options", "message"),
    [
        (
            "Ann,Ben,2020-03-05\nBen,Ann,1920-03-05\n",
            "Ann,2020-03-06,1\n",
            (),
            "contacts.csv: row 2, column 'day': 1920-03-05 is 36,526 days before the latest date, "
            "2020-03-06; more than 366 days need infer --days, simulator.n_days of replay (n_days "
            "in Python) (line 3 of the file)",
        ),
        (
            "Ann,Ben,2020-03-05\nBen,Ann,2020-03-05\n",
            "Ann,2020-03-06,1\nBen,2200-03-06,1\n",
            (),
            "tests.csv: row 2, column 'day': 2200-03-06 is 65,744 days after the earliest date, "
            "2020-03-05; more than",
        ),
        (
            "0,1,43890\n1,0,43891\n",
            "0,43890,1\n",
            (),
            "contacts.csv: row 2, column 'day': the largest day is 43891: days are counted from 0; "
            "it looks like a date: write 2020-03-01 (line 3 of the file)",
        ),
        (
            "a,b,43891\n",
            "",
            ("--days", "14"),
            "43891 is outside the window of days 0 … 13; it look",
        ),
        ("0,1,3\n", "0,20200301,1\n", (), "tests.csv: row 1, column 'day': the largest day is 20"),
        ("0,1,20200301\n", "", (), "it looks like a date: write 2020-03-01 (line 2"),
        (
            "0,1,20201341\n",
            "",
            (),
            "days are counted from 0; if so many are meant, say so with infer --days",
        ),
        ("0,1,1583064000\n", "", (), "it looks like a date: write 2020-03-01"),
        (
            "0,1,400\n",
            "",
            (),
            "contacts.csv: row 1, column 'day': the largest day is 400: days are",
        ),
        (
            "a,b,2020-03-01\nb,a,2020-03-04\n",
            "",
            ("--days", "2"),
            "contacts.csv: row 2, column 'day': 2020-03-04 is outside the window of days "
            "2020-03-01 … 2020-03-02 (line 3 of the file)",
        ),
        (
            "a,b,2020-03-01\nb,a,2020-03-04\n",
            "",
            ("--days", "2", "--days-before", "5"),
            "2020-03-04 is outside the window of days 2020-03-01 … 2020-03-02",
        ),
        (
            "0,4917612345678,0\n",
            "",
            (),
            "contacts.csv: row 1, column 'receiver': the largest person id is 4917612345678: person"
            " ids are counted from 0; if so many are meant, say so with --people",
        ),
    ],
)
def test_days_and_ids_too_large_are_named_with_their_row(
    tmp_path, contacts, tests, options, message
):
    write(tmp_path, "sender,receiver,day\n" + contacts, "person,day,positive\n" + tests)
    done = run("infer", "contacts.csv", "tests.csv", *options, "-q", cwd=tmp_path)
    assert done.returncode == 2
    assert message in done.stderr
    assert len(done.stderr.splitlines()) == 1


# --- one direction, and both ---

ONE_WAY = (
    "a row in the other direction: contacts are directed, and a sender hears nothing of the "
    "receiver (if a row is a meeting, add the reverse rows: infer --both-ways, simulator.both_ways "
    "of replay)"
)


def one_way(path, contacts, *options):
    write(path, "sender,receiver,day\n" + contacts)
    done = run("infer", "contacts.csv", "tests.csv", *options, "--people", 9, cwd=path)
    assert done.returncode == 0, done.stderr
    return [line for line in done.stderr.splitlines() if "direction" in line]


def test_a_list_in_one_direction_is_told(tmp_path):
    assert one_way(tmp_path, "Ben,Ann,2020-03-05\n") == [
        f"warning: contacts.csv: no contact has {ONE_WAY}"
    ]
    assert one_way(tmp_path, "Ben,Ann,2020-03-05\n", "--both-ways") == []
    assert one_way(tmp_path, "0,1,2\n1,0,2\n") == []
    assert one_way(tmp_path, "") == []
    assert one_way(tmp_path, "0,1,2\n1,0,3\n")  # on another day
    meetings = "".join(f"0,1,{day}\n" for day in range(60))
    assert one_way(tmp_path, meetings + "1,0,0\n") == [
        f"warning: contacts.csv: hardly a contact has {ONE_WAY}"
    ]
    assert one_way(tmp_path, meetings + "1,0,0\n1,0,1\n") == []  # four rows in 62


def test_a_large_list_in_one_direction_is_told(tmp_path, monkeypatch):
    monkeypatch.setattr("dnatrace.parquet.MANY_ROWS", 1)
    write(tmp_path, "")
    forth = {"sender": [0, 1, 2], "receiver": [1, 2, 3], "day": [0, 1, 1]}
    back = {"sender": [1, 2, 3], "receiver": [0, 1, 2], "day": [0, 1, 1]}
    for table, told in ((forth, True), ({k: forth[k] + back[k] for k in forth}, False)):
        pq.write_table(pa.table(table), tmp_path / "contacts.parquet")
        done = run("infer", "contacts.parquet", "tests.csv", cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        assert (f"contacts.parquet: no contact has {ONE_WAY}" in done.stderr) is told


def reversed_by_hand(rows):
    """Both directions of contacts, pair by pair."""
    counts = Counter(rows)
    return {
        (a, b, day): max(counts[a, b, day], counts[b, a, day])
        for x, y, day in counts
        for a, b in ((x, y), (y, x))
    }


@given(
    st.lists(
        st.tuples(st.integers(0, 3), st.integers(0, 3), st.integers(0, 2)).filter(
            lambda row: row[0] != row[1]
        )
    )
)
def test_both_directions_are_those_found_by_hand(rows):
    read = tables.read_contacts(np.array(rows, dtype=np.int64).reshape(-1, 3))
    doubled = directions.both_ways(read)
    found = list(zip(*(doubled.columns[c].tolist() for c in CONTACT_COLUMNS), strict=True))
    assert Counter(found) == reversed_by_hand(rows)
    assert found[: len(rows)] == rows
    assert directions.both_ways(doubled).size == doubled.size
    assert not directions.lacks_reverse(doubled).any()


def test_a_list_of_meetings_gives_what_the_doubled_one_gives(tmp_path):
    meetings = "Ann,Ben,2020-03-01\nBen,Cem,2020-03-03\nBen,Cem,2020-03-03\n"
    back = "Ben,Ann,2020-03-01\nCem,Ben,2020-03-03\nCem,Ben,2020-03-03\n"
    tests = "person,day,positive\nCem,2020-03-04,1\n"
    found = []
    for contacts, options in ((meetings, ["--both-ways"]), (meetings + back, [])):
        write(tmp_path, "sender,receiver,day\n" + contacts, tests)
        done = run("infer", "contacts.csv", "tests.csv", "--json", *options, cwd=tmp_path)
        found.append(json.loads(done.stdout))
    assert found[0] == found[1]
    assert found[0]["contacts"] == 6
    write(tmp_path, "sender,receiver,day\n" + meetings, tests)
    alone = run("infer", "contacts.csv", "tests.csv", "--json", cwd=tmp_path)
    assert json.loads(alone.stdout)["highest"] != found[0]["highest"]  # it can fail


def test_a_day_too_large_of_a_large_file_is_told_with_the_file(tmp_path, monkeypatch):
    monkeypatch.setattr("dnatrace.parquet.MANY_ROWS", 1)
    write(tmp_path, "", "person,day,positive\n0,3,1\n")
    table = pa.table({"sender": [0], "receiver": [1], "day": [43891]})
    pq.write_table(table, tmp_path / "contacts.parquet")
    done = run("infer", "contacts.parquet", "tests.csv", cwd=tmp_path)
    assert "contacts.parquet: the largest day is 43891: days are counted from 0; it looks" in (
        done.stderr
    )
    short = run("infer", "contacts.parquet", "tests.csv", "--days", 5, cwd=tmp_path)
    assert "row 1, column 'day': 43891 is outside the window of days 0 … 4; it looks like" in (
        short.stderr
    )


# --- what other programs write, once more ---


def test_whole_numbers_with_a_point_are_whole_numbers(tmp_path):
    """As programs write a column that has, or had, gaps; also beside names and dates."""
    write(
        tmp_path,
        "sender,receiver,day\n1.0,2.0,2020-03-01\n",
        "person,day,positive\n2,2020-03-01,1.0\n1,2020-03-01,0.0\n",
    )
    found = read(tmp_path)
    assert columns(found.contacts) == {"sender": [1], "receiver": [2], "day": [0]}
    assert columns(found.tests) == {"person": [2, 1], "day": [0, 0], "positive": [1, 0]}
    write(tmp_path, "sender,receiver,day\na,b,3.0\n", "person,day,positive\na,4,pos\nb,4,NEG\n")
    found = read(tmp_path)
    assert found.contacts.columns["day"].tolist() == [3]
    assert found.tests.columns["positive"].tolist() == [1, 0]


def test_a_thousand_with_a_point_is_told(tmp_path):
    (told,) = warned(tmp_path, "1.000,2,2\n", "2,3,1\n")
    assert told.startswith("contacts.csv: 1.000 is read as the number 1 (infer --id-map")
    assert warned(tmp_path, "1.0,2.0,2\n", "2,3,1\n") == []


@pytest.mark.parametrize("name", ["nan", "None", "N/A", "?"])
def test_a_name_that_is_none_is_told(tmp_path, name):
    told = warned(tmp_path, f"{name},Ben,2\nCem,{name},3\n", "Ben,3,1\n")
    assert told == [f"{name!r} is taken to be the name of one person"]


@pytest.mark.parametrize("end", ["", "\n", "\r\n"])
def test_a_header_without_rows_needs_no_end_of_line(tmp_path, end):
    write(tmp_path, "sender,receiver,day\na,b,0\n", "person,day,positive" + end)
    assert columns(read(tmp_path).tests) == {"person": [], "day": [], "positive": []}
    write(tmp_path, "sender,receiver,day\ra,b,0\rb,a,0", "person,day,positive" + end)
    assert columns(read(tmp_path).contacts)["sender"] == [0, 1]  # lines as they ended once


@pytest.mark.parametrize(
    ("text", "encoding", "message"),
    [
        ("sender;receiver;day\na;b;0\n", "utf-16-le", "is encoded in UTF-16, expected UTF-8"),
        ("sep=;\nsender;receiver;day\na;b;0\n", "utf-8", "line 1 is 'sep=…', expected the names"),
    ],
)
def test_what_stands_instead_of_a_header_is_told(tmp_path, text, encoding, message):
    write(tmp_path, "")
    (tmp_path / "contacts.csv").write_bytes(text.encode(encoding))
    with pytest.raises(InputError, match=re.escape(f"contacts.csv: {message}")):
        read(tmp_path)


def test_tests_beside_a_large_list_may_be_words(tmp_path, monkeypatch):
    monkeypatch.setattr("dnatrace.parquet.MANY_ROWS", 1)
    table = pa.table({"sender": [0, 1], "receiver": [1, 0], "day": [0, 4]})
    pq.write_table(table, tmp_path / "contacts.parquet")
    found = []
    for tests in ("0,3,1\n1,4,0\n", "0,3,positive\n1,4,no\n"):
        write(tmp_path, "", "person,day,positive\n" + tests)
        done = run("infer", "contacts.parquet", "tests.csv", "--json", cwd=tmp_path)
        found.append(json.loads(done.stdout))
    assert found[0] == found[1]
    write(tmp_path, "", "person,day,positive\n0,2020-03-01,1\n")
    done = run("infer", "contacts.parquet", "tests.csv", cwd=tmp_path)
    problem = "'2020-03-01' is not a whole number, as in the contacts (line 2 of the file)"
    assert done.stderr == f"dnatrace: tests.csv: row 1, column 'day': {problem}\n"


KEPT = ["--columns", "sender=von,receiver=an,day=datum"]
KEPT += ["--test-columns", "person=name,day=tag,positive=ergebnis"]


@pytest.mark.parametrize("more", [[], ["--both-ways"], ["--days-before", 5]])
def test_extra_columns_are_kept_beside_what_is_inferred(tmp_path, more):
    """Every column as it is written, and P(I) of both people on the day of the row."""
    contacts = "von;an;datum;ort;nr\nAnna;Ben;2020-03-02;Büro, 2. OG;007\nCem; Ben;2020-03-04;;1\n"
    write(tmp_path, contacts, "name;tag;ergebnis\nAnna;2020-03-02;yes\n")
    given = ["infer", "contacts.csv", "tests.csv", *KEPT, *more]
    done = run(*given, "--keep-extra", "kept.csv", "--out", "beliefs.csv", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    with (tmp_path / "kept.csv").open(encoding="utf-8", newline="") as file:
        header, *rows = csv.reader(file)
    assert header[:5] == ["von", "an", "datum", "ort", "nr"]
    assert header[5:] == ["sender_infected", "receiver_infected"]
    written = [row[:5] for row in rows]
    assert written[0] == ["Anna", "Ben", "2020-03-02", "Büro, 2. OG", "007"]
    assert written[1] == ["Cem", " Ben", "2020-03-04", "", "1"]
    beliefs = pacsv.read_csv(tmp_path / "beliefs.csv").to_pylist()
    infected = {(row["name"], str(row["date"])): row["I"] for row in beliefs}
    for sender, receiver, day, *_, of_sender, of_receiver in rows:
        assert float(of_sender) == pytest.approx(infected[sender, day], abs=1e-6)
        assert float(of_receiver) == pytest.approx(infected[receiver.strip(), day], abs=1e-6)
    if "--days-before" in more:  # otherwise nobody is infected on day 0
        assert float(rows[0][-2]) > 0.1 > float(rows[0][-1])  # Anna tested positive, Ben did not


def test_kept_columns_of_parquet_keep_their_types(tmp_path):
    table = pa.table({"sender": [0], "receiver": [1], "day": [2], "when": [date(2020, 3, 4)]})
    pq.write_table(table, tmp_path / "contacts.parquet")
    write(tmp_path, "", "person,day,positive\n0,2,1\n")
    given = ["infer", "contacts.parquet", "tests.csv", "--keep-extra", "kept.parquet"]
    assert run(*given, cwd=tmp_path).returncode == 0
    kept = pq.read_table(tmp_path / "kept.parquet")
    assert kept.select(table.column_names) == table
    assert kept.column_names[4:] == ["sender_infected", "receiver_infected"]


@pytest.mark.parametrize(
    ("contacts", "options", "words"),
    [
        ("sender,receiver,day,sender_infected\n0,1,0,1\n", "k.csv", "has a column 'sender_inf"),
        ("sender,receiver,day,place\n0,1,0,a\n", "k.txt", "k.txt: the name must end in .csv or"),
        ("sender,receiver,day,place\n0,1,0,a\n", "tests.csv", "is another file of this command"),
        ("sender,receiver,day,place\n0,1,0,a\n", "k.csv --out k.csv", "is another file of this"),
        ("sender,receiver,day,place\n0,1,0,a\n", "old.csv", "old.csv: exists already; --force"),
    ],
)
def test_columns_that_cannot_be_kept_are_refused(tmp_path, contacts, options, words):
    write(tmp_path, contacts)
    (tmp_path / "old.csv").write_text("mine")
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    done = run("infer", "contacts.csv", "tests.csv", "--keep-extra", *options.split(), cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert words in done.stderr
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_extra_columns_of_tests_are_not_kept(tmp_path):
    write(tmp_path, "sender,receiver,day\n0,1,0\n", "person,day,positive,lab\n0,0,1,x\n")
    done = run("infer", "contacts.csv", "tests.csv", "--keep-extra", "k.csv", cwd=tmp_path)
    assert done.returncode == 2
    assert "tests.csv: unknown column 'lab'" in done.stderr


def test_a_replayed_list_may_have_columns_of_its_own(tmp_path):
    """Names of columns, columns that are not needed, numbers as names, one row per meeting."""
    write(tmp_path, "von;an;datum;ort\n17;+49 1;2020-03-02;Büro\n+49 1;8;2020-03-03;\n")
    replay = ["run", "--simulator", "replay", "--set", "simulator.contacts=contacts.csv"]
    replay += ["--method", "fn", "--days", "4", "--seed", "5", "--json", "-q"]
    worded = {"columns": "sender=von,receiver=an,day=datum", "ignore_extra": True}
    worded |= {"as_names": True, "both_ways": True}
    sets = [part for key, value in worded.items() for part in ("--set", f"simulator.{key}={value}")]
    done = run(*replay, *sets, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    own = json.loads(done.stdout)
    write(tmp_path, "sender,receiver,day\n0,1,0\n1,2,1\n1,0,0\n2,1,1\n")
    plain = json.loads(run(*replay, cwd=tmp_path).stdout)
    assert own["people"] == 3
    alike = ("people", "attack_rate", "peak_infected", "message_bytes_per_person_day")
    assert [own[key] for key in alike] == [plain[key] for key in alike]


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        ("0,1,0\n1,2,1\n", "contacts.csv: no contact has a row in the other direction"),
        ("0,900,0\n900,0,0\n", "contacts.csv: ids go up to 900 and 2 of them are in the lists"),
    ],
)
def test_slips_in_a_replayed_list_are_told(tmp_path, rows, words):
    write(tmp_path, f"sender,receiver,day\n{rows}")
    replay = ["run", "--simulator", "replay", "--set", "simulator.contacts=contacts.csv"]
    replay += ["--method", "none", "--days", "3"]
    assert words in run(*replay, cwd=tmp_path).stderr
    mended = ["--set", "simulator.both_ways=true", "--set", "simulator.as_names=true"]
    assert "contacts.csv" not in run(*replay, *mended, cwd=tmp_path).stderr


@pytest.mark.parametrize(
    ("setting", "words"),
    [
        ("simulator.columns=von", "simulator.columns von: expected some of sender=…"),
        ("simulator.columns=sender=ort", "simulator.ignore_extra of replay"),
        ("simulator.ignore_extra=true", "column 'sender' is missing"),
    ],
)
def test_a_replayed_list_that_is_worded_wrongly(tmp_path, setting, words):
    write(tmp_path, "ort,receiver,day,more\n0,1,0,x\n")
    replay = ["run", "--simulator", "replay", "--set", "simulator.contacts=contacts.csv"]
    done = run(*replay, "--set", setting, cwd=tmp_path)
    assert done.returncode == 2
    assert words in done.stderr


def test_tests_beside_a_large_list_are_looked_at_like_others(tmp_path, monkeypatch):
    monkeypatch.setattr("dnatrace.parquet.MANY_ROWS", 1)
    write(tmp_path, "", "person,day,positive\n007,1,0\n1,0,1\n")
    both = {"sender": [1, 0], "receiver": [0, 1], "day": [0, 0]}
    pq.write_table(pa.table(both), tmp_path / "contacts.parquet")
    done = run("infer", "contacts.parquet", "tests.csv", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    for told in (
        "1 positive test on the first two days",
        "007 is read as the number 7",
        "person 7 is",
    ):
        assert f"warning: tests.csv: {told}" in done.stderr
