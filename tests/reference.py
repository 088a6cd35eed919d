"""Slow, obvious twins of the fast kernels. Float64, plain loops, straight from the definitions."""

import itertools
import math

import numpy as np

FLOOR = 1e-6


def outcome_likelihood(outcome, infected, test_errors):
    """P(outcome | infected or not), floored; 1 without a test."""
    if outcome < 0:
        return 1.0
    fpr, fnr = test_errors.false_positive_rate, test_errors.false_negative_rate
    positive = 1.0 - fnr if infected else fpr
    return max(positive if outcome == 1 else 1.0 - positive, FLOOR)


def log(value):
    return math.log(value) if value > 0 else -math.inf


def step_log_probability(before, after, log_stay, parameters):
    """Log P(state after | state before); log_stay = log P(S stays S) on the day."""
    g, h = parameters.g, parameters.h
    leave = -math.expm1(log_stay) if log_stay > -math.inf else 1.0
    steps = {
        (0, 0): log_stay,
        (0, 1): log(leave),
        (1, 1): log(1 - g),
        (1, 2): log(g),
        (2, 2): log(1 - h),
        (2, 3): log(h),
        (3, 3): 0.0,
    }
    return steps.get((before, after), -math.inf)


def sequence_log_weight(sequence, log_stays, outcomes, parameters, test_errors):
    """Log P(sequence, tests)."""
    prior = (log(1 - parameters.p0), log(parameters.p0), -math.inf, -math.inf)
    weight = prior[sequence[0]]
    for t, state in enumerate(sequence):
        weight += math.log(outcome_likelihood(outcomes[t], state == 2, test_errors))
        if t > 0:
            weight += step_log_probability(sequence[t - 1], state, log_stays[t - 1], parameters)
    return weight


def all_sequences(n_days):
    """All 4^days sequences."""
    return list(itertools.product(range(4), repeat=n_days))


def monotone_sequences(n_days):
    """The O(days³) sequences S…S E…E I…I R…R that pass through every state in turn."""
    sequences = set()
    for first_e in range(n_days + 1):
        for first_i in range(first_e + 1, n_days + 2):
            for first_r in range(first_i + 1, n_days + 3):
                sequences.add(
                    tuple(
                        0 if t < first_e else 1 if t < first_i else 2 if t < first_r else 3
                        for t in range(n_days)
                    )
                )
    return sorted(sequences)


def posterior(log_stays, outcomes, parameters, test_errors, sequences):
    """Marginals [days, 4] by summing over sequences."""
    weights = np.array(
        [
            sequence_log_weight(sequence, log_stays, outcomes, parameters, test_errors)
            for sequence in sequences
        ]
    )
    weights = np.exp(weights - weights.max())
    states = np.array(sequences)
    marginals = np.stack([(weights[:, None] * (states == k)).sum(axis=0) for k in range(4)], axis=1)
    return marginals / marginals.sum(axis=1, keepdims=True)


def factorised_neighbours(
    contacts, tests, n_people, n_days, parameters, test_errors, rounds, sequences
):
    """Beliefs [people, days, 4] after `rounds` updates of everybody, from zero messages."""
    outcomes = np.full((n_people, n_days), -1)
    for person, day, positive in tests:
        outcomes[person, day] = positive
    beliefs = np.zeros((n_people, n_days, 4))
    beliefs[:, :, 0] = 1.0
    for _ in range(rounds):
        log_stays = stays_from_messages(contacts, beliefs, n_people, n_days, parameters)
        beliefs = np.stack(
            [
                posterior(log_stays[u], outcomes[u], parameters, test_errors, sequences)
                for u in range(n_people)
            ]
        )
    return beliefs


def stays_from_messages(contacts, beliefs, n_people, n_days, parameters):
    """Log of ψ = (1 - p0)·Π(1 - p1·P(I)), [people, days]."""
    p1 = parameters.p1
    log_stays = np.full((n_people, n_days), log(1 - parameters.p0))
    for sender, receiver, day in contacts:
        not_infected = beliefs[sender, day, [0, 1, 3]].sum()  # 1 - P(I) without cancellation
        log_stays[receiver, day] += log((1 - p1) + p1 * not_infected)
    return log_stays


def counting_sort(senders, receivers, n_people):
    """(offsets, senders) by receiver, then sender."""
    order = sorted(range(len(senders)), key=lambda i: (receivers[i], senders[i]))
    offsets = [sum(r < person for r in receivers) for person in range(n_people + 1)]
    return offsets, [senders[i] for i in order]


