import numpy as np
import pytest

from dnatrace.errors import InputError
from dnatrace.simulators.base import MEETS_NOBODY, Simulator
from dnatrace.simulators.disease import DiseaseParameters
from dnatrace.simulators.replay import Replay, ReplaySettings
from tests import command_line

ROWS = np.array([[0, 1, 0], [1, 2, 0], [2, 3, 1], [3, 0, 2], [3, 0, 2]])


def pairs(contacts):
    return sorted(zip(contacts.senders.tolist(), contacts.receivers().tolist(), strict=True))


def dense(n_people, n_days, n_contacts, seed=1):
    generator = np.random.default_rng(seed)
    table = generator.integers(0, n_people, (n_contacts, 2))
    table = table[table[:, 0] != table[:, 1]]
    return np.column_stack([table, generator.integers(0, n_days, len(table))])


def test_contacts_are_those_of_the_list_and_start_again():
    replay: Simulator = Replay(contacts=ROWS, initially_infected=0)
    assert (replay.n_people, replay.day) == (4, 0)
    expected = [[(0, 1), (1, 2)], [(2, 3)], [(3, 0), (3, 0)]]
    for day in range(7):
        assert pairs(replay.advance()) == expected[day % 3]
        assert replay.day == day + 1


def test_days_without_contacts_at_the_end_need_the_number_of_days():
    replay = Replay(contacts=ROWS, initially_infected=0, n_days=4)
    sizes = [replay.advance().senders.size for _ in range(5)]
    assert sizes == [2, 1, 2, 0, 2]


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_reads_files(tmp_path, suffix):
    import pyarrow as pa
    import pyarrow.csv
    import pyarrow.parquet

    table = pa.table(dict(zip(("sender", "receiver", "day"), ROWS.T, strict=True)))
    path = tmp_path / f"contacts.{suffix}"
    if suffix == "csv":
        pyarrow.csv.write_csv(table, path)
    else:
        pyarrow.parquet.write_table(table, path)
    assert pairs(Replay(contacts=path, initially_infected=0).advance()) == [(0, 1), (1, 2)]


def test_isolated_people_have_no_contacts_and_the_rest_keep_theirs():
    rows = dense(200, 5, 5000)
    free, held = (Replay(contacts=rows, initially_infected=0) for _ in range(2))
    isolated = np.arange(200) % 3 == 0
    held.isolate(isolated)
    for _ in range(6):
        listed = pairs(free.advance())
        expected = [(s, r) for s, r in listed if not isolated[s] and not isolated[r]]
        assert pairs(held.advance()) == expected


def test_hospitalised_and_dead_people_have_no_contacts():
    worst = DiseaseParameters(
        asymptomatic_fractions=(0.0,) * 9,
        mild_fractions=(0.0,) * 9,
        hospitalised_fractions=(1.0,) * 9,
    )
    replay = Replay(contacts=dense(300, 5, 9000), initially_infected=100, parameters=worst)
    absent_ever = 0
    for _ in range(30):
        absent = MEETS_NOBODY[replay.states]
        contacts = replay.advance()
        assert np.all(contacts.counts[absent] == 0)
        assert not absent[contacts.senders].any()
        absent_ever += absent.sum()
    assert absent_ever > 100


def test_the_disease_passes_from_sender_to_receiver_only():
    n_pairs = 500
    givers = np.arange(0, 2 * n_pairs, 2)
    rows = np.column_stack([givers, givers + 1, np.zeros(n_pairs, dtype=int)])
    forward = Replay(contacts=rows, initially_infected=givers)
    backward = Replay(contacts=rows, initially_infected=givers + 1)
    for _ in range(20):
        forward.advance()
        backward.advance()
    assert np.mean(forward.infected_on[1::2] > 0) > 0.5
    assert np.all(backward.infected_on[0::2] == -1)


def test_the_disease_spreads_and_is_a_function_of_the_seed():
    rows = dense(2000, 7, 100_000)
    runs = [Replay(contacts=rows, seed=s, initially_infected=20) for s in (1, 1, 2)]
    for _ in range(60):
        for replay in runs:
            replay.advance()
    one, two, other = (replay.infected_on for replay in runs)
    assert np.array_equal(one, two)
    assert not np.array_equal(one, other)
    assert np.mean(one >= 0) > 0.5


