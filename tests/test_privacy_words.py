"""What statements, ledgers and summary lines say of privacy: no more and no less than holds."""

import json
from dataclasses import replace
from functools import cache

import pytest

from dnatrace.errors import InputError
from dnatrace.methods.adversary import (
    AdversaryGame,
    OwnTests,
    attack_encounter,
    audit_encounters,
)
from dnatrace.privacy.accounting import (
    GaussianEvent,
    Ledger,
    Lifetime,
    PublicEvent,
    SelectionEvent,
    Target,
    Unit,
    UnprotectedEvent,
)
from dnatrace.privacy.audit import AuditResult
from dnatrace.privacy.gaussian import epsilon_of_mu, mu_of_budget
from dnatrace.privacy.lifetimes import Calibration
from dnatrace.privacy.statement import Provenance, statement
from dnatrace.runs import audits, floor, guarantees, kept_audits, store
from dnatrace.runs.config import RunConfig, load_config
from dnatrace.runs.measured import beside_no_bound
from dnatrace.runs.person_audits import PersonAudit
from dnatrace.runs.presentation import privacy_line
from dnatrace.runs.run import run

from .command_line import run as dnatrace

FAST, SECURE = "fast (for simulation only)", "secure (discrete)"
ABOUT = Provenance(method="m", release="r")
SMALL = {"people": 60, "days": 3, "initially_infected": 6}
DAILY = Lifetime(shares=(1.0,) * 14, joint=True, person=(1.0,) * 14, once=True)


def ledger_of(*, days: int = 30, mu: float = 0.3884, noise: str = SECURE, life: Lifetime = DAILY):
    ledger = Ledger()
    for day in range(days):
        ledger.record(GaussianEvent(day=day, mechanism="n", mu=mu, lifetime=life, noise=noise))
    return ledger


def with_threshold(ledger: Ledger, noise: str) -> Ledger:
    ledger.record(SelectionEvent(day=1, mu=0.3884, noise=noise))
    return ledger


@cache
def told(**overrides):
    result = run(RunConfig(**(SMALL | overrides)))
    return result.summary["privacy"], guarantees.state(result.config, result.ledger), result


# Noise so large that δ covers a whole release: ε is 0, and yet messages are used.


@pytest.mark.parametrize(
    "asked",
    [{"method": "tally", "unit": "pair", "epsilon": 0.1}, {"unit": "person", "epsilon": 1e-3}],
)
def test_an_epsilon_of_0_does_not_mean_that_no_message_is_used(asked, tmp_path):
    privacy, text, result = told(**asked)
    assert privacy["per_release_epsilon"] == 0.0  # otherwise this tests nothing
    line = privacy_line(privacy)
    assert "no message is used" not in line
    assert "SIMULATION" in line
    assert "SIMULATION" in text.split("\n\n")[0]
    title = dnatrace("privacy", "ledger", store.write_run(result, tmp_path)).stdout.splitlines()[0]
    assert "SIMULATION" in title


def test_methods_without_messages_are_called_so():
    privacy, text, _ = told(method="public-only")
    assert privacy_line(privacy) == "Privacy: no message is used (ε = 0)."
    assert "SIMULATION" not in text


# Whatever else a statement says first, noise that protects nobody is called so.


def test_a_missed_target_does_not_hide_that_it_is_a_simulation():
    missed, asked = ledger_of(noise=FAST), Target(epsilon=0.5)
    text = statement(missed, ABOUT, target=asked).split("\n\n")[0]
    assert "TARGET NOT MET" in text
    assert "SIMULATION" in text
    assert "the costs below hold for ideal noise." in text
    secure = statement(ledger_of(), ABOUT, target=asked).split("\n\n")[0]
    assert "the costs below hold." in secure
    assert "SIMULATION" not in secure


@pytest.mark.parametrize("event", [PublicEvent(day=0), UnprotectedEvent(day=0)])
@pytest.mark.parametrize(("noise", "simulated"), [(FAST, True), (SECURE, False)])
def test_a_threshold_has_noise_even_where_scores_have_none(event, noise, simulated):
    text = statement(with_threshold(Ledger([event]), noise), ABOUT, target=None)
    assert ("SIMULATION: the noise of the threshold" in text.split("\n\n")[0]) is simulated
    assert f"\n\nNoise: {noise}." in text
    assert "No noise was added" not in text


