"""The paper's theorems, and what it says about its network, as claims that can fail."""

import itertools
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dnatrace.errors import InputError
from dnatrace.methods.catalogue import CATALOGUE
from dnatrace.methods.rehearsal import OwnTests
from dnatrace.networks.architecture import Kind
from dnatrace.networks.certificate import MARGIN
from dnatrace.networks.runtime import DEFAULT_MODEL, Model
from dnatrace.paper.claims import (
    Claim,
    Rule,
    Verdict,
    judge_bound,
    judge_gain,
    judge_value,
    untested,
)
from dnatrace.paper.setting import published_model
from dnatrace.privacy import sensitivity
from dnatrace.records import NOT_TESTED
from dnatrace.runs import audits as privacy_checks
from dnatrace.runs.config import RunConfig, load_config
from dnatrace.runs.run import loop_rules
from dnatrace.training import auc_table
from dnatrace.training.auc_table import short_name
from dnatrace.training.evaluation import TestData

SMALL = "SMALL VERSION: on a small run made for the occasion"
CONTACTS_A_DAY = 15  # about what people of the city meet
CLOSE_TO_ONE = 0.05  # a spectral norm up to 1.05 counts as close to 1
NEGLIGIBLE = 0.005  # half a point of AUC
AUC_TOLERANCE = 0.01  # a point of AUC: the published areas have no interval
AUDIT_ERROR = 0.01  # probability that an audit's bound is too high
FULL_DRAWS, QUICK_DRAWS = 1_000_000, 50_000

Track = Callable[[Any, int], Any]


def theorem_claims(*, quick: bool = False, track: Track | None = None) -> list[Claim]:
    """Return Theorem 1 without and with own tests, Theorem 2, the lemma, and the network's."""
    config = load_config(preset="paper", overrides={"method": "dpfn-s"})
    draws = QUICK_DRAWS if quick else FULL_DRAWS
    return [
        *sensitivity_claims(config),
        *audit_claims(draws),
        *network_claims(auc_table.choose_models(None)),
        *projection_claims(track=track),
    ]


# --- Theorem 1 -----------------------------------------------------------------------------------


def sensitivity_claims(config: RunConfig) -> list[Claim]:
    """Return Theorem 1: one message moves F by at most p1·γ."""
    rules, gamma, window = loop_rules(config), config.method.gamma, config.seir.window
    bound = sensitivity.message_reach(config.seir.p1, gamma)
    alone = sensitivity.supremum_without_tests(
        rules.parameters, gamma, window=window, with_exposed=False
    )
    outcomes = histories(window)
    counts = np.full(outcomes.shape, CONTACTS_A_DAY)
    moved, _ = sensitivity.attained_change(
        outcomes,
        counts,
        parameters=rules.parameters,
        test_errors=rules.tests.errors,
        gamma=gamma,
        with_exposed=False,
    )
    worst = int(moved.argmax())
    return [
        judge_bound(
            "Theorem 1, people without own tests: one message moves F by at most p1·γ",
            alone,
            bound,
            note="the exact supremum over all messages and numbers of contacts",
        ),
        judge_bound(
            "Theorem 1, people with own tests: one message moves F by at most p1·γ",
            float(moved[worst]),
            bound,
            note=f"attained with {_history_in_words(outcomes[:, worst])}: "
            f"{moved[worst] / bound:.1f} times the bound",
        ),
    ]


def histories(window: int) -> NDArray[np.int8]:
    """Return every history of one or two own tests, a person each: int8 [window, people]."""
    columns = [
        dict(zip(days, results, strict=True))
        for n_tests in (1, 2)
        for days in itertools.combinations(range(window), n_tests)
        for results in itertools.product((0, 1), repeat=n_tests)
    ]
    outcomes = np.full((window, len(columns)), NOT_TESTED, dtype=np.int8)
    for person, tests in enumerate(columns):
        for day, result in tests.items():
            outcomes[day, person] = result
    return outcomes


