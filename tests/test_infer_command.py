"""`dnatrace infer`: lists that are odd, and what they say that may be a slip."""

import json

from .command_line import run


def test_a_positive_test_on_the_first_days_is_told_and_can_be_given_time(tmp_path):
    """The model has hardly anybody in I on the first two days: such a test would say little."""
    (tmp_path / "c.csv").write_text(
        "sender,receiver,day\nAnna,Ben,2024-03-01\nAnna,Ben,2024-03-06\n"
    )
    (tmp_path / "t.csv").write_text("person,day,positive\nAnna,2024-03-01,1\n")
    told = run("infer", "c.csv", "t.csv", "--json", cwd=tmp_path)
    assert "t.csv: 1 positive test on the first two days says little" in told.stderr
    earlier = run("infer", "c.csv", "t.csv", "--days-before", "14", "--json", cwd=tmp_path)
    assert "says little" not in earlier.stderr
    first, second = (json.loads(done.stdout) for done in (told, earlier))
    assert second["first_date"] == "2024-02-16"
    before, after = (values["highest"][0]["P(E)+P(I)"] for values in (first, second))
    assert after > 10 * before


def test_numbers_that_are_names_are_told(tmp_path):
    (tmp_path / "t.csv").write_text("person,day,positive\n")
    for ids, line in (
        ("007,1", "007 is read as the number 7"),
        ("100234,5", "ids go up to 100234"),
    ):
        (tmp_path / "c.csv").write_text(f"sender,receiver,day\n{ids},3\n")
        done = run("infer", "c.csv", "t.csv", "--json", cwd=tmp_path)
        assert done.returncode == 0
        assert f"c.csv: {line}" in done.stderr
        named = run("infer", "c.csv", "t.csv", "--id-map", f"{ids}.csv", "--json", cwd=tmp_path)
        assert line not in named.stderr
        assert json.loads(named.stdout)["people"] == 2


def test_lists_that_cannot_be_are_told_with_their_place(tmp_path):
    (tmp_path / "t.csv").write_text("person,day,positive\n")
    (tmp_path / "c.csv").write_text("sender,receiver,day\n0,1,2\n\n0,1\n")
    done = run("infer", "c.csv", "t.csv", cwd=tmp_path)
    expected = "dnatrace: c.csv: not a readable CSV file: line 4 has 2 fields, the first 3\n"
    assert (done.returncode, done.stderr) == (2, expected)
    (tmp_path / "c.csv").write_text("sender,receiver,day\n0,1,2\n")
    done = run("infer", "c.csv", "t.csv", "--days", "1000000", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (2, "dnatrace: 1000000 days are more than 10000\n")
    rates = ("--false-positive-rate", "1", "--false-negative-rate", "1")
    done = run("infer", "c.csv", "t.csv", *rates, cwd=tmp_path)
    assert "is then evidence against infection" in done.stderr


def test_blanks_around_the_names_of_columns_do_not_matter(tmp_path):
    plain = ("sender,receiver,day\n0,1,2\n1,0,3\n", "person,day,positive\n0,4,1\n")
    blank = ("sender, receiver ,day\n0, 1, 2\n1,0,3\n", " person,day , positive\n0,4,1\n")
    found = []
    for texts in (plain, blank):
        for name, text in zip(("c.csv", "t.csv"), texts, strict=True):
            (tmp_path / name).write_text(text)
        found.append(run("infer", "c.csv", "t.csv", "--json", cwd=tmp_path))
    assert (found[1].returncode, found[1].stdout) == (0, found[0].stdout)
    (tmp_path / "c.csv").write_text("from ; to; when \nAnna;Ben;2024-03-01\n")
    (tmp_path / "t.csv").write_text("person;day; positive\nAnna;2024-03-04;yes\n")
    named = ("--columns", "sender=from,receiver=to,day=when")
    assert run("infer", "c.csv", "t.csv", *named, cwd=tmp_path).returncode == 0
    (tmp_path / "c.csv").write_text("sender,receiver,day, day\n0,1,2,2\n")
    done = run("infer", "c.csv", "t.csv", cwd=tmp_path)
    assert done.returncode == 2
    assert "c.csv: column 'day' appears more than once" in done.stderr


def test_lists_with_the_line_ends_of_old_spreadsheets_are_read(tmp_path):
    (tmp_path / "c.csv").write_bytes(b"sender, receiver,day\rAnna,Ben,2024-03-01\r")
    (tmp_path / "t.csv").write_bytes(b"person,day,positive\rAnna,2024-03-04,yes\r")
    done = run("infer", "c.csv", "t.csv", cwd=tmp_path)
    assert (done.returncode, "Anna" in done.stdout) == (0, True)


def test_an_id_beyond_all_numbers_is_called_too_large(tmp_path):
    (tmp_path / "c.csv").write_text("sender,receiver,day\n0,99999999999999999999,2\n")
    (tmp_path / "t.csv").write_text("person,day,positive\n")
    done = run("infer", "c.csv", "t.csv", cwd=tmp_path)
    line = "row 1, column 'receiver': 1e+20 is too large (line 2 of the file)"
    assert (done.returncode, done.stderr) == (2, f"dnatrace: c.csv: {line}\n")


def test_lists_without_a_row_do_not_make_a_person(tmp_path):
    (tmp_path / "contacts.csv").write_text("sender,receiver,day\n")
    (tmp_path / "tests.csv").write_text("person,day,positive\n")
    given = ("infer", "contacts.csv", "tests.csv")
    line = "contacts.csv, tests.csv: neither has a row; --people says how many there are"
    done = run(*given, cwd=tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (2, "", f"dnatrace: {line}\n")
    assert run(*given, "--people", 3, cwd=tmp_path).returncode == 0


def test_days_before_the_lists_are_told(tmp_path):
    (tmp_path / "contacts.csv").write_text("sender,receiver,day\n0,1,2\n")
    (tmp_path / "tests.csv").write_text("person,day,positive\n0,2,1\n")
    done = run("infer", "contacts.csv", "tests.csv", "--days-before", 5, cwd=tmp_path)
    assert "on day 2 of 2 people" in done.stdout