def test_under_a_threshold_nobody_chooses_the_highest_scores():
    for plain in (ledger_of(), Ledger([PublicEvent(day=0)])):
        assert "the choice of the highest scores" in statement(plain, ABOUT, target=None)
        chosen = statement(with_threshold(plain, SECURE), ABOUT, target=None)
        assert "nobody reads all scores" in chosen
        assert "highest scores" not in chosen


def test_a_threshold_says_whose_scores_a_test_moves():
    def moved(ledger: Ledger) -> str:
        return statement(with_threshold(ledger, SECURE), ABOUT, target=None)

    assert "one test of a person moves their own score." in moved(Ledger([PublicEvent(day=0)]))
    assert "and those of everybody they met." in moved(ledger_of())
    for far in (ledger_of(life=replace(DAILY, person=None)), Ledger([UnprotectedEvent(day=0)])):
        assert "and those of others, whether they met or not." in moved(far)


@pytest.mark.parametrize("method", ["public-only", "fn"])
def test_summary_lines_of_a_threshold_say_simulation(method):
    privacy, _, _ = told(method=method, policy="threshold")
    line = privacy_line(privacy)
    assert "SIMULATION: its fast noise protects nobody" in line
    assert "--set policy.noise=secure" in line


def test_it_is_said_which_noise_protects_nobody():
    """Secure noise of scores is not blamed for the fast noise of the threshold."""
    privacy, _, _ = told(method="headcount", policy="threshold")
    both = "SIMULATION: proved for ideal noise, but fast noise protects nobody."
    assert both in privacy_line(privacy)
    mixed = privacy | {"noise": "fast, secure", "simulated": {"threshold": "fast"}}
    line = privacy_line(mixed)
    assert "secure noise protects nobody" not in line
    assert "that of the threshold is fast, `--set policy.noise=secure`" in line
    assert line.count("SIMULATION") == 1
    line = privacy_line(mixed | {"simulated": {"scores": "fast"}})
    assert "that of scores is fast, `--noise secure`" in line
    ledger = with_threshold(ledger_of(), FAST)
    text = statement(ledger, ABOUT, target=Target(epsilon=1.0))
    assert "but the noise of the threshold that chooses tests can be repeated" in text
    assert f"Noise: of scores: {SECURE}; of the threshold that chooses tests: {FAST}." in text


# Which rule noise follows.


@pytest.mark.parametrize("unit", [Unit.RELEASE, Unit.CONTACT, Unit.PERSON])
@pytest.mark.parametrize(
    ("rule", "words"),
    [
        (Calibration.EXACT, "The noise was calibrated exactly."),
        (Calibration.RENYI, "The noise was calibrated by Rényi divergence"),
        (Calibration.CLASSICAL, "The noise was calibrated by the classical formula"),
    ],
)
def test_a_statement_names_the_calibration_that_was_used(unit, rule, words):
    target = Target(epsilon=0.8, unit=unit, calibration=rule)
    ledger = ledger_of(mu=1.0 / target.multiplier(DAILY))
    text = statement(ledger, ABOUT, target=target)
    assert words in text
    assert text.count("The noise was calibrated") == 1
    # What the events show counts, not what was asked for.
    assert words in statement(ledger, ABOUT, target=replace(target, calibration=Calibration.EXACT))


def test_noise_of_another_size_has_no_calibration():
    text = statement(ledger_of(mu=0.1234), ABOUT, target=Target(epsilon=1.0))
    assert "computed exactly (Balle and Wang 2018)" in text
    assert "was calibrated" not in text


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({"method": "dpfn", "release": "as_published"}, "by Rényi divergence"),
        ({"method": "dpfn", "release": "correlated"}, "exactly."),
        ({"method": "dpfn-s", "unit": "contact"}, "exactly."),
        ({"method": "dpfn-s", "unit": "pair"}, "exactly."),
        ({"method": "tally", "unit": "pair"}, "exactly."),
    ],
)
def test_methods_with_rules_of_their_own_name_them(asked, words):
    assert f"The noise was calibrated {words}" in told(**asked)[1]


# Every unit has a life of its own.