def philox4x32(key, counter):
    """Philox4x32-10 in Python integers (Salmon et al. 2011)."""
    mask = 0xFFFFFFFF
    k0, k1 = key & mask, key >> 32
    x0, x1, x2, x3 = counter
    for _ in range(10):
        high_0, low_0 = divmod(0xD2511F53 * x0, 2**32)
        high_1, low_1 = divmod(0xCD9E8D57 * x2, 2**32)
        x0, x1, x2, x3 = high_1 ^ x1 ^ k0, low_1, high_0 ^ x3 ^ k1, low_0
        k0, k1 = (k0 + 0x9E3779B9) & mask, (k1 + 0xBB67AE85) & mask
    return x0, x1, x2, x3


def choose_tests(scores, eligible, most, ties):
    """Ids with the highest scores among the eligible, ties to the smallest tie-break."""
    candidates = [i for i, e in enumerate(eligible) if e and not math.isnan(scores[i])]
    return sorted(sorted(candidates, key=lambda i: (-scores[i], ties[i]))[:most])


def area_under_roc(scores, positive):
    """Share of (positive, negative) pairs in the right order, ties counting half."""
    wins = [
        1.0 if a > b else 0.5 if a == b else 0.0
        for a, p in zip(scores, positive, strict=True)
        if p
        for b, q in zip(scores, positive, strict=True)
        if not q
    ]
    return sum(wins) / len(wins) if wins else None


def average_precision(scores, positive):
    """Mean over positives of the precision at their score."""
    precisions = []
    for score, p in zip(scores, positive, strict=True):
        if p:
            at_least = [q for s, q in zip(scores, positive, strict=True) if s >= score]
            precisions.append(sum(at_least) / len(at_least))
    return sum(precisions) / len(precisions) if precisions else None


def meetings_with_cases(days, cases, by_kind):
    """How often everybody met a case, and the largest value by kind of these meetings."""
    counts, closest = [0] * len(cases), [0.0] * len(cases)
    for day in days:
        for receiver in range(len(cases)):
            for k in range(day.offsets[receiver], day.offsets[receiver + 1]):
                if cases[day.senders[k]]:
                    kind = 2 if day.kinds is None else day.kinds[k]
                    counts[receiver] += 1
                    closest[receiver] = max(closest[receiver], by_kind[kind])
    return counts, closest


def caused_by(hazards, contact, log_outside):
    """The share of a day's infections that one of its contacts causes: its share of the hazard."""
    total = sum(hazards.values()) - log_outside
    return hazards[contact] / total if total > 0 else 0.0


def echo_free_neighbours(
    contacts, outcomes, parameters, test_errors, rounds, sequences, susceptible, silent
):
    """Exposures [people, days] of the last round, when nobody hears what came from themselves.

    Every message by enumeration: P(I | not infected by the receiver), where the infection on a day
    is divided among the contacts of that day by their hazards.
    """
    n_people, n_days = outcomes.shape
    log_outside = log(1 - parameters.p0)
    told = dict.fromkeys(range(len(contacts)), 0.0)  # by row of contacts: a hazard
    for _ in range(rounds - 1):
        heard = [[{} for _ in range(n_days)] for _ in range(n_people)]
        for row, (_, receiver, day) in enumerate(contacts):
            heard[receiver][day][row] = told[row] * susceptible[receiver]
        told = {
            row: 0.0
            if silent[sender]
            else -log(
                1
                - parameters.p1
                * infected_otherwise(
                    heard[sender],
                    [r for r, (who, whom, _) in enumerate(contacts) if (who, whom) == (to, sender)],
                    outcomes[sender],
                    parameters,
                    test_errors,
                    sequences,
                    log_outside,
                )[day]
            )
            for row, (sender, to, day) in enumerate(contacts)
        }
    exposures = np.zeros((n_people, n_days))
    for row, (_, receiver, day) in enumerate(contacts):
        exposures[receiver, day] += told[row] * susceptible[receiver]
    return exposures


def infected_otherwise(
    heard, from_receiver, outcomes, parameters, test_errors, sequences, log_outside
):
    """P(I) by day given that none of some contacts infected, by enumeration."""
    log_stays = [log_outside - sum(day.values()) for day in heard]
    weights = np.array(
        [sequence_log_weight(s, log_stays, outcomes, parameters, test_errors) for s in sequences]
    )
    weights = np.exp(weights - weights.max())
    for k, sequence in enumerate(sequences):
        for t, day in enumerate(heard[:-1]):
            if sequence[t] == 0 and sequence[t + 1] == 1:
                by = sum(caused_by(day, c, log_outside) for c in from_receiver if c in day)
                weights[k] *= 1.0 - by
    infected = np.array(sequences) == 2
    return (weights[:, None] * infected).sum(axis=0) / weights.sum()
