"""Somebody else's ranker in our loop."""

import json

import numpy as np
import pytest

import dnatrace as dt
from dnatrace.errors import InputError
from dnatrace.methods.fn import FactorisedNeighbours, FnSettings
from dnatrace.methods.ranker import RankedByOthers
from dnatrace.report import write_report
from dnatrace.report.grouping import group_runs
from dnatrace.report.reading import read_runs
from dnatrace.runs import store
from dnatrace.runs.run import named_outside, run

CONFIG = dt.RunConfig(people=400, days=20, initially_infected=20, seed=2)


class CountsContactsOfPositives:
    """The shape rank(day, contacts, tests): whoever met somebody found positive comes first."""

    def __init__(self):
        self.met = {}
        self.scores = {}
        self.calls = []

    def rank(self, day, contacts, tests):
        self.calls.append((day, len(contacts), len(tests)))
        for sender, receiver, on, weight in contacts:
            assert (on, weight) == (day, 1.0)
            self.met.setdefault(sender, []).append(receiver)
        for person, positive, on in tests:
            assert on == day
            if positive:
                for other in self.met.get(person, ()):
                    self.scores[other] = self.scores.get(other, 0) + 1
        return [(i, self.scores.get(i, 0)) for i in range(400)]


class Shaped:
    """The shape of epidemic_mitigation, with the checks that its rankers make."""

    def __init__(self, tau):
        self.description = "naive tracing"
        self.tau = tau

    def init(self, N, T):
        self.N, self.T = N, T
        self.contacts, self.observations = [], []

    def rank(self, t_day, daily_contacts, daily_obs, data):
        assert {t for _, _, t, _ in daily_contacts} <= {t_day}
        assert {t for _, _, t in daily_obs} <= {t_day - 1}
        assert 0 <= t_day < self.T
        data["seen"] = t_day
        data["logger"].debug("day %d", t_day)
        self.contacts.append([(i, j) for i, j, _, value in daily_contacts if value])
        self.observations += daily_obs
        found = {i for i, s, t in self.observations if s == 1 and t >= t_day - self.tau}
        scores = np.zeros(self.N)
        for day in self.contacts[-self.tau :]:
            for i, j in day:
                scores[j] += i in found
        return list(enumerate(scores))


@pytest.mark.parametrize("ranker", [CountsContactsOfPositives(), Shaped(tau=7)])
def test_a_ranker_runs_in_our_loop(ranker):
    result = run(CONFIG, method=ranker)
    assert result.summary["method"] == type(ranker).__name__
    assert result.summary["privacy"]["sound"] is False
    assert result.summary["privacy"]["epsilon"] is None
    assert {type(e).__name__ for e in result.ledger.events} == {"UnprotectedEvent"}
    assert result.summary["tests_used"] > 0
    json.dumps(result.summary, allow_nan=False)
    # Its scores matter: with the order turned round the epidemic is another.
    turned = run(CONFIG, method=Turned(ranker)).summary
    assert turned["peak_infected"] != result.summary["peak_infected"]
    # It is copied, so the same object gives the same run again.
    assert run(CONFIG, method=ranker).daily.equals(result.daily)


class Turned:
    def __init__(self, ranker):
        self.ranker = ranker
        if hasattr(ranker, "init"):
            self.init = ranker.init
            self.rank = lambda t, c, o, data: self.turned(ranker.rank(t, c, o, data))
        else:
            self.rank = lambda day, c, t: self.turned(ranker.rank(day, c, t))

    def turned(self, ranked):
        return [(i, -score) for i, score in ranked]

    def __deepcopy__(self, memo):
        import copy

        return Turned(copy.deepcopy(self.ranker))


def test_what_a_ranker_is_shown_is_what_happened():
    shown = []

    class Listener:
        def rank(self, day, contacts, tests):
            shown.append((day, len(contacts), sum(p for _, p, _ in tests), len(tests)))
            return np.zeros(400)

    result = run(CONFIG, method=Listener())
    daily = result.daily
    assert [s[0] for s in shown] == list(range(20))
    assert [s[1] for s in shown] == daily["contacts"].to_pylist()
    assert [s[2] for s in shown] == daily["positives"].to_pylist()
    assert [s[3] for s in shown] == daily["tests"].to_pylist()


def test_results_that_come_late_are_shown_when_they_are_known():
    shown = []

    class Listener:
        def rank(self, day, contacts, tests):
            shown.extend((day, on) for _, _, on in tests)
            return np.zeros(400)

    run(
        CONFIG.model_copy(update={"tests": CONFIG.tests.model_copy(update={"result_delay": 2})}),
        method=Listener(),
    )
    assert shown
    assert {day - on for day, on in shown} == {2}


