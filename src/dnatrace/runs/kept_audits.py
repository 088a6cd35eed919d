"""Audits as files: what was audited, the result, and which guarantees it may accompany."""

import datetime
import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from dnatrace.errors import InputError
from dnatrace.files import parse_json, replacing
from dnatrace.methods.adversary import OwnTests
from dnatrace.methods.base import release_of
from dnatrace.policy.base import Publishes
from dnatrace.policy.highest_scores import HighestScoresSettings
from dnatrace.privacy.audit import AuditResult, verdict
from dnatrace.runs.audited import audited_settings
from dnatrace.runs.config import RunConfig
from dnatrace.runs.nesting import flatten
from dnatrace.runs.person_audits import PersonAudit

_FROM_A_FILE = "(Taken from a file whose checksum catches slips, not forgery.)"
_NAMED = 3  # differences that are listed one by one
_SCORES_ALONE = (
    "Scores alone were audited: the threshold that chooses tests is published in addition, and its "
    "cost and noise were not."
)


def describe(
    config: RunConfig, result: AuditResult, *, own_tests: OwnTests, releases: int
) -> dict[str, Any]:
    """Return an audit as plain values: its result, and what was audited."""
    settings = audited_settings(config)
    return {
        "method": config.method.name,
        "release": release_of(config.method),
        "epsilon": config.privacy.epsilon,
        "delta": result.delta,
        "unit": config.privacy.unit.value,
        "own_tests": own_tests.value,
        "releases": releases,
        "contact_age": result.contact_age,
        "releases_reached": result.releases_reached,
        "claimed_epsilon": result.claimed_epsilon,
        "empirical_epsilon_lower_bound": result.lower_bound,
        "confidence": result.confidence,
        "draws": result.draws,
        "passed": result.passed,
        "verdict": result.verdict,
        "audited_digest": config.digest_of(settings),
        "audited": settings,
    }


def describe_person(
    config: RunConfig, results: Sequence[PersonAudit], *, closed_loop: bool
) -> dict[str, Any]:
    """Return audits of a person as plain values; an unbounded ε is None and marked as such."""
    settings = audited_settings(config, closed_loop=closed_loop)
    return {
        "method": config.method.name,
        "release": release_of(config.method),
        "epsilon": config.privacy.epsilon,
        "delta": config.privacy.delta,
        "unit": config.privacy.unit.value,
        "closed_loop": closed_loop,
        "worlds": [_world(result) for result in results],
        "passed": all(result.passed for result in results),
        "audited_digest": config.digest_of(settings),
        "audited": settings,
    }


def _world(result: PersonAudit) -> dict[str, Any]:
    unbounded = result.epsilon is not None and math.isinf(result.epsilon)
    return {
        "world": str(result.world),
        "claimed_epsilon": result.claimed_epsilon,
        "claimed_for": "person" if result.proved else "contact",
        "epsilon": None if unbounded else result.epsilon,
        "unbounded": unbounded,
        "largest_move": result.largest_move,
        "releases": result.releases,
        "met": result.met,
        "success": result.success,
        "guesses": result.guesses,
        "empirical_epsilon_lower_bound": result.drawn.lower_bound if result.drawn else None,
        "draws": result.drawn.draws if result.drawn else 0,
        "confidence": result.drawn.confidence if result.drawn else None,
        "passed": result.passed,
        "words": result.words,
    }


def write_audit(path: Path, values: Mapping[str, Any]) -> None:
    """Store the result of an audit with its date and a checksum over everything.

    The checksum catches slips. Anyone who wants to forge an audit can recompute it.
    """
    today = datetime.datetime.now(tz=datetime.UTC).date().isoformat()
    kept = {**values, "date": today}
    with replacing(path) as temporary:
        text = json.dumps(kept | {"checksum": _checksum(kept)}, indent=2)
        temporary.write_text(text + "\n", "utf-8")


def read_audit(path: Path, config: RunConfig) -> str:
    """Return the result and date of a stored audit in words.

    Raises:
        InputError: it cannot be read, was changed by hand, or is an audit of something other than
            the configuration.
    """
    try:
        a = parse_json(path.read_text("utf-8"))
        is_whole = a.pop("checksum") == _checksum(a)
        difference = _difference(a, config)
        words = f"{_words(a)} {_SCORES_ALONE}" if _publishes(config) else _words(a)
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from error
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise InputError(f"{path}: is not the result of an audit of this version") from error
    if not is_whole:
        raise InputError(f"{path}: was changed after the audit: its checksum does not match")
    if difference is not None:
        raise InputError(f"{path}: is an audit of something else: {difference}")
    return words


