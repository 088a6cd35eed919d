"""`dnatrace audit`."""

import logging
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Option

from dnatrace.cli._command import Answer, Force, command, table
from dnatrace.cli._configuration import RELEASE, configured
from dnatrace.errors import InputError
from dnatrace.files import keep_inputs

if TYPE_CHECKING:
    from dnatrace.runs.config import RunConfig

_LOG = logging.getLogger("dnatrace")
_DRAWS = "Number of releases of each of the two worlds."
_MOST_DRAWS = "1,000,000; 2,000 end to end, none in a city, where ε is exact and a draw slow"


def _read(config: "RunConfig", options: dict[str, Any]) -> tuple[str, ...]:
    """Return the settings that an audit depends on; end to end also those of its worlds."""
    from dnatrace.runs.audited import READ

    if not _is_end_to_end(config, options["world"], options["closed_loop"]):
        return READ
    acted = ("isolation", "tests") if options["closed_loop"] else ()
    city = ("simulator", "seed") if options["world"] in (None, "city") else ()
    return (*READ, *acted, *city)


@command(threads=True)
@configured(*RELEASE, "score", published="paper", reads=_read)
def audit(
    config: "RunConfig",
    own_tests: Annotated[
        str, Option(help="none, negative, positive or negative-positive.")
    ] = "none",
    releases: Annotated[int, Option(help="Number of consecutive days the attacker looks.")] = 1,
    world: Annotated[
        str | None,
        Option(
            help="One test of a person, end to end: met-once, couple, household, class, "
            "common-contacts, relay or city; all of them with --unit person alone."
        ),
    ] = None,
    closed_loop: Annotated[
        bool, Option("--closed-loop", help="The policy acts on the scores of both worlds.")
    ] = False,
    draws: Annotated[int | None, Option(help=_DRAWS, show_default=_MOST_DRAWS)] = None,
    confidence: Annotated[float, Option(help="Confidence of the lower bound.")] = 0.99,
    out: Annotated[Path | None, Option(help="Store the result, with its date: .json.")] = None,
    force: Force = False,
) -> Answer:
    """Attack a method's own release and print a lower bound on its ε beside the claim.

    Two worlds that differ in one message are released many times each; how well they can be
    distinguished bounds ε from below. Exits with 1 when the bound is above the claim. A bound below
    the claim proves nothing: an audit can refute a claim, never confirm it.

    With --unit person or --world, two worlds differ in one test of a person, and everything that a
    receiver learns over the life of the test is played in the real loop: ε of the noisy numbers is
    then exact for that world. A method without a bound for a person is held to what it claims for a
    contact.

    Example: dnatrace audit --unit person --world household --method tally
    """
    from dnatrace.methods.adversary import OwnTests
    from dnatrace.runs import audits, kept_audits
    from dnatrace.settings import choose

    chosen = choose("own tests", own_tests, OwnTests)
    if out is not None:
        if out.suffix != ".json":
            raise InputError(f"{out}: the name must end in .json")
        keep_inputs(out, config.files, force=force)
    if _is_end_to_end(config, world, closed_loop):
        usual = (chosen, releases) == (OwnTests.NONE, 1)
        _check_end_to_end(config, closed_loop=closed_loop, usual=usual)
        values = _person(config, world, closed_loop=closed_loop, draws=draws, confidence=confidence)
        shown = _person_words(values)
    else:
        asked: dict[str, Any] = {"own_tests": chosen, "releases": releases}
        many = 1_000_000 if draws is None else draws
        result = audits.audit(config, **asked, draws=many, confidence=confidence)
        values = kept_audits.describe(config, result, **asked)
        shown = [_words(values)]
    if out is not None:
        kept_audits.write_audit(out, values)
        shown = [*shown, f"Wrote {out}"]
    return Answer(values=values, shown=shown, failed=not values["passed"])


