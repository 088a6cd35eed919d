"""Train decoders from scratch: rounds of runs under the last decoders, training on all so far.

What people look like when a policy works differs from what they look like when it does not, so the
first runs are made under `dna` and later ones under the decoders of the previous round, which take
turns (DAgger: Ross, Gordon and Bagnell 2011). Runs differ in ε, first infections, test errors,
adherence and capacity.
"""

from collections.abc import Callable, Iterable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass, field, replace
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from dnatrace._version import __version__
from dnatrace.errors import require_at_least
from dnatrace.methods.base import Method
from dnatrace.methods.tally import Tally
from dnatrace.networks.decoder import Alarm, Decoder, Heads, write_decoder
from dnatrace.networks.model_file import SUFFIX
from dnatrace.runs.config import RunConfig, load_config
from dnatrace.runs.progress import LabelledTrack, Track, labelled
from dnatrace.runs.provenance import libraries
from dnatrace.sweeps.processes import deaf_to_interrupts, thread_settings, usable_cores
from dnatrace.training import decoder as decoder_training
from dnatrace.training.decoder import Cases, Settings
from dnatrace.training.decoder_cases import (
    ALARM,
    FIRST_DAY,
    MOST_INFECTED,
    OTHERS,
    Watch,
    cases_of,
    record,
    tally_of,
)

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
FIRST_POLICY = {"method": "dna", "gamma": 0.05}  # a clip that suits small ε
_LIBRARIES = ("numpy", "jax", "jaxlib", "optax")


@dataclass(frozen=True, slots=True, kw_only=True)
class Student:
    """A decoder to be trained; this one is that of `tally`, which reads one number per release.

    Attributes:
        name: the name of its file.
        alarm: the alarm of the messages that it counts.
        heads: how heads are counted; None when they are not.
        diary: whether it reads diaries, which runs with levers have.
    """

    name: str
    alarm: Alarm
    heads: Heads | None = None
    diary: bool = False

    @property
    def channels(self) -> int:
        """How many numbers per release it watches."""
        return 1

    def method(self, config: RunConfig, decoder: Decoder) -> Method:
        """Return the method that uses the decoder."""
        return Tally(setup=config.method_setup(), decoder=decoder)

    def cases(self, all_numbers: Cases, first: int) -> Cases:
        """Return the cases with only its own numbers, which begin with number `first`."""
        del first
        return all_numbers

    def settings(self, asked: Settings) -> Settings:
        """Return how it is trained."""
        return asked


def watch_tallies() -> Watch:
    """Return what watches the one number of `tally`."""
    return tally_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """Which runs to learn from.

    Attributes:
        network: the name of what is trained on the command line.
        students: the decoders that learn from the same runs.
        watch: makes the function that is called with every day of a run.
        settings: the settings of training, unless others are given.
        first_seed: the first seed of the runs; nothing is ever measured on these seeds.
        epsilons: the values of ε, used in turn.
        scenarios: used in turn: changes, to the `scenario` that it names if any, over `always`.
        always: the settings of all runs.
        most_infected: the share of people in E or I beyond which a day is not learned from: a lost
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
        """Return run number i of a round."""
        epsilon = self.epsilons[(i + i // len(self.scenarios)) % len(self.epsilons)]
        of_all = {"people": people, "days": days, "epsilon": epsilon, "seed": seed}
        changed = dict(self.scenarios[i % len(self.scenarios)])
        scenario = changed.pop("scenario", None)
        return load_config(scenario=scenario, overrides=of_all | changed | self.always)


TALLY = Plan(
    network="tally",
    students=(Student(name="tally", alarm=ALARM),),
    watch=watch_tallies,
    first_seed=8001,
    epsilons=(1.0, 0.2, 0.1, 0.05, 0.001, 0.4),
    scenarios=SCENARIOS,
    always=FIRST_POLICY,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """What to train.

    Attributes:
        out: the directory to write into.
        rounds: the number of rounds of runs and training.
        runs: the number of runs per round.
        people: the number of people in every run.
        days: the number of days of every run.
        workers: the number of processes for runs.
        settings: the settings of training.
        plan: which runs to make.
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
        require_at_least("people", self.people, OTHERS + MOST_INFECTED)
        require_at_least("days", self.days, FIRST_DAY + 2)

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
        parts += _collect(order.workers, jobs, labelled(track, f"round {number + 1}, runs"))
        together = decoder_training.join(parts)
        decoders = _taught(order, number, together, track)
    rows = []
    for name, decoder in decoders.items():
        path = order.out / f"{name}{SUFFIX}"
        write_decoder(path, decoder)
        about = {"decoder": str(path), "runs": order.rounds * order.runs, "cases": len(together)}
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
        decoders[student.name] = Decoder(
            name=student.name,
            alarm=student.alarm,
            weights=weights,
            provenance=_provenance(replace(order, settings=settings), number + 1, len(together)),
            heads=student.heads,
            diary=student.diary,
        )
        first += student.channels
    return decoders


def _collect(workers: int, jobs: list[Any], track: Track | None) -> list[Cases]:
    """Return the cases of all jobs of a round, in their order."""
    # Fresh processes, because forking one that has loaded JAX can hang.
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        with deaf_to_interrupts(), thread_settings(1):  # processes start here
            done: Iterable[list[Cases]] = pool.map(_cases_of_job, jobs)
        if track is not None:
            done = track(done, len(jobs))
        return [day for run in done for day in run]


def _cases_of_job(job: tuple[RunConfig, Plan, Student, dict[str, Decoder]]) -> list[Cases]:
    config, plan, student, decoders = job
    last = decoders.get(student.name)  # of the previous round
    method = student.method(config, last) if last else config.tracer.build(config.method_setup())
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
