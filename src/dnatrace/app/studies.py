"""What was asked and the results: studies of several settings on common seeds.

A study has arms (A, perhaps B, the floor, nothing done) and seeds; a run that several arms or
studies need is done once. What happens is kept as events, so that a page can come and go: it gets
the state and then the events that follow. Finished runs are in the store; studies that nobody has
looked at for long are forgotten, and asking again finds their runs there.
"""

import hashlib
import json
import secrets
import threading
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any

from dnatrace.app import results
from dnatrace.app.asked import labels, on_seed
from dnatrace.app.results import Found
from dnatrace.app.work import run_and_tell
from dnatrace.app.workers import Heard, Task, Team
from dnatrace.errors import InputError
from dnatrace.runs import store as stores
from dnatrace.runs.config import RunConfig

MOST_STUDIES = 6  # kept after they are over
_ORDER = ("a", "nothing", "b", "floor")  # of the arms of a seed: what the answer needs first


class State(StrEnum):
    """How far a run or a study has come."""

    WAITING = "waiting"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    STOPPED = "stopped"

    @property
    def is_over(self) -> bool:
        """Whether nothing more will happen."""
        return self not in (State.WAITING, State.RUNNING)


@dataclass(slots=True, kw_only=True, eq=False)
class Watched:
    """One run that studies use.

    Attributes:
        config: its configuration.
        digest: its name.
        state: how far it has come.
        rows: one row per day so far, with the columns `work.COLUMNS`.
        found: its result; None before it ends.
        error: why it failed.
        studies: the studies that use it.
        task: the task of a worker; None for a run from the store.
    """

    config: RunConfig
    digest: str
    state: State = State.WAITING
    rows: list[list[Any]] = field(default_factory=list)
    found: Found | None = None
    error: str = ""
    studies: "list[Study]" = field(default_factory=list)
    task: Task | None = None


@dataclass(slots=True, kw_only=True, eq=False)
class Study:
    """Some settings on common seeds.

    Attributes:
        id: the name by which the page knows it.
        key: the digest of what was asked: asking again finds the same study.
        arms: the configurations by arm, on the first seed.
        seeds: the seeds, common to all arms.
        runs: the runs, without repetition, in the order in which they are done.
        places: for each arm, the index in `runs` of every seed.
        events: what happened, as JSON, since the study began.
        stopped: whether somebody stopped it.
        notes: problems that were solved or that the user must know about.
    """

    id: str
    key: str
    arms: dict[str, RunConfig]
    seeds: tuple[int, ...]
    runs: list[Watched] = field(default_factory=list)
    places: dict[str, list[int]] = field(default_factory=dict)
    events: list[str] = field(default_factory=list)
    stopped: bool = False
    notes: list[str] = field(default_factory=list)

    @property
    def state(self) -> State:
        """How far it has come."""
        if self.stopped:
            return State.STOPPED
        if not all(run.state.is_over for run in self.runs):
            return State.RUNNING
        return State.FAILED if all(run.state is State.FAILED for run in self.runs) else State.DONE

    def say(self, kind: str, **content: Any) -> None:
        """Add an event."""
        self.events.append(json.dumps({"kind": kind, **content}, allow_nan=False))

    def finished(self, arm: str) -> list[tuple[int, Found]]:
        """Return the finished runs of an arm, by seed."""
        runs = [self.runs[place] for place in self.places.get(arm, [])]
        found = zip(self.seeds, (run.found for run in runs), strict=True)
        return [(seed, one) for seed, one in found if one is not None]

    def answer(self) -> dict[str, Any]:
        """Return what can be said so far."""
        found = {arm: self.finished(arm) for arm in self.arms}
        return results.answer(found, n_asked=len(self.seeds))

    def snapshot(self) -> dict[str, Any]:
        """Return the current state, for a page that opens."""
        return {
            "kind": "snapshot",
            "id": self.id,
            "state": self.state,
            "arms": [{"key": arm, "label": name} for arm, name in labels(self.arms).items()],
            "seeds": self.seeds,
            "places": self.places,
            "runs": [
                # A copy: rows added while this is written out come as events, once.
                {"state": run.state, "error": run.error, "rows": list(run.rows)}
                | {"people": run.found and run.found.summary["people"]}
                | {"numbers": run.found and run.found.numbers}
                for run in self.runs
            ],
            "people": [self.arms[arm].people for arm in self.arms],
            "answer": self.answer(),
            "notes": self.notes,
        }


