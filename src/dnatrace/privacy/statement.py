"""The guarantee of a run in words that a privacy officer can check."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from dnatrace.privacy.accounting import (
    PAIR_DAYS,
    SCORES,
    THRESHOLD,
    Calibration,
    GaussianEvent,
    Kept,
    Ledger,
    Target,
    Unit,
    UnprotectedEvent,
)
from dnatrace.privacy.attack import at_most, guessing_limit

DISCLAIMER = "Research software, not a medical device."
ADVERSARY = (
    "the person who receives the score, and anybody who reads their phone. They know their own "
    "tests, how many contacts they had on each day, the model and its parameters."
)
PROTECTED = (
    "the value of an incoming message: how likely a contact was to be infected on the day they "
    "met. Two windows are neighbours when they differ in the value of one message; how many "
    "contacts there were, and on which days, is public."
)
NO_PERSON = (
    "no bound. A person's test result changes what the phones of others say, or counts once for "
    "every contact, so nothing is proved about what somebody who met the person learns from all "
    "their scores, nor about what people learn who never met them. The costs below are about "
    "single messages; `dnatrace audit --world household` measures what one test reveals."
)
PERSON = (
    "given everybody else's tests and who met whom. The scores of people who never met the person "
    "reveal nothing about it. Two test results of a person, or one on another day, are two units: "
    "at most √2 times as far apart. What the person's absence or the tests of others reveal is not "
    "covered."
)
EVER = " over all releases it reaches"
POOLED = (2, 5, 20, 100)  # receivers who pool their scores
LONGER_PAIRS = (30, 100)  # days on which a pair keeps meeting

NOTHING_PROTECTED = (
    "anybody who receives a score may learn with certainty what others keep secret: what the "
    "phones of contacts said, their tests, or who is infected. The cost is unbounded. Scores have "
    "no noise: they leave nothing to account for and nothing to audit."
)
NO_MESSAGE = (
    "no message is used, so no score can reveal anything about one: ε = 0 for one release, one "
    "contact and a pair. Scores have no noise: they leave nothing to account for and nothing to "
    "audit."
)
NOT_PROTECTED = "who met whom, a contact's withdrawal, who is tested, {chosen}radio signals, and "
HIGHEST_CHOSEN = (
    "the choice of the highest scores for testing (which assumes a private selection), "
)
BEFORE_THE_RELEASE = (
    "the inference before the release, which is assumed to run encrypted or in an enclave. The "
    "guarantee covers the last update; echoes of a person's own state through earlier rounds are "
    "part of the message."
)
BEFORE_THE_NOISE = (
    "the number before noise is added to it, which whoever adds it up is assumed to keep secret. "
    "Phones send only what follows from their owner's tests: there are no rounds and no echoes."
)
NOT_PROTECTED_BY_SILENCE = (
    "who met whom, who is tested, and the choice of the highest scores for testing."
)
NOT_PROTECTED_BY_THRESHOLD = "who met whom and who is tested."
NO_AUDIT = "none for this run."
ACCOUNTANT = (
    "Gaussian differential privacy: every release is a Gaussian mechanism, whose cost is computed "
    "exactly (Balle and Wang 2018); releases compose as the root of the sum of squares."
)
CALIBRATED = {
    Calibration.EXACT: "exactly",
    Calibration.RENYI: "by Rényi divergence, which adds more than needed",
    Calibration.CLASSICAL: (
        "by the classical formula, which adds more than needed up to ε = 1 and too little far above"
    ),
}
_PARTS = {SCORES: "scores", THRESHOLD: "the threshold that chooses tests"}
_ROUNDING = 1e-6  # relative, of calibration


@dataclass(frozen=True, slots=True, kw_only=True)
class Provenance:
    """What a statement says beyond the ledger.

    Attributes:
        method: the name of the method.
        release: the name of its variant of the release.
        training: where training data came from; None when nothing was trained.
        audit: the result and date of the last audit; None when there was none.
        measured: what one test of a person was measured to reveal, where it has no bound.
    """

    method: str
    release: str
    training: str | None = None
    audit: str | None = None
    measured: str | None = None


def statement(
    ledger: Ledger,
    provenance: Provenance,
    *,
    target: Target | None,
    deltas: Sequence[float] = (1e-3, 1e-5, 1e-6),
) -> str:
    """Return the guarantee of a run, one paragraph per question.

    Guarantee: every number is computed from the events of the ledger. The first paragraph says so
    if a run has no protection, its stated sensitivity fails, it spent more than its target, or its
    noise is for simulation only.
    """
    paragraphs = [
        f"Method: {provenance.method}{_variant(provenance)}. {_verdict(ledger, target)}",
        f"Adversary: {ADVERSARY}",
        *_protection(ledger, provenance, target, deltas),
        f"Training data: {provenance.training or 'nothing was trained for this method.'}",
        DISCLAIMER,
    ]
    return "\n\n".join(paragraphs)


def with_audit(text: str, audit: str | None) -> str:
    """Return a statement that was stored without an audit, with one that was made since."""
    before, after = f"Last audit: {NO_AUDIT}", f"Last audit: {audit}"
    return text if audit is None else text.replace(before, after)


def _protection(
    ledger: Ledger, provenance: Provenance, target: Target | None, deltas: Sequence[float]
) -> list[str]:
    """Return what is protected, how and at what cost; without noise, why there is no cost."""
    delta = target.delta if target is not None else deltas[0]
    chosen, noise = _selection(ledger, delta), _noise(ledger)
    if any(isinstance(e, UnprotectedEvent) for e in ledger.events):
        return [f"Not protected: {NOTHING_PROTECTED}", *chosen, *noise]
    if not ledger.noised:
        left = NOT_PROTECTED_BY_THRESHOLD if ledger.selections else NOT_PROTECTED_BY_SILENCE
        return [f"Protected: {NO_MESSAGE}", *chosen, *noise, f"Not protected: {left}"]
    left = NOT_PROTECTED.format(chosen="" if ledger.selections else HIGHEST_CHOSEN)
    return [
        f"One person: {_person(ledger, delta, provenance.measured)}",
        f"Protected: {PROTECTED}",
        *_costs(ledger, delta, deltas),
        f"What that means: {_odds(ledger, delta)}",
        f"Mechanism: {_mechanism(ledger)}",
        *([f"Accountant: {ACCOUNTANT}{_calibrated(ledger, target)}"] if ledger.sound else []),
        *noise,
        *chosen,
        f"Not protected: {left}{_trusted(ledger, delta)}",
        f"Last audit: {provenance.audit or NO_AUDIT}",
    ]


def _noise(ledger: Ledger) -> list[str]:
    """Return who drew the noise of scores and of thresholds; nothing without noise."""
    drawn = {
        _PARTS[part]: "; ".join(name or "of unknown origin" for name in names)
        for part, names in ledger.noises_by_part.items()
        if names
    }
    if len(set(drawn.values())) > 1:
        return ["Noise: " + "; ".join(f"of {part}: {names}" for part, names in drawn.items()) + "."]
    return [f"Noise: {names}." for names in list(drawn.values())[:1]]


def _calibrated(ledger: Ledger, target: Target | None) -> str:
    """Return which rule the size of the noise follows, as the events show; "" if none of ours."""
    if target is None:
        return ""
    for rule in dict.fromkeys([target.calibration, *CALIBRATED]):
        mu = replace(target, calibration=rule).mu
        if any(abs(spent / mu - 1.0) < _ROUNDING for spent in _calibrated_mus(ledger, target.unit)):
            return f" The noise was calibrated {CALIBRATED[rule]}."
    return ""


def _calibrated_mus(ledger: Ledger, unit: Unit) -> set[float]:
    """Return the μ for which the noise of releases may have been calibrated, given a unit.

    Some methods calibrate to a contact where a release was asked for; filters have budgets.
    """
    units = {unit, Unit.CONTACT} if unit is Unit.RELEASE else {unit}
    budgets = {e.budget for e in ledger.noised if isinstance(e, GaussianEvent) and e.budget}
    days = PAIR_DAYS if unit is Unit.PAIR else 1
    return {days * budget for budget in budgets} | {
        event.mu * event.lifetime.factor(u) for event in ledger.noised for u in units
    }


def _trusted(ledger: Ledger, delta: float) -> str:
    """Return what happens before the noise: a bound for a person needs messages of own tests."""
    bounded = ledger.epsilon(Unit.PERSON, delta) < float("inf")
    return BEFORE_THE_NOISE if bounded else BEFORE_THE_RELEASE


def _verdict(ledger: Ledger, target: Target | None) -> str:
    """Return what holds, and that noise protects nobody wherever it does not."""
    if any(isinstance(e, UnprotectedEvent) for e in ledger.events):
        return f"NOT PRIVATE: scores show secrets of other people as they are.{_weak(ledger)}"
    if not ledger.sound:
        return (
            "NOT SOUND: the noise was calibrated for a sensitivity that does not hold for people "
            f"with tests of their own.{_weak(ledger)}"
        )
    if not ledger.noised:
        return f"The scores depend on public facts alone.{_weak(ledger)}"
    if target is None:
        held = "The scores have noise, but no target was stated; the costs below hold"
        return f"{held}{_for_ideal_noise(ledger)}"
    promise = f"ε = {target.epsilon:g} at δ = {target.delta:g} per {target.unit}"
    kept = ledger.kept(target)
    if kept is Kept.NOT:
        missed = f"TARGET NOT MET: the run spent more than {promise}; the costs below hold"
        return f"{missed}{_for_ideal_noise(ledger)}"
    if kept is Kept.SO_FAR:
        life = _number(ledger.life_epsilon(target.unit, target.delta))
        return (
            f"TARGET MET SO FAR ALONE: over its whole life a {target.unit} costs up to ε = {life}, "
            f"more than {promise}. The run ended before that; the costs below, so far, hold"
            f"{_for_ideal_noise(ledger)}"
        )
    if not ledger.protects:
        return (
            f"SIMULATION: with ideal noise {promise} holds, proved for every history of own tests, "
            f"but the noise of {_weak_parts(ledger)} can be repeated and protects nobody."
        )
    return (
        f"The scores are differentially private: {promise}, proved for every history of own tests."
    )


def _for_ideal_noise(ledger: Ledger) -> str:
    """Return the end of a sentence about costs that hold: for ideal noise, if this one is not."""
    return f" for ideal noise.{_weak(ledger)}" if ledger.simulated else "."


def _weak(ledger: Ledger) -> str:
    """Return that noise protects nobody, where it does not; "" otherwise."""
    if not ledger.simulated:
        return ""
    return f" SIMULATION: the noise of {_weak_parts(ledger)} can be repeated and protects nobody."


def _weak_parts(ledger: Ledger) -> str:
    return " and of ".join(_PARTS[part] for part in ledger.simulated)


def _selection(ledger: Ledger, delta: float) -> list[str]:
    """Return what choosing tests by a published threshold cost; nothing if there was none."""
    spent = ledger.selection_epsilon(delta)
    if spent is None:
        return []
    return [
        "Choice of tests: nobody reads all scores. Phones compare theirs with a threshold from a "
        f"noisy histogram: ε = {_number(spent['day'])} per day for the score of one person at "
        f"δ = {delta:g}, {_number(spent['run'])} over all {len(ledger.selections)} days. This is "
        f"in addition to all other costs: one test of a person moves {_moved(ledger)}. Being "
        "refused by lot reveals that more people asked than there are tests; no ε covers that."
    ]


def _moved(ledger: Ledger) -> str:
    """Return whose scores one test of a person moves."""
    if ledger.mu(Unit.PERSON) == float("inf"):
        return "their own score and those of others, whether they met or not"
    return "their own score" + (" and those of everybody they met" if ledger.noised else "")


def _costs(ledger: Ledger, delta: float, deltas: Sequence[float]) -> list[str]:
    lines, so_far = [], dict.fromkeys(ledger.unfinished, ", so far")
    for d in sorted({delta, *deltas}, reverse=True):
        release, contact, pair = (
            _number(ledger.epsilon(unit, d)) for unit in (Unit.RELEASE, Unit.CONTACT, Unit.PAIR)
        )
        person = ledger.epsilon(Unit.PERSON, d)
        one = f"{_number(person)} for one test of a person{so_far.get('person', '')}; "
        lines.append(
            f"Cost at δ = {d:g}: ε = {'' if person == float('inf') else one}{release} for one "
            f"release to one person; {contact} for one contact{so_far.get('contact', EVER)}; "
            f"{pair} for a pair that meets once per day on {PAIR_DAYS} days"
            f"{so_far.get('pair', '')}."
        )
    day = ledger.person_day_epsilon(delta)
    if day > ledger.epsilon(Unit.CONTACT, delta):
        lines.append(
            f"A contact is one meeting. Somebody met {ledger.meetings_per_day} times on one day, "
            f"the most in this run, is that many: at most ε = {_number(day)} at δ = {delta:g} for "
            f"all that this person says on that day{so_far.get('contact', '')}."
        )
    if Unit.PAIR.value in ledger.unfinished:
        lines.append(
            "These are the costs so far: the run ended before a pair that meets on "
            f"{PAIR_DAYS} days had left all releases. A run with {ledger.life(Unit.PAIR)} days of "
            "releases or more has all costs."
        )
    longer = "; ".join(
        f"{_number(ledger.pair_epsilon(delta, days))} for {days} days" for days in LONGER_PAIRS
    )
    lines.append(
        f"A pair that keeps meeting costs more, at δ = {delta:g}: {longer}, over all releases."
    )
    reads = max((e.reads for e in ledger.events if isinstance(e, GaussianEvent)), default=1)
    if reads > 1:
        lines.append(
            f"A score is computed from the last {reads} releases, so one score alone, seen by "
            f"somebody who sees no other, is ε = {_number(ledger.score_epsilon(delta))} at "
            f"δ = {delta:g}{so_far.get('score', '')}. All of them together are the cost of a "
            "contact."
        )
    true = ledger.true_epsilon(delta)
    if true is not None:
        lines.append(
            f"Stated by the method: ε = {_number(ledger.nominal_epsilon(delta))} per release at "
            f"δ = {delta:g}. True: {_number(true['median'])} for the median person-day, "
            f"{_number(true['worst'])} for the worst one found, at most {_number(true['bound'])}."
        )
    return lines


def _person(ledger: Ledger, delta: float, measured: str | None) -> str:
    """Return what one test result of a person costs, also when receivers pool their scores."""
    epsilon = ledger.epsilon(Unit.PERSON, delta)
    if epsilon == float("inf"):
        return NO_PERSON if measured is None else f"{NO_PERSON} Of this method: {measured}."
    pooled = ", ".join(
        f"{k}: {_number(ledger.epsilon(Unit.PERSON, delta, receivers=k))}" for k in POOLED
    )
    how_long = "so far" if ledger.person_unfinished else "for ever"
    so_far = " (so far)" if ledger.person_unfinished else ""
    return (
        f"ε = {_number(epsilon)} at δ = {delta:g} for one test result of a person, {how_long}, "
        f"against one receiver who keeps every score, {PERSON} Somebody who knows everything else "
        f"guesses the result right {at_most(guessing_limit(epsilon, delta))}{so_far}. Receivers "
        f"who pool their scores, by their number{so_far}: {pooled}."
    )


def _odds(ledger: Ledger, delta: float) -> str:
    """Return the costs as right guesses in 100."""
    release, contact, pair = (
        ledger.epsilon(unit, delta) for unit in (Unit.RELEASE, Unit.CONTACT, Unit.PAIR)
    )
    limits = [
        at_most(guessing_limit(epsilon, delta))
        for epsilon in (release, ledger.score_epsilon(delta), contact, pair)
    ]
    so_far = dict.fromkeys(ledger.unfinished, " (so far)")
    return (
        "of two equally likely values of a message, somebody who knows everything else guesses the "
        f"right one {limits[0]} from one release, {limits[1]} from one score alone"
        f"{so_far.get('score', '')}, {limits[2]} from all releases a contact reaches"
        f"{so_far.get('contact', '')}, {limits[3]} from all that a pair reaches"
        f"{so_far.get('pair', '')}; a coin is right 50 times."
    )


def _mechanism(ledger: Ledger) -> str:
    noised = ledger.noised
    names = sorted({event.mechanism for event in noised})
    budgets = {e.budget for e in noised if isinstance(e, GaussianEvent) and e.budget is not None}
    text = f"Gaussian noise, {len(noised)} releases, on: {'; '.join(names)}."
    if budgets:
        text += " A budget for every contact was fixed beforehand and is enforced by a filter."
    return text


def _number(epsilon: float) -> str:
    return f"{epsilon:.3g}" if epsilon < float("inf") else "unbounded"


def _variant(provenance: Provenance) -> str:
    return f", variant {provenance.release}" if provenance.release else ""