@pytest.mark.parametrize(
    ("days", "unfinished"),
    [
        (13, ("person", "contact", "pair")),
        (14, ("pair",)),
        (26, ("pair",)),
        (27, ()),
    ],
)
def test_a_unit_is_unfinished_exactly_while_its_cost_still_grows(days, unfinished):
    ledger, longer = ledger_of(days=days), ledger_of(days=60)
    assert ledger.unfinished == unfinished
    for unit in (Unit.PERSON, Unit.CONTACT, Unit.PAIR):
        grows = ledger.mu(unit) < longer.mu(unit) * (1.0 - 1e-12)
        assert grows is (unit.value in unfinished), unit


@pytest.mark.parametrize("age", [0, 1, 2])
@pytest.mark.parametrize("joint", [True, False])
def test_lives_are_counted_from_the_first_release_that_shows_a_unit(age, joint):
    life = Lifetime(shares=(0.0,) * age + (1.0,) * (14 - age), joint=joint)
    for unit in (Unit.CONTACT, Unit.PAIR):
        full = ledger_of(life=life, days=60).mu(unit)
        n = life.life(unit)
        assert ledger_of(life=life, days=n).mu(unit) == pytest.approx(full, rel=1e-12)
        assert ledger_of(life=life, days=n - 1).mu(unit) < full * (1.0 - 1e-9)


def test_costs_of_a_short_run_are_marked_unit_by_unit(tmp_path):
    _, _, result = told(days=16)
    line = privacy_line(result.summary["privacy"])
    assert "per contact over its life" in line
    assert "per pair so far (δ" in line
    stored = store.write_run(result, tmp_path)
    rows = dnatrace("privacy", "ledger", stored).stdout.splitlines()
    assert [("so far" in row) for row in rows if "│  contact" in row or "│ contact" in row] == [
        False
    ]
    assert [("so far" in row) for row in rows if "pair │" in row] == [True]
    assert json.loads((stored / "ledger.json").read_text())["spent"]["unfinished"] == ["pair"]
    short = privacy_line(told(days=5)[0])
    assert "per contact so far" in short
    assert "for one score alone so far" in privacy_line(told(days=5, method="tally")[0])
    assert "so far" not in privacy_line(told(days=27)[0])


# An audit holds each contact to what the releases that it is in cost.


@pytest.mark.parametrize(
    ("asked", "reached"),
    [
        ({"method": "headcount"}, (12, 13, 14)),
        ({"method": "tally"}, (12, 13, 14)),
        ({"method": "dpfn-s"}, (12, 13, 13)),
        ({"method": "dpfn-s", "release": "as_published"}, (12, 13, 13)),
        ({"method": "dpfn"}, (1, 1, 1)),
    ],
)
def test_the_claim_under_audit_is_that_of_the_contact(asked, reached):
    config = RunConfig(**asked)
    settings = audits._encounter_settings(config)
    for encounter, n in zip(
        audit_encounters(OwnTests.NONE, releases=14, **settings), reached, strict=True
    ):
        claimed, counted = audits._claim(config, encounter)
        together = epsilon_of_mu(mu_of_budget(1.0, 1e-3) * n**0.5, 1e-3)
        assert (claimed, counted) == (pytest.approx(together, rel=1e-6), n)


def test_a_filter_bounds_the_claim_under_audit():
    config = RunConfig(method="dpfn-s", unit="contact", epsilon=0.7)
    settings = audits._encounter_settings(config)
    claims = [
        audits._claim(config, encounter)[0]
        for encounter in audit_encounters(OwnTests.NONE, releases=14, **settings)
    ]
    assert max(claims) == pytest.approx(0.7, rel=1e-6)


def showing(bound):
    """Return a stand-in for an audit that finds a bound by the age of the contact."""

    def shows(game, *, claimed_epsilon, delta, draws, confidence):
        return AuditResult(
            claimed_epsilon=claimed_epsilon,
            delta=delta,
            lower_bound=bound(game.encounter.age),
            confidence=confidence,
            draws=draws,
            share_first=0.5,
            share_second=0.5,
        )

    return shows


def test_what_exceeds_the_claim_of_its_contact_is_refuted_below_the_worst_claim(monkeypatch):
    """4.9 is above the 4.79 of a contact in 13 releases and below the 5.02 of one in 14."""
    monkeypatch.setattr(audits, "run_audit", showing(lambda age: 4.9 if age == 1 else 4.0))
    found = audits.audit(RunConfig(), releases=14, draws=1000)
    assert not found.passed
    assert (found.contact_age, found.releases_reached) == (1, 13)


