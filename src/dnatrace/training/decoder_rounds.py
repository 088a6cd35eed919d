"""Decoders from nothing: rounds of runs under the last decoders, and training on all runs so far.

What people look like when a policy works differs from what they look like when it does not, so the
first runs are made under `dna` and later ones under the decoders of the round before, which take
turns (DAgger: Ross, Gordon and Bagnell 2011). Runs differ in ε, first infections, test errors,
adherence and capacity.
"""

from collections.abc import Callable, Iterable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass, field, replace
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dnatrace._version import __version__
from dnatrace.errors import InputError, require_at_least
from dnatrace.methods.base import Method
from dnatrace.methods.tally import ContactRate, Tally, tallies
from dnatrace.networks.architecture import WINDOW
from dnatrace.networks.decoder import Alarm, Decoder, DecoderInputs, Heads, write_decoder
from dnatrace.networks.inputs import newest_first, newest_first_by_person
from dnatrace.networks.model_file import SUFFIX
from dnatrace.policy import isolation
from dnatrace.rng import Stream
from dnatrace.runs.config import RunConfig, load_config
from dnatrace.runs.progress import LabelledTrack, labelled
from dnatrace.runs.provenance import libraries
from dnatrace.runs.run import build_loop
from dnatrace.seir import State, TestErrors
from dnatrace.simulators.base import SEIR_OF_COURSE, CourseState
from dnatrace.sweeps.processes import deaf_to_interrupts, thread_settings, usable_cores
from dnatrace.tracing import DayLog
from dnatrace.training import decoder as decoder_training
from dnatrace.training.decoder import Cases, Settings, personal_inputs

ALARM = Alarm(low=0.02, high=0.1)
SCENARIOS: tuple[dict[str, Any], ...] = (
    {},
    {"initially_infected": 50},
    {"tests.false_positive_rate": 0.1, "tests.false_negative_rate": 0.01},
    {"tests.false_positive_rate": 0.25, "tests.false_negative_rate": 0.03},
    {"isolation.adherence": 0.5, "isolation.adherence_unit": "event"},
    {"isolation.adherence": 0.8},
    {"tests.capacity": 0.04},
    {},
)
FIRST_POLICY = {"method": "dna", "gamma": 0.05}  # the clip that serves small ε
_FIRST_DAY = 4  # before it there is too little to learn from
_MOST_INFECTED, _OTHERS = 40, 240  # people of a day that are kept
_WORTH_OF_CONTACTS = 0.5  # exponent: finding those who meet many prevents more
_LIBRARIES = ("numpy", "jax", "jaxlib", "optax")


@dataclass(frozen=True, slots=True, kw_only=True)
class Student:
    """A decoder to be trained; this one is that of `tally`, which reads one number per release.

    Attributes:
        name: of its file.
        alarm: of the messages that it counts.
        heads: how heads are counted; None when none are.
    """

    name: str
    alarm: Alarm
    heads: Heads | None = None

    @property
    def channels(self) -> int:
        """How many numbers of a release it watches."""
        return 1

    def method(self, config: RunConfig, decoder: Decoder) -> Method:
        """Return the method that uses the decoder."""
        return Tally(setup=config.method_setup(), decoder=decoder)

    def cases(self, all_numbers: Cases, first: int) -> Cases:
        """Return the cases with its own numbers alone, which begin with number `first`."""
        del first
        return all_numbers

    def settings(self, asked: Settings) -> Settings:
        """Return how it is trained."""
        return asked


Watch = Callable[[DayLog], NDArray[np.float32]]  # what a release of the day shows without noise


def tally_of(log: DayLog) -> NDArray[np.float32]:
    """Return the tallies of a day, without noise."""
    assert log.secret.messages is not None  # asked for
    return tallies(log.secret.window, log.secret.messages, ALARM).astype(np.float32)


