"""From a configuration to a result: build the parts, run the loop, measure."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from html import escape
from importlib import import_module
from pathlib import Path
from typing import Any

import pyarrow as pa

from dnatrace._version import __version__
from dnatrace.errors import (
    InputError,
    require_callable,
    require_path,
    require_text,
    require_whole,
    shown,
)
from dnatrace.inference.exchange import (
    Exchange,
    ExchangeKind,
    LargestBelief,
    NeighbourRounds,
    OwnTests,
)
from dnatrace.methods.catalogue import METHODS
from dnatrace.methods.kinds import PrivateMethod
from dnatrace.methods.ranker import OutsideSettings, as_method
from dnatrace.policy.laboratory import Laboratory
from dnatrace.privacy.accounting import Ledger
from dnatrace.runs import guarantees, notices
from dnatrace.runs.checkpoint import DEFAULT_EVERY, Begun, Checkpoint
from dnatrace.runs.config import RunConfig
from dnatrace.runs.metrics import Meter
from dnatrace.runs.progress import Track, tracked
from dnatrace.runs.provenance import provenance
from dnatrace.runs.quantities import written_summary
from dnatrace.simulators.base import Simulator, SimulatorSetup
from dnatrace.tracing import Loop


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class RunResult:
    """The result of a run.

    Attributes:
        config: the configuration; only the name of its method counts when an object replaced it.
        summary: one number per measure, as `dnatrace run --json` prints them.
        daily: one row per day.
        groups: one row per age group and per household size.
        ledger: what was released and spent.
        seconds: time by phase and in total; the only part that is not reproducible.
        provenance: version, commit, digest, seed and libraries.
    """

    config: RunConfig
    summary: dict[str, Any]
    daily: pa.Table
    groups: pa.Table
    ledger: Ledger
    seconds: dict[str, float]
    provenance: dict[str, Any]

    def as_json(self) -> dict[str, Any]:
        """Return the summary with the time the run took."""
        return self.summary | {"seconds": self.seconds}

    def to_pandas(self) -> Any:
        """Return the daily table as a pandas data frame; needs pandas."""
        return as_frame(self.daily, "pandas")

    def to_polars(self) -> Any:
        """Return the daily table as a polars data frame; needs polars."""
        return as_frame(self.daily, "polars")

    def plot(self) -> Any:
        """Draw the epidemic above and the response to it below; return the axes of both."""
        import matplotlib.pyplot as plt  # noqa: PLC0415  (slow to import)

        from dnatrace.runs.figures import draw_epidemic  # noqa: PLC0415

        figure = plt.figure(figsize=(8, 6), layout="constrained")
        return draw_epidemic(figure, self.daily, self.summary)

    def __repr__(self) -> str:
        peak, ever = self.summary["peak_infected"], self.summary["attack_rate"]
        settings = f"{self.config.method.name}, seed {self.config.seed}, {self.config.days} days"
        return f"<RunResult: {settings}; peak {peak:.2%} infected (I), {ever:.1%} ever>"

    def _repr_html_(self) -> str:
        """Return the summary as a notebook shows it."""
        rows = "".join(
            f"<tr><th>{escape(label)}</th><td>{escape(text)}</td></tr>"
            for label, text in written_summary(self.summary)
        )
        return f"<table>{rows}</table>"


def as_frame(table: pa.Table, library: str) -> Any:
    """Return a table as a data frame of pandas or polars, which the package itself does not need.

    Raises:
        InputError: the library is not installed.
    """
    try:
        module = import_module(library)
    except ModuleNotFoundError as error:
        if error.name != library:
            raise
        message = f"to_{library}() needs {library}: pip install {library}"
        raise InputError(message) from None
    return table.to_pandas() if library == "pandas" else module.from_arrow(table)


def run(
    config: RunConfig,
    *,
    method: Any = None,
    name: str | None = None,
    track: Track | None = None,
    watch: Callable[[dict[str, Any]], None] | None = None,
    checkpoint: Path | str | None = None,
    checkpoint_every: int | None = None,
) -> RunResult:
    """Run one epidemic with contact tracing, from the first infections to the last day.

        config = dt.RunConfig(method="headcount", epsilon=1.0, people=1000, days=30, seed=1)
        result = dt.run(config)
        result.summary["peak_infected"]  # the largest share of people in state I
        result.plot()  # draws result.daily, a table with one row per day

    `dt.methods()`, `dt.presets()` and `dt.scenarios()` list the choices;
    `dt.load_config(preset=..., settings=["tests.capacity=0.04"])` makes other configurations. The
    same configuration gives the same result; `dt.compare` runs several on common seeds.

    Args:
        config: what to run.
        method: an object to use instead of the configuration's method: a `methods.base.Method` or
            a `methods.ranker.Ranker`. Without a `name` its result cannot be stored.
        name: what the object is called in stores, including its version; it identifies the run.
        track: `track(days, n)` yields all n days, for instance `tqdm(days, total=n)`.
        watch: called with each day's row but for `reproduction_number`; may raise to end the run.
        checkpoint: a file that keeps the state of the run: a killed run resumes, bit for bit.
        checkpoint_every: how many days pass between two checkpoints; 10 when None.

    Raises:
        InputError: something is wrong; the message says what, in one line.
    """
    require_config(config, "dt.run takes a configuration")
    require_text(name=name)
    require_callable(track=track, watch=watch)
    start = time.perf_counter()
    asked = _asked(config, method, name)
    loop = build_loop(config, method=method)
    built = {"build": time.perf_counter() - start}
    notices.tell_of_run(asked, loop.simulator.n_people)
    kept = _checkpoint(asked, method, name, checkpoint, checkpoint_every)
    ledger, meter = _run_days(loop, config.days, track=track, watch=watch, kept=kept, start=start)
    total = meter.seconds_before + time.perf_counter() - start
    nameless = {"config_digest": None} if method is not None and name is None else {}
    return RunResult(
        config=asked,
        summary=meter.summary()
        | describe(asked, loop.simulator.n_people)
        | {"privacy": guarantees.describe(asked, ledger)}
        | nameless,
        daily=_table(meter.daily()),
        groups=_table(meter.groups()),
        ledger=ledger,
        seconds=_rounded(built | meter.seconds() | {"total": total}),
        provenance=provenance(asked)
        | {"simulator": getattr(loop.simulator, "source", config.simulator.availability()[1])}
        | nameless,
    )


def _table(columns: dict[str, list[Any]]) -> pa.Table:
    """Return a table whose types are those of every run: absent values are numbers, too."""
    table = pa.table(columns)
    kinds = [pa.float64() if pa.types.is_null(kind) else kind for kind in table.schema.types]
    return table.cast(pa.schema(list(zip(table.column_names, kinds, strict=True))))


def _rounded(seconds: dict[str, float]) -> dict[str, float]:
    return {phase: round(value, 4) for phase, value in seconds.items()}


def _run_days(
    loop: Loop,
    n_days: int,
    *,
    track: Track | None,
    watch: Callable[[dict[str, Any]], None] | None,
    kept: Checkpoint | None,
    start: float,
) -> tuple[Ledger, Meter]:
    """Take the days of a run, or those that remain, and measure them."""
    meter = Meter(simulator=loop.simulator, most_tests=loop.most_tests)
    begun = Begun(loop=loop, state=loop.start(), meter=meter, ledger=Ledger())
    if kept is not None:
        kept.check(loop.simulator)
        kept.check_object(begun.state.method)
        begun = kept.resume(begun)
    state, ledger = begun.state, begun.ledger
    left = range(state.day + 1, n_days + 1)
    for day in tracked(track, left, len(left)):
        state, log = loop.step(state)
        row = meter.observe(log)
        if watch is not None:
            watch(row)
        ledger.record(log.released.event)
        ledger.meetings_per_day = max(ledger.meetings_per_day, log.contacts.most_meetings())
        if log.selection is not None:
            ledger.record(log.selection)
        del log  # holds a good part of the memory, which the next day needs
        if kept is not None and day % kept.every == 0 and day < n_days:
            spent = time.perf_counter() - start
            kept.save(Begun(loop=loop, state=state, meter=meter, ledger=ledger), spent)
    if state.day < n_days:
        raise InputError(
            f"track: it ended after day {state.day} of {n_days}; it must yield every day"
        )
    if kept is not None:
        kept.remove()
    return ledger, meter


def _checkpoint(
    config: RunConfig, method: Any, name: str | None, path: Path | str | None, every: int | None
) -> Checkpoint | None:
    """Return the checkpoint of a run, which must have a name; None if there is none."""
    require_path(checkpoint=path)
    require_whole(checkpoint_every=every)
    if path is None:
        if every is not None:
            raise InputError("checkpoint_every has no effect without checkpoint")
        return None
    if method is not None and name is None:
        raise InputError("checkpoint: a method given as an object needs a name, too")
    parts = (config.method, config.simulator, config.policy, method)
    packages = {type(part).__module__.split(".")[0] for part in parts} - {"builtins"}
    return Checkpoint(
        path=Path(path),
        digest=config.digest,
        every=DEFAULT_EVERY if every is None else every,
        packages=tuple(sorted(packages)),
        of_object=method is not None,
    )


def build_loop(config: RunConfig, *, method: Any = None, with_messages: bool = False) -> Loop:
    """Return the parts of a run on day 0; `method` is as for `run`.

    With `with_messages`, messages are computed even if the method does not look at them.
    """
    seir, tests, policy = config.seir, config.tests, config.policy
    if method is None and not config.method.gives_tests:
        tests, policy = tests.model_copy(update={"capacity": 0.0}), config.acting_policy
    tracer = (
        config.tracer.build(config.method_setup())
        if method is None
        else as_method(method, n_days=config.days)
    )
    if seir.contacts_before_tests and (method is not None or config.method.reads_newest_day):
        raise InputError(
            "seir.contacts_before_tests leaves the newest day of the window empty, and this method "
            "reads that day"
        )
    if method is None and isinstance(tracer, PrivateMethod) != config.method.adds_noise:
        raise InputError(f"method '{config.method.name}': adds_noise of its settings is wrong")
    return Loop(
        simulator=build_simulator(config),
        exchange=build_exchange(config),
        method=tracer,
        policy=policy.build(config.isolation, config.seed),
        laboratory=Laboratory(rules=tests, seed=config.seed),
        parameters=seir.parameters,
        seed=config.seed,
        window_days=seir.window,
        adoption=config.app.by_age,
        with_messages=with_messages,
        contacts_before_tests=seir.contacts_before_tests,
        tests_at_home=policy.tests_at_home,
        tells_contacts=policy.reads_contacts,
    )


def build_exchange(config: RunConfig) -> Exchange:
    """Return the exchange of a configuration: what phones receive from each other."""
    parameters, errors = config.seir.parameters, config.tests.believed
    if config.exchange is ExchangeKind.OWN_TESTS:
        return OwnTests(parameters=parameters, test_errors=errors)
    if config.exchange is ExchangeKind.LARGEST:
        return LargestBelief(parameters=parameters, test_errors=errors)
    return NeighbourRounds(parameters=parameters, test_errors=errors, rounds=config.seir.rounds)


def build_simulator(config: RunConfig) -> Simulator:
    """Return the simulator of a configuration on day 0."""
    simulator = config.simulator.build(
        SimulatorSetup(
            n_people=config.n_people,
            seed=config.seed,
            initially_infected=config.n_initially_infected,
            isolation_keeps_household=config.isolation.keeps_household,
            n_days=config.days,
        )
    )
    config.check_people(simulator.n_people)  # only now known for a contact list
    return simulator


def require_config(value: Any, what: str) -> None:
    """Raise unless a value is a configuration."""
    if not isinstance(value, RunConfig):
        such = f'{what}, such as dt.RunConfig(method="fn", people=1000)'
        raise InputError(f"{such}, not {shown(value)}")


def _asked(config: RunConfig, method: Any, name: str | None) -> RunConfig:
    """Return the configuration of a run; an object without a name is called by its class."""
    if name is not None and method is None:
        raise InputError("name: only for a method given as an object, and there is none")
    if method is None:
        return config
    if name is not None:
        return named_outside(config, name)
    return config.model_copy(update={"method": OutsideSettings(name=type(method).__name__)})


def named_outside(config: RunConfig, name: str) -> RunConfig:
    """Return a configuration whose method is an object of this name.

    Raises:
        InputError: the name cannot be one, or belongs to a method that configurations name.
    """
    if not isinstance(name, str) or not name.isprintable() or not name.strip():
        raise InputError(f"name: expected a line of text, not {shown(name)}")
    if name in METHODS:
        raise InputError(f"name: '{name}' is a method of its own; call the object otherwise")
    return config.model_copy(update={"method": OutsideSettings(name=name.strip())})


def describe(config: RunConfig, n_people: int) -> dict[str, Any]:
    """Return what a reader must know to interpret the numbers."""
    return {
        "people": n_people,
        "days": config.days,
        "seed": config.seed,
        "method": config.method.name,
        "simulator": config.simulator.name,
        "p1": config.believed_transmission,
        "config_digest": config.digest,
        "version": __version__,
    }
