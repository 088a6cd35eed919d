"""`dnatrace privacy`, `dnatrace audit` and `dnatrace attack`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dnatrace.cli.options import Json, Quiet, Threads, print_json, print_table, start

if TYPE_CHECKING:
    from dnatrace.runs.config import RunConfig

app = typer.Typer(help="Noise for a target; the guarantee in words; what was spent.")

Preset = Annotated[
    str | None,
    typer.Option(help="Configuration to start from (standard; paper for as_published)."),
]
Settings = Annotated[
    list[str] | None, typer.Option("--set", help="section.key=value; may be repeated.")
]
Method = Annotated[str | None, typer.Option(help="Tracing method.")]
Release = Annotated[str | None, typer.Option(help="Variant of the method's release.")]
Epsilon = Annotated[float | None, typer.Option(help="Privacy budget.")]
Delta = Annotated[float | None, typer.Option(help="Probability the bound may fail.")]
Gamma = Annotated[float | None, typer.Option(help="Messages are clipped to [0, γ].")]
P1 = Annotated[float | None, typer.Option("--p1", help="Transmission by one contact.")]
Score = Annotated[str | None, typer.Option(help="infected or exposed-or-infected.")]
UnitOf = Annotated[str | None, typer.Option("--unit", help="ε per release, contact or pair.")]


def _configuration(preset: str | None, settings: list[str] | None, **overrides: Any) -> "RunConfig":
    """Return what to examine; a published release is examined as it was published."""
    from dnatrace.runs.config import load_config

    usual = "paper" if overrides.get("release") == "as_published" else "standard"
    return load_config(preset=preset or usual, settings=settings or (), overrides=overrides)


@app.command()
def calibrate(
    epsilon: Annotated[float, typer.Option(help="Target.")] = 1.0,
    delta: Annotated[float, typer.Option(help="Target.")] = 1e-3,
    sensitivity: Annotated[float, typer.Option(help="Most that one message changes.")] = 1.0,
    as_json: Json = False,
) -> None:
    """Print the standard deviation of Gaussian noise that meets a target exactly.

    Example: dnatrace privacy calibrate --epsilon 1 --delta 1e-3 --sensitivity 0.006
    """
    from dnatrace.privacy.gaussian import gaussian_sigma

    sigma = gaussian_sigma(epsilon=epsilon, delta=delta, sensitivity=sensitivity)
    values = {"sigma": sigma, "epsilon": epsilon, "delta": delta, "sensitivity": sensitivity}
    if as_json:
        print_json(values)
    else:
        print(
            f"Noise of standard deviation {sigma:.6g} makes a statistic of sensitivity "
            f"{sensitivity:g} private with ε = {epsilon:g}, δ = {delta:g}."
        )


@app.command()
def statement(
    run: Annotated[Path | None, typer.Argument(help="A stored run; absent: a small one.")] = None,
    preset: Preset = None,
    setting: Settings = None,
    method: Method = None,
    release: Release = None,
    epsilon: Epsilon = None,
    delta: Delta = None,
    gamma: Gamma = None,
    p1: P1 = None,
    score: Score = None,
    unit: UnitOf = None,
    noise: Annotated[str | None, typer.Option(help="fast (simulation) or secure.")] = None,
    audited: Annotated[
        Path | None, typer.Option("--audit", help="Result that `dnatrace audit --out` wrote.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Print the guarantee of a method in words that a privacy officer can check.

    Of a stored run, or of a run of the configuration given (500 people, 40 days, 20 infected at
    first, unless set otherwise).

    Example: dnatrace privacy statement --method dpfn-s --epsilon 1
    """
    start(quiet=True)
    from dnatrace.runs import audits as privacy_checks
    from dnatrace.runs import guarantees, store
    from dnatrace.runs.run import run as run_once

    small = ["people=500", "days=40", "initially_infected=20"]
    if run is not None:
        text = store.read_text(run, "statement.txt")
    else:
        config = _configuration(
            preset,
            small + (setting or []),
            method=method,
            release=release,
            epsilon=epsilon,
            delta=delta,
            gamma=gamma,
            p1=p1,
            score=score,
            unit=unit,
            noise=noise,
        )
        audit = privacy_checks.read_audit(audited) if audited is not None else None
        text = guarantees.state(config, run_once(config).ledger, audit=audit)
    print_json({"statement": text}) if as_json else print(text)


@app.command()
def ledger(
    run: Annotated[Path, typer.Argument(help="A stored run.")],
    as_json: Json = False,
) -> None:
    """Print what a stored run released and spent.

    Example: dnatrace privacy ledger runs/b9a775d109d6eb21
    """
    from dnatrace.runs import store

    stored = store.read_ledger(run)
    if as_json:
        print_json(stored)
        return
    spent = stored["spent"]
    units = [
        {"unit": unit, "ε": _number(spent[f"per_{unit}_epsilon"]), "δ": f"{spent['delta']:g}"}
        for unit in ("release", "contact", "pair")
    ]
    print_table(f"{spent['releases']} releases, {_verdict(spent)}", units)
    print_table("The last releases", [_texts(row) for row in stored["releases"][-5:]])


def _verdict(spent: dict[str, Any]) -> str:
    return "every cost is proved" if spent["sound"] else "NOT all costs are proved and finite"


