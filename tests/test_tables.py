"""Bad input, each with its message."""

import io
import re
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import dnatrace as dt
from dnatrace.errors import InputError

CONTACTS = "sender,receiver,day\n"
TESTS = "person,day,positive\n"


def infer_files(tmp_path, contacts=CONTACTS, tests=TESTS, **sizes):
    (tmp_path / "contacts.csv").write_text(contacts)
    (tmp_path / "tests.csv").write_text(tests)
    sizes = {"n_people": 3, "n_days": 4} | sizes
    return dt.infer(tmp_path / "contacts.csv", tmp_path / "tests.csv", **sizes)


@pytest.mark.parametrize(
    ("contacts", "message"),
    [
        ("0,1,0\n1,1,0\n", "contacts.csv: row 2, column 'receiver': person 1 meets themselves"),
        ("0,3,0\n", "contacts.csv: row 1, column 'receiver': 3 is outside the ids 0 … 2"),
        ("0,1,0\n-1,1,0\n", "contacts.csv: row 2, column 'sender': -1 is outside the ids"),
        ("0,1,-1\n", "contacts.csv: row 1, column 'day': -1 is outside the window of days 0 … 3"),
        ("0,1,1.5\n", "contacts.csv: row 1, column 'day': 1.5 is not a whole number"),
        ("0,1,4\n", "contacts.csv: row 1, column 'day': 4 is outside the window of days 0 … 3"),
        ("0,1,0\n0,2,nan\n", "contacts.csv: row 2, column 'day': nan is not a whole number"),
        ("0,1,0\n0,,1\n", "contacts.csv: row 2, column 'receiver': the value is missing"),
        ("0,1,0\n0,bob,1\n", "contacts.csv: row 2, column 'receiver': 'bob' is not a whole number"),
        ("0,1,99999999999999999999\n", "contacts.csv: row 1, column 'day': 1e"),
        ("0,1\n", "contacts.csv: not a readable CSV file"),
    ],
)
def test_bad_contact_rows(tmp_path, contacts, message):
    with pytest.raises(InputError, match=re.escape(message)):
        infer_files(tmp_path, contacts=CONTACTS + contacts)


@pytest.mark.parametrize(
    ("tests", "message"),
    [
        ("0,1,1\n0,1,0\n", "column 'positive': person 0 has two different results on day 1"),
        ("0,1,2\n", "tests.csv: row 1, column 'positive': 2 is outside 0 and 1"),
        ("3,1,1\n", "tests.csv: row 1, column 'person': 3 is outside the ids 0 … 2"),
        ("0,7,1\n", "tests.csv: row 1, column 'day': 7 is outside the window"),
        ("0,nan,1\n", "tests.csv: row 1, column 'day': nan is not a whole number"),
    ],
)
def test_bad_test_rows(tmp_path, tests, message):
    with pytest.raises(InputError, match=re.escape(message)):
        infer_files(tmp_path, tests=TESTS + tests)


@pytest.mark.parametrize(
    ("header", "message"),
    [
        ("sender,receiver\n", "contacts.csv: column 'day' is missing"),
        ("sender,receiver,day,colour\n", "contacts.csv: unknown column 'colour'"),
        ("sender,receiver,day,day\n", "contacts.csv: column 'day' appears more than once"),
        ("", "contacts.csv: the file is empty"),
    ],
)
def test_bad_headers(tmp_path, header, message):
    with pytest.raises(InputError, match=re.escape(message)):
        infer_files(tmp_path, contacts=header)


def test_a_header_without_rows_is_valid(tmp_path):
    beliefs = infer_files(tmp_path)
    assert beliefs.shape == (3, 4, 4)
    assert beliefs[0, 0, 0] == pytest.approx(0.999)


def test_directory_missing_file_and_truncated_parquet(tmp_path):
    good = tmp_path / "contacts.parquet"
    pq.write_table(pa.table({"sender": [0], "receiver": [1], "day": [0]}), good)
    cut = tmp_path / "cut.parquet"
    cut.write_bytes(good.read_bytes()[:-7])
    empty = tmp_path / "empty.parquet"
    empty.touch()
    for path, message in [
        (tmp_path, "is a directory"),
        (tmp_path / "none.csv", "no such file"),
        (cut, "cut.parquet: not a readable Parquet file"),
        (empty, "empty.parquet: the file is empty"),
    ]:
        with pytest.raises(InputError, match=re.escape(message)):
            dt.infer(path, [], n_people=2, n_days=1)
    assert dt.infer(good, [], n_people=2, n_days=1).shape == (2, 1, 4)


