"""The server of the live page: its guard, its studies, what it says and gives away."""

import csv
import io
import json
import os
import shlex
import signal
import subprocess
import sys
import threading
from importlib import resources
from multiprocessing.context import SpawnProcess
from types import SimpleNamespace

import httpx
import numpy as np
import pytest

import dnatrace as dt
from dnatrace.app import controls, desk, neighbourhood, serving, studies
from dnatrace.app.asked import Asked, arms_of, as_script, as_toml
from dnatrace.app.door import _SHARED
from dnatrace.app.studies import State
from dnatrace.app.work import COLUMNS
from dnatrace.app.workers import Heard, Task, Team
from dnatrace.errors import InputError
from dnatrace.runs import store as stores
from dnatrace.runs.nesting import flatten
from dnatrace.runs.presets import preset_names
from dnatrace.runs.scenarios import scenario_names
from dnatrace.simulators.base import ContactKind
from tests.app_server import PATIENCE, TINY, question, running, until
from tests.app_tasks import dies, ends, nothing, sleeps
from tests.command_line import run as command


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    store = tmp_path_factory.mktemp("app") / "store"
    with (
        running(store, 1) as (address, at, _),
        httpx.Client(base_url=address, timeout=PATIENCE, trust_env=False) as client,
    ):
        yield SimpleNamespace(client=client, desk=at, address=address)


def ask(served, path, asked):
    return served.client.post(path, json=asked)


def begun(served, asked):
    answer = ask(served, "studies", asked)
    assert answer.status_code == 200, answer.text
    return served.desk.studies.get(answer.json()["id"])


def finished(served, asked):
    study = begun(served, asked)
    until(lambda: study.state.is_over)
    return study


def events(served, study):
    """All events of a stream, to its end."""
    with served.client.stream("GET", f"studies/{study.id}/events") as stream:
        assert stream.headers["content-type"].startswith("text/event-stream")
        return [json.loads(line[6:]) for line in stream.iter_lines() if line.startswith("data: ")]


# ---- The guard ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("path", "headers"),
    [
        ("http://{host}/", {}),
        ("http://{host}/offered", {}),
        ("http://{host}/wrong-token/", {}),
        ("{address}", {"host": "evil.example"}),
        ("{address}", {"host": "127.0.0.1:1"}),
        ("{address}offered", {"origin": "http://evil.example"}),
        ("{address}offered", {"origin": "null"}),
        ("{address}offered", {"sec-fetch-site": "cross-site"}),
    ],
)
def test_others_are_refused(served, path, headers):
    host = httpx.URL(served.address).netloc.decode()
    answer = httpx.get(
        path.format(host=host, address=served.address),
        headers=headers,
        timeout=PATIENCE,
        trust_env=False,
    )
    assert answer.status_code == 403
    assert "text/plain" in answer.headers["content-type"]


def test_the_page_itself_is_let_through_and_asks_for_nothing_elsewhere(served):
    host = httpx.URL(served.address).netloc.decode()
    own = {"origin": f"http://{host}", "sec-fetch-site": "same-origin"}
    answer = served.client.get("", headers=own)
    assert answer.status_code == 200
    policy = answer.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert answer.headers["cache-control"] == "no-store"
    assert served.client.get("assets/main.js").headers["content-type"].startswith("text/javascript")
    for name in ("../desk.py", "%2e%2e/desk.py", "nothing.js", "report.html"):
        assert served.client.get(f"assets/{name}").status_code in (403, 404)


def test_the_page_is_light():
    def size(package, folder, names=None):
        files = resources.files(package).joinpath(folder).iterdir()
        return sum(len(f.read_bytes()) for f in files if names is None or f.name in names)

    total = size("dnatrace.app", "static") + size("dnatrace.report", "templates", _SHARED)
    assert 20_000 < total < 400_000


