"""From a configuration to a result: build the parts, run the loop, measure."""

import time
from collections.abc import Callable, Iterable
from contextlib import closing
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from dnatrace import tables
from dnatrace._version import __version__
from dnatrace.errors import InputError
from dnatrace.methods.catalogue import MethodOptions, build_method
from dnatrace.methods.ranker import as_method
from dnatrace.policy import IsolationRules, TestRules
from dnatrace.privacy.accounting import Ledger
from dnatrace.runs import guarantees
from dnatrace.runs.config import MethodSection, RunConfig
from dnatrace.runs.metrics import Meter
from dnatrace.runs.provenance import provenance
from dnatrace.seir import SeirParameters, TestErrors
from dnatrace.simulators.base import Simulator
from dnatrace.simulators.city import City
from dnatrace.simulators.covasim import Covasim
from dnatrace.simulators.openabm import OpenABM
from dnatrace.simulators.replay import Replay
from dnatrace.tracing import DayLog, LoopRules, trace

Track = Callable[[Iterable[DayLog], int], Iterable[DayLog]]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RunResult:
    """What a run gave.

    Attributes:
        config: what determined it.
        summary: one number each, as `dnatrace run --json` prints them.
        daily: one row a day.
        groups: one row for each age group and household size.
        ledger: what was released and spent.
        seconds: by phase, and in total; the only part that is not reproducible.
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
        """Return the summary with the time it took."""
        return self.summary | {"seconds": self.seconds}


def run(
    config: RunConfig,
    *,
    method: Any = None,
    track: Track | None = None,
) -> RunResult:
    """Run the closed loop of a configuration.

    Args:
        config: what to run.
        method: an object to use instead of the configuration's method: a `methods.base.Method` or
            a `methods.ranker.Ranker`. Its result has no digest and cannot be stored.
        track: wraps the days, for instance with a progress bar.
    """
    start = time.perf_counter()
    asked = config if method is None else _without_method(config)
    simulator = build_simulator(config)
    rules = loop_rules(asked)
    meter = Meter(simulator=simulator, most_tests=rules.tests.most_tests(simulator.n_people))
    tracer = (
        build_method(config.method.name, method_options(config))
        if method is None
        else as_method(method, n_days=config.days)
    )
    days = trace(
        simulator,
        tracer,
        rules,
        days=config.days,
        seed=config.seed,
    )
    ledger = Ledger()
    with closing(days):
        for log in track(days, config.days) if track else days:
            meter.observe(log)
            ledger.record(log.released.event)
    seconds = meter.seconds() | {"total": time.perf_counter() - start}
    return RunResult(
        config=config,
        summary=meter.summary()
        | describe(config, simulator.n_people)
        | {"privacy": guarantees.describe(asked, ledger)}
        | _outside_name(method),
        daily=pa.table(meter.daily()),
        groups=pa.table(meter.groups()),
        ledger=ledger,
        seconds={k: round(v, 4) for k, v in seconds.items()},
        provenance=provenance(config) | {"simulator": getattr(simulator, "source", "built in")},
    )


def _without_method(config: RunConfig) -> RunConfig:
    """Return a configuration of one that shows all, for a method that it does not name."""
    return config.model_copy(update={"method": MethodSection(name="fn")})


def _outside_name(method: Any) -> dict[str, Any]:
    """Return what a summary says of a method that was given as an object."""
    return {} if method is None else {"method": type(method).__name__, "config_digest": None}


def build_simulator(config: RunConfig) -> Simulator:
    """Return the simulator of a configuration on day 0."""
    if config.simulator.name == "replay":
        return _build_replay(config)
    people: dict[str, Any] = {
        "n_people": config.people,
        "seed": config.seed,
        "initially_infected": config.n_initially_infected,
        "isolation_keeps_household": config.isolation.keeps_household,
    }
    if config.simulator.name == "openabm":
        return OpenABM(**people, n_days=config.days)
    if config.simulator.name == "covasim":
        return Covasim(**people, n_days=config.days)
    return City(**people)


def _build_replay(config: RunConfig) -> Simulator:
    if config.simulator.contacts is None:
        raise InputError("simulator.contacts: replay needs the path of a contact list")
    if config.isolation.keeps_household:
        raise InputError("isolation.keeps_household: a contact list does not tell households")
    rows = tables.read_contacts(config.simulator.contacts)
    # The list tells how many people there are, unless the configuration does.
    n_listed = tables.infer_people(rows.columns["sender"], rows.columns["receiver"])
    n_people = config.people if "people" in config.model_fields_set else n_listed
    return Replay(
        contacts=rows,
        n_people=n_people,
        seed=config.seed,
        initially_infected=min(config.n_initially_infected, n_people),
    )


def loop_rules(config: RunConfig) -> LoopRules:
    """Return the rules of the loop of a configuration."""
    s, t, i = config.seir, config.tests, config.isolation
    return LoopRules(
        parameters=SeirParameters(p0=s.p0, p1=s.p1, g=s.g, h=s.h),
        window=s.window,
        rounds=s.rounds,
        tests=TestRules(
            capacity=0.0 if config.method.name == "none" else t.capacity,
            errors=TestErrors(
                false_positive_rate=t.false_positive_rate, false_negative_rate=t.false_negative_rate
            ),
            order_delay=t.order_delay,
            result_delay=t.result_delay,
        ),
        isolation=IsolationRules(
            days=i.days,
            start_day=i.start_day,
            adherence=i.adherence,
            adherence_unit=i.adherence_unit,
            dropout=i.dropout,
        ),
        adoption=config.app.by_age,
    )


def method_options(config: RunConfig) -> MethodOptions:
    """Return what a method may want to know."""
    m = config.method
    return MethodOptions(
        release=m.release,
        score=m.score,
        gamma=m.gamma,
        mu_ref=m.mu_ref,
        rho=m.rho or None,
        target=guarantees.target_of(config),
        window=config.seir.window,
        noise=guarantees.noise_of(config),
        model=m.model,
        decoder=m.decoder,
    )


def describe(config: RunConfig, n_people: int) -> dict[str, Any]:
    """Return what a reader must know to place the numbers."""
    return {
        "people": n_people,
        "days": config.days,
        "seed": config.seed,
        "method": config.method.name,
        "simulator": config.simulator.name,
        "p1": config.seir.p1,
        "config_digest": config.digest,
        "version": __version__,
    }