def test_a_ranking_of_nobody_is_told_once_per_run(caplog):
    class Empty:
        def rank(self, day, contacts, tests):
            return {} if day in (3, 5) else np.zeros(400)

    for _ in range(2):
        caplog.clear()
        assert run(CONFIG, method=Empty()).daily["tests"].to_pylist()[4] == 0
        (line,) = caplog.messages
        assert line.startswith("warning: Empty.rank ranked nobody on day 3 (the first is 0)")


def test_people_who_are_not_ranked_are_not_tested():
    class OnlyTwo:
        def rank(self, day, contacts, tests):
            assert {i for i, _, _ in tests} <= {3, 5} or day == 0  # day 1: nobody was ranked yet
            return [(3, 1.0), (5, 0.5)]

    tests = run(CONFIG, method=OnlyTwo()).daily["tests"].to_pylist()
    assert 0 < max(tests[1:]) <= 2


def test_the_days_of_a_ranker_are_those_that_the_page_says():
    """docs/plugins.md: random tests on day 1, whose results `rank` gets first, on its day 0."""
    seen = {}

    class Marked:
        def rank(self, day, contacts, tests):
            seen[day] = sorted(person for person, _, _ in tests)
            return [(10 * day + i, 1.0) for i in range(5)]

    daily = run(CONFIG, method=Marked()).daily
    by_day = dict(zip(daily["day"].to_pylist(), daily["tests"].to_pylist(), strict=True))
    assert len(seen[0]) == by_day[1] == int(0.08 * 400)
    for day in range(1, 20):
        assert set(seen[day]) <= set(range(10 * (day - 1), 10 * (day - 1) + 5))
        assert len(seen[day]) == by_day[day + 1] <= 5
    assert sorted(seen) == list(range(20))  # the last ranking chooses nothing


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        ([(400, 1.0)], "named a person outside 0 … 399"),
        ([(1e300, 1.0)], "named a person outside 0 … 399"),
        ([(np.nan, 1.0)], "named a person outside 0 … 399"),
        ([(0.5, 1.0)], "named person 0.5; people are whole numbers"),
        ([1.0, 2.0], "must return pairs"),
        (["a"], "must return numbers"),
        (None, "must return numbers"),
    ],
)
def test_a_wrong_answer_is_told(answer, message):
    class Wrong:
        def rank(self, day, contacts, tests):
            return answer

    with pytest.raises(InputError, match=message):
        run(CONFIG, method=Wrong())


def test_something_that_does_not_rank():
    with pytest.raises(InputError, match=r"int is neither a method nor a ranker"):
        run(CONFIG, method=3)


class HoldsAFile:
    def __init__(self, path):
        self.file = path.open("w")

    def rank(self, day, contacts, tests):
        return []


def test_an_object_that_cannot_be_copied_is_told(tmp_path):
    ranker = HoldsAFile(tmp_path / "log.txt")
    with ranker.file, pytest.raises(InputError) as raised:
        run(CONFIG, method=ranker)
    told = "HoldsAFile cannot be copied, and every run works on a copy of the object: cannot pickle"
    assert str(raised.value).startswith(told)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    ("rank", "taken"),
    [
        (lambda self: [], "()"),
        (lambda self, day, contacts: [], "(day, contacts)"),
        (lambda self, day, contacts, tests, *, more: [], "(day, contacts, tests, *, more)"),
        (lambda self, a, b, c, d, e: [], "(a, b, c, d, e)"),
    ],
)
def test_a_rank_of_other_parameters_is_told(rank, taken):
    kind = type("Other", (), {"rank": rank})
    with pytest.raises(InputError) as raised:
        run(CONFIG, method=kind())
    assert str(raised.value) == (
        f"Other.rank takes {taken}; it gets (day, contacts, tests) or "
        "(t_day, daily_contacts, daily_obs, data)"
    )


@pytest.mark.parametrize("error", [TypeError("own"), ValueError("own"), KeyError("own")], ids=repr)
def test_an_error_of_the_ranker_itself_comes_through(error):
    def rank(*_):
        raise error

    with pytest.raises(type(error)) as raised:
        run(CONFIG, method=type("Own", (), {"rank": rank})())
    assert raised.value is error


