"""Slow, obvious twins of the kernels of the city: plain loops over the same streams."""

import math
from dataclasses import replace

import numpy as np

from dnatrace.rng import Stream, philox, uniform_at
from dnatrace.simulators.base import MEETS_NOBODY
from dnatrace.simulators.disease import DiseaseParameters
from dnatrace.simulators.population import NETWORK_OF_AGE

HOUSEHOLD, OCCUPATION, RANDOM = 0, 1, 2


def words_of(key, *counter):
    return [int(word) for word in philox(key, *counter)]


def half_words(key, block, day):
    """Eight draws of 16 bits, the low half of each word first."""
    return [h for w in words_of(key, block, day, 0, 0) for h in (w & 0xFFFF, w >> 16)]


def active(key, edge, day, threshold):
    return half_words(key, edge // 8, day)[edge % 8] < threshold


def meetings(key, day, owners):
    """Pairs of people who meet at random: buckets in order, each shuffled, neighbours meet."""
    n_buckets = 1
    while n_buckets * 2048 < len(owners):
        n_buckets *= 2
    buckets = [[] for _ in range(n_buckets)]
    for place in range(len(owners)):
        draw = half_words(key, place // 8, day)[place % 8]
        buckets[draw % n_buckets].append(place)
    order = []
    for number, bucket in enumerate(buckets):
        for step, last in enumerate(range(len(bucket) - 1, 0, -1)):
            word = words_of(key, step // 4, day, number, 1)[step % 4]
            chosen = word * (last + 1) >> 32
            bucket[last], bucket[chosen] = bucket[chosen], bucket[last]
        order += bucket
    met = {}
    for i in range(0, len(order) - 1, 2):
        a, b = order[i], order[i + 1]
        if owners[a] != owners[b]:
            met[a], met[b] = owners[b], owners[a]
    return met


class ReferenceCity:
    """The city in plain Python, for a few hundred people."""

    def __init__(self, population, seed, infected, keeps_household=False):
        self.people = population
        self.n = population.n_people
        self.disease = DiseaseParameters()
        self.times = self.disease.times()
        self.mass, self.factors = self.disease.infectious_mass(), self.disease.course_factors()
        self.keeps_household = keeps_household
        self.occupation = Stream(seed, "contacts/occupation").key
        self.random = Stream(seed, "contacts/random").key
        self.course = Stream(seed, "disease/course").key
        tolerance = Stream(seed, "disease/tolerance").key
        self.tolerance = [-math.log(uniform_at(tolerance, p, 0, 0)) for p in range(self.n)]
        self.hazard = [0.0] * self.n
        self.scale = self.disease.hazard_scales(population.mean_contacts)
        self.states = [0] * self.n
        self.infected_on = [-1] * self.n
        self.plan = [None] * self.n  # (next state, day)
        self.isolated = [False] * self.n
        self.day = 0
        for p in infected:
            self._infect(p)

    def contacts(self):
        """All (receiver, sender, kind) of the next day, in the order of the lists."""
        day, people = self.day + 1, self.people
        owners = [p for p in range(self.n) for _ in range(people.meetings[p])]
        met = meetings(self.random, day, owners)
        out = []
        place = 0
        for p in range(self.n):
            home = people.households[p]
            mates = [q for q in range(self.n) if q != p and people.households[q] == home]
            out += [(p, q, HOUSEHOLD) for q in mates]
            out += [
                (p, int(people.neighbours[k]), OCCUPATION)
                for k in range(people.neighbour_offsets[p], people.neighbour_offsets[p + 1])
                if active(self.occupation, int(people.edges[k]), day, 2**15)
            ]
            for _ in range(people.meetings[p]):
                if place in met:
                    out.append((p, met[place], RANDOM))
                place += 1
        return [c for c in out if self._can_meet(c[0], c[2]) and self._can_meet(c[1], c[2])]

    def _can_meet(self, person, kind):
        if MEETS_NOBODY[self.states[person]]:
            return False
        return not self.isolated[person] or (self.keeps_household and kind == HOUSEHOLD)

    def advance(self):
        contacts = self.contacts()
        self.day += 1
        mass, factors = self.mass, self.factors
        newly_infected = []
        emitted = [
            factors[self.states[q]] * mass[self.day - self.infected_on[q]]
            if 0 < self.states[q] < 9
            else 0.0
            for q in range(self.n)
        ]
        for receiver, sender, kind in contacts:
            if self.states[receiver] == 0:
                weight = self.disease.kind_weights[kind] * emitted[sender]
                self.hazard[receiver] += weight * self.scale[self.people.age_groups[receiver]]
        for p in range(self.n):
            if self.states[p] == 0 and self.hazard[p] > self.tolerance[p]:
                newly_infected.append(p)
            elif self.plan[p] is not None and self.plan[p][1] == self.day:
                self._enter(p, self.plan[p][0])
        for p in newly_infected:
            self._infect(p)
        return contacts

    def _infect(self, p):
        age, d = self.people.age_groups[p], self.disease
        self.infected_on[p] = self.day
        u = uniform_at(self.course, p, 0, 0)
        if u < d.asymptomatic_fractions[age]:
            self._enter(p, 3)
        elif u < d.asymptomatic_fractions[age] + d.mild_fractions[age]:
            self._enter(p, 2)
        else:
            self._enter(p, 1)

    def _enter(self, p, state):
        self.states[p] = state
        self.plan[p] = None
        if state >= 9:
            return
        age, d, times = self.people.age_groups[p], self.disease, self.times
        u = uniform_at(self.course, p, state, 0)
        in_hospital = u < d.critical_fractions[age]
        cared_for = u < d.critical_fractions[age] * d.intensive_care_fractions[age]
        following, row = {
            1: (4, 0),
            2: (5, 0),
            3: (9, 5),
            4: (6, 1) if u < d.hospitalised_fractions[age] else (9, 4),
            5: (9, 4),
            6: ((7, 2) if cared_for else (10, 2)) if in_hospital else (9, 6),
            7: (10, 3) if u < d.fatality_fractions[age] else (8, 7),
            8: (9, 6),
        }[state]
        v = uniform_at(self.course, p, state, 1)
        days = 1 + sum(v >= c for c in times[row][:-1])
        self.plan[p] = (following, self.day + days)


def with_hermit(population, age_group):
    """The population with one more person, the last id, who never meets anybody.

    The mean numbers of contacts stay, so that nothing changes for anybody else.
    """
    last = np.int32(population.households[-1] + 1)
    return replace(
        population,
        age_groups=np.append(population.age_groups, np.uint8(age_group)),
        households=np.append(population.households, last),
        networks=np.append(population.networks, NETWORK_OF_AGE[age_group]),
        neighbour_offsets=np.append(population.neighbour_offsets, population.neighbour_offsets[-1]),
        meetings=np.append(population.meetings, np.int32(0)),
    )
