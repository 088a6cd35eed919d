"""A neighbourhood of about 150 people over time: what nobody can see in reality.

A small run is recorded: who meets whom, who is infected, tested and at home, what each phone heard
(a secret) and what it showed, with noise and without. Scores are shown as ranks: the share of
people with a lower score.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dnatrace.app.unnoised import method_without_noise, simulated
from dnatrace.app.workers import Tell
from dnatrace.methods.base import Method
from dnatrace.records import DayContacts
from dnatrace.runs.config import RunConfig
from dnatrace.runs.run import build_loop, build_simulator
from dnatrace.seir import State
from dnatrace.simulators.base import SEIR_OF_COURSE, ContactKind, CourseState
from dnatrace.tracing import DayLog

PEOPLE = 150  # in the picture, roughly
_CITY, _DAYS, _FIRST = 1500, 60, 0.01  # people, days, and the share infected at first
_GETTING_TO_KNOW = 3  # days whose contacts decide who are neighbours

Ids = NDArray[np.int64]


def record(tell: Tell, config: RunConfig) -> dict[str, Any]:
    """Run a small city with the settings of a configuration and return what happened to people."""
    small = _small(config)
    people = _neighbours(small)
    loop = build_loop(small, with_messages=True)
    quiet = _Quiet(method_without_noise(small), loop.simulator.n_people)
    days = []
    for log in loop.run(small.days):
        days.append(_day(log, people, quiet))
        tell(log.day)
    simulator = loop.simulator
    return {
        "method": small.method.name,
        "private": small.method.adds_noise,
        "window": small.seir.window,
        "city": simulator.n_people,
        "states": [state.name for state in State],
        "kinds": [kind.name.lower() for kind in ContactKind],
        "people": [
            {"house": int(house), "age": int(age)}
            for house, age in zip(
                _houses(simulator.households[people]), simulator.age_groups[people], strict=True
            )
        ],
        "app": loop.has_app[people].tolist(),
        "days": days,
    }


def _small(config: RunConfig) -> RunConfig:
    """Return a configuration of a small city; a simulator with its own people keeps them."""
    changes: dict[str, Any] = {"days": min(config.days, _DAYS)}
    if config.n_people is not None:
        n_people = min(config.n_people, _CITY)
        first = min(n_people, max(config.n_initially_infected, round(_FIRST * n_people)))
        changes |= {"people": n_people, "initially_infected": first}
    return simulated(config).model_copy(update=changes)


def _neighbours(config: RunConfig) -> Ids:
    """Return people who live and meet close to somebody infected: whole households, about 150.

    The household with the most contacts with those chosen is added next, so that neighbours in this
    order are neighbours in the simulation.
    """
    simulator = build_simulator(config)
    households = simulator.households.astype(np.int64)
    n_houses, ill = int(households.max()) + 1, np.flatnonzero(simulator.infected_on >= 0)
    met = [simulator.advance() for _ in range(min(_GETTING_TO_KNOW, config.days))]
    ends = np.concatenate(
        [[households[day.receivers()], households[day.senders]] for day in met], 1
    )
    weights = np.zeros((n_houses, n_houses))
    np.add.at(weights, (ends[0], ends[1]), 1.0)
    sizes, chosen = np.bincount(households, minlength=n_houses), np.zeros(n_houses, dtype=np.bool_)
    order = [int(households[ill[0]] if ill.size else 0)]
    near = weights[order[0]].copy()
    chosen[order[0]] = True
    while sizes[order].sum() < PEOPLE and not chosen.all():
        nearest = int(np.argmax(np.where(chosen, -1.0, near / np.maximum(sizes, 1))))
        order.append(nearest)
        chosen[nearest] = True
        near += weights[nearest]
    return np.concatenate([np.flatnonzero(households == house) for house in order])


def _houses(households: NDArray[np.int32]) -> Ids:
    """Return households numbered in the order in which they first appear."""
    names = dict.fromkeys(households.tolist())
    number = {name: place for place, name in enumerate(names)}
    return np.array([number[name] for name in households.tolist()], dtype=np.int64)


@dataclass(slots=True)
class _Quiet:
    """The same method beside the run, without noise: what would have been shown."""

    method: Method
    n_people: int
    state: Any = None

    def scores(self, log: DayLog) -> NDArray[np.float64]:
        """Return what would have been shown on a day."""
        before = self.method.start(self.n_people) if self.state is None else self.state
        released, self.state = self.method.release(log.public, log.secret, before)
        return released.scores


def _day(log: DayLog, people: Ids, quiet: _Quiet) -> dict[str, Any]:
    """Return one day of some people, numbered by their position among them."""
    place = np.full(log.states.size, -1, dtype=np.int64)
    place[people] = np.arange(people.size)
    tested = place[log.tested]
    inside = tested >= 0
    return {
        "states": "".join("SEIR"[state] for state in SEIR_OF_COURSE[log.states[people]]),
        "dead": np.flatnonzero(log.states[people] == CourseState.DEATH).tolist(),
        "isolated": np.flatnonzero(log.isolated[people]).tolist(),
        "tested": np.column_stack([tested[inside], log.results[inside]]).astype(int).tolist(),
        "informed": place[log.informed][place[log.informed] >= 0].tolist(),
        "meets": _meetings(log.contacts, place),
        "contacts": log.contacts.counts[people].tolist(),
        "heard": [round(float(value), 2) for value in _heard(log, people)],
        "shown": _ranks(log.released.scores, people),
        "quiet": _ranks(np.where(np.isnan(log.released.scores), np.nan, quiet.scores(log)), people),
    }


def _meetings(contacts: DayContacts, place: Ids) -> list[list[int]]:
    """Return who met whom among the people in the picture, each meeting once: [a, b, kind], a < b.

    A contact of which only one of the two hears is a meeting, too. Meetings without kinds count as
    random.
    """
    receivers, senders = place[contacts.receivers()], place[contacts.senders]
    unknown = np.full(senders.size, ContactKind.RANDOM, dtype=np.uint8)
    kinds = unknown if contacts.kinds is None else contacts.kinds
    inside = (receivers >= 0) & (senders >= 0)
    receivers, senders, kinds = receivers[inside], senders[inside], kinds[inside]
    there, back = receivers * place.size + senders, senders * place.size + receivers
    kept = (receivers < senders) | ~np.isin(back, there)
    ends = np.sort(np.column_stack([receivers[kept], senders[kept]]), axis=1)
    return np.column_stack([ends, kinds[kept]]).astype(int).tolist()


def _heard(log: DayLog, people: Ids) -> NDArray[np.float64]:
    """Return what phones heard: the most alarming message of everybody met in the window, summed.

    A message is how likely its sender is to be infectious, so this is how many infectious people a
    phone believes its owner has met.
    """
    messages = log.secret.messages
    assert messages is not None  # the loop was asked for them
    place = np.full(log.states.size, -1, dtype=np.int64)
    place[people] = np.arange(people.size)
    pairs, said = [], []
    for day, row in zip(log.secret.window, messages, strict=True):
        receivers = place[day.receivers()]
        inside = receivers >= 0
        pairs.append(receivers[inside] * log.states.size + day.senders[inside])
        said.append(row[day.senders[inside]])
    met, which = np.unique(np.concatenate(pairs), return_inverse=True)
    most = np.zeros(met.size)
    np.maximum.at(most, which, np.concatenate(said))
    heard: NDArray[np.float64] = np.bincount(
        met // log.states.size, weights=most, minlength=people.size
    ).astype(np.float64)
    return heard


def _ranks(scores: NDArray[np.float64], people: Ids) -> list[float | None]:
    """Return the share of people with a lower score, in %, ties counting half; None for none."""
    known = np.sort(scores[~np.isnan(scores)])
    low, high = (np.searchsorted(known, scores[people], side=side) for side in ("left", "right"))
    shares = 100.0 * (low + high) / 2.0 / max(known.size, 1)
    return [
        None if np.isnan(score) else round(float(share), 1)
        for score, share in zip(scores[people], shares, strict=True)
    ]
