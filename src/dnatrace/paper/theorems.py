"""The paper's theorems, and what it says about its network, as claims that can fail."""

import itertools
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dnatrace.errors import InputError
from dnatrace.methods.adversary import OwnTests
from dnatrace.networks.architecture import Kind
from dnatrace.networks.certificate import MARGIN
from dnatrace.networks.runtime import DEFAULT_MODEL, Model
from dnatrace.paper.reading import Reading, best_reading
from dnatrace.paper.setting import published_model
from dnatrace.paper.verdicts import (
    Claim,
    Rule,
    Verdict,
    judge_bound,
    judge_number,
    judge_order,
)
from dnatrace.privacy import sensitivity
from dnatrace.records import NOT_TESTED
from dnatrace.runs import audits as privacy_checks
from dnatrace.runs.config import RunConfig, load_config
from dnatrace.runs.progress import Track
from dnatrace.training import auc_table
from dnatrace.training.auc_table import short_name
from dnatrace.training.evaluation import TestData, target_name

SMALL = "SMALL VERSION: on a small run made for the occasion"
CONTACTS_PER_DAY = 15  # roughly those of people in the city
CLOSE_TO_ONE = 0.05  # a spectral norm up to 1.05 counts as close to 1
NEGLIGIBLE = 0.005  # half a point of AUC
AUC_TOLERANCE = 0.01  # a point of AUC: the published areas have no interval
AUDIT_ERROR = 0.01  # probability that an audit's bound is too high
FULL_DRAWS, QUICK_DRAWS = 1_000_000, 50_000
AREAS_OF = {"everybody": "auc", "not isolated": "auc_not_isolated"}  # keys of an AUC table


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
    parameters, window = config.seir.parameters, config.seir.window
    gamma = getattr(config.method, "gamma", 1.0)
    bound = sensitivity.message_reach(config.seir.p1, gamma)
    alone = sensitivity.supremum_without_tests(parameters, gamma, window=window, with_exposed=False)
    outcomes = histories(window)
    counts = np.full(outcomes.shape, CONTACTS_PER_DAY)
    moved, _ = sensitivity.attained_change(
        outcomes,
        counts,
        parameters=parameters,
        test_errors=config.tests.believed,
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
    """Return every history of one or two own tests, one per person: int8 [window, people]."""
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
    """Return the lemma: the published variant is (ε, δ)-private, without and with own tests."""
    overrides: dict[str, Any] = {"method": "dna", "release": "as_published", "epsilon": 1.0}
    overrides["method.model"] = published_model()
    config = load_config(preset="paper", overrides=overrides)
    tested = tuple(history for history in OwnTests if history is not OwnTests.NONE)
    return [
        _audit_claim(config, (OwnTests.NONE,), "without own tests", draws),
        _audit_claim(config, tested, "with own tests", draws),
    ]


def _audit_claim(config: RunConfig, histories: tuple[OwnTests, ...], who: str, draws: int) -> Claim:
    """Return the claim that a release has the ε it states, for the history that shows most.

    Every history has its share of the error probability, so that the confidence holds for all.
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
        return Claim(claim=text, published=1.0, rule=Rule.BOUND, note=str(error))
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
    for model in (model for model in models if model.uses_messages):
        name = short_name(model)
        text = f"Theorem 2: network '{name}' has Lipschitz constant 1/C in one message"
        note = "product of the exact spectral norms after projection, times C"
        claims += [
            judge_bound(text, model.lipschitz, 1.0 + 2.0 * MARGIN, note=note),
            _norms_claim(model),
        ]
    return claims


def _norms_claim(model: Model) -> Claim:
    network = f"network '{short_name(model)}'"
    text = f"Two or more power iterations give spectral norms close to 1 ({network})"
    if model.architecture.kind is not Kind.PAPER:
        note = "its layers are orthogonal by construction: no power iteration"
        return Claim(claim=text, published=1.0, rule=Rule.BOUND, note=note)
    norms = [layer.norm for layer in model.before_projection().certificate.layers]
    worst = max(norms)
    return Claim(
        claim=text,
        published=1.0,
        ours=worst,
        verdict=Verdict.REPRODUCED if worst <= 1.0 + CLOSE_TO_ONE else Verdict.NOT_REPRODUCED,
        rule=Rule.BOUND,
        note=f"largest norm of {len(norms)} layers before projection; up to 1.05 counts as close",
    )


def projection_claims(*, track: Track | None = None) -> list[Claim]:
    """Return "projection has negligible influence": AUC before and after, on a small run."""
    return [_projection(table) for table in auc_tables(auc_table.small_test_data(track=track))]


def _projection(table: auc_table.AucTable) -> Claim:
    name, areas = short_name(table.model), table.as_json()["auc"]
    text = f"Projection after training has negligible influence (AUC of F + network '{name}')"
    before = areas["before_projection"].get("combined")
    after = areas["after_projection"].get("combined")
    if table.model.architecture.kind is not Kind.PAPER or before is None or after is None:
        note = "its layers are orthogonal by construction: nothing to project"
        return Claim(claim=text, published=0.0, rule=Rule.NUMBER, note=note)
    note = "change of the AUC; up to half a point counts as negligible"
    return judge_number(
        text,
        after - before,
        None,
        published=0.0,
        half_width=NEGLIGIBLE,
        note=f"{SMALL}; {note}" if table.data.is_small else note,
    )


# --- AUC -----------------------------------------------------------------------------------------


def auc_tables(data: TestData) -> list[auc_table.AucTable]:
    """Return the table of the published network, where one ships, and that of our own."""
    names = dict.fromkeys(name for name in (published_model(), DEFAULT_MODEL) if name is not None)
    return [auc_table.make_table(auc_table.choose_models(name), data) for name in names]


def auc_claims(table: auc_table.AucTable) -> list[Claim]:
    """Return the published areas and their order, next to those of an AUC table.

    Under our reading they are over everybody, under the best reading over the people it names. On a
    small run no area is compared with a published one.
    """
    ours, best = (_claims_of(table, group) for group in (Reading().group, best_reading().group))
    claims = [replace(a, best_reading=b) for a, b in zip(ours, best, strict=True)]
    return [*claims, _projection(table)]


def predictions(model: Model) -> dict[str, str]:
    """Return the words for FN, a network and both; FN depends on γ and target of the network."""
    network = f"network '{short_name(model)}'"
    target = target_name(model.with_exposed)
    return {
        "fn": f"FN (γ = {model.gamma:g}, target {target})",
        "network": f"{network} alone",
        "combined": f"FN + {network}",
    }


def _claims_of(table: auc_table.AucTable, group: str) -> list[Claim]:
    """Return the claims about areas of a group of people."""
    values = table.as_json()
    areas, published = values[AREAS_OF[group]], values["published"]
    names = predictions(table.model)
    claims = []
    for key, name in names.items():
        text = f"The AUC of {name} is {100 * published[key]:.1f} %"
        if areas[key] is None:
            note = "no such network among the models"
            claim = Claim(claim=text, published=published[key], rule=Rule.NUMBER, note=note)
        else:
            claim = judge_number(
                text,
                areas[key],
                tuple(areas["intervals"][key]),
                published=published[key],
                half_width=AUC_TOLERANCE,
                note="on the built-in city; within a point counts",
            )
        claims.append(claim)
    for better, worse in (("network", "fn"), ("combined", "fn"), ("combined", "network")):
        if areas[better] is not None and areas[worse] is not None:
            claims.append(_auc_order(values, areas, names, better, worse))
    return [_on_a_small_run(claim) for claim in claims] if table.data.is_small else claims


def _on_a_small_run(claim: Claim) -> Claim:
    """Return a claim that says how small its run was, without judging any number."""
    verdict = Verdict.NOT_TESTED if claim.rule is Rule.NUMBER else claim.verdict
    return replace(claim, verdict=verdict, note=f"{SMALL}; {claim.note}")


def _auc_order(
    values: dict[str, Any], areas: dict[str, Any], names: dict[str, str], better: str, worse: str
) -> Claim:
    """Return the claim that one area is larger; against FN, paired by person, which is sharper."""
    published = values["published"]
    high, low = areas["intervals"][better], areas["intervals"][worse]
    gain, interval = areas[better] - areas[worse], (high[0] - low[1], high[1] - low[0])
    note = "interval from the ends of two intervals, which is wide"
    for row in values["rows"] if worse == "fn" else ():
        same = (row["prediction"], row["area"]) == (better, areas[better])
        if same and row["gain_interval"] is not None:
            gain, interval = row["gain"], tuple(row["gain_interval"])
            note = "difference on the same resampled people"
            break
    return judge_order(
        f"{names[better]} has a higher AUC than {names[worse]}",
        gain,
        interval,
        published=published[better] - published[worse],
        sign=1,
        note=note,
    )
