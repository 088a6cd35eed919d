"""Events, lifetimes and the ledger: exact composition, three units, budgets that hold."""

import math
from dataclasses import replace

import dp_accounting
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dnatrace.errors import InputError
from dnatrace.methods.base import Score
from dnatrace.methods.dpfn import series_root, sums_lifetime
from dnatrace.methods.frozen import frozen_lifetime
from dnatrace.methods.settings import renewed_lifetime
from dnatrace.privacy import sensitivity
from dnatrace.privacy.accounting import (
    Calibration,
    GaussianEvent,
    Ledger,
    Lifetime,
    PublicEvent,
    Target,
    Unit,
    UnprotectedEvent,
    UnprovenEvent,
)
from dnatrace.privacy.budget_filter import Spent, linear_statistic
from dnatrace.privacy.gaussian import epsilon_of_mu, mu_of_budget
from dnatrace.privacy.noise import FastNoise, SecureNoise
from dnatrace.privacy.release import TrustBoundaryError
from dnatrace.privacy.sensitivity import LinearForm
from dnatrace.privacy.statement import Provenance, statement
from dnatrace.seir import SeirParameters

MU = mu_of_budget(1.0, 1e-3)
PAPER = SeirParameters()


SECURE, FAST = SecureNoise().name, FastNoise(seed=0).name


def ledger_of(lifetime, days=60, mu=MU, noise=SECURE, **known):
    event = GaussianEvent(day=0, mechanism="m", mu=mu, lifetime=lifetime, noise=noise, **known)
    return Ledger([replace(event, day=day) for day in range(days)])


def epsilon(factor):
    return epsilon_of_mu(factor * MU, 1e-3)


@pytest.mark.parametrize(
    ("lifetime", "contact", "pair"),
    [
        (renewed_lifetime(window=14, score=Score.INFECTED, joint=True), 4.55, 153.6),
        (renewed_lifetime(window=14, score=Score.EXPOSED_OR_INFECTED, joint=True), 4.79, 171.2),
        (renewed_lifetime(window=14, score=Score.EXPOSED_OR_INFECTED, joint=False), 4.79, 29.1),
        (Lifetime(shares=(1.0,) * 14, joint=True), 5.02, 188.8),
        (frozen_lifetime(1), 1.00, 5.02),
        (
            Lifetime(shares=sensitivity.decay(PAPER, window=14, with_exposed=False), joint=True),
            2.58,
            66.4,
        ),
        (
            Lifetime(shares=sensitivity.decay(PAPER, window=14, with_exposed=True), joint=True),
            2.91,
            80.5,
        ),
        (
            Lifetime(
                shares=sensitivity.two_sided_decay(PAPER, window=14, with_exposed=False), joint=True
            ),
            2.91,
            80.0,
        ),
        (
            Lifetime(
                shares=sensitivity.two_sided_decay(PAPER, window=14, with_exposed=True), joint=True
            ),
            3.23,
            95.1,
        ),
    ],
)
def test_stated_costs_of_contacts_and_pairs(lifetime, contact, pair):
    assert epsilon(lifetime.contact_factor) == pytest.approx(contact, abs=0.006)
    assert epsilon(lifetime.pair_factor) == pytest.approx(pair, rel=2e-3)
    ledger = ledger_of(lifetime)
    assert ledger.epsilon(Unit.RELEASE, 1e-3) == pytest.approx(
        epsilon(max(lifetime.shares)), rel=1e-9
    )
    assert ledger.epsilon(Unit.CONTACT, 1e-3) == pytest.approx(contact, abs=0.006)
    assert ledger.epsilon(Unit.PAIR, 1e-3) == pytest.approx(pair, rel=2e-3)