def _difference(kept: Mapping[str, Any], config: RunConfig) -> str | None:
    """Return where an audit's settings differ from those of a configuration; None if nowhere."""
    settings = audited_settings(config, closed_loop=kept.get("closed_loop", False))
    if kept["audited_digest"] == config.digest_of(settings):
        return None
    before, here = flatten(kept["audited"]), flatten(settings)
    differing = [
        f"{key} is {before.get(key, 'absent')} there and {here.get(key, 'absent')} here"
        for key in dict.fromkeys([*before, *here])
        if before.get(key) != here.get(key)
    ]
    more = [f"and {len(differing) - _NAMED} more"] if len(differing) > _NAMED else []
    named = "; ".join(differing[:_NAMED] + more)
    return named or _other_content(kept, config, settings)


def _other_content(kept: Mapping[str, Any], config: RunConfig, settings: Mapping[str, Any]) -> str:
    """Return what may differ where no setting does: with levers phones use another decoder."""
    plain = config.model_copy(update={"policy": HighestScoresSettings()})
    if plain.digest_of(settings) == kept["audited_digest"]:
        decoder = getattr(config.tracer, "decoder", None)
        return (
            "with the levers of this run phones use another decoder; "
            f"`dnatrace audit --set method.decoder={decoder}` plays that one"
        )
    return "what the method ships or reads has other content"


def _publishes(config: RunConfig) -> bool:
    """Tell whether the policy of a run publishes something computed from scores."""
    return isinstance(config.acting_policy.build(config.isolation, config.seed), Publishes)


def _checksum(values: Mapping[str, Any]) -> str:
    """Return a digest of all values that does not depend on order or spaces."""
    text = json.dumps(values, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def contact_in_words(a: Mapping[str, Any]) -> str:
    """Return in words to which contact the claim of an audit applies."""
    n, reached, age = a["releases"], a["releases_reached"], a["contact_age"]
    text = f"one contact over {n} release{'s' if n > 1 else ''}"
    if n == reached:
        return text
    made = (
        f"{age} day{'s' if age != 1 else ''} before the first" if age else "on the day of the first"
    )
    return f"{text}, of which {reached} can show it: it was made {made}"


def _person_words(a: Mapping[str, Any]) -> str:
    """Return audits of a person in words: what was played, claimed and found, world by world."""
    loop = (
        " in a closed loop, in which the policy acts on the scores of both worlds"
        if a["closed_loop"]
        else ""
    )
    told = " ".join(_world_words(row) for row in a["worlds"])
    return (
        f"on {a['date']}, one test of a person, end to end{loop}, at δ = {a['delta']:g}. {told} "
        f"{_FROM_A_FILE}"
    )


def _world_words(row: Mapping[str, Any]) -> str:
    """Return one world of an audit of a person in words."""
    claim = f"{row['claimed_epsilon']:.3g} for a {row['claimed_for']}"
    exact = row["epsilon"]
    found = [
        *(["unbounded, as something differs without noise"] if row["unbounded"] else []),
        *([f"exactly {exact:.3g} for the noisy numbers"] if exact is not None else []),
    ]
    if row["draws"]:
        bound, sure = row["empirical_epsilon_lower_bound"], f"{100 * row['confidence']:g} %"
        least = f"at least {bound:.3g}" if bound > 0.0 else "nothing"
        found.append(f"{least} by {row['draws']:,} draws of all scores ({sure} confidence)")
    return f"{row['world']}: claimed ε = {claim}; found {'; '.join(found)}. {row['words']}"


def _words(a: Mapping[str, Any]) -> str:
    if "worlds" in a:
        return _person_words(a)
    bound, claimed, draws = a["empirical_epsilon_lower_bound"], a["claimed_epsilon"], a["draws"]
    return (
        f"on {a['date']}, own tests: {a['own_tests']}. Claimed ε = {claimed:.3g} for "
        f"{contact_in_words(a)}; {draws:,} draws show at least {bound:.3g} "
        f"({100 * a['confidence']:g} % confidence). {verdict(bound, claimed, draws)} "
        f"{_FROM_A_FILE}"
    )
