"""The audit: never above a true claim, above a false one."""

import numpy as np
import pytest
from scipy import stats

from dnatrace.errors import InputError
from dnatrace.methods.adversary import AdversaryGame, Encounter, OwnTests, audit_encounters
from dnatrace.privacy.accounting import Ledger, Target, Unit
from dnatrace.privacy.audit import audit, epsilon_lower_bound, verdict
from dnatrace.privacy.gaussian import epsilon_of_mu, mu_of_budget
from dnatrace.privacy.noise import FastNoise

from .private_methods import ONE, SOUND, StoredNoise, WeakNoise, game, made
from .reference_privacy import SilentNoise

MU = mu_of_budget(1.0, 1e-3)


def gaussian(mu, n_releases=1):
    rng = np.random.default_rng(1)
    return lambda world, n: rng.normal(world * mu, 1.0, (n, n_releases))


def test_encounters_of_an_audit():
    earlier, yesterday, today = audit_encounters(OwnTests.POSITIVE, releases=2, others=3)
    assert (earlier.met_on, yesterday.met_on, today.met_on) == ((11,), (12,), (13,))
    assert (earlier.age, yesterday.age, today.age) == (2, 1, 0)
    assert len(audit_encounters(OwnTests.POSITIVE)) == 2
    assert earlier.own_tests == (-1,) * 13 + (1, -1)
    assert earlier.others == 3
    more = audit_encounters(OwnTests.NONE, by_contacts=True)
    assert [encounter.met_on for encounter in more] == [(11,), (12,), (11,), (12,), (13,)]
    assert [encounter.others * encounter.meetings for encounter in more] == [0, 0, 15, 15, 0]


def test_people_who_are_met_often_are_as_many_contacts():
    encounters = (
        Encounter(own_tests=OwnTests.NONE.outcomes(14), met_on=(11,), **others)
        for others in ({"others": 4}, {"others": 1, "meetings": 4}, {"others": 2, "meetings": 2})
    )
    make = lambda _: made("dpfn-s", noise=SilentNoise())  # noqa: E731
    first, *rest = (AdversaryGame(encounter, make)(1, 5) for encounter in encounters)
    assert all(np.array_equal(first, scores) for scores in rest)
    alone = Encounter(own_tests=OwnTests.NONE.outcomes(14), met_on=(11,))
    assert not np.array_equal(first, AdversaryGame(alone, make)(1, 5))


def dpfn_s(release, noise=FastNoise, target=ONE):
    return lambda seed: made("dpfn-s", release, target=target, gamma=0.7, noise=noise(seed=seed))


@pytest.mark.parametrize("n_releases", [1, 3])
def test_the_bound_is_close_below_the_truth(n_releases):
    truth = epsilon_of_mu(MU * np.sqrt(n_releases), 1e-3)
    result = audit(gaussian(MU, n_releases), claimed_epsilon=truth, delta=1e-3, draws=200_000)
    assert result.passed
    assert 0.7 * truth < result.lower_bound <= truth
    assert result.confidence == 0.99
    assert result.draws == 200_000
    assert result.share_first > result.share_second


def test_nothing_to_tell_apart_is_zero():
    constant = audit(lambda _, n: np.zeros(n), claimed_epsilon=0.0, delta=1e-3, draws=2000)
    assert constant.lower_bound == 0.0
    assert constant.passed


def test_limits_are_those_of_clopper_and_pearson():
    low = stats.binomtest(30, 100).proportion_ci(0.98, "exact").low
    high = stats.binomtest(2, 100).proportion_ci(0.98, "exact").high
    found = epsilon_lower_bound(30, 2, 100, 1e-3, 0.98)
    assert found == pytest.approx(np.log((low - 1e-3) / high))
    assert epsilon_lower_bound(0, 0, 100, 1e-3, 0.99) == 0.0
    assert epsilon_lower_bound(100, 100, 100, 1e-3, 0.99) == 0.0


def test_the_bound_is_valid_as_often_as_it_says():
    """At confidence 90 %, of 200 audits of a true claim at most 35 fail (false alarm 0.1 %)."""
    sample = gaussian(1.0)
    truth = epsilon_of_mu(1.0, 0.01)
    failed = [
        not audit(sample, claimed_epsilon=truth, delta=0.01, draws=1000, confidence=0.9).passed
        for _ in range(200)
    ]
    assert sum(failed) <= 35


