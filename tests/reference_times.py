"""Slow, obvious twin of the inference over days of infection: all joint days, one after another."""

import itertools

import numpy as np

from tests.reference import FLOOR


def likelihood_of(outcome, found, test_errors):
    if outcome < 0:
        return 1.0
    fpr, fnr = test_errors.false_positive_rate, test_errors.false_negative_rate
    positive = 1.0 - fnr if found else fpr
    return max(positive if outcome == 1 else 1.0 - positive, FLOOR)


def tests_given_day(outcomes, infected_on, still_found, test_errors):
    """P(own tests | day of infection), summed over the age at which the infection is over."""
    over = -np.diff(np.append(np.append(1.0, still_found), 0.0))  # P(over at age 0, 1, …, later)
    total = 0.0
    for age_over, share in enumerate(over):
        product = 1.0
        for day, outcome in enumerate(outcomes):
            found = infected_on is not None and infected_on <= day < infected_on + age_over
            product *= likelihood_of(outcome, found, test_errors)
        total += share * product
    return total


def chance_of_day(person, joint, contacts, transmissions, groups, p0, first_infected, n_days):
    """P(day of infection of a person | those of everybody else)."""
    mine = joint[person]
    if mine == -1:
        return first_infected
    chance = 1.0 - first_infected
    for day in range(n_days):
        stay = 1.0 - p0
        for sender, receiver, when in contacts:
            if receiver == person and when == day and joint[sender] is not None:
                age = day - joint[sender]
                if 0 < age < transmissions.shape[1]:
                    stay *= 1.0 - transmissions[groups[person], age]
        if mine == day:
            return chance * (1.0 - stay)
        chance *= stay
    return chance


def posterior_of_days(contacts, outcomes, course, test_errors, groups, p0_first):
    """P(infected on the day before, on day 0, …, never): [people, days + 2], by enumeration."""
    n_days, n_people = outcomes.shape
    days = [-1, *range(n_days), None]
    found = course.still_found(n_days + 1)
    own = [
        [tests_given_day(outcomes[:, i], day, found, test_errors) for day in days]
        for i in range(n_people)
    ]
    result = np.zeros((n_people, len(days)))
    for places in itertools.product(range(len(days)), repeat=n_people):
        joint = [days[place] for place in places]
        weight = 1.0
        for i in range(n_people):
            weight *= own[i][places[i]] * chance_of_day(
                i, joint, contacts, course.transmissions, groups, course.p0, p0_first, n_days
            )
        for i in range(n_people):
            result[i, places[i]] += weight
    return result / result.sum(axis=1, keepdims=True)


def heard(contacts, outcomes, course, test_errors, groups, p0_first, exchanges):
    """P(infected on the day before, on day 0, …, never): own tests first, then marginals."""
    n_days, n_people = outcomes.shape
    days = [-1, *range(n_days), None]
    found = course.still_found(n_days + 1)

    def weighed(person, stays):
        free, weights = 1.0 - p0_first, [p0_first]
        for day in range(n_days):
            stay = (1.0 - course.p0) * stays[day]
            weights.append(free * (1.0 - stay))
            free *= stay
        weights.append(free)
        own = [tests_given_day(outcomes[:, person], day, found, test_errors) for day in days]
        weights = np.array(weights) * own
        return weights / weights.sum()

    said = [weighed(i, np.ones(n_days)) for i in range(n_people)]
    for _ in range(exchanges):
        hazards = np.zeros((n_people, n_days))
        for sender, receiver, day in contacts:
            for place, infected_on in enumerate(days[:-1]):
                age = day - infected_on
                if 0 < age < course.infectiousness.size:
                    hazard = course.infectiousness[age] * course.susceptibility[groups[receiver]]
                    hazards[receiver, day] += said[sender][place] * hazard
        said = [weighed(i, np.exp(-hazards[i])) for i in range(n_people)]
    return np.array(said)


def days_of_pairs(by_day, first):
    """The days on which somebody heard somebody, by (receiver, sender), without those before."""
    found = {}
    for day, contacts in by_day.items():
        for sender, receiver in contacts:
            found.setdefault((receiver, sender), [])
            found.setdefault((sender, receiver), [])
            found[receiver, sender] += [day] if day >= first else []
    return {pair: sorted(days) for pair, days in found.items() if days or found[pair[::-1]]}