def _watch_tallies() -> Watch:
    return tally_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """Which runs to learn from.

    Attributes:
        network: what is trained, as the command line calls it.
        students: who learn from the same runs.
        watch: returns what is called day by day of a run.
        settings: of training, unless others are asked for.
        first_seed: of the runs; nothing is ever measured on these seeds.
        epsilons: in turn.
        scenarios: in turn, over
        always: settings of all runs.
        most_infected: share of people in E or I beyond which a day is not learned from: a lost
            epidemic has most of the cases, and nothing can be done about it any more.
    """

    network: str
    students: tuple[Student, ...]
    watch: Callable[[], Watch]
    settings: Settings = field(default_factory=Settings)
    first_seed: int
    epsilons: tuple[float, ...]
    scenarios: tuple[dict[str, Any], ...]
    always: dict[str, Any]
    most_infected: float = 1.0

    def config(self, i: int, *, seed: int, people: int, days: int) -> RunConfig:
        """Return the run number i of a round."""
        epsilon = self.epsilons[(i + i // len(self.scenarios)) % len(self.epsilons)]
        of_all = {"people": people, "days": days, "epsilon": epsilon, "seed": seed}
        scenario = self.scenarios[i % len(self.scenarios)]
        return load_config(overrides=of_all | scenario | self.always)


TALLY = Plan(
    network="tally",
    students=(Student(name="tally", alarm=ALARM),),
    watch=_watch_tallies,
    first_seed=8001,
    epsilons=(1.0, 0.2, 0.1, 0.05, 0.001, 0.4),
    scenarios=SCENARIOS,
    always=FIRST_POLICY,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """What to train.

    Attributes:
        out: the folder to write into.
        rounds: of runs and training.
        runs: per round.
        people: of every run.
        days: of every run.
        workers: processes for runs.
        settings: of training.
        plan: which runs.
    """

    out: Path
    rounds: int = 4
    runs: int = 32
    people: int = 10_000
    days: int = 100
    workers: int = field(default_factory=usable_cores)
    settings: Settings = field(default_factory=Settings)
    plan: Plan = TALLY

    def __post_init__(self) -> None:
        for name in ("rounds", "runs", "workers"):
            require_at_least(name, getattr(self, name), 1)
        require_at_least("people", self.people, _OTHERS + _MOST_INFECTED)
        require_at_least("days", self.days, _FIRST_DAY + 2)

    def configs(self, number: int) -> list[RunConfig]:
        """Return the runs of a round."""
        first = self.plan.first_seed + number * self.runs
        size = {"people": self.people, "days": self.days}
        return [self.plan.config(i, seed=first + i, **size) for i in range(self.runs)]

    @property
    def command(self) -> str:
        """The command that makes the decoder."""
        s, usual = self.settings, Settings()
        parts = [f"dnatrace train --network {self.plan.network} --rounds {self.rounds}"]
        parts += [f"--runs {self.runs} --people {self.people} --days {self.days} --steps {s.steps}"]
        parts += [f"--tallies {s.tallies}"] if s.tallies != usual.tallies else []
        return " ".join([*parts, f"--seed {s.seed}"])


def train_decoders(order: Order, *, track: LabelledTrack | None = None) -> list[dict[str, Any]]:
    """Train all students of a plan, write them, and return a row about each.

    Guarantee: the same order gives the same bytes on one machine, whatever the workers.
    Cost: rounds × runs closed-loop runs, and `settings.steps` steps per round and student.
    """
    plan, parts = order.plan, list[Cases]()
    decoders: dict[str, Decoder] = {}
    for number in range(order.rounds):
        jobs = [
            (config, plan, plan.students[(i + number) % len(plan.students)], dict(decoders))
            for i, config in enumerate(order.configs(number))
        ]
        parts += _collect(order, number, jobs, track)
        together = decoder_training.join(parts)
        decoders = _taught(order, number, together, track)
    rows = []
    for name, decoder in decoders.items():
        path = order.out / f"{name}{SUFFIX}"
        write_decoder(path, decoder)
        runs = order.rounds * order.runs
        about = {"decoder": str(path), "runs": runs, "cases": len(together)}
        kilobytes = round(path.stat().st_size / 1e3, 1)
        rows.append(about | {"digest": decoder.digest, "kilobytes": kilobytes})
    return rows


def _taught(
    order: Order, number: int, together: Cases, track: LabelledTrack | None
) -> dict[str, Decoder]:
    """Return all students after a round, by name."""
    decoders, first = {}, 0
    for student in order.plan.students:
        settings = student.settings(order.settings)
        weights = decoder_training.train(
            student.cases(together, first),
            settings,
            track=labelled(track, f"round {number + 1}, {student.name}, steps"),
        )
        taught = replace(order, settings=settings)
        decoders[student.name] = Decoder(
            name=student.name,
            alarm=student.alarm,
            weights=weights,
            provenance=_provenance(taught, number + 1, len(together)),
            heads=student.heads,
        )
        first += student.channels
    return decoders


def _collect(
    order: Order, number: int, jobs: list[Any], track: LabelledTrack | None
) -> list[Cases]:
    """Return the cases of all jobs of a round, in their order."""
    # Fresh processes: forking one that has loaded JAX can hang.
    spawn = get_context("spawn")
    with ProcessPoolExecutor(order.workers, mp_context=spawn) as pool:
        with deaf_to_interrupts(), thread_settings(1):  # processes start here
            done: Iterable[list[Cases]] = pool.map(_cases_of_job, jobs)
        if track is not None:
            done = track(done, len(jobs), f"round {number + 1}, runs")
        return [day for run in done for day in run]


def _cases_of_job(job: tuple[RunConfig, Plan, Student, dict[str, Decoder]]) -> list[Cases]:
    config, plan, student, decoders = job
    if student.name in decoders:
        method = student.method(config, decoders[student.name])
    else:
        method = config.method.build(config.method_setup())
    watched = record(config, method, plan.watch())
    return cases_of(watched, seed=config.seed, most_infected=plan.most_infected)


def _provenance(order: Order, rounds: int, cases: int) -> dict[str, Any]:
    plan = order.plan
    return {
        "dnatrace": __version__,
        "libraries": libraries(*_LIBRARIES),
        "runs": {
            "count": rounds * order.runs,
            "people": order.people,
            "days": order.days,
            "seeds": [plan.first_seed, plan.first_seed + rounds * order.runs - 1],
            "epsilons": list(plan.epsilons),
            "scenarios": list(plan.scenarios),
        },
        "cases": cases,
        "settings": asdict(order.settings),
        "command": order.command,
        "note": "trained on simulated people: training has no privacy cost",
    }


# --- what is kept of a run -----------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Record:
    """A run as training sees it; arrays are [days, people] or [people].

    Attributes:
        tallies: without noise, float32; [days, numbers, people] of several numbers per release.
        met: whether anybody was met in the window, bool.
        results: own tests of the day, int8: 1, 0 or -1 without a test.
        mean_contacts: running average at the end of the day, float32.
        seir: true state at the end of the day, uint8.
        free: alive and not in isolation, bool.
        age_groups: uint8.
        follows: whether a positive result would be followed, as a share, float32.
        test_errors: of the run.
    """

    tallies: NDArray[np.float32]
    met: NDArray[np.bool_]
    results: NDArray[np.int8]
    mean_contacts: NDArray[np.float32]
    seir: NDArray[np.uint8]
    free: NDArray[np.bool_]
    age_groups: NDArray[np.uint8]
    follows: NDArray[np.float32]
    test_errors: TestErrors


def record(config: RunConfig, method: Method, watch: Watch = tally_of) -> Record:
    """Run the closed loop and return what training needs of it; results must not be delayed."""
    if config.tests.order_delay or config.tests.result_delay:
        raise InputError("decoders learn from runs without delays of tests")
    loop = build_loop(config, method=method, with_messages=True)
    rate = ContactRate.start(loop.simulator.n_people)
    rows: dict[str, list[NDArray[Any]]] = {
        name: [] for name in ("tallies", "met", "results", "mean_contacts", "seir", "free")
    }
    for log in loop.run(config.days):
        rate = rate.after(log.public.counts[-1], log.isolated)
        for name, row in (_of_day(log, rate) | {"tallies": watch(log)}).items():
            rows[name].append(row)
    everyone, rules = np.arange(loop.simulator.n_people), config.isolation
    follows = np.full(everyone.size, rules.adherence)
    if rules.adherence_unit is isolation.AdherenceUnit.PERSON:
        stream = Stream(config.seed, "isolation/adherence")
        follows = isolation.follows(everyone, day=0, rules=rules, stream=stream)
    return Record(
        **{name: np.stack(values) for name, values in rows.items()},
        age_groups=loop.simulator.age_groups.copy(),
        follows=follows.astype(np.float32),
        test_errors=config.tests.believed,
    )


def _of_day(log: DayLog, rate: ContactRate) -> dict[str, NDArray[Any]]:
    results = np.full(log.public.n_people, -1, dtype=np.int8)
    results[log.tested] = log.results
    return {
        "met": log.public.counts.any(axis=0),
        "results": results,
        "mean_contacts": rate.mean.astype(np.float32),
        "seir": SEIR_OF_COURSE[log.states],
        "free": ~log.isolated & (log.states != CourseState.DEATH),
    }


def cases_of(run: Record, *, seed: int, most_infected: float = 1.0) -> list[Cases]:
    """Return people to learn from: for every day, those whom a test on the next day would find.

    At most 40 infected people and 240 others, who may be infected, too, of those who can be tested
    on the next day; nothing of days on which nobody would be found. Finding somebody is worth the
    square root of how many people they meet, and nothing when they would not isolate. Days on which
    a larger share than `most_infected` is in E or I are left out.
    """
    rng = Stream(seed, "decoder/cases").generator()
    share = ((run.seir == State.E) | (run.seir == State.I)).mean(axis=1)
    days = [
        _day_cases(run, day, rng)
        for day in range(_FIRST_DAY, len(run.seir) - 1)
        if share[day + 1] <= most_infected
    ]
    return [day for day in days if day is not None]


def _day_cases(run: Record, day: int, rng: np.random.Generator) -> Cases | None:
    able = run.free[day + 1]
    found = (run.seir[day + 1] == State.E) | (run.seir[day + 1] == State.I)
    contacts = (run.mean_contacts[day] + 0.5) ** _WORTH_OF_CONTACTS
    worth = np.where(able & found, run.follows * contacts, 0.0)
    infected = np.flatnonzero(worth > 0.0)
    candidates = np.flatnonzero(able)
    if infected.size == 0 or candidates.size < _OTHERS:
        return None
    infected = rng.permutation(infected)[:_MOST_INFECTED]
    others = rng.choice(candidates, _OTHERS, replace=False)
    people = np.concatenate([infected, others])
    past = slice(max(0, day - WINDOW + 1), day + 1)
    inputs = DecoderInputs(
        outcomes=run.results[past, people],
        mean_contacts=run.mean_contacts[day, people].astype(np.float64),
        age_groups=run.age_groups[people],
        test_errors=run.test_errors,
    )
    errors, watched = run.test_errors, run.tallies[past][..., people]
    by_age = newest_first(watched.reshape(len(watched), -1), 0)  # [14, numbers × people]
    return Cases(
        tallies=np.ascontiguousarray(by_age.reshape(-1, people.size).T),
        noisy=newest_first_by_person(run.met[past, people], 0),
        personal=personal_inputs(inputs),
        worth=np.concatenate([worth[infected], np.zeros(_OTHERS)]).astype(np.float32),
        rates=np.array([[errors.false_positive_rate, errors.false_negative_rate]], np.float32),
        first=np.zeros(1, dtype=np.int64),
        infected=np.array([infected.size]),
        others=np.array([_OTHERS]),
    )