def _number(epsilon: float | None) -> str:
    return "unbounded" if epsilon is None else f"{epsilon:.3g}"


def _texts(row: dict[str, Any]) -> dict[str, str]:
    return {k: f"{v:.4g}" if isinstance(v, float) else str(v) for k, v in row.items()}


def audit(
    preset: Preset = None,
    setting: Settings = None,
    method: Method = None,
    release: Release = None,
    epsilon: Epsilon = None,
    delta: Delta = None,
    gamma: Gamma = None,
    p1: P1 = None,
    score: Score = None,
    unit: UnitOf = None,
    own_tests: Annotated[
        str, typer.Option(help="none, negative, positive or negative-positive.")
    ] = "none",
    releases: Annotated[int, typer.Option(help="Consecutive days the attacker looks.")] = 1,
    draws: Annotated[int, typer.Option(help="Releases of each of the two worlds.")] = 1_000_000,
    confidence: Annotated[float, typer.Option(help="Of the lower bound.")] = 0.99,
    out: Annotated[Path | None, typer.Option(help="Keep the result, with its date: .json.")] = None,
    as_json: Json = False,
    quiet: Quiet = False,
    threads: Threads = None,
) -> None:
    """Attack a method's own release and print a lower bound on its ε beside the claim.

    Two worlds that differ in one message are released many times each; how well they can be told
    apart bounds ε from below. Exits with 1 when the bound is above the claim.

    Example: dnatrace audit --method dpfn-s --release as_published --own-tests positive
    """
    start(quiet, threads)
    from dnatrace.methods.catalogue import release_of
    from dnatrace.methods.rehearsal import OwnTests
    from dnatrace.methods.settings import choose
    from dnatrace.runs import audits as privacy_checks

    config = _configuration(
        preset,
        setting,
        method=method,
        release=release,
        epsilon=epsilon,
        delta=delta,
        gamma=gamma,
        p1=p1,
        score=score,
        unit=unit,
    )
    result = privacy_checks.audit(
        config,
        own_tests=choose("own tests", own_tests, OwnTests),
        releases=releases,
        draws=draws,
        confidence=confidence,
    )
    values = {
        "method": config.method.name,
        "release": release_of(config.method.name, config.method.release),
        "own_tests": own_tests,
        "releases": releases,
        "claimed_epsilon": result.claimed_epsilon,
        "empirical_epsilon_lower_bound": result.lower_bound,
        "delta": result.delta,
        "confidence": result.confidence,
        "draws": result.draws,
        "passed": result.passed,
    }
    if out is not None:
        privacy_checks.write_audit(out, values)
    if as_json:
        print_json(values)
    else:
        verdict = "The claim stands." if result.passed else "THE CLAIM IS FALSE."
        print(
            f"{values['method']}, release {values['release']}, own tests: {own_tests}.\n"
            f"Claimed: ε = {result.claimed_epsilon:.3g} at δ = {result.delta:g} for one contact "
            f"over {releases} release{'s' if releases > 1 else ''}.\n"
            f"Shown by {result.draws:,} draws: ε is at least {result.lower_bound:.3g} "
            f"({100 * result.confidence:g} % confidence).\n{verdict}"
        )
    if not result.passed:
        raise typer.Exit(1)


def attack(
    preset: Preset = None,
    setting: Settings = None,
    method: Method = None,
    release: Release = None,
    epsilon: Epsilon = None,
    delta: Delta = None,
    gamma: Gamma = None,
    p1: P1 = None,
    unit: UnitOf = None,
    co_attackers: Annotated[int, typer.Option(help="People who pool their scores.")] = 0,
    days: Annotated[int, typer.Option(help="Days on which they meet the victim.")] = 1,
    draws: Annotated[int, typer.Option(help="Victims of each kind.")] = 100_000,
    out: Annotated[Path | None, typer.Option(help="Picture: .png or .svg.")] = None,
    as_json: Json = False,
    quiet: Quiet = False,
    threads: Threads = None,
) -> None:
    """Play the paper's adversary: somebody who meets only the victim and watches their own score.

    Example: dnatrace attack --method dpfn-s --epsilon 1 --co-attackers 3 --days 5 --out attack.png
    """
    start(quiet, threads)
    from dnatrace.files import replacing
    from dnatrace.methods.catalogue import release_of
    from dnatrace.runs import audits as privacy_checks

    config = _configuration(
        preset,
        setting,
        method=method,
        release=release,
        epsilon=epsilon,
        delta=delta,
        gamma=gamma,
        p1=p1,
        unit=unit,
    )
    if out is not None:
        privacy_checks.check_picture(out)
    result = privacy_checks.attack(config, co_attackers=co_attackers, days=days, draws=draws)
    if out is not None:
        with replacing(out) as temporary:
            result.draw(temporary)
    if as_json:
        print_json(
            {
                "method": config.method.name,
                "release": release_of(config.method.name, config.method.release),
                "success": result.success,
                "true_positive_rate": result.true_positive_rate,
                "false_positive_rate": result.false_positive_rate,
                "limit": result.limit,
                "co_attackers": co_attackers,
                "days": days,
                "draws": result.draws,
            }
        )
    else:
        print(result.words)
