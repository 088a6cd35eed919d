"""`dnatrace privacy`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Argument, Context, Option, Typer

from dnatrace.cli._command import Answer, Command, Group, command, table
from dnatrace.cli._configuration import RELEASE, Yes, configured
from dnatrace.errors import InputError

if TYPE_CHECKING:
    from dnatrace.runs.config import RunConfig

app = Typer(
    cls=Group,
    no_args_is_help=True,
    help="Noise for a target, the guarantee in words, what was spent.",
)

_SMALL = ("people=500", "days=40", "initially_infected=20")  # of a run made for a statement
_SIZES = ("people", "days", "initially_infected")
_PLAYED = (
    "From a run of {people} people and {days} days that was made for this text; "
    "`dnatrace privacy statement RUN` prints that of a stored run."
)
_GUESSES = "right guesses in 100, at most"  # a coin: 50


@app.command(cls=Command)
@command()
def calibrate(
    epsilon: Annotated[float, Option(help="Target ε.")] = 1.0,
    delta: Annotated[float, Option(help="Target δ.")] = 1e-3,
    sensitivity: Annotated[float, Option(help="Largest change by one message.")] = 1.0,
) -> Answer:
    """Print the standard deviation of Gaussian noise that meets a target exactly.

    Example: dnatrace privacy calibrate --epsilon 1 --delta 1e-3 --sensitivity 0.006
    """
    from dnatrace.privacy.gaussian import gaussian_sigma

    target = {"epsilon": epsilon, "delta": delta, "sensitivity": sensitivity}
    sigma = gaussian_sigma(**target)
    text = (
        f"Noise of standard deviation {sigma:.6g} makes a statistic of sensitivity "
        f"{sensitivity:g} private with ε = {epsilon:g}, δ = {delta:g}."
    )
    return Answer(values={"sigma": sigma} | target, shown=[text])


@app.command(cls=Command)
@command(kernels=True)
@configured(*RELEASE, "score", "noise", published="paper", usual=_SMALL, stored="run")
def statement(
    config: "RunConfig",
    context: Context,
    run: Annotated[
        Path | None, Argument(help="A stored run; if absent, a small one is made.")
    ] = None,
    audited: Annotated[
        Path | None,
        Option("--audit", help="Result of `dnatrace audit --out` for the same method."),
    ] = None,
    yes: Yes = False,
) -> Answer:
    """Print the guarantee of a method in words that a privacy officer can check.

    It is that of a stored run, or of a run of the given configuration (500 people, 40 days, 20
    infected at first, unless set otherwise).

    Example: dnatrace privacy statement --method dpfn-s --epsilon 1
    """
    from dnatrace.privacy.statement import with_audit
    from dnatrace.runs import guarantees, kept_audits, needs, store
    from dnatrace.runs.run import run as run_once

    audit = None
    if audited is not None:
        stated = config if run is None else _stored(run)
        audit = kept_audits.read_audit(audited, stated)
    if run is not None:
        text = with_audit(store.read_text(run, "statement.txt"), audit)
    else:
        needs.check([config], yes=yes)
        ledger = run_once(config).ledger
        text = guarantees.state(_as_meant(config, _given(context)), ledger, audit=audit)
        text = f"{_PLAYED.format(people=config.people, days=config.days)}\n\n{text}"
    return Answer(values={"statement": text}, shown=[text])


def _stored(run: Path) -> "RunConfig":
    """Return the configuration of a stored run, or raise naming its file."""
    from dnatrace.runs import store
    from dnatrace.runs.config import RunConfig

    values = store.read_json(run, "config.json")
    try:
        return RunConfig(**values)
    except InputError as error:
        raise InputError(f"{run / 'config.json'}: is damaged: {error}") from error


def _given(context: Context) -> set[str]:
    """Return the keys that were set on the command line."""
    return {text.partition("=")[0].strip() for text in context.params.get("setting") or ()}


def _as_meant(config: "RunConfig", given: set[str]) -> "RunConfig":
    """Return the configuration at the usual size, if a small one was run for its statement.

    What the noise promises does not depend on the size; what public facts alone achieve does. A
    size that was given is meant.
    """
    if given & set(_SIZES):
        return config
    usual = {key: type(config).model_fields[key].default for key in _SIZES}
    return config.model_copy(update=usual)


@app.command(cls=Command)
@command()
def ledger(run: Annotated[Path, Argument(help="A stored run.")]) -> Answer:
    """Print what a stored run released and spent.

    Example: dnatrace privacy ledger runs/b9a775d109d6eb21
    """
    from dnatrace.runs import checked
    from dnatrace.runs.presentation import beyond_units

    stored = checked.read_ledger(run)
    privacy = checked.read_summary(run).get("privacy", {})
    spent = stored["spent"]
    units = [_cost(unit, spent) for unit in ("person", "release", "score", "contact", "pair")]
    noised = any(row["kind"] in ("gaussian", "unproven") for row in stored["releases"])
    noised |= spent.get("selection_epsilon") is not None
    title = f"{spent['releases']} releases, {_verdict(spent, privacy, noised=noised)}"
    newest = [
        {
            k: f"{v:.4g}" if isinstance(v, float) else "–" if v is None else str(v)
            for k, v in row.items()
        }
        for row in stored["releases"][-5:]
    ]
    beyond = beyond_units(privacy)
    return Answer(
        values=stored, shown=[title, table(units), *beyond, "The last releases", table(newest)]
    )


def _verdict(spent: dict[str, Any], privacy: dict[str, Any], *, noised: bool) -> str:
    """Return how far the costs hold; older versions did not store which noise was drawn.

    An ε of 0 does not mean that there was no noise: it may be so large that δ covers everything.
    """
    from dnatrace.runs.presentation import noise_that_protects_nobody

    if not spent["sound"]:
        return "NOT all costs are proved and finite"
    if not noised or spent.get("protects", False):
        return "every cost is proved"
    drawn = ", ".join(spent.get("noise", ())) or "of unknown origin"
    weak = noise_that_protects_nobody(privacy) or f"this one ({drawn})"
    return f"SIMULATION: every cost is proved for ideal noise, and {weak} protects nobody"


def _cost(unit: str, spent: dict[str, Any]) -> dict[str, str]:
    """Return what a unit costs; a dash for what older versions did not store."""
    from dnatrace.privacy.attack import guessing_limit, in_a_hundred

    key, delta = f"per_{unit}_epsilon", spent["delta"]
    row = {"unit": unit, "ε": "–", "δ": f"{delta:g}", _GUESSES: "–"}
    if key in spent:
        so_far = " so far" if unit in spent.get("unfinished", ()) else ""
        row["ε"] = "unbounded" if spent[key] is None else f"{spent[key]:.3g}{so_far}"
        row[_GUESSES] = in_a_hundred(guessing_limit(spent[key], delta))
    return row