@pytest.mark.parametrize(
    ("body", "kind", "words"),
    [
        (b"{", "application/json", "not valid JSON"),
        (b"{}", "text/plain", "is JSON"),
        (b"[]", "application/json", "under 'arms'"),
        (b'{"arms": {"c": {}}}', "application/json", "'a' and perhaps 'b'"),
        (b'{"arms": {"a": {"set": 3}}}', "application/json", "'set' has values"),
        (b'{"arms": {"a": {"x": 3}}}', "application/json", "a situation has"),
        (b'{"arms": {"a": {"scenario": 3}}}', "application/json", "is a name"),
        (b'{"arms": {"a": {}}, "seeds": 0}', "application/json", "from 1 to 100"),
        (b'{"arms": {"a": {}}, "seeds": true}', "application/json", "from 1 to 100"),
        (b'{"arms": {"a": {"preset": "no"}}}', "application/json", "preset 'no' does not exist"),
    ],
)
def test_wrong_questions_are_told_what_is_wrong(served, body, kind, words):
    answer = served.client.post("studies", content=body, headers={"content-type": kind})
    assert answer.status_code == 400
    assert words in answer.json()["error"]


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (b"[" * 200_000, "not valid JSON"),  # nested deeper than Python reads
        (iter([b" " * 400_000] * 4), "shorter than this"),  # it does not say how long it is
        (b" " * 1_000_001, "shorter than this"),
    ],
    ids=["deep", "in pieces", "long"],
)
def test_bodies_that_would_exhaust_the_server_are_refused(served, body, words):
    headers = {"content-type": "application/json"}
    answer = served.client.post("studies", content=body, headers=headers)
    assert answer.status_code == 400
    assert words in answer.text


def test_what_is_not_known_is_told(served):
    for path in ("studies/nothing/events", "studies/nothing/report.html"):
        answer = served.client.get(path)
        assert answer.status_code == 400
        assert "ask again" in answer.json()["error"]


# ---- What can be asked --------------------------------------------------------------------------


def test_everything_can_be_chosen(served):
    offered = served.client.get("offered").json()
    keys = {known["key"]: known for known in offered["parameters"]}
    assert {control["key"] for control in offered["controls"]} < set(keys) | {"seed"}
    assert all(known["meaning"] for known in keys.values())
    assert keys["tests.capacity"]["high"] == 1.0
    assert keys["isolation.keeps_household"]["kind"] == "switch"
    units = {choice["value"] for choice in keys["privacy.unit"]["choices"]}
    assert units == {"release", "contact", "pair", "person"}
    assert {"value": "daily", "label": "daily"} in keys["method.release"]["choices"]
    names = {card["name"] for card in offered["situations"]}
    assert names == set(preset_names()) | set(scenario_names())
    assert all(card["label"] != card["name"] for card in offered["situations"])  # words for people
    assert set(controls._FIRST) <= names


def test_levers_are_asked_for_and_belong_to_their_policy(served):
    offered = served.client.get("offered").json()
    keys = {known["key"]: known for known in offered["parameters"]}
    levers = [lever["key"] for lever in offered["levers"]]
    assert levers
    assert all(keys[key]["of"] == [offered["lever_policy"]] for key in levers)
    assert all(lever["kind"] == "number" for lever in offered["levers"])
    choices = {one["key"]: one.get("choices") for one in offered["controls"]}
    assert offered["lever_policy"] in {choice["value"] for choice in choices["policy.name"]}
    assert not any("`" in choice["label"] for choice in choices["policy.name"])


