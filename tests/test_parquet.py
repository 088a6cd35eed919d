"""Contacts of a large Parquet file, batch by batch: the same window, in bounded memory."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dnatrace as dt
from dnatrace import parquet
from dnatrace.errors import InputError
from dnatrace.records import ContactWindow

from .command_line import run


def written(path, rows, *, group=7, statistics=True, kind="int64"):
    columns = {
        n: pa.array(rows[:, i], type=kind) for i, n in enumerate(("sender", "receiver", "day"))
    }
    table = pa.table(columns)
    pq.write_table(table, path, row_group_size=group, write_statistics=statistics)
    return path


def drawn(seed, n, *, people=9, days=4):
    rng = np.random.default_rng(seed)
    one = rng.integers(0, people, n)
    other = (one + rng.integers(1, people, n)) % people
    return np.stack([one, other, rng.integers(0, days, n)], axis=1)


@given(
    seed=st.integers(0, 999),
    n=st.integers(0, 60),
    batch=st.integers(1, 20),
    more=st.booleans(),
    order=st.sampled_from((0, 1, -1)),
    kind=st.sampled_from(("int64", "int32", "uint64", "uint8")),
)
@settings(max_examples=40, deadline=None)
def test_the_window_is_that_of_all_rows_at_once(
    tmp_path_factory, seed, n, batch, more, order, kind
):
    rows = drawn(seed, n)
    if order:  # by day, from the first on or from the last
        rows = rows[np.argsort(order * rows[:, 2], kind="stable")]
    path = tmp_path_factory.mktemp("p") / "c.parquet"
    written(path, rows, statistics=more, kind=kind)
    assert parquet.can_stream(path)
    assert parquet.n_rows(path) == n
    assert parquet.largest(path) == (
        (int(rows[:, :2].max()), int(rows[:, 2].max())) if n else (-1, -1)
    )
    mine = parquet.window_of(path, n_people=9, n_days=4, batch_rows=batch)
    whole = ContactWindow.from_rows(rows, n_people=9, n_days=4)
    for a, b in zip(mine, whole, strict=True):
        assert np.array_equal(a.offsets, b.offsets)
        assert np.array_equal(a.senders, b.senders)


def test_a_batch_has_no_more_rows_than_asked(tmp_path, monkeypatch):
    path = written(tmp_path / "c.parquet", drawn(1, 500), group=100)
    sizes, split = [], parquet._csr.split_by_day

    def watched(senders, *others):
        sizes.append(senders.size)
        return split(senders, *others)

    monkeypatch.setattr(parquet._csr, "split_by_day", watched)
    seen = []

    def track(items, total):
        for item in items:
            yield item
            seen.append(total)

    parquet.window_of(path, n_people=9, n_days=4, batch_rows=30, track=track)
    assert sum(sizes) == 500
    assert max(sizes) <= 30
    assert len(seen) == len(sizes) >= seen[0] == 17


def most_kept(path, monkeypatch):
    """Return the most rows that waited for their day to be sorted while a file was read."""
    waiting, most = 0, 0
    split, sort = parquet._csr.split_by_day, parquet._csr.sort_by_receiver

    def splitting(senders, *others):
        nonlocal waiting, most
        waiting += senders.size
        most = max(most, waiting)
        return split(senders, *others)

    def sorting(senders, *others):
        nonlocal waiting
        waiting -= senders.size
        return sort(senders, *others)

    monkeypatch.setattr(parquet._csr, "split_by_day", splitting)
    monkeypatch.setattr(parquet._csr, "sort_by_receiver", sorting)
    parquet.window_of(path, n_people=9, n_days=6, batch_rows=30)
    assert waiting == 0
    return most


@pytest.mark.parametrize("told", [True, False])
def test_a_day_is_sorted_when_its_last_row_has_come(tmp_path, monkeypatch, told):
    rows = drawn(1, 4000)
    of_a_day = int(np.bincount(rows[:, 2]).max())
    ordered = rows[np.argsort(rows[:, 2], kind="stable")]
    by_day = written(tmp_path / "by_day.parquet", ordered, group=100, statistics=told)
    with monkeypatch.context() as patch:
        assert most_kept(by_day, patch) <= of_a_day + 30
    mixed = written(tmp_path / "mixed.parquet", rows, group=100, statistics=told)
    with monkeypatch.context() as patch:
        assert most_kept(mixed, patch) > 3900


def test_few_row_groups_are_read_at_a_time(tmp_path, monkeypatch):
    asked = []

    class Watched(pq.ParquetFile):
        def iter_batches(self, size, *, row_groups, columns):
            asked.append((row_groups, columns))
            return super().iter_batches(size, row_groups=row_groups, columns=columns)

    path = written(tmp_path / "c.parquet", drawn(1, 50), group=8)  # the last group has two rows
    monkeypatch.setattr(pq, "ParquetFile", Watched)
    parquet.window_of(path, n_people=9, n_days=4, batch_rows=20)
    groups = [[0, 1, 2], [3, 4, 5], [6]]
    every = ["sender", "receiver", "day"]
    assert asked == [(g, ["day"]) for g in groups] + [(g, every) for g in groups]


@pytest.mark.parametrize(
    ("row", "why"),
    [
        ((9, 1, 0), r"row 41, column 'sender': 9 is outside the ids 0 … 8"),
        ((1, -1, 0), r"row 41, column 'receiver': -1 is outside"),
        ((1, 2, 4), r"row 41, column 'day': 4 is outside the window of days 0 … 3"),
        ((3, 3, 0), r"row 41, column 'receiver': person 3 meets themselves"),
    ],
)
def test_a_bad_row_is_named_by_its_place_in_the_file(tmp_path, row, why):
    rows = drawn(2, 50)
    rows[40] = row
    path = written(tmp_path / "c.parquet", rows)
    with pytest.raises(InputError, match=why):
        parquet.window_of(path, n_people=9, n_days=4, batch_rows=8)
    with pytest.raises(InputError, match=why):  # as when all rows are read at once
        ContactWindow.from_rows(path, n_people=9, n_days=4)


def test_a_missing_value_is_named(tmp_path):
    path = tmp_path / "c.parquet"
    columns = {"sender": [0, 1, None], "receiver": [1, 0, 1], "day": [0, 0, 0]}
    pq.write_table(pa.table(columns), path, row_group_size=1)
    with pytest.raises(InputError, match="row 3, column 'sender': the value is missing"):
        parquet.window_of(path, n_people=2, n_days=1)


def test_other_files_are_left_to_those_who_read_them(tmp_path):
    names = tmp_path / "names.parquet"
    pq.write_table(pa.table({"sender": ["a"], "receiver": ["b"], "day": [0]}), names)
    assert not parquet.can_stream(names)
    more = tmp_path / "more.parquet"
    columns = {"sender": [0], "receiver": [1], "day": [0], "duration": [3]}
    pq.write_table(pa.table(columns), more)
    assert not parquet.can_stream(more)
    broken = tmp_path / "broken.parquet"
    broken.write_bytes(b"PAR1")
    assert not parquet.can_stream(broken)
    assert not parquet.can_stream(tmp_path / "absent.parquet")


def test_beliefs_are_those_of_all_rows_at_once(tmp_path, monkeypatch):
    rows, tests = drawn(3, 200), np.array([[0, 3, 1], [4, 2, 0]])
    path = written(tmp_path / "c.parquet", rows)
    whole = dt.infer(rows, tests)
    assert np.array_equal(dt.infer(path, tests), whole)
    assert np.array_equal(dt.infer(str(path), tests), whole)
    listed = tmp_path / "tests.csv"
    listed.write_text("person,day,positive\n0,3,1\n4,2,0\n")
    usual = run("infer", path, listed, "--json")
    monkeypatch.setattr(parquet, "MANY_ROWS", 1)
    large = run("infer", path, listed, "--json")
    assert large.returncode == 0
    assert large.stdout == usual.stdout
    assert "read batch by batch" in large.stderr
    assert "read batch by batch" not in usual.stderr