ROWS = [[0, 1, 0], [1, 2, 3]]
FRAME = pd.DataFrame(ROWS, columns=["sender", "receiver", "day"])


@pytest.mark.parametrize(
    "contacts",
    [
        np.array(ROWS),
        np.array(ROWS, dtype=np.int16),
        np.array(ROWS, dtype=np.float64),
        np.asfortranarray(ROWS),
        ROWS,
        {"day": [0, 3], "sender": [0, 1], "receiver": [1, 2]},
        {"sender": [0, 1], "receiver": [1, 2], "day": [0, 3], "kind": ["home", "work"]},
        pa.table({"sender": [0, 1], "receiver": [1, 2], "day": [0, 3]}),
        np.array(ROWS, dtype=np.float16),
        FRAME,
        FRAME[::-1],
        FRAME.set_index("sender"),
        FRAME.set_index(["sender", "day"]),
        FRAME.set_index(pd.Index([5, 5], name="visit")),
        FRAME.astype("category"),
        pl.from_pandas(FRAME),
        pa.table({c: pa.array(FRAME[c]).dictionary_encode() for c in FRAME}),
    ],
)
def test_all_sources_are_one(contacts):
    expected = dt.infer(np.array(ROWS), [[0, 2, 1]], n_people=3, n_days=4)
    np.testing.assert_array_equal(dt.infer(contacts, [[0, 2, 1]]), expected)


@pytest.mark.parametrize(
    ("contacts", "message"),
    [
        (np.zeros((2, 4)), "expected an array [rows, 3]"),
        (np.array([["0", "1", "2"]]), "expected whole numbers"),
        (np.array([[0.0, np.nan, 0.0]]), "row 1, column 'receiver': nan is not a whole number"),
        (np.array([[0, 1, 2**63]], dtype=np.uint64), "is too large"),
        ({"sender": [0], "receiver": [1, 2], "day": [0]}, "not a table of columns"),
        ([[0, 10**12, 0]], "the largest person id is 1000000000000"),
        ([[0, 1, 10**6]], "the largest day is 1000000"),
        ([[0, 10**12, 0]], "if so many are meant, say so with --people (n_people in Python)"),
        (
            [[0, 1, 10**6]],
            "say so with infer --days, simulator.n_days of replay (n_days in Python)",
        ),
        (
            (row for row in ROWS),
            "a table of these columns or a path, got a value of type generator",
        ),
        (pl.LazyFrame({"sender": [0]}), "got a value of type LazyFrame"),
        (io.StringIO(CONTACTS), "got a value of type StringIO"),
        (None, "contacts: expected rows (sender, receiver, day), a table of these columns or a"),
        (
            pa.table({"sender": [Decimal(0)], "receiver": [1], "day": [0]}),
            "column 'sender' holds decimal128(1, 0), expected whole numbers",
        ),
        (
            pd.DataFrame({"sender": ["0"], "receiver": [1], "day": [0]}, dtype="category"),
            "column 'sender' holds text, expected whole numbers",
        ),
        (
            pa.table(
                {"sender": pa.array([0, None]).dictionary_encode(), "receiver": [1, 1]}
            ).append_column("day", pa.array([0, 0])),
            "row 2, column 'sender': the value is missing",
        ),
    ],
)
def test_bad_arrays(contacts, message):
    with pytest.raises(InputError, match=re.escape(message)):
        dt.infer(contacts, [])


def test_pandas_writes_the_numbers_of_rows_too(tmp_path):
    file = tmp_path / "contacts.parquet"
    pd.concat([FRAME, FRAME]).to_parquet(file)
    assert "__index_level_0__" in pq.read_schema(file).names
    twice = dt.infer(np.array(ROWS + ROWS), [], n_people=3, n_days=4)
    np.testing.assert_array_equal(dt.infer(file, [], n_people=3, n_days=4), twice)


def test_rows_of_a_file_are_found_by_line(tmp_path):
    """Header, empty lines and line breaks within quotes count as an editor counts them."""
    with pytest.raises(InputError, match=r"row 2, column 'day': the value is missing \(line 4 of"):
        infer_files(tmp_path, 'sender,receiver,day\n\n0,1,0\n"0",1,\n\n0,1,1.5\n')
    with pytest.raises(InputError, match=r"row 2, column 'day': 1.5 is .* \(line 5 of the file\)"):
        infer_files(tmp_path, "sender,receiver,day\n\n0,1,0\n\n0,1,1.5\n")