def test_a_plan_takes_another_situation_and_another_policy(served):
    """B has a card of its own; and the levers of a card stay behind when its policy is replaced."""
    town = {"people": 300, "days": 12}
    arms = {
        "a": {"preset": "quick", "set": TINY},
        "b": {"preset": "standard", "scenario": "quarantine", "set": town},
    }
    study = finished(served, {"arms": arms, "seeds": 2})
    assert study.state is State.DONE
    assert study.arms["a"].policy.name == "highest-scores"
    assert study.arms["b"].policy.name == "levers"
    assert study.arms["b"].policy.quarantine.capacity == 0.002
    assert study.arms["floor"].policy.name == "highest-scores"
    labels = {arm["key"]: arm["label"] for arm in study.snapshot()["arms"]}
    assert labels["floor"].startswith("Floor of A")
    assert labels["nothing"] == "Nothing done, in the situation of A"
    told = study.answer()
    assert len(told["topics"]) == len(told["sentences"])
    assert {"Outcome", "B or A", "Cost", "Privacy"} <= set(told["topics"])
    assert told["statements"]["a"].startswith("In odds: ")
    words = ask(served, "words", {"arms": arms, "seeds": 2}).json()
    _, *arguments = shlex.split(words["command"]["b"])
    printed = json.loads(command(*arguments, "-q").stdout)
    assert printed["config_digest"] == study.arms["b"].digest
    plain = {"scenario": "quarantine", "set": {"policy.name": "highest-scores"}}
    checked = ask(served, "check", {"arms": {"a": plain}}).json()["a"]
    assert checked["problems"] == {}
    wrong = {"scenario": "quarantine", "set": plain["set"] | {"policy.household.days": 3}}
    checked = ask(served, "check", {"arms": {"a": wrong}}).json()["a"]
    assert "has none" in checked["problems"]["policy.household.days"]


def test_impossible_values_are_refused_in_words(served):
    changes = {"tests.capacity": 3, "isolation.adherence": -0.1, "people": "many"}
    changes |= {"privacy.epsilon": True, "isolation.dropout": "0.5"}
    found = ask(served, "check", {"arms": {"a": {"set": changes}}}).json()["a"]
    assert set(found["problems"]) == set(changes)
    assert "less than or equal to 1" in found["problems"]["tests.capacity"]
    unknown = ask(served, "check", {"arms": {"a": {"set": {"tests.capacty": 0.1}}}}).json()["a"]
    assert "did you mean" in unknown["problems"]["tests.capacty"]
    huge = ask(served, "check", {"arms": {"a": {"set": {"people": 10**10}}}}).json()["a"]
    assert "GB" in huge["problems"]["people"]
    assert "--yes" not in huge["problems"]["people"]
    fine = ask(served, "check", {"arms": {"a": {"set": {"method.name": "fn"}}}}).json()["a"]
    assert fine["problems"] == {}
    assert fine["values"]["method.name"] == "fn"
    assert fine["private"] is False


def test_beside_a_wrong_value_the_others_are_told(served):
    changes = {"tests.capacity": 0.04, "people": 500, "foo": 3}
    found = ask(served, "check", {"arms": {"a": {"preset": "quick", "set": changes}}}).json()["a"]
    assert list(found["problems"]) == ["foo"]
    assert found["rest"]["values"]["tests.capacity"] == 0.04
    assert (found["rest"]["values"]["people"], found["rest"]["values"]["days"]) == (500, 40)
    huge = ask(served, "check", {"arms": {"a": {"set": {"people": 10**10}}}}).json()["a"]
    assert huge["rest"]["values"]["people"] == 10_000
    nowhere = ask(served, "check", {"arms": {"a": {"preset": "no"}}}).json()["a"]
    assert nowhere["rest"] is None


def test_a_change_that_fails_only_with_another_is_told_with_it():
    asked = Asked(changes={"people": 10, "initially_infected": 20})
    assert list(asked.problems()) == ["initially_infected"]
    assert Asked(changes={"method.name": "tally", "method.release": "news"}).problems()


ALL = [(name, None) for name in preset_names()] + [("standard", name) for name in scenario_names()]


