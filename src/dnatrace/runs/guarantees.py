"""What a configuration promises and what a run has spent: for people, for JSON, for the store."""

from typing import Any

from dnatrace.methods.catalogue import release_of
from dnatrace.networks.decoder import load_decoder
from dnatrace.networks.runtime import load_model
from dnatrace.privacy.accounting import (
    Event,
    GaussianEvent,
    Ledger,
    PublicEvent,
    Target,
    UnprotectedEvent,
    UnprovenEvent,
)
from dnatrace.privacy.noise import FastNoise, Noise, SecureNoise
from dnatrace.privacy.statement import Provenance, statement
from dnatrace.runs.config import RunConfig


def target_of(config: RunConfig) -> Target:
    """Return what the noise of a configuration is calibrated for."""
    p = config.privacy
    return Target(epsilon=p.epsilon, delta=p.delta, unit=p.unit)


def noise_of(config: RunConfig) -> Noise:
    """Return where the noise of a configuration comes from."""
    return SecureNoise() if config.privacy.noise == "secure" else FastNoise(seed=config.seed)


def describe(config: RunConfig, ledger: Ledger) -> dict[str, Any]:
    """Return the privacy part of a run's summary; unbounded ε is None."""
    spent = ledger.summary(config.privacy.delta)
    private = _is_private(ledger)
    promised = config.privacy.epsilon if private else spent["per_release_epsilon"]
    return {
        "release": release_of(config.method.name, config.method.release),
        "epsilon": promised,
        "delta": config.privacy.delta,
        "unit": config.privacy.unit.value,
        "per_release_epsilon": spent["per_release_epsilon"],
        "per_score_epsilon": spent["per_score_epsilon"],
        "per_contact_epsilon": spent["per_contact_epsilon"],
        "per_pair_epsilon": spent["per_pair_epsilon"],
        "nominal_epsilon": spent["nominal_epsilon"],
        "true_epsilon": spent["true_epsilon"],
        "sound": spent["sound"],
        "mechanism": mechanism(ledger),
        "noise": config.privacy.noise if private else None,
    }


def mechanism(ledger: Ledger) -> str:
    """Return what was noised, in words."""
    names = {e.mechanism for e in ledger.events if isinstance(e, GaussianEvent | UnprovenEvent)}
    if names:
        return "Gaussian noise on " + "; ".join(sorted(names))
    if any(isinstance(e, UnprotectedEvent) for e in ledger.events):
        return "none: scores are shown as they are"
    return "none: no message is used"


def _is_private(ledger: Ledger) -> bool:
    return any(isinstance(e, GaussianEvent | UnprovenEvent) for e in ledger.events)


def state(config: RunConfig, ledger: Ledger, *, audit: str | None = None) -> str:
    """Return the guarantee of a run in words; `audit` tells result and date of the last one."""
    return statement(
        ledger,
        Provenance(
            method=config.method.name,
            release=release_of(config.method.name, config.method.release) or "the only one",
            noise=noise_of(config).name if _is_private(ledger) else "none",
            training=_training(config),
            audit=audit,
        ),
        target=target_of(config) if _is_private(ledger) else None,
    )


def _training(config: RunConfig) -> str | None:
    """Return where the network of a method comes from; None for methods without one."""
    if config.method.name == "tally":
        decoder = load_decoder(config.method.decoder)
        runs = decoder.provenance.get("runs", {})
        return (
            f"decoder '{decoder.name}', weights {decoder.digest}, trained on "
            f"{runs.get('count', 'unknown')} runs of simulated people: training has no privacy "
            "cost. It reads noisy tallies and public facts alone, so it needs no bound of its own."
        )
    if config.method.name != "dna":
        return None
    model = load_model(config.method.model)
    data = model.provenance.get("dataset", {})
    return (
        f"network '{model.name}', weights {model.certificate.digest}, trained on "
        f"{data.get('samples', 0):,} samples of simulated people (dataset "
        f"{data.get('digest', 'unknown')}): training has no privacy cost. Certified Lipschitz "
        f"bound {model.lipschitz:.7g}."
    )


def ledger_table(config: RunConfig, ledger: Ledger) -> dict[str, Any]:
    """Return the ledger as it is stored: the sums, and one row a release."""
    return {
        "target": {
            "epsilon": config.privacy.epsilon,
            "delta": config.privacy.delta,
            "unit": config.privacy.unit.value,
        },
        "spent": ledger.summary(config.privacy.delta),
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
    if isinstance(event, UnprovenEvent):
        row |= {
            "mu": event.mu,
            "attained_worst": event.attained_worst,
            "bound_worst": event.bound_worst,
        }
    return row