def convolve_errors(with_exposed, terms):
    """Error of the κ-weighted sum under the banded root, and ‖c‖² of a root of so many terms."""
    kappa = np.array(sensitivity.decay(PAPER, window=14, with_exposed=with_exposed))
    kappa = kappa[sensitivity.first_age(with_exposed) :]
    padded = np.concatenate([kappa, np.zeros(terms - kappa.size)])
    root = np.zeros(terms)
    root[0] = math.sqrt(kappa[0])
    for n in range(1, terms):
        root[n] = (padded[n] - root[1:n] @ root[n - 1 : 0 : -1]) / (2 * root[0])
    banded = np.array(series_root(PAPER, 14, with_exposed))
    assert banded == pytest.approx(root[: banded.size])
    inverse = np.zeros(terms)
    inverse[0] = 1 / banded[0]
    for n in range(1, terms):
        k = min(n, banded.size - 1)
        inverse[n] = -(banded[1 : k + 1] @ inverse[n - 1 :: -1][:k]) / banded[0]
    error = np.linalg.norm(np.convolve(kappa, inverse)[:terms]) * np.linalg.norm(banded)
    return (root**2).sum(), error


@pytest.mark.parametrize(
    ("with_exposed", "stated", "banded"), [(False, 1.447, 1.456), (True, 1.536, 1.547)]
)
def test_stated_factors_of_correlated_noise(with_exposed, stated, banded):
    full, error = convolve_errors(with_exposed, 400)
    assert full == pytest.approx(stated, abs=5e-4)
    # Forgetting what is older than the window costs less than a percent.
    assert error == pytest.approx(banded, abs=1e-3)


def test_correlated_root_squares_to_kappa_and_counts_every_sum():
    for exposed in (False, True):
        root = np.array(series_root(PAPER, 14, exposed))
        kappa = sensitivity.decay(PAPER, window=14, with_exposed=exposed)
        kappa = kappa[sensitivity.first_age(exposed) :]
        assert np.convolve(root, root)[: len(kappa)] == pytest.approx(kappa)
        once = sums_lifetime(tuple(root), 1)
        assert once.contact_factor == pytest.approx(np.linalg.norm(root) / root[0])
        # All sums at once: the oldest contact has touched all of them.
        assert max(sums_lifetime(tuple(root), 1, 13).shares) == pytest.approx(once.contact_factor)


@given(st.lists(st.floats(0.01, 2.0), min_size=1, max_size=6))
def test_composition_is_exact(mus):
    ledger = Ledger()
    lifetime = Lifetime(shares=(1.0,) * len(mus), joint=True)
    for day, mu in enumerate(mus):
        ledger.record(GaussianEvent(day=day, mechanism="m", mu=mu, lifetime=lifetime))
    assert ledger.mu(Unit.CONTACT) == pytest.approx(math.sqrt(sum(m * m for m in mus)))


@pytest.mark.parametrize("n", [1, 3, 13])
def test_composition_agrees_with_a_second_accountant(n):
    accountant = dp_accounting.pld.PLDAccountant(value_discretization_interval=1e-3)
    event = dp_accounting.GaussianDpEvent(noise_multiplier=1 / MU)
    accountant.compose(dp_accounting.SelfComposedDpEvent(event, n))
    ours = ledger_of(Lifetime(shares=(1.0,) * n, joint=True)).epsilon(Unit.CONTACT, 1e-3)
    theirs = accountant.get_epsilon(1e-3)
    assert ours <= theirs * (1 + 1e-6)  # theirs is discretised upwards
    assert ours == pytest.approx(theirs, rel=5e-3)