def test_an_audit_that_shows_nothing_states_the_largest_claim(monkeypatch):
    """A contact that no release reached was named, and the method's claim called ε = 0."""
    monkeypatch.setattr(audits, "run_audit", showing(lambda age: 0.0))
    monkeypatch.setattr(audits, "_claim", lambda config, met: (1.0, 1) if met.age == 1 else (0, 0))
    found = audits.audit(RunConfig(), draws=1000)
    assert (found.claimed_epsilon, found.contact_age, found.releases_reached) == (1.0, 1, 1)


# An attack takes as many days as scores show.


@pytest.mark.parametrize(
    ("asked", "most"),
    [
        ({"method": "tally"}, 14),
        ({"method": "headcount"}, 14),
        ({"method": "traditional"}, 14),
        ({"method": "dpfn-s"}, 13),
        ({"method": "dpfn-s", "score": "infected"}, 12),
        ({"method": "dpfn", "score": "infected"}, 12),
    ],
)
def test_an_attack_lasts_at_most_as_many_days_as_scores_show(asked, most):
    config = RunConfig(**asked)
    assert audits.attack(config, days=most, draws=100).days == most
    with pytest.raises(InputError, match=f"at most {most} days of contacts"):
        audits.attack(config, days=most + 1, draws=100)


def test_every_day_of_an_attack_counts():
    """Of a sum each further day adds its message to the score: 14 days are 14 times as far."""
    settings = audits._encounter_settings(RunConfig(method="tally"))

    def mu(days: int) -> float:
        encounter = attack_encounter(days=days, first_age=0, **settings)
        assert len(encounter.met_on) == days
        assert 0 <= encounter.met_on[0] <= encounter.met_on[-1] < 14
        return AdversaryGame(encounter, audits._method_maker(RunConfig(method="tally"))).pooled_mu()

    for days in (2, 12, 13, 14):
        assert mu(days) == pytest.approx(days * mu(1))
    assert attack_encounter(days=3).met_on == (9, 10, 11)  # as ever: days that affect P(I)


# Audits of a person, in a statement.


def world_of(**changes):
    known = {"claimed_epsilon": 5.02, "proved": True, "delta": 1e-3, "met": True, "releases": 14}
    known |= {"world": "household", "mu": None, "largest_move": None, "guesses": 0.55}
    drawn = AuditResult(
        claimed_epsilon=5.02,
        delta=1e-3,
        lower_bound=changes.pop("bound", 0.1),
        confidence=0.99,
        draws=1000,
        share_first=0.1,
        share_second=0.1,
    )
    return PersonAudit(**(known | {"drawn": drawn} | changes))


def in_statement(tmp_path, found, *, closed):
    path, config = tmp_path / "audit.json", RunConfig()
    values = kept_audits.describe_person(config, [found], closed_loop=closed)
    kept_audits.write_audit(path, values)
    return kept_audits.read_audit(path, config)


def test_a_closed_loop_is_one_attacker_not_the_best(tmp_path):
    text = in_statement(tmp_path, world_of(), closed=True)
    assert "Somebody who knows everything else" not in text
    for part in (
        "in a closed loop",
        "at δ = 0.001",
        "claimed ε = 5.02 for a person",
        "found at least 0.1 by 1,000 draws of all scores (99 % confidence)",
        "One attacker who weighs all their scores linearly",
        "55 of 100 times in 1,000 draws of each world",
        "Better attackers may exist.",
        "checksum catches slips, not forgery",
    ):
        assert part in text, part
    few = in_statement(tmp_path, world_of(bound=0.0), closed=True)
    assert "found nothing by 1,000 draws" in few


def test_an_exact_audit_in_a_statement_says_what_was_claimed_and_found(tmp_path):
    found = world_of(mu=mu_of_budget(4.0, 1e-3), drawn=None, guesses=None)
    text = in_statement(tmp_path, found, closed=False)
    assert "closed loop" not in text
    assert "claimed ε = 5.02 for a person; found exactly 4 for the noisy numbers." in text
    assert "Somebody who knows everything else" in text
    assert "checksum catches slips, not forgery" in text
    lost = in_statement(tmp_path, world_of(mu=float("inf")), closed=False)
    assert "found unbounded" in lost