@pytest.mark.parametrize(("preset", "scenario"), ALL)
def test_the_same_settings_in_other_words(preset, scenario, tmp_path, monkeypatch):
    """The TOML, the command line and the Python of a situation name the same runs."""
    changes = {"tests.capacity": 0.05, "people": 500, "initially_infected": 7}
    asked = Asked(preset=preset, scenario=scenario, changes=changes)
    arms = arms_of(asked, None)
    path = tmp_path / "settings.toml"
    path.write_text(as_toml(arms["a"]), "utf-8")
    assert dt.load_config(file=path).digest == arms["a"].digest
    words = shlex.split(asked.command(arms["a"]))
    given = dict(zip(words[2:-1:2], words[3::2], strict=False))
    settings = [words[i + 1] for i, word in enumerate(words) if word == "--set"]
    again = dt.load_config(
        preset=given.get("--preset", "standard"),
        scenario=given.get("--scenario"),
        settings=settings,
    )
    assert again.digest == arms["a"].digest
    compared = {}
    monkeypatch.setattr(
        "dnatrace.sweeps.study.compare",
        lambda configs, seeds: compared.update(configs) or SimpleNamespace(summaries={}),
    )
    script = as_script(asked, asked, (1, 2))
    exec(compile(script, "script", "exec"), {"__name__": "__main__"})
    assert {name: config.digest for name, config in compared.items()} == {
        "A": arms["a"].digest,
        "B": arms["a"].digest,
        "floor": arms["floor"].digest,
        "nothing": arms["nothing"].digest,
    }
    assert not arms["nothing"].method.gives_tests
    assert not arms["nothing"].policy.acts_alone


# ---- Studies ------------------------------------------------------------------------------------


def test_numbers_are_those_of_the_command_line_digit_for_digit(served, tmp_path):
    asked = question(b={"method.name": "fn"})
    study = finished(served, asked)
    assert study.state is State.DONE
    words = ask(served, "words", asked).json()
    for arm in ("a", "b"):
        _, *arguments = shlex.split(words["command"][arm])
        printed = json.loads(command(*arguments, "-q").stdout)
        printed.pop("seconds")
        numbers = study.runs[study.places[arm][0]].found.numbers
        # As texts: what the page shows is what the command prints.
        assert numbers == {
            key: json.dumps(value, ensure_ascii=False) for key, value in flatten(printed).items()
        }
        assert printed["config_digest"] == words["digest"][arm]
        stored = served.desk.studies.store / printed["config_digest"]
        assert stores.read_json(stored, "summary.json") == printed
    assert command("report", served.desk.studies.store, "-q").returncode == 0


def test_a_stream_tells_every_day_and_then_the_state_is_the_same(served):
    study = begun(served, question(seed=100))
    heard = events(served, study)
    assert heard[0]["kind"] == "snapshot"
    assert heard[-1]["kind"] == "end"
    kinds = {event["kind"] for event in heard}
    assert {"answer", "done", "state"} <= kinds
    days = [event["row"][0] for event in heard if event["kind"] == "day" and event["run"] == 0]
    began = [row[0] for row in heard[0]["runs"][0]["rows"]]
    assert began + days == list(range(1, TINY["days"] + 1))
    again = events(served, study)
    assert [event["kind"] for event in again] == ["snapshot", "end"]
    snapshot = again[0]
    assert snapshot["state"] == "done"
    assert [len(run["rows"]) for run in snapshot["runs"]] == [TINY["days"]] * 6
    assert set(snapshot["places"]) == {"a", "floor", "nothing"}
    last = [event for event in heard if event["kind"] == "answer"][-1]
    assert {k: v for k, v in last.items() if k != "kind"} == snapshot["answer"]
    assert snapshot["answer"]["sentences"][0].startswith("Of 300 people")
    assert "Means of 2 runs" in snapshot["answer"]["sure"]
    labels = [row["label"] for row in snapshot["answer"]["table"]]
    assert "Ever infected, %" in labels
    assert "Days at home in quarantine, days per person" not in labels  # nobody was


def test_plans_of_different_length_are_not_compared(served):
    study = finished(served, question(b={"days": 14}))
    told = study.answer()
    place = told["topics"].index("B or A")
    assert told["sentences"][place].startswith("With B ")
    assert told["sentences"][place].endswith(
        "A lasted 12 days and B 14, so these numbers do not compare policies."
    )
    for row in told["table"]:
        assert row["cells"]["b"]
        assert row["differences"]["b"] == {"text": "", "clear": False}
    assert any(row["differences"]["nothing"]["text"] for row in told["table"])