@pytest.mark.parametrize("unit", list(Unit))
@pytest.mark.parametrize("joint", [False, True])
def test_calibration_meets_its_unit(unit, joint):
    lifetime = renewed_lifetime(window=14, score=Score.EXPOSED_OR_INFECTED, joint=joint)
    lifetime = replace(lifetime, person=(1.0,) * 14)
    target = Target(epsilon=0.7, delta=1e-5, unit=unit)
    ledger = ledger_of(lifetime, mu=1 / target.multiplier(lifetime))
    assert ledger.epsilon(unit, 1e-5) == pytest.approx(0.7, rel=1e-6)


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 10.0, 30.0])
def test_what_other_calibrations_spend_is_accounted_exactly(epsilon):
    lifetime = renewed_lifetime(window=14, score=Score.INFECTED, joint=True)
    spent = {}
    for calibration in Calibration:
        target = Target(epsilon=epsilon, calibration=calibration)
        ledger = ledger_of(lifetime, mu=1 / target.multiplier(lifetime))
        spent[calibration] = ledger.epsilon(Unit.RELEASE, target.delta)
    assert spent[Calibration.EXACT] == pytest.approx(epsilon, rel=1e-6)
    assert spent[Calibration.RENYI] < epsilon
    # Dwork and Roth state theirs for ε < 1; at 10 and 30 it gives away more than it says.
    assert (spent[Calibration.CLASSICAL] > epsilon) == (epsilon >= 10.0)


def test_a_budget_bounds_contacts_and_pairs():
    lifetime = renewed_lifetime(window=14, score=Score.EXPOSED_OR_INFECTED, joint=True)
    ledger = ledger_of(lifetime, mu=0.5, budget=0.6)
    assert ledger.mu(Unit.CONTACT) == pytest.approx(0.6)
    assert ledger.mu(Unit.PAIR) == pytest.approx(14 * 0.6)
    ledger.record(GaussianEvent(day=70, mechanism="m", mu=0.5, lifetime=lifetime))
    assert ledger.mu(Unit.CONTACT) > 1.0  # one release outside the filter undoes it


def test_public_and_unprotected_events():
    ledger = Ledger()
    assert ledger.summary(1e-3)["per_contact_epsilon"] == 0.0
    ledger.record(PublicEvent(day=0))
    assert ledger.sound
    assert ledger.mu(Unit.PAIR) == 0.0
    ledger.record(UnprotectedEvent(day=1))
    assert not ledger.sound
    assert ledger.mu(Unit.RELEASE) == math.inf
    summary = ledger.summary(1e-3)
    assert summary["per_release_epsilon"] is None
    assert summary["nominal_epsilon"] is None
    assert summary["releases"] == 2
    with pytest.raises(InputError, match="event"):
        ledger.record("a score")


def test_unproven_events_report_the_truth():
    lifetime = renewed_lifetime(window=14, score=Score.INFECTED, joint=True)
    ledger = Ledger()
    ledger.record(
        UnprovenEvent(
            day=0,
            mechanism="m",
            mu=MU,
            lifetime=lifetime,
            attained=((0.98, 900), (11.03, 100)),
            attained_worst=11.0213,
            bound_worst=18.0,
        )
    )
    true = ledger.true_epsilon(1e-3)
    assert not ledger.sound
    assert ledger.nominal_epsilon(1e-3) == pytest.approx(1.0)
    assert true["median"] == pytest.approx(epsilon(0.98))
    assert true["worst"] == pytest.approx(21.6, abs=0.05)  # after one positive test at c = .035
    assert ledger.epsilon(Unit.RELEASE, 1e-3) == true["bound"] == pytest.approx(epsilon(18.0))
    assert ledger_of(lifetime).true_epsilon(1e-3) is None


@pytest.mark.parametrize(
    "wrong", [{"epsilon": 0}, {"epsilon": math.nan}, {"delta": 1.0}, {"unit": "people"}]
)
def test_wrong_targets_are_named(wrong):
    assert Target(epsilon=1.0, unit="pair").unit is Unit.PAIR
    with pytest.raises(InputError, match=next(iter(wrong))):
        Target(**({"epsilon": 1.0} | wrong))


# The filter.


def spend(weights, squares, *, mu=1.0, budget=None, counts=None):
    weights = np.asarray(weights, dtype=float)
    form = LinearForm(
        scores=np.full(weights.shape[1], 0.5), weights=weights, lifts=np.zeros_like(weights)
    )
    counts = np.ones(weights.shape, dtype=np.int32) if counts is None else counts
    return linear_statistic(
        form, np.ones_like(weights), counts, squares, reach=0.1, mu=mu, budget=budget
    )


