"""End-to-end audits: what a person's test result reveals to a receiver through all their scores.

Two worlds differ in one test. Both are played in the real loop, with the exchange, the method and
the noise of a configuration. What the receiver is told is a statistic plus Gaussian noise whose
size does not depend on the test, so the shift of the statistic between the worlds, divided by the
noise, squared and summed over all releases, is μ²: ε is exact for the noisy statistics, and an
upper bound for the scores, which are computed from them. Scores are also drawn, in many copies of
the world side by side, and an attacker who sees all of them at once guesses which world it is. In a
closed loop, where the policy acts on scores in both worlds, only this remains: a lower bound on ε
by Clopper and Pearson.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from dnatrace.errors import InputError, require_at_least
from dnatrace.inference.exposures import add_up_day
from dnatrace.methods.kinds import PrivateMethod
from dnatrace.privacy.accounting import Ledger, Unit, UnprovenEvent
from dnatrace.privacy.attack import attack as play_attack
from dnatrace.privacy.attack import gaussian_success_limit
from dnatrace.privacy.audit import AuditResult
from dnatrace.privacy.audit import audit as run_audit
from dnatrace.privacy.gaussian import epsilon_of_mu
from dnatrace.records import DayContacts
from dnatrace.runs.audits import as_stated
from dnatrace.runs.config import RunConfig
from dnatrace.runs.run import build_exchange
from dnatrace.runs.worlds import (
    ScriptedContacts,
    ScriptedLaboratory,
    ScriptedPolicy,
    World,
    WorldName,
    by_day,
    worlds,
)
from dnatrace.tracing import DayLog, Loop, LoopState

_MOST_PEOPLE = 60_000  # in one population of copies of a world
_MARGIN = 1e-6  # relative, for the rounding of calibration

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class PersonAudit:
    """What one test of a person reveals to a receiver.

    Attributes:
        world: the name of the world.
        claimed_epsilon: what is claimed for one test of a person, over all releases.
        proved: whether the method claims this itself; otherwise it is the claim for a contact.
        delta: the δ of the claim.
        mu: μ of everything the receiver learns, exact for noisy statistics; None in a closed loop.
        largest_move: the largest shift of one number of a release; None in a closed loop.
        met: whether the receiver who learns most ever met the tested person.
        releases: in how many releases the test showed.
        drawn: what draws of the scores show; None without draws.
        guesses: how many of those draws an attacker with all scores guesses right.
    """

    world: str
    claimed_epsilon: float
    proved: bool
    delta: float
    mu: float | None
    largest_move: float | None
    met: bool
    releases: int
    drawn: AuditResult | None = None
    guesses: float | None = None

    @property
    def epsilon(self) -> float | None:
        """ε for this μ; infinite without noise."""
        return None if self.mu is None else epsilon_of_mu(self.mu, self.delta)

    @property
    def passed(self) -> bool:
        """Whether the claim survived; an exact ε below it proves it for this world.

        It proves nothing about other worlds.
        """
        shown = [self.epsilon or 0.0, self.drawn.lower_bound if self.drawn else 0.0]
        return max(shown) <= self.claimed_epsilon * (1.0 + _MARGIN)

    @property
    def success(self) -> float:
        """The share of right guesses: of the best attacker where ε is exact, otherwise as drawn."""
        if self.mu is None:
            return self.guesses or 0.5
        return gaussian_success_limit(self.mu)

    @property
    def words(self) -> str:
        """The result in plain words."""
        who = "" if self.met else ", who never met them,"
        right = f"the result of the test right {_in_a_hundred(self.success)} of 100 times"
        coin = "a coin is right 50 times."
        if self.mu is not None or self.drawn is None:
            return f"Somebody who knows everything else{who} guesses {right}; {coin} {self.verdict}"
        return (
            f"One attacker{who} who weighs all their scores linearly guessed {right} in "
            f"{self.drawn.draws:,} draws of each world; {coin} Better attackers may exist. "
            f"{self.verdict}"
        )

    @property
    def verdict(self) -> str:
        """What follows for the claim, and which claim that is if it is false."""
        claimed = f"ε = {self.claimed_epsilon:.3g}"
        if self.proved and not self.passed:
            return f"THE CLAIM IS FALSE: one test of a person reveals more than {claimed}."
        claimed += ", which is claimed for a contact,"
        nothing = "The method promises nothing about a person."
        if not self.passed:
            false = f"THE CLAIM IS FALSE if {claimed} is read as a promise about a person"
            return f"{false}: one test reveals more. {nothing}"
        if self.epsilon is not None and self.proved:
            return "The claim holds in this world."
        if self.epsilon is not None:
            return f"{claimed} is not exceeded in this world. {nothing}"
        return "The claim was not refuted. That proves nothing more: an audit can only refute."


def _in_a_hundred(share: float) -> str:
    return f"{100 * share:.0f}" if share < 0.995 else "over 99"


def audit_person(
    config: RunConfig,
    name: WorldName,
    *,
    draws: int = 0,
    closed: bool = False,
    confidence: float = 0.99,
) -> PersonAudit:
    """Return what one test of a person reveals in the worst world of a name.

    Tests have no delays here. If a configuration asks for ε per person and the method has no bound
    per person, it is played with noise for a contact, and held to that ε.

    Args:
        config: its method, exchange and privacy are used; in a closed loop also policy and tests.
        name: which worlds.
        draws: draws of each world for the attacker who reads scores; 0 for none.
        closed: whether the policy chooses whom else to test from the scores, in both worlds.
            Nobody isolates, as anybody's absence can be seen without any score.
        confidence: the confidence of what draws show.
    """
    if closed and name is WorldName.CITY:
        raise InputError("world city: not in a closed loop, where one city is one draw")
    if closed or draws:
        require_at_least("draws", draws, 1000)
    if not 0.0 < confidence < 1.0:
        raise InputError(f"confidence must lie strictly between 0 and 1, not {confidence}")
    played = with_noise(config)
    results = [
        _audit(played, world, draws=draws, closed=closed, confidence=confidence)
        for world in worlds(name, played)
    ]
    return max(results, key=lambda r: (not r.passed, r.epsilon or 0.0))


def with_noise(config: RunConfig) -> RunConfig:
    """Return a configuration with feasible noise: per contact if a person has no bound."""
    if config.privacy.unit is not Unit.PERSON:
        return config
    of_release = _per(config, Unit.RELEASE)
    world = worlds(WorldName.COUPLE, of_release)[0]
    ledger = _ledger(of_release, replace(world, days=world.days[:4]))
    return config if math.isfinite(ledger.mu(Unit.PERSON)) else _per(config, Unit.CONTACT)


def _per(config: RunConfig, unit: Unit) -> RunConfig:
    privacy = config.privacy.model_copy(update={"unit": unit})
    return config.model_copy(update={"privacy": privacy})


def _ledger(config: RunConfig, world: World) -> Ledger:
    """Return what the releases of a world cost according to the method."""
    stated = Ledger()
    for event in (
        log.released.event for log in scripted_loop(config, world, 0).run(len(world.days))
    ):
        stated.record(as_stated(event) if isinstance(event, UnprovenEvent) else event)
    return stated


def scripted_loop(
    config: RunConfig, world: World, which: int, *, seed: int = 0, closed: bool = False
) -> Loop:
    """Return the real loop over the contacts and tests of a world, 0 or 1."""
    tests = (*world.tests, *(world.second if which else world.first))
    rules = config.tests.model_copy(update={"order_delay": 0, "result_delay": 0})
    stays = config.isolation.model_copy(update={"adherence": 0.0})
    laboratory = ScriptedLaboratory(
        rules=rules, seed=seed, script={(t.day, t.person): t.positive for t in tests}
    )
    return Loop(
        simulator=ScriptedContacts(world),
        exchange=build_exchange(config),
        method=config.tracer.build(config.method_setup(config.privacy.source(seed))),
        policy=ScriptedPolicy(
            usual=config.policy.build(stays, seed), named=by_day(tests), alone=not closed
        ),
        laboratory=laboratory,
        parameters=config.seir.parameters,
        seed=seed,
        window_days=config.seir.window,
        contacts_before_tests=config.seir.contacts_before_tests,
    )


def _audit(
    config: RunConfig, world: World, *, draws: int, closed: bool, confidence: float
) -> PersonAudit:
    delta = config.privacy.delta
    ledger = _ledger(config, world)
    proved = math.isfinite(ledger.mu(Unit.PERSON))
    claimed = ledger.epsilon(Unit.PERSON if proved else Unit.CONTACT, delta)
    told = None if closed else tell(config, world)
    receiver = world.receiver if told is None else told.receiver
    found = PersonAudit(
        world=world.name,
        claimed_epsilon=claimed,
        proved=proved,
        delta=delta,
        mu=None if told is None else told.mu,
        largest_move=None if told is None else told.largest_move,
        met=bool(world.meets()[receiver]),
        releases=len(world.days) if told is None else told.releases,
    )
    if draws == 0:
        return found
    sample = ScoreSample(config, replace(world, receiver=receiver), closed=closed)
    return _with_draws(found, sample, draws, confidence)


def _with_draws(
    found: PersonAudit, sample: "ScoreSample", draws: int, confidence: float
) -> PersonAudit:
    claimed, delta = found.claimed_epsilon, found.delta
    drawn = run_audit(
        sample, claimed_epsilon=claimed, delta=delta, draws=draws, confidence=confidence
    )
    right = play_attack(sample, draws=draws)
    return replace(found, drawn=drawn, guesses=right.success)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Told:
    """What the releases reveal about which of two worlds they come from.

    Attributes:
        squares: μ² of everything each person learns, float64 [people]; infinite without noise.
        moves: the largest shift of one number of a release, float64 [people].
        counted: in how many releases anything shifted, int64 [people].
        receiver: the receiver who is reported.
    """

    squares: Floats
    moves: Floats
    counted: NDArray[np.int64]
    receiver: int

    @property
    def mu(self) -> float:
        """Of the receiver who counts."""
        return math.sqrt(float(self.squares[self.receiver]))

    @property
    def largest_move(self) -> float:
        """Of the receiver who counts."""
        return float(self.moves[self.receiver])

    @property
    def releases(self) -> int:
        """The number of releases in which the test showed."""
        return int(self.counted[self.receiver])


def tell(config: RunConfig, world: World) -> Told:
    """Return exactly what the two worlds reveal to everybody.

    Guarantee: the noisy statistics of person i in the two worlds are Gaussian with the same spread
    and with means whose distance, in units of the spread, is the square root of squares[i]; where
    spreads differ, or something that differs has no noise, it is infinite.
    Edge cases: where noisy messages are delivered (`per-message`), a receiver is assumed to see
    each one; the tested person, who knows their result, does not count.
    """
    loops = [scripted_loop(config, world, which) for which in (0, 1)]
    states = [loop.start() for loop in loops]
    squares, moves = np.zeros(world.n_people), np.zeros(world.n_people)
    counted = np.zeros(world.n_people, dtype=np.int64)
    for _ in world.days:
        seen = []
        for which, loop in enumerate(loops):
            before = states[which]
            states[which], log = loop.step(before)
            seen.append(_Said.on(loop, before, log))
        moved, step = _difference(*seen)
        squares, moves = squares + step, np.maximum(moves, moved)
        counted += moved > 0.0
    others = np.arange(world.n_people) != world.tested
    worst = int(np.argmax(np.where(others, squares, -1.0)))
    receiver = worst if world.receiver is None else world.receiver
    return Told(squares=squares, moves=moves, counted=counted, receiver=receiver)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Said:
    """The values that get noise on a day, and how much: arrays [rows, people].

    Attributes:
        values: the values before noise.
        spread: the standard deviation of the noise.
        delivered: the contacts of each row over which noisy values are delivered; none if a value
            is the receiver's own.
    """

    values: Floats
    spread: Floats
    delivered: tuple[DayContacts, ...] = ()

    @classmethod
    def on(cls, loop: Loop, before: LoopState, log: DayLog) -> "_Said":
        """Return what the method of a loop added noise to on the day of a log."""
        method, public = loop.method, log.public
        if not isinstance(method, PrivateMethod):
            scores = np.nan_to_num(log.released.scores)[None, :]
            return cls(values=scores, spread=np.zeros(scores.shape))
        prepared = method.prepare(public, before.method.public)
        query = method.query(prepared, public, log.secret.lend(), before.method.secret)
        if query.statistic is None:
            return cls(values=np.empty((0, public.n_people)), spread=np.empty((0, public.n_people)))
        return cls(
            values=np.atleast_2d(query.statistic.values),
            spread=query.mechanism.multiplier * np.atleast_2d(query.statistic.sensitivity),
            delivered=tuple(query.contacts),
        )


def _difference(first: _Said, second: _Said) -> tuple[Floats, Floats]:
    """Return the largest shift of a number and the squared distance, by receiver."""
    moved = np.abs(second.values - first.values)
    differs = (moved > 0.0) | (first.spread != second.spread)
    lost = differs & ((first.spread != second.spread) | (first.spread == 0.0))
    ratio = np.divide(moved, first.spread, out=np.zeros(moved.shape), where=first.spread > 0.0)
    squares = np.where(lost, np.inf, ratio**2)
    if not first.delivered:
        return moved.max(axis=0, initial=0.0), squares.sum(axis=0)
    return _delivered(moved, first.delivered), _delivered(squares, first.delivered)


def _delivered(rows: Floats, contacts: Sequence[DayContacts]) -> Floats:
    """Return the sum over what everybody receives, one day per row."""
    received = np.empty(rows.shape)
    for total, values, day in zip(received, rows, contacts, strict=True):
        add_up_day(day, values, total)
    summed: Floats = received.sum(axis=0)
    return summed


@dataclass(slots=True)
class ScoreSample:
    """Draws what the receiver of a world sees: all their scores, [draws, days].

    Every call uses seeds that no earlier call used. In a closed loop copies compete for tests, so
    that a population in which every copy has the positive test is not a neighbour of one in which
    no copy has: both worlds are played in one population, alternating between copies.
    """

    config: RunConfig
    world: World
    closed: bool = False
    next_seed: int = 1

    def __call__(self, which: int, draws: int) -> Floats:
        """Return the scores of `draws` receivers in a world, 0 or 1."""
        most = max(1, _MOST_PEOPLE // self.world.n_people // 2)
        starts = range(0, draws, most)
        return np.concatenate([self._batch(which, min(most, draws - s)) for s in starts])

    def _batch(self, which: int, copies: int) -> Floats:
        total = 2 * copies if self.closed else copies
        world, receiver = self.world.repeated(total, mixed=self.closed), self.world.receiver or 0
        loop = scripted_loop(self.config, world, which, seed=self.next_seed, closed=self.closed)
        self.next_seed += 1
        seen = slice(receiver, None, self.world.n_people)
        logs = loop.run(len(world.days))
        scores = np.stack([log.released.scores[seen] for log in logs], axis=1)
        return scores[which::2] if self.closed else scores