def test_the_run_of_an_object_is_not_stored(tmp_path):
    result = run(CONFIG, method=CountsContactsOfPositives())
    with pytest.raises(InputError, match="cannot be stored"):
        store.write_run(result, tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_the_run_of_an_object_with_a_name_is_stored_and_reported(tmp_path):
    result = run(CONFIG, method=CountsContactsOfPositives(), name="my ranker 1.0")
    assert result.summary["method"] == "my ranker 1.0"
    path = store.write_run(result, tmp_path)
    assert path.name == result.summary["config_digest"] == result.provenance["config_digest"]
    assert store.read_json(path, "summary.json") == result.summary
    config = store.read_json(path, "config.json")
    assert config["method"] == {"name": "my ranker 1.0", "outside": True}
    assert config["people"] == 400
    assert "NOT PRIVATE" in store.read_text(path, "statement.txt")
    again = run(CONFIG, method=CountsContactsOfPositives(), name="my ranker 1.0")
    assert again.summary == result.summary
    store.write_run(run(CONFIG.model_copy(update={"method": FnSettings()})), tmp_path)
    groups = {group.label: group for group in group_runs(read_runs(tmp_path)[0])}
    assert list(groups) == ["fn", "my ranker 1.0"]
    assert groups["my ranker 1.0"].method == "my ranker 1.0"
    assert "my ranker 1.0" in write_report(tmp_path).path.read_text("utf-8")


def test_the_digest_covers_the_name_and_what_has_an_effect():
    def digest(name="a", **changed):
        return named_outside(CONFIG.model_copy(update=changed), name).digest

    assert digest() == digest(method=FnSettings()) == digest(" a ")
    assert digest() == digest(privacy=CONFIG.privacy.model_copy(update={"epsilon": 9.0}))
    assert len({digest(), digest("b"), digest(seed=9), digest(days=9), CONFIG.digest}) == 5


@pytest.mark.parametrize("name", ["", " ", "a\nb", "fn", 3])
def test_a_name_must_be_one(name):
    with pytest.raises(InputError, match=r"^name(:| must be a text)"):
        run(CONFIG, method=CountsContactsOfPositives(), name=name)


def test_a_name_alone_runs_nothing():
    with pytest.raises(InputError, match="name: only for a method given as an object"):
        run(CONFIG, name="my ranker")
    stored = named_outside(CONFIG, "my ranker")
    with pytest.raises(InputError, match="'my ranker' was given as an object"):
        run(stored)


def test_a_method_object_is_used_as_it_is():
    kept = {k: getattr(CONFIG, k) for k in ("people", "days", "seed", "initially_infected")}
    config = dt.RunConfig(method="fn", **kept)  # which also says what messages are made of
    ours = run(config, method=FactorisedNeighbours(settings=FnSettings())).summary
    named = run(config).summary
    assert ours["peak_infected"] == named["peak_infected"]
    assert RankedByOthers(ranker=Shaped(1), n_days=1).takes_data
    assert not RankedByOthers(ranker=CountsContactsOfPositives(), n_days=1).takes_data


@pytest.mark.parametrize("from_day", [0, 4])
@pytest.mark.parametrize("as_pairs", [False, True])
def test_a_ranker_without_a_number_is_told(from_day, as_pairs):
    class Undefined:
        def rank(self, day, contacts, tests):
            scores = np.full(400, np.nan if day >= from_day else 0.0)
            return list(enumerate(scores)) if as_pairs else scores

    with pytest.raises(InputError, match=rf"Undefined\.rank returned NaN .* on day {from_day} "):
        run(CONFIG, method=Undefined())


def test_numbers_for_people_in_isolation_alone_are_none():
    class Late:
        """Knows only those who were found positive, and they are in isolation."""

        def __init__(self):
            self.found = set()

        def rank(self, day, contacts, tests):
            self.found |= {i for i, positive, _ in tests if positive}
            scores = np.zeros(400) if day < 5 else np.full(400, np.nan)
            scores[sorted(self.found)] = 1.0
            return scores

    with pytest.raises(InputError, match="returned NaN for everybody who can be tested on day"):
        run(CONFIG, method=Late())


def test_to_rank_nobody_is_an_answer():
    class Nobody:
        def rank(self, day, contacts, tests):
            return []

    assert sum(run(CONFIG, method=Nobody()).daily["tests"].to_pylist()[1:]) == 0


class Ranker:
    """Has one answer for every day."""

    def __init__(self, answer):
        self.answer = answer

    def rank(self, day, contacts, tests):
        return self.answer


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        ([(1, 1.0), (1, 2.0)], "named a person twice"),
        (np.ones(400) * 1j, "complex scores have no order"),
    ],
)
def test_rankings_without_sense_are_refused(answer, message):
    with pytest.raises(InputError, match=message):
        run(CONFIG, method=Ranker(answer))


def test_a_ranking_as_a_dictionary_is_that_of_its_pairs():
    pairs = [(person, float(person)) for person in range(400)]
    found = [run(CONFIG, method=Ranker(answer)).daily for answer in (pairs, dict(pairs))]
    assert found[0].equals(found[1])
    with pytest.raises(InputError, match="Ranker is a class: give an object of it"):
        run(CONFIG, method=Ranker)
