"""What a configuration promises and what a run has spent: in words, as JSON, for the store."""

import math
from collections.abc import Iterable, Mapping
from typing import Any

from dnatrace.methods.base import release_of
from dnatrace.privacy.accounting import (
    Event,
    GaussianEvent,
    Ledger,
    PublicEvent,
    Unit,
    UnprotectedEvent,
    UnprovenEvent,
)
from dnatrace.privacy.statement import DISCLAIMER, Provenance, statement
from dnatrace.runs.config import RunConfig
from dnatrace.runs.floor import beside
from dnatrace.runs.measured import beside_no_bound
from dnatrace.runs.sections import PrivacySettings

BESIDE_SCORES = "In addition to scores, the policy of this run tells people, without noise, that"
IN_SCORES = (
    "Scores carry it on: the decoder also reads that a person was told of a case, so whoever sees "
    "a score, such as the person who chooses the tests, can learn from it what its owner was told, "
    "without noise. No ε covers that either."
)


def scores_noised(privacy: Mapping[str, Any]) -> bool:
    """Tell from the privacy of a summary whether scores had noise; a threshold's is no matter.

    Older versions did not store it: then any noise counts.
    """
    return bool(privacy.get("scores_noised", privacy.get("noise") is not None))


def describe(config: RunConfig, ledger: Ledger) -> dict[str, Any]:
    """Return the privacy part of a run's summary; an unbounded ε is None."""
    asked = _asked(config, ledger)
    spent = ledger.summary((asked or PrivacySettings()).delta)
    told = {"policy_tells_of_cases": True} if config.tells_of_cases else {}
    return told | {
        "release": release_of(config.method),
        "epsilon": asked.epsilon if asked else spent["per_release_epsilon"],
        "delta": spent["delta"],
        "unit": (asked or PrivacySettings()).unit.value,
        **_of_target(asked, ledger),
        "per_person_epsilon": spent["per_person_epsilon"],
        "person_measured": _measured(config, ledger),
        "person_unfinished": ledger.person_unfinished,
        "per_release_epsilon": spent["per_release_epsilon"],
        "per_score_epsilon": spent["per_score_epsilon"],
        "per_contact_epsilon": spent["per_contact_epsilon"],
        "per_person_day_epsilon": spent["per_person_day_epsilon"],
        "meetings_per_day": spent["meetings_per_day"],
        "per_pair_epsilon": spent["per_pair_epsilon"],
        "nominal_epsilon": spent["nominal_epsilon"],
        "true_epsilon": spent["true_epsilon"],
        "selection_epsilon": spent["selection_epsilon"],
        "sound": spent["sound"],
        "protects": spent["protects"],
        "mechanism": mechanism(ledger),
        "noise": noise(ledger),
        "scores_noised": bool(ledger.noised),
        "simulated": _simulated(ledger),
        "unfinished": spent["unfinished"],
        "floor": beside(config, spent["per_person_epsilon"]) if asked else None,
    }


def _of_target(asked: PrivacySettings | None, ledger: Ledger) -> dict[str, Any]:
    """Return whether the target is met, and what its unit costs over its whole life."""
    if asked is None:
        return {"target_kept": None, "target_life_epsilon": None}
    life = ledger.life_epsilon(asked.target.unit, asked.target.delta)
    return {
        "target_kept": ledger.kept(asked.target).value,
        "target_life_epsilon": life if math.isfinite(life) else None,
    }


def _measured(config: RunConfig, ledger: Ledger) -> str | None:
    """Return how much one test of a person was measured to reveal, where there is no bound."""
    unbounded = ledger.mu(Unit.PERSON) == math.inf
    return beside_no_bound(config) if unbounded and _asked(config, ledger) else None


def noise(ledger: Ledger) -> str | None:
    """Return which back ends drew the noise, one word each; None when there is no noise."""
    return _words(ledger.noises) or None


def _simulated(ledger: Ledger) -> dict[str, str]:
    """Return which noise protects nobody: of "scores", of the "threshold", one word each."""
    return {part: _words(names) for part, names in ledger.simulated.items()}


def _words(noises: Iterable[str]) -> str:
    return ", ".join(name.split(" (")[0] or "unknown" for name in noises)


def _asked(config: RunConfig, ledger: Ledger) -> PrivacySettings | None:
    """Return what the noise was calibrated for; None when the configuration does not decide that.

    It does not for methods without noise, nor for a method that was given as an object.
    """
    return config.privacy if config.method.adds_noise and ledger.noised else None


def mechanism(ledger: Ledger) -> str:
    """Return in words what noise was added to."""
    names = {event.mechanism for event in ledger.noised}
    if names:
        return "Gaussian noise on " + "; ".join(sorted(names))
    if any(isinstance(e, UnprotectedEvent) for e in ledger.events):
        return "none: scores are shown as they are"
    return "none: no message is used"


def state(config: RunConfig, ledger: Ledger, *, audit: str | None = None) -> str:
    """Return the guarantee of a run in words; `audit` is the result and date of the last audit.

    Near the end it says what public facts alone achieve: the benefit beside the cost.
    """
    floor = describe(config, ledger)["floor"]
    text = statement(
        ledger,
        Provenance(
            method=config.method.name,
            release=release_of(config.method) or "",
            training=config.tracer.training,
            audit=audit,
            measured=_measured(config, ledger),
        ),
        target=asked.target if (asked := _asked(config, ledger)) else None,
    )
    told = [line for line in (floor, _beside_scores(config)) if line is not None]
    return text.replace(DISCLAIMER, "\n\n".join((*told, DISCLAIMER)))


def _beside_scores(config: RunConfig) -> str | None:
    """Return what the policy discloses without noise; None when it discloses nothing."""
    if not config.tells_of_cases:
        return None
    told = f"{BESIDE_SCORES} {config.policy.told_of}. No ε covers that."
    return f"{told} {IN_SCORES}" if _reads_diary(config) else told


def _reads_diary(config: RunConfig) -> bool:
    """Return whether the decoder reads what people were told of cases, among other things."""
    load = getattr(config.tracer, "load", None)  # of methods with a decoder
    return config.policy.keeps_diary and load is not None and getattr(load(), "diary", False)


def ledger_table(config: RunConfig, ledger: Ledger) -> dict[str, Any]:
    """Return the ledger as it is stored: the sums, and one row per release."""
    asked = _asked(config, ledger)
    target = asked and {"epsilon": asked.epsilon, "delta": asked.delta, "unit": asked.unit.value}
    return {
        "target": target,
        "spent": ledger.summary((asked or PrivacySettings()).delta),
        "person_measured": _measured(config, ledger),
        "releases": [_row(event) for event in ledger.events],
    }


def _row(event: Event) -> dict[str, Any]:
    kinds = {
        PublicEvent: "public",
        UnprotectedEvent: "unprotected",
        GaussianEvent: "gaussian",
        UnprovenEvent: "unproven",
    }
    row: dict[str, Any] = {"day": event.day, "kind": kinds[type(event)]}
    if isinstance(event, GaussianEvent):
        row |= {"mu": event.mu, "budget": event.budget, "spent": event.spent}
        row |= {"noise": event.noise}
    if isinstance(event, UnprovenEvent):
        row |= {
            "mu": event.mu,
            "attained_worst": event.attained_worst,
            "bound_worst": event.bound_worst,
            "noise": event.noise,
        }
    return row