def _is_end_to_end(config: "RunConfig", world: str | None, closed_loop: bool) -> bool:
    return world is not None or closed_loop or config.privacy.unit.value == "person"


def _check_end_to_end(config: "RunConfig", *, closed_loop: bool, usual: bool) -> None:
    """Raise if nothing is claimed, or if an option of the other audit or a lever is given."""
    if not config.method.adds_noise:
        raise InputError(f"method '{config.method.name}' claims nothing: nothing to audit")
    if closed_loop and config.policy.keeps_diary:
        raise InputError(
            "--closed-loop: levers are not played: nobody is told of a case or stays at home; "
            "without them, --set method.decoder names the decoder that is to be attacked"
        )
    if not usual:
        raise InputError("--own-tests, --releases: a world has tests and releases of its own")


def _person(
    config: "RunConfig",
    world: str | None,
    *,
    closed_loop: bool,
    draws: int | None,
    confidence: float,
) -> dict[str, Any]:
    """Return the audits of the requested world, or of all worlds."""
    from dnatrace.runs import kept_audits, person_audits
    from dnatrace.runs.worlds import WorldName
    from dnatrace.settings import choose

    closed = [name for name in WorldName if not (closed_loop and name is WorldName.CITY)]
    names = closed if world is None else [choose("world", world, WorldName)]
    usual = {WorldName.CITY: 0}  # a thousand people per draw
    results = []
    for name in names:
        many = usual.get(name, 2000) if draws is None else draws
        slow = name is WorldName.CITY and many > 0
        told = ": each draw is a thousand people, which takes minutes" if slow else ""
        _LOG.info("world %s%s", name.value, told)
        results.append(
            person_audits.audit_person(
                config, name, draws=many, closed=closed_loop, confidence=confidence
            )
        )
    return kept_audits.describe_person(config, results, closed_loop=closed_loop)


def _person_words(a: dict[str, Any]) -> list[Any]:
    title = (
        f"{_named(a)}: one test of a person, over all releases it lives "
        f"in, at δ = {a['delta']:g}{', closed loop' if a['closed_loop'] else ''}; noise for "
        f"ε = {a['epsilon']:g} per {_calibrated_for(a)}."
    )
    told = [f"{row['world']}: {row['words']}" for row in a["worlds"]]
    return [title, table([_person_row(row) for row in a["worlds"]]), *told]


def _calibrated_for(a: dict[str, Any]) -> str:
    """Return the unit of the noise that was played: a contact where a person has no bound."""
    unbounded = any(row["claimed_for"] == "contact" for row in a["worlds"])
    return "contact" if a["unit"] == "person" and unbounded else str(a["unit"])


def _named(a: dict[str, Any]) -> str:
    return a["method"] if a["release"] is None else f"{a['method']}, variant {a['release']}"


def _person_row(row: dict[str, Any]) -> dict[str, str]:
    def number(value: float | None) -> str:
        return "–" if value is None else f"{value:.3g}"

    epsilon = "unbounded" if row["unbounded"] else number(row["epsilon"])
    return {
        "world": row["world"],
        "largest move": number(row["largest_move"]),
        "ε": epsilon,
        "ε claimed": number(row["claimed_epsilon"]),
        "ε shown by scores": number(row["empirical_epsilon_lower_bound"]),
        "guesses from scores": "–" if row["guesses"] is None else f"{100 * row['guesses']:.0f}",
    }


def _words(a: dict[str, Any]) -> str:
    from dnatrace.runs.kept_audits import contact_in_words

    return (
        f"{_named(a)}, own tests: {a['own_tests']}.\n"
        f"Claimed: ε = {a['claimed_epsilon']:.3g} at δ = {a['delta']:g} for "
        f"{contact_in_words(a)}.\n"
        f"Shown by {a['draws']:,} draws: ε is at least {a['empirical_epsilon_lower_bound']:.3g} "
        f"({100 * a['confidence']:g} % confidence).\n"
        f"{a['verdict']}"
    )
