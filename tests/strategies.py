"""What hypothesis may think of: contacts, tests and parameters, also extreme ones."""

from dataclasses import dataclass

import numpy as np
from hypothesis import strategies as st

import dnatrace as dt

# Everyday values, both ends, and what is just inside them.
shares = st.one_of(
    st.sampled_from([0.0, 1.0, 1e-9, 1e-6, 1 - 1e-6, 0.001, 0.01, 0.03, 0.1, 0.5, 0.99]),
    st.floats(0.0, 1.0),
)
usual_shares = st.floats(0.001, 0.999)


@st.composite
def seir_parameters(draw, share=shares):
    return dt.SeirParameters(p0=draw(share), p1=draw(share), g=draw(share), h=draw(share))


@st.composite
def errors_of_tests(draw, share=shares):
    return dt.TestErrors(false_positive_rate=draw(share), false_negative_rate=draw(share))


@dataclass(frozen=True)
class Case:
    n_people: int
    n_days: int
    contacts: np.ndarray
    tests: np.ndarray


@st.composite
def cases(draw, people=(1, 5), days=(1, 5), most_contacts=20):
    """A small graph with its tests."""
    n_people = draw(st.integers(*people))
    n_days = draw(st.integers(*days))
    person = st.integers(0, n_people - 1)
    day = st.integers(0, n_days - 1)
    pairs = st.tuples(person, person, day).filter(lambda row: row[0] != row[1])
    n_most = most_contacts if n_people > 1 else 0
    contacts = draw(st.lists(pairs, max_size=n_most)) if n_most else []
    results = draw(st.dictionaries(st.tuples(person, day), st.integers(0, 1), max_size=12))
    tests = [(person, day, positive) for (person, day), positive in results.items()]
    return Case(
        n_people,
        n_days,
        np.array(contacts, dtype=np.int64).reshape(-1, 3),
        np.array(tests, dtype=np.int64).reshape(-1, 3),
    )


def random_case(seed, n_people, n_days, contacts_a_day, tests_a_day=0.08):
    """A larger case like the city's: uniform contacts, a few tests."""
    rng = np.random.default_rng(seed)
    n = int(n_people * n_days * contacts_a_day)
    senders = rng.integers(0, n_people, n)
    receivers = (senders + rng.integers(1, n_people, n)) % n_people
    contacts = np.stack([senders, receivers, rng.integers(0, n_days, n)], axis=1)
    tested = np.argwhere(rng.random((n_people, n_days)) < tests_a_day)
    tests = np.column_stack([tested, rng.random(len(tested)) < 0.1]).astype(np.int64)
    return Case(n_people, n_days, contacts, tests)