def _history_in_words(history: NDArray[np.int8]) -> str:
    words = {0: "negative", 1: "positive"}
    last = len(history) - 1
    return " and ".join(
        f"a {words[int(result)]} test {last - day} days before"
        for day, result in enumerate(history)
        if result != NOT_TESTED
    )


# --- the lemma on Algorithm 1 --------------------------------------------------------------------


def audit_claims(draws: int) -> list[Claim]:
    """Return the lemma: the published release is (ε, δ)-private, without and with own tests."""
    method = "dna" if "dna" in CATALOGUE else "dpfn-s"
    overrides: dict[str, Any] = {"method": method, "release": "as_published", "epsilon": 1.0}
    if method == "dna":
        overrides["method.model"] = published_model()
    config = load_config(preset="paper", overrides=overrides)
    tested = tuple(history for history in OwnTests if history is not OwnTests.NONE)
    return [
        _audit_claim(config, (OwnTests.NONE,), "without own tests", draws),
        _audit_claim(config, tested, "with own tests", draws),
    ]


def _audit_claim(config: RunConfig, histories: tuple[OwnTests, ...], who: str, draws: int) -> Claim:
    """Return the claim that a release has the ε it states, for the history that shows most.

    Every history has its part of the error probability, so that the confidence holds for all.
    """
    text = f"Lemma on Algorithm 1 ({config.method.name}), people {who}: the release has ε = 1"
    confidence = 1.0 - AUDIT_ERROR / len(histories)
    try:
        found = {
            history: privacy_checks.audit(
                config, own_tests=history, draws=draws, confidence=confidence
            )
            for history in histories
        }
    except InputError as error:
        return untested(text, published=1.0, rule=Rule.BOUND, note=str(error))
    worst = max(found, key=lambda history: found[history].lower_bound)
    return judge_bound(
        text,
        found[worst].lower_bound,
        found[worst].claimed_epsilon,
        note=f"own tests: {worst.value}; ε is at least this with confidence {1 - AUDIT_ERROR:.0%} "
        f"by {draws:,} draws a world; below the claim, an audit proves nothing",
    )


# --- Theorem 2 and the network -------------------------------------------------------------------


def network_claims(models: tuple[Model, ...]) -> list[Claim]:
    """Return Theorem 2 and "spectral norms are close to 1" for the networks that read messages."""
    claims = []
    for model in models:
        if not model.uses_messages:
            continue
        claims.append(
            judge_bound(
                f"Theorem 2: network '{short_name(model)}' has Lipschitz constant 1/C in one "
                "message",
                model.lipschitz,
                1.0 + 2.0 * MARGIN,
                note="product of the exact spectral norms after projection, times C",
            )
        )
        claims.append(_norms_claim(model))
    return claims


def _norms_claim(model: Model) -> Claim:
    network = f"network '{short_name(model)}'"
    text = f"Two or more power iterations give spectral norms close to 1 ({network})"
    if model.architecture.kind is not Kind.PAPER:
        note = "its layers are orthogonal by construction: no power iteration"
        return untested(text, published=1.0, rule=Rule.BOUND, note=note)
    norms = [layer.norm for layer in model.before_projection().certificate.layers]
    worst = max(norms)
    return Claim(
        claim=text,
        published=1.0,
        ours=worst,
        interval=None,
        verdict=Verdict.REPRODUCED if worst <= 1.0 + CLOSE_TO_ONE else Verdict.NOT_REPRODUCED,
        rule=Rule.BOUND,
        note=f"largest norm of {len(norms)} layers before projection; up to 1.05 counts as close",
    )


def projection_claims(*, track: Track | None = None) -> list[Claim]:
    """Return "projection has negligible influence": AUC before and after, on a small run."""
    data = auc_table.small_test_data(track=track)
    tables = auc_tables(data)
    return [claim for table in tables for claim in _projection(table)]


