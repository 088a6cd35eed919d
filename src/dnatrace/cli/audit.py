"""`dnatrace audit`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Option

from dnatrace.cli._command import Answer, Force, command
from dnatrace.cli._configuration import RELEASE, configured
from dnatrace.errors import InputError
from dnatrace.files import keep_inputs

if TYPE_CHECKING:
    from dnatrace.runs.config import RunConfig


@command(threads=True)
@configured(*RELEASE, "score", published="paper")
def audit(
    config: "RunConfig",
    own_tests: Annotated[
        str, Option(help="none, negative, positive or negative-positive.")
    ] = "none",
    releases: Annotated[int, Option(help="Consecutive days the attacker looks.")] = 1,
    draws: Annotated[int, Option(help="Releases of each of the two worlds.")] = 1_000_000,
    confidence: Annotated[float, Option(help="Of the lower bound.")] = 0.99,
    out: Annotated[Path | None, Option(help="Keep the result, with its date: .json.")] = None,
    force: Force = False,
) -> Answer:
    """Attack a method's own release and print a lower bound on its ε beside the claim.

    Two worlds that differ in one message are released many times each; how well they can be told
    apart bounds ε from below. Exits with 1 when the bound is above the claim. A bound below it
    proves nothing: an audit can refute a claim, never confirm it.

    Example: dnatrace audit --method dpfn-s --release as_published --own-tests positive
    """
    from dnatrace.methods.adversary import OwnTests
    from dnatrace.runs import audits, kept_audits
    from dnatrace.settings import choose

    chosen = choose("own tests", own_tests, OwnTests)
    if out is not None:
        if out.suffix != ".json":
            raise InputError(f"{out}: the name must end in .json")
        keep_inputs(out, config.files, force=force)
    result = audits.audit(
        config,
        own_tests=chosen,
        releases=releases,
        draws=draws,
        confidence=confidence,
    )
    values = kept_audits.describe(config, result, own_tests=chosen, releases=releases)
    if out is not None:
        kept_audits.write_audit(out, values)
    wrote = [] if out is None else [f"Wrote {out}"]
    return Answer(values=values, shown=[_words(values), *wrote], failed=not result.passed)


def _words(a: dict[str, Any]) -> str:
    from dnatrace.runs.kept_audits import contact_in_words

    return (
        f"{a['method']}, variant {a['release']}, own tests: {a['own_tests']}.\n"
        f"Claimed: ε = {a['claimed_epsilon']:.3g} at δ = {a['delta']:g} for "
        f"{contact_in_words(a)}.\n"
        f"Shown by {a['draws']:,} draws: ε is at least {a['empirical_epsilon_lower_bound']:.3g} "
        f"({100 * a['confidence']:g} % confidence).\n"
        f"{a['verdict']}"
    )