def test_a_look_is_not_changed_by_what_comes_later(served):
    study = finished(served, question(seed=150))
    snapshot, _ = served.desk.studies.look(study)
    before = len(snapshot["runs"][0]["rows"])
    study.runs[0].rows.append(study.runs[0].rows[-1])
    assert len(snapshot["runs"][0]["rows"]) == before
    study.runs[0].rows.pop()


def test_ten_clicks_are_one_study_and_a_finished_one_comes_from_the_store(served, monkeypatch):
    asked = question(seed=200)
    assert len({begun(served, asked).id for _ in range(10)}) == 1
    study = finished(served, asked)
    del served.desk.studies._studies[study.id]
    served.desk.studies._watched.clear()
    before = {run.digest: run.found.rows for run in study.runs}
    monkeypatch.setattr(Team, "submit", lambda *_, **__: pytest.fail("it ran again"))
    again = finished(served, asked)
    assert again.id != study.id
    assert {run.digest: run.found.rows for run in again.runs} == before
    assert again.answer() == study.answer()


def test_a_run_of_other_code_is_not_taken_from_the_store(served):
    asked = question(seed=300, seeds=1)
    study = finished(served, asked)
    run = served.desk.studies.store / study.runs[0].digest
    origin = stores.read_json(run, "provenance.json")
    (run / "provenance.json").write_text(json.dumps(origin | {"commit": "another"}))
    served.desk.studies._studies.clear()
    served.desk.studies._watched.clear()
    again = finished(served, asked)
    assert again.runs[0].task is not None
    assert again.runs[1].task is None


def test_a_study_is_stopped_and_the_next_one_runs(served):
    long = question(seeds=3, people=30_000, days=2000, seed=400)
    study = begun(served, long)
    until(lambda: any(run.rows for run in study.runs))
    assert ask(served, f"studies/{study.id}/stop", {}).status_code == 200
    until(lambda: all(run.state.is_over for run in study.runs))
    assert study.state is State.STOPPED
    assert events(served, study)[-1]["kind"] == "end"
    ask(served, f"studies/{study.id}/stop", {})  # once more does no harm
    assert finished(served, question(seeds=1, seed=401)).state is State.DONE