def _projection(table: auc_table.AucTable) -> list[Claim]:
    name, areas = short_name(table.model), table.as_json()["auc"]
    text = f"Projection after training has negligible influence (AUC of F + network '{name}')"
    before = areas["before_projection"].get("combined")
    after = areas["after_projection"].get("combined")
    if table.model.architecture.kind is not Kind.PAPER or before is None or after is None:
        note = "its layers are orthogonal by construction: nothing to project"
        return [untested(text, published=0.0, rule=Rule.NUMBER, note=note)]
    change = after - before
    note = "change of the AUC; up to half a point counts as negligible"
    near = abs(change) <= NEGLIGIBLE
    return [
        Claim(
            claim=text,
            published=0.0,
            ours=change,
            interval=None,
            verdict=Verdict.REPRODUCED if near else Verdict.NOT_REPRODUCED,
            rule=Rule.NUMBER,
            note=f"{SMALL}; {note}" if table.data.is_small else note,
        )
    ]


# --- AUC -----------------------------------------------------------------------------------------


def auc_tables(data: TestData) -> list[auc_table.AucTable]:
    """Return the table of the published network, where one ships, and that of our own."""
    names = dict.fromkeys(name for name in (published_model(), DEFAULT_MODEL) if name is not None)
    return [auc_table.make_table(auc_table.choose_models(name), data) for name in names]


def auc_claims(table: auc_table.AucTable) -> list[Claim]:
    """Return the published areas and their order, beside those of an AUC table.

    On a small run no area is compared with a published one.
    """
    values = table.as_json()
    areas, published = values["auc"], values["published"]
    network = f"network '{short_name(table.model)}'"
    names = {"fn": "FN", "network": f"{network} alone", "combined": f"FN + {network}"}
    claims = []
    for key, name in names.items():
        text = f"The AUC of {name} is {100 * published[key]:.1f} %"
        if areas[key] is None:
            note = "no such network among the models"
            claims.append(untested(text, published=published[key], rule=Rule.NUMBER, note=note))
            continue
        low, high = areas["intervals"][key]
        claims.append(
            judge_value(
                text,
                areas[key],
                (low, high),
                published=published[key],
                tolerance=AUC_TOLERANCE,
                note="on the built-in city; within a point counts",
            )
        )
    for better, worse in (("network", "fn"), ("combined", "fn"), ("combined", "network")):
        if areas[better] is not None and areas[worse] is not None:
            claims.append(_auc_order(values, names, better, worse))
    if table.data.is_small:
        claims = [_on_a_small_run(claim) for claim in claims]
    return claims + _projection(table)


def _on_a_small_run(claim: Claim) -> Claim:
    """Return a claim that says how small its run was, and judges no number by it."""
    verdict = Verdict.NOT_TESTED if claim.rule is Rule.NUMBER else claim.verdict
    return replace(claim, verdict=verdict, note=f"{SMALL}; {claim.note}")


def _auc_order(values: dict[str, Any], names: dict[str, str], better: str, worse: str) -> Claim:
    """Return the claim that one area is larger; against FN on the same people, which is sharper."""
    areas, published = values["auc"], values["published"]
    high, low = areas["intervals"][better], areas["intervals"][worse]
    gain, interval = areas[better] - areas[worse], (high[0] - low[1], high[1] - low[0])
    note = "interval from the ends of two intervals, which is wide"
    same = [
        row
        for row in values["rows"]
        if (row["prediction"], row["area"]) == (better, areas[better])
        and row["gain_interval"] is not None
    ]
    if worse == "fn" and same:
        gain, interval = same[0]["gain"], tuple(same[0]["gain_interval"])
        note = "difference on the same resampled people"
    return judge_gain(
        f"{names[better]} has a higher AUC than {names[worse]}",
        gain,
        interval,
        published=published[better] - published[worse],
        note=note,
    )