class Studies:
    """All studies, and the team that runs them."""

    def __init__(self, team: Team, store: Path) -> None:
        self.store = store
        self._team = team
        self._studies: dict[str, Study] = {}
        self._watched: dict[str, Watched] = {}
        self._unsaved: dict[str, dict[str, bytes]] = {}
        self._lock = threading.RLock()
        self._clerk = ThreadPoolExecutor(1, thread_name_prefix="clerk")  # reads and writes runs

    def begin(self, arms: Mapping[str, RunConfig], seeds: tuple[int, ...]) -> Study:
        """Start a study, or return the one that was asked for before."""
        order = sorted(arms, key=_ORDER.index)
        wanted = [(arm, on_seed(arms[arm], seed)) for seed in seeds for arm in order]
        named = [(arm, config.digest, config) for arm, config in wanted]
        text = " ".join(f"{arm} {digest}" for arm, digest, _ in named)
        key = hashlib.blake2b(text.encode(), digest_size=8).hexdigest()
        with self._lock:
            for study in self._studies.values():
                if study.key == key and study.state in (State.RUNNING, State.DONE):
                    self._save_again()
                    return study
            study = Study(id=secrets.token_hex(6), key=key, arms=dict(arms), seeds=seeds)
            self._studies[study.id] = study
            self._enrol(study, named)
            self._forget_old()
        self._save_again()
        return study

    def get(self, name: str) -> Study:
        """Return a study that has not been forgotten."""
        study = self._studies.get(name)
        if study is None:
            raise InputError("this study is no longer known; ask again")
        return study

    def look(self, study: Study) -> tuple[dict[str, Any], int]:
        """Return the state of a study, and how many events led to it."""
        with self._lock:
            return study.snapshot(), len(study.events)

    def stop(self, study: Study) -> None:
        """Stop a study; runs that others need continue, finished ones are kept."""
        with self._lock:
            if study.state.is_over:
                return
            study.stopped = True
            for run in study.runs:
                run.studies = [other for other in run.studies if other is not study]
                if not run.state.is_over and not run.studies and run.task is not None:
                    self._team.stop(run.task)
            study.say("state", state=study.state)

    def files(self, study: Study) -> list[Path]:
        """Return the directories of the finished runs of a study."""
        done = [run.digest for run in study.runs if run.state is State.DONE]
        return [self.store / digest for digest in done if (self.store / digest).is_dir()]

    def stop_all(self, words: str) -> None:
        """Stop every study that is under way and say why."""
        with self._lock:
            for study in self._studies.values():
                if not study.state.is_over:
                    study.notes.append(words)
                    study.say("note", text=words)
                    self.stop(study)

    def close(self) -> None:
        """Finish writing."""
        self._clerk.shutdown()

    # ---- Runs -----------------------------------------------------------------------------------

    def _enrol(self, study: Study, wanted: Iterable[tuple[str, str, RunConfig]]) -> None:
        """Connect a study with its runs; those that are not under way yet are begun."""
        places: dict[str, int] = {}
        for arm, digest, config in wanted:
            if digest not in places:
                places[digest] = len(study.runs)
                study.runs.append(self._watch(study, digest, config))
            study.places.setdefault(arm, []).append(places[digest])

    def _watch(self, study: Study, digest: str, config: RunConfig) -> Watched:
        run = self._watched.get(digest)
        if run is None or run.state in (State.FAILED, State.STOPPED):
            run = self._watched[digest] = Watched(config=config, digest=digest)
            if digest in self._unsaved or results.is_stored(self.store / digest, config):
                self._clerk.submit(self._recall, run)
            else:
                self._submit(run)
        run.studies.append(study)
        return run

    def _submit(self, run: Watched) -> None:
        run.task = Task(
            function=run_and_tell,
            arguments=(run.config,),
            heard=lambda kind, content: self._heard(run, kind, content),
        )
        self._team.submit(run.task)

    def _recall(self, run: Watched) -> None:
        """Take a run from the store; one that cannot be read is repeated."""
        try:
            files = self._unsaved.get(run.digest)
            found = results.of_files(files) if files else results.stored(self.store / run.digest)
        except InputError:
            self._submit(run)
            return
        with self._lock:
            self._end(run, found)

    def _heard(self, run: Watched, kind: Heard, content: Any) -> None:
        """Take in what a worker says about a run."""
        with self._lock:
            if kind is Heard.BEGUN:
                run.state = State.RUNNING
            elif kind is Heard.TOLD:
                run.rows.append(content)
                self._say(run, "day", row=content)
            elif kind is Heard.AGAIN:
                run.rows.clear()
                self._note(run, content)
                self._say(run, "again")
            elif kind is Heard.DONE:
                self._clerk.submit(self._keep, run, content)
            else:
                run.state = State.STOPPED if kind is Heard.STOPPED else State.FAILED
                run.error = content or ""
                self._say(run, "failed", error=run.error)
                self._close(run)

    def _keep(self, run: Watched, files: dict[str, bytes]) -> None:
        """Store a finished run; if that fails, keep it here and try again later."""
        problem = self._stored(run.digest, files)
        with self._lock:
            if problem:
                self._unsaved[run.digest] = files
                self._note(run, f"{problem}. The result is kept here until it can be stored.")
            self._end(run, results.of_files(files))

    def _stored(self, digest: str, files: dict[str, bytes]) -> str:
        """Write a run and return what went wrong; "" if nothing did."""
        try:
            stores.write_files(files, self.store, digest)
        except InputError as error:
            return str(error)
        return ""

    def _save_again(self) -> None:
        """Try to store what could not be stored."""
        for digest, files in list(self._unsaved.items()):
            if not self._stored(digest, files):
                self._unsaved.pop(digest, None)

    def _end(self, run: Watched, found: Found) -> None:
        told, run.rows = bool(run.rows), found.rows
        run.found, run.state = found, State.DONE
        for study in run.studies:
            content = {"numbers": found.numbers, "people": found.summary["people"]}
            rows = {} if told else {"rows": found.rows}
            study.say("done", run=study.runs.index(run), **rows, **content)
            study.say("answer", **study.answer())
        self._close(run)

    def _close(self, run: Watched) -> None:
        for study in run.studies:
            if study.state.is_over:
                study.say("state", state=study.state)

    def _note(self, run: Watched, words: str) -> None:
        for study in run.studies:
            if words not in study.notes:
                study.notes.append(words)
                study.say("note", text=words)

    def _say(self, run: Watched, kind: str, **content: Any) -> None:
        for study in run.studies:
            study.say(kind, run=study.runs.index(run), **content)

    def _forget_old(self) -> None:
        """Forget the oldest studies that are over, and runs that no study has."""
        over = [study.id for study in self._studies.values() if study.state.is_over]
        for name in over[: max(0, len(over) - MOST_STUDIES)]:
            del self._studies[name]
        kept = {id(run) for study in self._studies.values() for run in study.runs}
        self._watched = {d: run for d, run in self._watched.items() if id(run) in kept}