def test_a_killed_worker_is_replaced_and_its_run_done_again(served):
    days = 400  # long enough to be caught in the middle of it
    asked = question(seeds=1, people=5000, days=days, seed=500)
    study = begun(served, asked)
    until(lambda: any(0 < len(run.rows) < days // 2 for run in study.runs))
    victims = [worker for worker in served.desk.team._workers if worker.task is not None]
    os.kill(victims[0].process.pid, signal.SIGKILL)
    until(lambda: study.state.is_over)
    assert study.state is State.DONE
    assert all(len(run.rows) == days for run in study.runs)
    assert any("ended (code -9)" in note for note in study.notes)
    snapshot = events(served, study)[0]
    assert snapshot["notes"] == study.notes


def test_a_full_disk_loses_no_result(served, monkeypatch):
    def full(files, store, digest, **_):
        raise InputError(f"{store}: cannot be written: No space left on device")

    asked = question(seeds=1, seed=600)
    with monkeypatch.context() as patched:
        patched.setattr(studies.stores, "write_files", full)
        study = finished(served, asked)
        until(lambda: study.state.is_over)
    assert study.state is State.DONE
    assert any("No space left on device" in note for note in study.notes)
    assert study.answer()["sentences"]
    paths = [served.desk.studies.store / run.digest for run in study.runs]
    assert not any(path.exists() for path in paths)
    assert begun(served, asked).id == study.id  # asking again stores what could not be stored
    assert all(stores.is_complete(path) for path in paths)


def test_a_run_that_cannot_be_is_told_and_the_rest_goes_on(served):
    asked = question(seeds=1, seed=700, **{"method.name": "headcount", "seir.window": 20})
    study = finished(served, asked)
    assert study.state is State.DONE
    states = {arm: study.runs[places[0]].state for arm, places in study.places.items()}
    assert states["a"] is State.FAILED
    assert states["nothing"] is State.DONE
    assert "window" in study.runs[study.places["a"][0]].error


def test_old_studies_are_forgotten_and_their_runs_with_them(served):
    for seed in range(800, 800 + studies.MOST_STUDIES + 3):
        finished(served, question(seeds=1, seed=seed, days=1))
    assert len(served.desk.studies._studies) <= studies.MOST_STUDIES + 1
    kept = {id(run) for study in served.desk.studies._studies.values() for run in study.runs}
    assert {id(run) for run in served.desk.studies._watched.values()} <= kept


# ---- Take it away -------------------------------------------------------------------------------


def test_what_is_taken_away_is_what_was_shown(served):
    study = finished(served, question(seed=900, b={"tests.capacity": 0.0}))
    days = list(csv.reader(io.StringIO(served.client.get(f"studies/{study.id}/days.csv").text)))
    assert days[0] == ["setting", "seed", *COLUMNS]
    assert len(days) == 1 + 4 * 2 * TINY["days"]
    runs = list(csv.DictReader(io.StringIO(served.client.get(f"studies/{study.id}/runs.csv").text)))
    assert [(row["setting"], row["seed"]) for row in runs[:3]] == [
        *[("A", "900"), ("A", "901"), ("B", "900")]
    ]
    found = study.finished("a")[0][1]
    assert float(runs[0]["attack_rate"]) == found.summary["attack_rate"]
    answer = served.client.get(f"studies/{study.id}/report.html")
    assert "attachment" in answer.headers["content-disposition"]
    assert '<p class="answer">' in answer.text
    assert served.client.get(f"studies/{study.id}/secrets").status_code == 404


# ---- Look inside, play the attacker -------------------------------------------------------------


def test_a_neighbourhood_is_recorded(served):
    found = ask(served, "neighbourhood", question()).json()
    assert 150 <= len(found["people"]) < 160
    assert len(found["days"]) == TINY["days"]
    houses = [person["house"] for person in found["people"]]
    assert sorted(set(houses)) == list(range(max(houses) + 1))
    for day in found["days"]:
        assert len(day["states"]) == len(day["shown"]) == len(day["heard"]) == len(houses)
        assert all(0 <= rank <= 100 for rank in day["shown"])
        assert all(a < b < len(houses) for a, b, _ in day["meets"])
        met = [sum(i in (a, b) for a, b, _ in day["meets"]) for i in range(len(houses))]
        assert all(inside <= total for inside, total in zip(met, day["contacts"], strict=True))
    assert any(day["states"].count("S") < len(houses) for day in found["days"])
    assert found["days"][-1]["shown"] != found["days"][-1]["quiet"]
    open_method = question(**{"method.name": "fn"})
    found = ask(served, "neighbourhood", open_method).json()
    assert found["private"] is False
    assert found["days"][-1]["shown"] == found["days"][-1]["quiet"]


def test_a_meeting_is_drawn_once_whoever_hears_of_it():
    """2 and 4 hear of each other, 4 of 3, 2 of 5; 0 is not in the picture."""
    senders, receivers = [2, 4, 3, 5, 0], [4, 2, 4, 2, 2]
    day = dt.DayContacts.from_pairs(senders, receivers, n_people=6)
    place = np.array([-1, -1, 3, 0, 1, 2])  # of each person
    random = int(ContactKind.RANDOM)
    met = [[1, 3, random], [0, 1, random], [2, 3, random]]
    assert sorted(neighbourhood._meetings(day, place)) == sorted(met)


def test_noise_is_what_keeps_the_attacker_from_knowing(served):
    """Without noise a machine knows the result; with it, it stays below what is promised."""
    on, off = (
        ask(served, "rounds", question() | {"noise": noise}).json() for noise in (True, False)
    )
    assert off["machine"]["success"] > 0.99
    assert off["limit"] == 1.0
    assert 0.5 < on["limit"] < 0.8
    # 95 % intervals of a fixed seed: a machine above the limit would be above with its low end.
    assert on["machine"]["interval"][0] <= on["limit"]
    assert on["machine"]["interval"][0] > 0.5
    assert on["epsilon"] == pytest.approx(5.016, abs=0.01)
    rounds = on["rounds"]
    assert len(rounds) == desk.ROUNDS
    assert 25 <= sum(one["positive"] for one in rounds) <= 75
    assert on["days"][0] == -4
    assert all(len(one["scores"]) == len(on["days"]) for one in rounds)
    # Public facts say nothing about a housemate's test.
    public = ask(served, "rounds", question(**{"method.name": "public-facts"})).json()
    assert public["limit"] == 0.5
    assert public["machine"]["success"] == 0.5
    wrong = ask(served, "rounds", question() | {"round": "x"})
    assert wrong.status_code == 400


# ---- Workers ------------------------------------------------------------------------------------


def test_a_task_that_kills_its_workers_fails_and_a_deaf_one_is_ended(monkeypatch):
    monkeypatch.setattr("dnatrace.app.workers._PATIENCE_SECONDS", 0.2)
    monkeypatch.setattr("dnatrace.app.workers.MOST_DEATHS", 2)
    team = Team(1, nothing)
    team.open()
    try:
        heard = []
        team.submit(Task(function=dies, arguments=(), heard=lambda *news: heard.append(news)))
        until(lambda: heard and heard[-1][0] is Heard.FAILED)
        assert [kind for kind, _ in heard].count(Heard.AGAIN) == 1
        assert "2 worker processes died of it" in heard[-1][1]
        deaf, waiting = [], []
        task = Task(function=sleeps, arguments=(), heard=lambda *news: deaf.append(news))
        later = Task(function=sleeps, arguments=(), heard=lambda *news: waiting.append(news))
        team.submit(task)
        team.submit(later)
        until(lambda: (Heard.TOLD, "asleep") in deaf)
        team.stop(later)
        until(lambda: waiting == [(Heard.STOPPED, None)])
        team.stop(task)
        until(lambda: deaf[-1] == (Heard.STOPPED, None))
    finally:
        team.close()


def test_where_no_worker_can_be_started_tasks_fail_in_words_until_one_can(monkeypatch):
    """Also with workers that end before they begin; neither leaves a task waiting."""
    heard = []

    def task():
        return Task(function=dies, arguments=(), heard=lambda *news: heard.append(news))

    def refused(process):
        raise BlockingIOError(11, "Resource temporarily unavailable")

    for warm_up, words in ((nothing, "cannot be started: [Errno 11]"), (ends, "end before they")):
        team = Team(2, warm_up)
        try:
            with monkeypatch.context() as patched:
                if warm_up is nothing:
                    patched.setattr(SpawnProcess, "start", refused)
                team.submit(task())
                team.submit(task())
                until(lambda: [kind for kind, _ in heard].count(Heard.FAILED) == 2)
                assert all(words in why for _, why in heard)
            heard.clear()
            team.submit(task())
            until(lambda: heard)
            assert heard[0][0] is (Heard.BEGUN if warm_up is nothing else Heard.FAILED)
        finally:
            team.close()
        heard.clear()


# ---- The command --------------------------------------------------------------------------------


def test_a_port_in_use_is_told(served):
    port = httpx.URL(served.address).port
    result = command("app", "--no-browser", "--port", port)
    assert result.returncode == 2
    assert f"port {port} cannot be used" in result.stderr


def test_a_store_that_cannot_be_written_is_told(tmp_path):
    (tmp_path / "file").write_text("")
    result = command("app", "--no-browser", "--store", tmp_path / "file")
    assert result.returncode == 2
    assert "is a file, not a directory" in result.stderr
    with pytest.raises(InputError, match="is a file"):
        desk.Desk(tmp_path / "file" / "below")


@pytest.mark.parametrize(
    "link",
    ["runs", "notalink", "http://example.org/page", "http://x/#top", "http://127.0.0.1:8/t/"],
)
def test_what_is_no_link_is_refused(link, tmp_path, monkeypatch):
    monkeypatch.setattr(serving, "listen", None)  # before anything is opened
    result = command("app", "--no-browser", link, cwd=tmp_path)
    assert result.returncode == 2
    assert result.stderr == (
        f"dnatrace: {link!r} is not a link of this page, which ends like #preset=quick; "
        "a store is given with --store\n"
    )


@pytest.mark.parametrize("end", ["preset=quick", "a.people=300&b=", "view=inside"])
def test_a_link_is_its_end(end):
    for link in (end, f"#{end}", f"http://127.0.0.1:8/token/#{end}"):
        assert serving.settings_of(link) == f"#{end}"


def test_the_address_is_one_line_and_a_link_is_restored(tmp_path):
    words = ["app", "--no-browser", "--store", str(tmp_path / "s"), "http://x/old/#preset=quick"]
    process = subprocess.Popen(
        [sys.executable, "-m", "dnatrace", *words], stdout=subprocess.PIPE, text=True
    )
    try:
        address = process.stdout.readline().strip()
        assert address.startswith("http://127.0.0.1:")
        assert address.endswith("/#preset=quick")
        assert httpx.get(address, timeout=PATIENCE, trust_env=False).status_code == 200
    finally:
        process.send_signal(signal.SIGINT)
        assert process.wait(PATIENCE) == 0
        process.stdout.close()


def interrupted(tmp_path, asks):
    """Ask something of a server of its own, interrupt it meanwhile; return what it wrote."""
    process = subprocess.Popen(
        [sys.executable, "-m", "dnatrace", "app", "--no-browser", "--store", str(tmp_path / "s")],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    address = process.stdout.readline().strip()
    try:
        with httpx.Client(timeout=PATIENCE, trust_env=False, base_url=address) as client:
            answer = asks(client, lambda: process.send_signal(signal.SIGINT))
        code, told = process.wait(PATIENCE), process.stderr.read()
        assert code == 0, told
        return answer, told
    finally:
        process.kill()
        process.wait()
        process.stdout.close()
        process.stderr.close()


def test_an_interrupted_server_tells_who_watches_and_ends_without_a_trace(tmp_path):
    def watches(client, interrupt):
        name = client.post("studies", json=question(seeds=50, people=3000, days=100)).json()["id"]
        with client.stream("GET", f"studies/{name}/events") as stream:
            lines = stream.iter_lines()
            first = next(lines)
            interrupt()
            return [first, *lines]

    lines, told = interrupted(tmp_path, watches)
    events = [json.loads(line.removeprefix("data: ")) for line in lines if line.startswith("data")]
    assert [event["kind"] for event in events[-3:]] == ["note", "state", "end"]
    assert events[-3]["text"].startswith("The server was stopped. Start `dnatrace app` again")
    assert events[-2]["state"] == "stopped"
    assert told == ""


def test_an_interrupted_server_lets_nobody_wait(tmp_path):
    def looks(client, interrupt):
        threading.Timer(3, interrupt).start()
        large = question(people=3000, days=100)  # takes longer than that
        return client.post("neighbourhood", json=large)

    answer, told = interrupted(tmp_path, looks)
    assert told == ""
    assert answer.status_code == 200 or answer.json()["error"] == "The server was stopped."


def test_a_task_for_a_closed_team_is_told_so():
    team, heard = Team(1, nothing), []
    team.open()
    team.close()
    task = Task(function=ends, arguments=(), heard=lambda kind, content: heard.append(kind))
    team.submit(task)
    assert heard == [Heard.STOPPED]


def test_words_for_units_of_privacy_stand_with_no_other_key():
    labels = {one["key"]: one.get("choices") for one in controls.offered()["parameters"]}
    assert {c["value"]: c["label"] for c in labels["isolation.adherence_unit"]}[
        "person"
    ] == "person"
    assert "for ever" in {c["value"]: c["label"] for c in labels["privacy.unit"]}["person"]
