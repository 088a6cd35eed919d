"""Answer what the page asks, in plain values; slow imports are behind it."""

import csv
import io
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from dnatrace.app import controls, neighbourhood, rounds
from dnatrace.app.asked import (
    Asked,
    arms_of,
    as_script,
    as_toml,
    labels,
    on_seed,
    seeds_from,
)
from dnatrace.app.studies import Studies, Study
from dnatrace.app.work import COLUMNS, warm_up
from dnatrace.app.workers import Heard, Task, Team
from dnatrace.errors import InputError
from dnatrace.files import check_directory
from dnatrace.report.grouping import group_runs
from dnatrace.report.page import render
from dnatrace.report.reading import read_run
from dnatrace.runs import needs
from dnatrace.runs.nesting import flatten
from dnatrace.sweeps.processes import usable_cores

USUAL_SEEDS = 5
_STOPPED = "The server was stopped. Start `dnatrace app` again: finished runs are in the store."
ROUNDS = 100  # of the attacker's game per request


class Desk:
    """Everything behind the door.

    Attributes:
        team: the team of workers, at most as many as cores.
        studies: what was asked.
    """

    def __init__(self, store: Path, workers: int | None = None) -> None:
        check_directory(store)
        self.team = Team(min(workers or usable_cores(), usable_cores()), warm_up)
        self.studies = Studies(self.team, store)

    def close(self) -> None:
        """End the workers and finish writing; whoever waits for something is told."""
        self.studies.stop_all(_STOPPED)
        self.team.close()
        self.studies.close()

    def offered(self) -> dict[str, Any]:
        """Return what can be chosen; workers start only then, so that the page comes first."""
        found = controls.offered() | {"store": str(self.studies.store), "seeds": USUAL_SEEDS}
        self.team.open()
        return found

    def health(self) -> dict[str, Any]:
        """Return how many workers are warm, and how many there will be."""
        return {"ready": self.team.n_ready, "workers": self.team.size}

    def check(self, given: Any) -> dict[str, Any]:
        """Return, for every arm, what is wrong, in words by key, and the effective values.

        Where something is wrong, the values are those of the remaining changes, under `rest`.
        """
        asked = {key: Asked.from_json(one) for key, one in _arms(given).items()}
        return {key: self._checked(one) for key, one in asked.items()}

    def _checked(self, one: Asked) -> dict[str, Any]:
        problems = one.problems() or self._too_large(one)
        if not problems:
            return {"problems": {}, **_held(one)}
        rest = one.without(problems)
        return {"problems": problems, "rest": _held(rest) if rest is not None else None}

    def _too_large(self, one: Asked) -> dict[str, str]:
        """Return that a run needs more than there is, under the key of its people."""
        try:
            needs.check([one.config()], at_once=self.team.size)
        except InputError as error:
            return {"people": str(error).partition("; --yes")[0]}
        return {}

    def begin(self, given: Any) -> dict[str, Any]:
        """Start a study and return its name."""
        a, b, seeds = _question(given)
        arms = arms_of(a, b)
        needs.check(list(arms.values()), at_once=self.team.size)
        return {"id": self.studies.begin(arms, seeds).id}

    def stop(self, name: str) -> dict[str, Any]:
        """Stop a study."""
        self.studies.stop(self.studies.get(name))
        return {"stopped": name}

    # ---- Look inside, play the attacker ---------------------------------------------------------

    def neighbourhood(self, given: Any) -> dict[str, Any]:
        """Return a recorded neighbourhood with the settings of A."""
        return self._do(neighbourhood.record, Asked.from_json(_arms(given)["a"]).config())

    def rounds(self, given: Any) -> dict[str, Any]:
        """Return rounds of the attacker's game with the settings of A."""
        config = Asked.from_json(_arms(given)["a"]).config()
        seed, noisy = given.get("round", 0), given.get("noise", True)
        if not isinstance(seed, int) or not 0 <= seed < 1_000_000 or not isinstance(noisy, bool):
            raise InputError("'round' is a number, and 'noise' true or false")
        return self._do(rounds.play, config, noisy, ROUNDS, seed)

    def _do(self, function: Callable[..., Any], *arguments: Any) -> dict[str, Any]:
        """Let a worker do something ahead of waiting runs, and wait for it."""
        over, news = threading.Event(), []

        def heard(kind: Heard, content: Any) -> None:
            if kind in (Heard.DONE, Heard.FAILED, Heard.STOPPED):
                news.append((kind, content))
                over.set()

        self.team.submit(Task(function=function, arguments=arguments, heard=heard), first=True)
        over.wait()
        kind, content = news[0]
        if kind is not Heard.DONE:
            raise InputError(content or "The server was stopped.")
        found: dict[str, Any] = content
        return found

    # ---- Take results away ----------------------------------------------------------------------

    def in_other_words(self, given: Any) -> dict[str, Any]:
        """Return the settings as TOML, as command lines and as Python."""
        a, b, seeds = _question(given)
        each = {"a": a} | ({"b": b} if b is not None else {})
        configs = {key: on_seed(one.config(), seeds[0]) for key, one in each.items()}
        return {
            "toml": {key: as_toml(config) for key, config in configs.items()},
            "command": {key: each[key].command(config) for key, config in configs.items()},
            "digest": {key: config.digest for key, config in configs.items()},
            "python": as_script(a, b, seeds),
            "seeds": seeds,
        }

    def report(self, name: str) -> str:
        """Return the page of the report about a study."""
        study = self.studies.get(name)
        runs = [read_run(path) for path in self.studies.files(study)]
        if not runs:
            raise InputError("no run of this study is in the store yet")
        return render(group_runs(runs))

    def days_csv(self, name: str) -> str:
        """Return the days of all finished runs of a study as CSV."""
        return _csv(("setting", "seed", *COLUMNS), _days(self.studies.get(name)))

    def runs_csv(self, name: str) -> str:
        """Return the numbers of all finished runs of a study as CSV."""
        study = self.studies.get(name)
        names = labels(study.arms)
        found = [
            {"setting": names[arm], "seed": seed, **flatten(one.summary)}
            for arm in study.arms
            for seed, one in study.finished(arm)
        ]
        columns = list(dict.fromkeys(key for row in found for key in row))
        return _csv(columns, [[row.get(column) for column in columns] for row in found])


def _held(one: Asked) -> dict[str, Any]:
    """Return the effective values, and whether noise protects what is shown."""
    config = one.config()
    return {"values": flatten(config.as_dict()), "private": config.method.adds_noise}


def _days(study: Study) -> list[list[Any]]:
    names = labels(study.arms)
    return [
        [names[arm], seed, *row]
        for arm in study.arms
        for seed, one in study.finished(arm)
        for row in one.rows
    ]


def _csv(head: Any, rows: list[list[Any]]) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(head)
    writer.writerows(rows)
    return text.getvalue()


def _arms(given: Any) -> Mapping[str, Any]:
    if not isinstance(given, dict) or not isinstance(given.get("arms"), dict):
        raise InputError("expected situations under 'arms'")
    arms: dict[str, Any] = given["arms"]
    if set(arms) - {"a", "b"} or "a" not in arms:
        raise InputError("the situations are 'a' and perhaps 'b'")
    return arms


def _question(given: Any) -> tuple[Asked, Asked | None, tuple[int, ...]]:
    arms = _arms(given)
    a = Asked.from_json(arms["a"])
    b = Asked.from_json(arms["b"]) if arms.get("b") is not None else None
    return a, b, seeds_from(a.config().seed, given.get("seeds", USUAL_SEEDS))
