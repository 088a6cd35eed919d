"""Slow, obvious twins of head counts, and worlds in which a guarantee about a person is tried.

Two neighbouring worlds have the same people and contacts, and another result of one person's test.
"""

import math
from dataclasses import dataclass

import numpy as np

from dnatrace.inference.exchange import NeighbourRounds, OwnTests, Received
from dnatrace.methods.base import PublicFacts, SecretFacts, Setup
from dnatrace.methods.headcount import Headcount, HeadcountRelease, Known
from dnatrace.networks.decoder import Alarm, Decoder, Heads, shapes
from dnatrace.privacy.accounting import Target, Unit
from dnatrace.privacy.noise import FastNoise
from dnatrace.records import ContactWindow, DayContacts
from dnatrace.seir import SeirParameters, TestErrors

PAPER, ERRORS = SeirParameters(), TestErrors()
ALARM = Alarm(low=0.3, high=0.9)
DAILY = Heads(release="daily", fading=1.0, bounds=(0.0, 2.0, 6.0))
NEWS = Heads(release="news", fading=0.8, bounds=(0.1, 0.35, 1.05))


def head_counts(window, alarms, closeness, person):
    """Person by person: the largest alarm of each, and how close they are."""
    largest, close = {}, {}
    weights = closeness.fading ** np.arange(len(window) - 1.0, -1.0, -1.0)
    for t, day in enumerate(window):
        for contact in range(day.offsets[person], day.offsets[person + 1]):
            sender = int(day.senders[contact])
            largest[sender] = max(largest.get(sender, 0.0), float(alarms[t, sender]))
            close[sender] = close.get(sender, 0.0) + float(weights[t])
    counts = [0.0] * len(closeness.bounds)
    for sender, alarm in largest.items():
        reached = [c for c, bound in enumerate(closeness.bounds) if bound <= close[sender]]
        if reached:
            counts[reached[-1]] += alarm
    return counts


def evidence(number, noise):
    """Bayes' rule, one number: how likely there is one head more, from none on."""

    def heads(seen):
        variance = noise**2 + 0.02
        odds = [(0.02 / k) * math.exp(min((seen - k + 0.5) / variance, 700)) for k in (1, 2, 3)]
        return sum(o / (1.0 + o) for o in odds)

    return math.log((1.0 + 30.0 * heads(number)) / (1.0 + 30.0 * heads(0.0)))


def score(decoder, numbers, noise, inputs, person):
    """Input by input, layer by layer, for one person; the newest release first."""
    channels = len(decoder.heads.bounds)
    known = 14 * channels
    x = [0.0] * (known + 14 + 14 + 1 + 9)
    for i, noisy in enumerate(numbers[:, person]):
        x[i] = evidence(noisy, noise)
    for age, outcome in enumerate(inputs.outcomes[::-1, person]):
        if outcome >= 0:
            x[known + 14 * outcome + age] = 1.0
    x[known + 28] = math.log(1.0 + inputs.mean_contacts[person])
    if inputs.age_groups is not None and inputs.age_groups[person] < 9:
        x[known + 29 + inputs.age_groups[person]] = 1.0
    if decoder.diary:  # asked for a test (1), was told of a case (2), at home (4), by day
        flags = [int(day) for day in inputs.diary[::-1, person]]
        flags += [0] * (14 - len(flags))
        for flag in (1, 2, 4):
            x += [1.0 if day & flag else 0.0 for day in flags]
        x += [1.0 if flags[0] & 8 else 0.0]  # was found positive before
    x += [math.log(min(max(noise, 0.1), 1000.0)) / 2.0]
    x += [math.log(inputs.test_errors.false_positive_rate + 1e-3)]
    x += [math.log(inputs.test_errors.false_negative_rate + 1e-3)]
    for layer in range(3):
        weight, bias = decoder.weights[f"{layer}.weight"], decoder.weights[f"{layer}.bias"]
        x = [
            float(bias[o]) + sum(float(weight[i, o]) * x[i] for i in range(len(x)))
            for o in range(len(bias))
        ]
        if layer < 2:
            x = [max(value, 0.0) for value in x]
    return x[0]


def straight_decoder(heads):
    """The newest numbers added up: nothing that could be shown is hidden by decoding."""
    channels = len(heads.bounds)
    weights = {k: np.zeros(s, dtype=np.float32) for k, s in shapes(2, channels).items()}
    weights["0.weight"][:channels] = 1.0, -1.0
    weights["1.weight"][:] = np.eye(2)
    weights["2.weight"][:, 0] = 1.0, -1.0
    return Decoder(name="straight", alarm=ALARM, weights=weights, provenance={}, heads=heads)


def random_decoder(heads, seed=0, width=6, *, diary=False):
    rng = np.random.default_rng(seed)
    named = shapes(width, len(heads.bounds), diary=diary)
    weights = {k: rng.normal(size=s).astype(np.float32) for k, s in named.items()}
    about = {"provenance": {}, "heads": heads, "diary": diary}
    return Decoder(name="random", alarm=ALARM, weights=weights, **about)


def headcount(
    heads=DAILY, *, decoder=None, epsilon=1.0, unit=Unit.RELEASE, own_tests=True, noise=None
):
    setup = Setup(
        target=Target(epsilon=epsilon, unit=unit),
        own_tests=own_tests,
        noise=noise or FastNoise(seed=0),
    )
    made = decoder or straight_decoder(heads)
    return Headcount(setup=setup, decoder=made, variant=HeadcountRelease(heads.release))