def test_a_false_claim_is_named():
    """A method without a bound for a person is not said to break one."""
    exact = {"mu": mu_of_budget(9.0, 1e-3)}
    proved = world_of(**exact)
    assert "THE CLAIM IS FALSE: one test of a person reveals more than ε = 5.02." in proved.words
    contact = world_of(proved=False, **exact)
    assert "THE CLAIM IS FALSE if ε = 5.02, which is claimed for a contact," in contact.words
    assert "promises nothing about a person" in contact.words
    assert "an audit can only refute" in world_of().words


# What was measured holds for the setting in which it was measured.


@pytest.mark.parametrize(
    "asked",
    [
        {"method": "headcount", "seir": {"exchange": "rounds"}},
        {"method": "tally", "seir": {"exchange": "own-tests"}},
        {"method": "tally", "seir": {"window": 7}},
        {"method": "tally", "seir": {"rounds": 2}},
        {"method": "dpfn-s", "p1": 0.05},
        {"method": "dpfn-s", "gamma": 0.5},
        {"method": "dpfn-s", "tests": {"false_negative_rate": 0.2}},
    ],
)
def test_what_was_measured_in_another_setting_is_not_told(asked):
    config = RunConfig(**asked)
    assert beside_no_bound(config) == (
        "not measured for this setting; `dnatrace audit --world household` does it"
    )


@pytest.mark.parametrize("method", ["tally", "dpfn-s", "dpfn", "per-message", "traditional", "dna"])
def test_what_was_measured_is_told_whatever_the_size_of_noise_and_city(method):
    for asked in (
        {},
        {"epsilon": 3.0, "delta": 1e-5, "noise": "secure"},
        {"people": 77, "seed": 4},
    ):
        overrides = {"method": method} | asked
        assert "measured with noise for ε = 1" in beside_no_bound(RunConfig(**overrides))
        usual = load_config(overrides=overrides)  # the preset that commands start from
        assert "measured with noise for ε = 1" in beside_no_bound(usual)


# The floor has a size of its own.


def test_the_floor_names_the_city_that_it_was_measured_in():
    told = dnatrace("privacy", "statement", "-q", "--method", "headcount").stdout
    assert "From a run of 500 people and 40 days" in told
    assert "in a city of 10,000 people over 100 days)" in told


@pytest.mark.parametrize("size", ["people=500", "days=40", "initially_infected=20"])
def test_a_size_that_was_given_is_meant(size):
    told = dnatrace("privacy", "statement", "-q", "--set", size).stdout
    assert "Floor: not measured in this setting" in told


# What levers tell people is in their scores, too.


def test_scores_carry_on_what_levers_tell():
    levers = {"name": "levers", "notification": {"consent": 0.5}}
    for method, reads in (("headcount", True), ("public-facts", True), ("tally", False)):
        text = _state(method, levers)
        assert "In addition to scores, the policy" in text
        assert ("Scores carry it on" in text) is reads, method
    assert "Scores carry it on" not in _state("headcount", {"name": "highest-scores"})


def _state(method, policy):
    result = run(RunConfig(method=method, policy=policy, **SMALL))
    return guarantees.state(result.config, result.ledger)


@pytest.mark.parametrize(
    ("epsilon", "delta", "point"), [(5.02, 1e-3, 5.02), (7.52, 1e-6, 5.02), (5.0, 0.01, 18.0)]
)
def test_the_floor_is_looked_up_at_the_delta_of_its_curve(epsilon, delta, point):
    """The same noise has another ε at another δ, and one verdict."""
    overrides = {"unit": "person", "epsilon": epsilon, "delta": delta, "tests.capacity": 0.04}
    told = floor.beside(load_config(overrides=overrides), epsilon)
    assert f"at ε = {point:g} per person" in told
    assert ("NOT BETTER" in told) == (point < 18.0)
    assert ("(at δ = 0.001)" in told) == (delta != 1e-3)


def test_an_audit_names_the_claim_that_holds_and_the_noise_that_was_played():
    done = dnatrace("audit", "-q", "--world", "met-once", "--method", "tally", "--draws", 1000)
    assert done.returncode == 0
    assert "noise for ε = 1 per release" in " ".join(done.stdout.split())
    told = " ".join(done.stdout.split())
    assert "which is claimed for a contact, is not exceeded in this world" in told
    assert "The claim holds" not in told