def test_linear_statistic_without_a_budget():
    squares = np.zeros((3, 1))
    counts = np.array([[1], [1], [0]], dtype=np.int32)
    bounded = spend([[0.5], [-1.0], [7.0]], squares, mu=2.0, counts=counts)
    assert bounded.values == pytest.approx([0.0])
    assert bounded.sensitivity == pytest.approx([0.1])
    assert squares[:, 0] == pytest.approx([1.0, 4.0, 0.0])


@given(st.integers(0, 2**32 - 1), st.floats(0.3, 3.0))
def test_no_contact_spends_more_than_its_budget(seed, mu):
    """Whatever the weights of many releases, chosen by anybody, no day exceeds its budget."""
    rng = np.random.default_rng(seed)
    squares = np.zeros((14, 20))
    for _ in range(40):
        before = squares.copy()
        weights = rng.normal(size=(14, 20)) * rng.choice([0, 1e-3, 1, 10], (14, 20))
        bounded = spend(weights, squares, mu=mu, budget=1.0)
        assert (squares <= 1.0 + 1e-9).all()
        # What a contact spends is what its weight does against the noise.
        spent = np.sqrt(squares - before)
        assert (spent <= mu * (1 + 1e-9)).all()
        assert (spent[:, bounded.sensitivity == 0] == 0).all()
    full = spend(np.ones((14, 20)), np.ones((14, 20)), mu=mu, budget=1.0)
    assert not full.sensitivity.any()
    assert full.values == pytest.approx(np.full(20, 0.5))


def test_spending_follows_the_window():
    spent = Spent(first_day=3, squares=np.arange(6.0).reshape(3, 2))
    aligned = spent.aligned(first_day=5, n_days=3, n_people=2)
    assert aligned.tolist() == [[4, 5], [0, 0], [0, 0]]
    assert not Spent().aligned(first_day=0, n_days=1, n_people=2).any()
    with pytest.raises(TrustBoundaryError):
        spend(np.ones((3, 2)), np.ones((2, 2)))


# The statement.


def test_statement_of_a_sound_run():
    ledger = ledger_of(renewed_lifetime(window=14, score=Score.EXPOSED_OR_INFECTED, joint=True))
    text = statement(
        ledger,
        Provenance(method="dpfn-s", release="linear"),
        target=Target(epsilon=1.0),
    )
    for part in (
        "Adversary:",
        "neighbours",
        "differentially private: ε = 1 at δ = 0.001 per release",
        "4.79 for one contact",
        "δ = 1e-06",
        "What that means:",
        "at most 57.7 times in 100 from one release",
        "Mechanism:",
        "Accountant:",
        "Not protected:",
        "Last audit: none",
        "Research software, not a medical device.",
    ):
        assert part in text, part


def test_a_statement_says_what_a_person_costs_at_every_delta_and_whom_to_trust():
    """Where a person has a bound phones say own tests alone: no rounds, no enclave, no echoes."""
    joint = Lifetime(shares=(1.0,) * 14, joint=True)
    about, target = Provenance(method="m", release="r"), Target(epsilon=1.0)
    unbounded = statement(ledger_of(joint), about, target=target)
    assert unbounded.count("for one test of a person") == 0
    assert "enclave" in unbounded
    assert "no rounds" not in unbounded
    person = ledger_of(replace(joint, person=(1.0,) * 14))
    bounded = statement(person, about, target=target)
    for delta in (1e-3, 1e-5, 1e-6):
        cost = f"{person.epsilon(Unit.PERSON, delta):.3g} for one test of a person"
        assert f"Cost at δ = {delta:g}: ε = {cost}" in bounded
    assert "enclave" not in bounded
    assert "there are no rounds and no echoes" in bounded