@pytest.mark.parametrize("tests", list(OwnTests))
@pytest.mark.parametrize(("kind", "variant"), SOUND)
def test_sound_releases_pass_for_every_history(kind, variant, tests):
    """And an eighth of the noise is caught, so that passing is not for want of anything to see."""

    def passed(noise, day):
        make = lambda seed: made(kind, variant, gamma=0.7, noise=noise(seed))  # noqa: E731
        sample = game(make, tests=tests, met_on=(day,))
        return audit(sample, claimed_epsilon=1.0, delta=1e-3, draws=20_000).passed

    days = (12, 11)
    assert all(passed(lambda seed: FastNoise(seed=seed), day) for day in days)
    assert not all(passed(lambda seed: WeakNoise(seed, share=1 / 8), day) for day in days)


@pytest.mark.parametrize(("kind", "variant"), SOUND)
def test_sound_releases_pass_over_several_days(kind, variant):
    def passed(noise):
        target = Target(epsilon=1.0, unit=Unit.CONTACT)
        make = lambda seed: made(  # noqa: E731
            kind, variant, target=target, gamma=0.7, noise=noise(seed)
        )
        sample = game(make, releases=3)
        return audit(sample, claimed_epsilon=1.0, delta=1e-3, draws=20_000).passed

    assert passed(lambda seed: FastNoise(seed=seed))
    assert not passed(lambda seed: WeakNoise(seed, share=1 / 16))


def test_traditional_passes():
    sample = game(lambda seed: made("traditional", noise=FastNoise(seed=seed)))
    result = audit(sample, claimed_epsilon=1.0, delta=1e-3, draws=50_000)
    assert result.passed
    assert result.lower_bound > 0.3


# Negative controls: each must be caught.


def test_as_published_is_caught_after_a_positive_test():
    make = dpfn_s("as_published")
    result = audit(
        game(make, tests=OwnTests.POSITIVE), claimed_epsilon=1.0, delta=1e-3, draws=200_000
    )
    assert not result.passed
    assert result.lower_bound > 8.0
    without = audit(game(make), claimed_epsilon=1.0, delta=1e-3, draws=50_000)
    assert without.passed  # without own tests the theorem holds


def test_weak_noise_is_caught():
    make = dpfn_s("linear", WeakNoise)
    result = audit(game(make), claimed_epsilon=1.0, delta=1e-3, draws=200_000)
    assert not result.passed


def test_a_stored_draw_is_caught():
    """Two releases: the honest pair passes, the pair that shares a draw gives everything away."""
    claim = epsilon_of_mu(MU * np.sqrt(2), 1e-3)
    results = {
        noise: audit(
            game(dpfn_s("linear", noise), releases=2, met_on=(8,), later_message=0.1),
            claimed_epsilon=claim,
            delta=1e-3,
            draws=20_000,
        )
        for noise in (FastNoise, StoredNoise)
    }
    assert results[FastNoise].passed
    assert not results[StoredNoise].passed
    assert results[StoredNoise].lower_bound > 5.0


def test_a_mislabelled_delta_is_caught():
    make = dpfn_s("linear", target=Target(epsilon=1.0, delta=0.05))
    honest = audit(game(make), claimed_epsilon=1.0, delta=0.05, draws=200_000)
    wrong = audit(game(make), claimed_epsilon=1.0, delta=1e-3, draws=200_000)
    assert honest.passed
    assert not wrong.passed


def test_the_ledger_covers_what_the_audit_finds():
    """The bound in the event of `as_published` is above everything the audit can prove."""
    make = dpfn_s("as_published")
    sample = game(make, tests=OwnTests.NEGATIVE_POSITIVE)
    result = audit(sample, claimed_epsilon=1.0, delta=1e-3, draws=50_000)
    sample(1, 10)
    true = Ledger(list(sample.events)).true_epsilon(1e-3)
    assert result.lower_bound < true["worst"] <= true["bound"]


@pytest.mark.parametrize(
    "wrong", [{"delta": 0.0}, {"draws": 10}, {"confidence": 1.0}, {"confidence": float("nan")}]
)
def test_wrong_input_is_named(wrong):
    with pytest.raises(InputError, match=next(iter(wrong))):
        audit(gaussian(1.0), **({"claimed_epsilon": 1.0, "delta": 1e-3, "draws": 2000} | wrong))


def test_an_audit_never_says_that_a_claim_is_proved():
    assert verdict(1.2, 1.0, 1000) == "THE CLAIM IS FALSE."
    found = verdict(0.7, 1.0, 1000)
    assert "Nothing above the claim was found. That proves nothing more" in found
    assert verdict(0.0, 1.0, 1000).startswith("So few draws show nothing: 1,000")
    result = audit(lambda _, n: np.zeros(n), claimed_epsilon=0.0, delta=1e-3, draws=2000)
    assert result.verdict == verdict(0.0, 0.0, 2000)