@pytest.mark.parametrize(("preset", "said"), [("lifetime", True), ("standard", False)])
def test_a_score_that_costs_more_than_a_person_says_of_what(preset, said):
    """ε = 1 for ever beside 5.02 for one score would contradict itself if both were of a test."""
    config = load_config(preset=preset, overrides={"people": 60, "days": 20})
    privacy = run(config).summary["privacy"]
    assert (privacy["per_contact_epsilon"] > privacy["per_person_epsilon"]) is said
    line = privacy_line(privacy)
    assert ("; for anything else that a contact's messages say: ε = 1 per release" in line) is said


def test_a_statement_of_a_short_run_says_so(tmp_path):
    words = "These are the costs so far"
    for days, told in ((5, True), (30, False)):
        done = dnatrace(
            "privacy", "statement", "--epsilon", 1, "--set", f"days={days}", cwd=tmp_path
        )
        assert (words in done.stdout) is told


def test_an_attack_on_tally_says_that_it_is_one_score(tmp_path):
    told = "later ones are computed from up to 14 releases"
    for method, expected in (("tally", True), ("dpfn-s", False)):
        done = dnatrace("attack", "--method", method, "--draws", 1000, "-q", cwd=tmp_path)
        assert (told in done.stdout) is expected


def test_what_is_not_sound_claims_no_accountant(tmp_path):
    order = ["privacy", "statement", "--method", "dpfn-s", "--release"]
    assert "Accountant:" in dnatrace(*order, "linear", cwd=tmp_path).stdout
    assert "Accountant:" not in dnatrace(*order, "as_published", cwd=tmp_path).stdout


def test_a_short_run_says_so_of_a_contact_too():
    done = dnatrace("run", "--people", "100", "--days", "10", "-q")
    words = " ".join(done.stdout.split())
    assert "per contact so far" in words
    assert "over its life" not in words


def test_a_statement_without_a_run_says_what_was_played_and_knows_the_floor():
    done = dnatrace("privacy", "statement", "--epsilon", "1")
    assert done.stdout.startswith(
        "From a run of 500 people and 40 days that was made for this text"
    )
    assert "not measured in this setting" not in done.stdout
    assert "Floor" in done.stdout or "FLOOR" in done.stdout


@pytest.mark.parametrize(
    ("given", "other"),
    [
        ({}, False),
        ({"delta": 0.01}, True),
        ({"epsilon": 2.0}, True),
        ({"privacy": {"calibration": "classical"}}, True),
    ],
)
def test_a_measured_value_names_its_noise(given, other):
    """With δ = 0.01 in the configuration, what was measured at 0.001 stood beside it as its own."""
    told = beside_no_bound(RunConfig(method="dpfn-s", **given))
    assert told.startswith(
        "measured with noise for ε = 1 per release at δ = 0.001, exactly calibrated"
    )
    assert (", which is not that of this run: ε = " in told) == other


@pytest.mark.parametrize(
    ("levers", "said"),
    [
        ({"household": {"days": 5}}, "somebody they met or live with tested positive."),
        (
            {"household": {"days": 5, "trigger": "symptoms"}},
            "somebody they live with has symptoms, even of another illness.",
        ),
        (
            {"household": {"days": 5, "trigger": "symptoms"}, "manual": {"capacity": 0.1}},
            "somebody they met tested positive, and somebody they live with has symptoms, even of",
        ),
    ],
)
def test_what_people_are_told_is_what_levers_tell(levers, said):
    """Symptoms are no test results: what is disclosed was named wrongly."""
    config = RunConfig(method="headcount", policy={"name": "levers"} | levers)
    told = guarantees._beside_scores(config)
    assert f"{guarantees.BESIDE_SCORES} {said}" in told


def test_news_have_no_exchange(caplog):
    """Of `rounds` the statement said that there are none, and guarantees.md that nothing holds."""
    given = {"method": "headcount", "release": "news", "seir": {"exchange": "rounds"}}
    config = load_config(overrides=given)
    assert "seir.exchange has no effect with method 'headcount'" in caplog.text
    assert config.digest == load_config(overrides={"method": "headcount", "release": "news"}).digest
    assert config.own_tests
    assert not load_config(overrides=given | {"release": "daily"}).own_tests