def test_a_statement_promises_no_more_than_the_ledger_holds():
    lifetime = renewed_lifetime(window=14, score=Score.EXPOSED_OR_INFECTED, joint=True)
    about = Provenance(method="m", release="r")
    overspent = ledger_of(lifetime, mu=1.01 * MU)
    assert "TARGET NOT MET" in statement(overspent, about, target=Target(epsilon=1.0))
    per_contact = Target(epsilon=1.0, unit=Unit.CONTACT)
    assert "TARGET NOT MET" in statement(ledger_of(lifetime), about, target=per_contact)
    for noise in (FAST, ""):  # noise that nobody named is not trusted either
        ledger = ledger_of(lifetime, noise=noise)
        assert ledger.sound
        assert not ledger.protects
        simulated = statement(ledger, about, target=Target(epsilon=1.0))
        assert "protects nobody" in simulated
        assert "are differentially private" not in simulated
        assert "SIMULATION" in statement(ledger, about, target=None)
    assert ledger_of(lifetime).protects
    assert "no target" in statement(ledger_of(lifetime), about, target=None)
    mixed = Ledger([*ledger_of(lifetime).events, *ledger_of(lifetime, noise=FAST).events])
    assert not mixed.protects
    assert mixed.summary(1e-3)["noise"] == [FAST, SECURE]


def test_statements_of_runs_without_protection():
    about = Provenance(method="x", release="y", training="simulated: no cost")
    empty = statement(Ledger(), about, target=None)
    assert "public facts alone" in empty
    assert "simulated: no cost" in empty
    open_ledger = Ledger([UnprotectedEvent(day=0)])
    assert "NOT PRIVATE" in statement(open_ledger, about, target=None)
    assert "unbounded" in statement(open_ledger, about, target=None)
    for silent in (empty, statement(open_ledger, about, target=None)):
        for pretence in ("Accountant", "Noise:", "Mechanism", "Last audit", "Cost at", "neighbour"):
            assert pretence not in silent, pretence
    assert "\n\nProtected:" not in statement(open_ledger, about, target=None)
    assert "no message is used" in empty
    flawed = UnprovenEvent(
        day=0,
        mechanism="m",
        mu=MU,
        lifetime=Lifetime(shares=(1.0,), joint=True),
        attained=((8.0, 3),),
        attained_worst=8.0,
        bound_worst=9.0,
    )
    text = statement(Ledger([flawed]), about, target=Target(epsilon=1.0))
    assert "NOT SOUND" in text
    assert "True:" in text


def test_statement_names_the_filter():
    lifetime = renewed_lifetime(window=14, score=Score.EXPOSED_OR_INFECTED, joint=True)
    text = statement(
        ledger_of(lifetime, budget=MU),
        Provenance(method="dpfn-s", release="linear", audit="passed"),
        target=Target(epsilon=1.0, unit=Unit.CONTACT),
    )
    assert "enforced by a filter" in text
    assert "1 for one contact" in text


@pytest.mark.parametrize(
    ("values", "told"),
    [
        ({"shares": (math.nan,)}, "shares of a lifetime must be finite and not below 0, not nan"),
        ({"shares": (-1.0,)}, "shares of a lifetime must be finite and not below 0, not -1.0"),
        ({"shares": ()}, "shares of a lifetime must be one number per day, and there is none"),
        ({"shares": 1.0}, "shares of a lifetime must be numbers, not 1.0"),
        ({"shares": (1.0,), "person": (math.inf,)}, "person of a lifetime must be finite"),
    ],
)
def test_a_lifetime_has_shares_that_are_numbers(values, told):
    """With nan every cost was 0, and the run called itself sound."""
    with pytest.raises(InputError) as raised:
        Lifetime(joint=True, **values)
    assert str(raised.value).startswith(told)


def test_a_list_of_shares_is_a_tuple():
    assert Lifetime(shares=[1, 0.5], joint=True) == Lifetime(shares=(1.0, 0.5), joint=True)