def test_ages_change_susceptibility():
    # Half children, half 60-69, everyone alike in contacts: the older are infected more.
    rows = dense(4000, 7, 100_000, seed=2)
    ages = np.where(np.arange(4000) % 2 == 0, 0, 6)
    replay = Replay(contacts=rows, seed=3, initially_infected=40, age_groups=ages)
    for _ in range(60):
        replay.advance()
    attacked = replay.infected_on >= 0
    young, old = attacked[0::2].mean(), attacked[1::2].mean()
    assert old - young > 5 * np.sqrt(2 * 0.25 / 2000)


def test_an_empty_list_is_a_day_without_contacts():
    replay = Replay(contacts=np.empty((0, 3), dtype=int), n_people=10, initially_infected=3)
    for _ in range(3):
        assert replay.advance().senders.size == 0
    assert np.sum(replay.infected_on >= 0) == 3


def test_people_beyond_the_list_take_part():
    replay = Replay(contacts=ROWS, n_people=50, initially_infected=0)
    assert replay.households.size == replay.age_groups.size == 50
    assert replay.advance().n_people == 50


@pytest.mark.parametrize(
    "wrong",
    [
        {"contacts": [[0, 0, 0]]},
        {"contacts": ROWS, "n_people": 3},
        {"contacts": ROWS, "age_groups": [1, 2, 3]},
        {"contacts": ROWS, "age_groups": [1, 2, 3, 9]},
        {"contacts": ROWS, "age_groups": [1.0, 2.0, 3.0, 4.0]},
        {"contacts": ROWS, "initially_infected": 5},
    ],
)
def test_wrong_input_is_refused(wrong):
    with pytest.raises(InputError):
        Replay(**{"initially_infected": 1, **wrong})


def infected_of(rows, **options):
    replay = Replay(contacts=rows, initially_infected=5, seed=3, **options)
    for _ in range(30):
        replay.advance()
    return int((replay.infected_on >= 0).sum())


def test_how_infectious_a_contact_is_depends_on_the_list_unless_it_is_said():
    """Thrice the rows are the same epidemic, unless R refers to the same number of contacts."""
    rows = dense(150, 7, 600)
    thrice = np.tile(rows, (3, 1))
    assert infected_of(rows) == infected_of(thrice)
    usual = len(rows) / (150 * 7)
    assert infected_of(rows, contacts_per_day=usual) == infected_of(rows)
    assert infected_of(thrice, contacts_per_day=usual) > infected_of(rows)
    assert infected_of(rows, contacts_per_day=3.0 * usual) < infected_of(rows)


@pytest.mark.parametrize("days", [60, 61, 80])
def test_a_list_that_begins_after_the_run_is_told(tmp_path, days):
    path = tmp_path / "contacts.csv"
    path.write_text("sender,receiver,day\n0,1,60\n1,0,60\n")
    told = ReplaySettings(contacts=str(path)).notices(days)
    late = f"{path}: begins on day 60, after the {days} days of the run (days count from 0)"
    assert told == ([f"{late}: nobody meets anybody"] if days == 60 else [])


@pytest.mark.parametrize("wrong", [0.0, -1.0])
def test_contacts_per_day_are_positive(wrong):
    with pytest.raises(InputError, match="contacts_per_day"):
        ReplaySettings(contacts="c.csv", contacts_per_day=wrong)


def test_a_list_of_more_than_a_year_says_how_many_days_it_has(tmp_path):
    """The advice was an option that a run does not have."""
    contacts = tmp_path / "c.csv"
    contacts.write_text("sender,receiver,day\n0,1,0\n1,0,500\n")
    words = ("run", "--simulator", "replay", "--set", f"simulator.contacts={contacts}")
    words += ("--method", "none", "--days", 3, "--set", "initially_infected=1")
    done = command_line.run(*words)
    assert done.returncode == 2
    assert "say so with infer --days, simulator.n_days of replay" in done.stderr
    assert command_line.run(*words, "--set", "simulator.n_days=501").returncode == 0
    few = command_line.run(*words, "--set", "simulator.n_days=400")
    assert few.returncode == 2
    assert "row 2, column 'day': 500 is outside the window of days 0 … 399" in few.stderr


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("sender,receiver,day\n", "has no rows"),
        ("", "the file is empty, without even a header"),
    ],
)
def test_a_list_without_rows_is_one_line(tmp_path, text, told):
    """It was said to begin on day 366, and an empty file to need a header alone."""
    contacts = tmp_path / "c.csv"
    contacts.write_text(text)
    chosen = ("--simulator", "replay", "--set", f"simulator.contacts={contacts}", "--days", 10)
    done = command_line.run("run", *chosen, "--method", "fn")
    assert (done.returncode, done.stderr) == (2, f"dnatrace: {contacts}: {told}\n")