@dataclass(frozen=True)
class World:
    """Who met whom on which day, and everybody's tests.

    Attributes:
        n_people: how many.
        contacts: for each day a list of pairs (sender, receiver).
        outcomes: int8 [days, people]; a result is known on the day of its test.
    """

    n_people: int
    contacts: tuple
    outcomes: np.ndarray

    def with_test(self, person, day, result):
        """The neighbouring world in which one test has another result, or is not taken."""
        outcomes = self.outcomes.copy()
        outcomes[day, person] = result
        return World(self.n_people, self.contacts, outcomes)

    def met(self, person):
        """Everybody who ever met a person."""
        return {
            b if a == person else a for day in self.contacts for a, b in day if person in (a, b)
        }

    def slice(self, start, n_people):
        """The world of the people from `start` on, who meet nobody else."""
        inside = range(start, start + n_people)
        contacts = tuple(
            [(a - start, b - start) for a, b in day if a in inside] for day in self.contacts
        )
        return World(n_people, contacts, self.outcomes[:, start : start + n_people])


def random_world(rng, n_days):
    """A small graph and everybody's tests: couples, households, people who move or pass by."""
    n_people = int(rng.integers(3, 8))
    pairs = [(a, b) for a in range(n_people) for b in range(a)]
    often = rng.random(len(pairs)) ** 2  # how often each pair meets; some never do
    often[rng.random(len(pairs)) < 0.3] = 0.0
    later = rng.permutation(often) if rng.random() < 0.3 else often  # people move
    begins, ends = sorted(rng.integers(0, n_days + 1, 2))
    contacts = []
    for day in range(n_days):
        rate = (often if day < n_days // 2 else later) * (begins <= day < ends)
        times = (rng.random(len(pairs)) < rate) * rng.integers(1, 3, len(pairs))
        contacts.append([pair for pair, n in zip(pairs, times, strict=True) for _ in range(n)])
    tested = rng.random((n_days, n_people)) < rng.uniform(0.0, 0.3)
    positive = rng.random((n_days, n_people)) < rng.uniform(0.1, 0.9)
    return World(n_people, tuple(contacts), np.where(tested, positive, -1).astype(np.int8))


def side_by_side(worlds):
    """All worlds as one, whose people do not meet: one call of the real code plays them all."""
    starts = np.cumsum([0, *(w.n_people for w in worlds)])
    contacts = tuple(
        [(a + s, b + s) for w, s in zip(worlds, starts, strict=False) for a, b in w.contacts[day]]
        for day in range(len(worlds[0].contacts))
    )
    outcomes = np.concatenate([w.outcomes for w in worlds], axis=1)
    return World(int(starts[-1]), contacts, outcomes), starts[:-1]


OWN_TESTS = OwnTests(parameters=PAPER, test_errors=ERRORS)
ROUNDS = NeighbourRounds(parameters=PAPER, test_errors=ERRORS, rounds=3)


class ReadsScores:
    """The control: phones that say what their own score was yesterday, when it is higher."""

    def __init__(self):
        self.scores = None

    def receive(self, window, outcomes, *, with_messages, with_exposures=True):
        found = OWN_TESTS.receive(window, outcomes, with_messages=True)
        if self.scores is None:
            return found
        said = np.maximum(found.messages, np.clip(self.scores, 0, 1).astype(np.float32))
        return Received(exposures=found.exposures, messages=said)


class RowCounter:
    """The control: a tally of messages from own tests, every contact counted."""

    def __init__(self, alarm=ALARM):
        self.alarm = alarm

    def statistic(self, public, secret, memory):
        from dnatrace.methods.tally import tallies

        return [tallies(secret.window, secret.messages, self.alarm)]


def statistics(world, method, exchange=OWN_TESTS):
    """What every person's releases are made of, day by day: [days, channels, people]."""
    window = ContactWindow(n_people=world.n_people, n_days=14)
    known, rows = None, []
    for day, pairs in enumerate(world.contacts):
        senders = [p[0] for p in pairs] + [p[1] for p in pairs]
        receivers = [p[1] for p in pairs] + [p[0] for p in pairs]
        window.push(DayContacts.from_pairs(senders, receivers, n_people=world.n_people))
        outcomes = world.outcomes[window.first_day : day + 1]
        public = PublicFacts(
            day=day,
            first_day=window.first_day,
            counts=window.counts,
            outcomes=outcomes,
            parameters=PAPER,
            test_errors=ERRORS,
        )
        messages = exchange.receive(window, outcomes, with_messages=True).messages
        secret = SecretFacts(window=window.snapshot(), messages=messages)
        found = method.statistic(public, secret, known)
        rows.append(np.array(getattr(found, "values", found)))
        known = Known(first_day=window.first_day, outcomes=outcomes)
        if isinstance(exchange, ReadsScores):
            exchange.scores = rows[-1].sum(axis=0)
    return np.stack(rows)


def moves(world, other, method, make_exchange=lambda: OWN_TESTS):
    """How far every release of everybody moves, in Euclidean length: [days, people]."""
    here = statistics(world, method, make_exchange())
    there = statistics(other, method, make_exchange())
    return np.sqrt(((here - there) ** 2).sum(axis=1))


def violations(world, person, moved, *, most, budget):
    """What a guarantee about one person forbids, in words; none when it holds.

    Args:
        world: one of the two.
        person: whose tests differ.
        moved: by `moves`.
        most: how far one release may move.
        budget: how far all releases of one receiver may move together, squared.
    """
    met, found = world.met(person), []
    for receiver in range(world.n_people):
        if receiver == person:
            continue
        of_one = moved[:, receiver]
        if receiver not in met and of_one.any():
            found.append(f"{receiver} never met {person} and can tell")
        if of_one.max() > most + 1e-12:
            found.append(f"a release to {receiver} moves by {of_one.max():.3f}")
        if (of_one**2).sum() > budget + 1e-9:
            found.append(f"all releases to {receiver} move by {(of_one**2).sum():.3f} squared")
    return found
