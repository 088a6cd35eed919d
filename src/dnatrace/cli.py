"""The command line: parse, call the library, print. Nothing is computed here.

Heavy imports happen inside the commands, so that `dnatrace --help` is instant.
"""

import json
import logging
import sys
import warnings
from pathlib import Path
from typing import Annotated, Any

import typer

from dnatrace._version import __version__
from dnatrace.errors import InputError

app = typer.Typer(
    name="dnatrace",
    help="Contact tracing with privacy guarantees: simulate, infer, release, audit.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)

Json = Annotated[bool, typer.Option("--json", help="Print one JSON object on stdout.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No log lines on stderr.")]
Threads = Annotated[
    int | None, typer.Option("--threads", min=1, help="Threads to use; all cores by default.")
]


def main() -> None:
    """Run the command line; exit 0 when it worked, 1 when it failed, 2 when the input is wrong."""
    try:
        code = app(standalone_mode=False)
    except InputError as error:
        _fail(str(error), 2)
    except BrokenPipeError:
        sys.stderr.close()  # the reader of our output has gone; nobody is left to tell
        sys.exit(1)
    except Exception as error:
        if hasattr(error, "format_message"):  # wrong usage, as the parser tells it
            _fail(error.format_message(), 2)
        if type(error).__name__ == "Abort":
            _fail("interrupted", 130)
        raise
    sys.exit(code if isinstance(code, int) else 0)


def _fail(message: str, code: int) -> None:
    print(f"dnatrace: {' '.join(message.split())}", file=sys.stderr)
    sys.exit(code)


@app.callback(invoke_without_command=True)
def _options(
    version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False,
) -> None:
    if version:
        print(__version__)
        raise typer.Exit


def _start(quiet: bool, threads: int | None = None) -> None:
    """Set up logging, warnings and threads for a command."""
    level = logging.ERROR if quiet else logging.INFO
    logging.basicConfig(level=level, format="%(message)s", stream=sys.stderr)
    logging.captureWarnings(True)
    warnings.showwarning = lambda message, *_: logging.getLogger("dnatrace").warning(
        "warning: %s", message
    )
    if threads is not None:
        import numba

        most = numba.get_num_threads()
        if threads > most:
            raise InputError(f"--threads {threads}: this machine offers {most}")
        numba.set_num_threads(threads)


@app.command()
def infer(
    contacts: Annotated[Path, typer.Argument(help="CSV or Parquet: sender, receiver, day.")],
    tests: Annotated[Path, typer.Argument(help="CSV or Parquet: person, day, positive (0/1).")],
    people: Annotated[int | None, typer.Option(help="Number of people (largest id + 1).")] = None,
    days: Annotated[int | None, typer.Option(help="Number of days (largest day + 1).")] = None,
    p0: Annotated[float, typer.Option(help="Infection from outside, a day.")] = 0.001,
    p1: Annotated[float, typer.Option(help="Transmission by a contact with I.")] = 0.03,
    g: Annotated[float, typer.Option(help="E to I, a day.")] = 0.99,
    h: Annotated[float, typer.Option(help="I to R, a day.")] = 0.10,
    false_positive_rate: Annotated[float, typer.Option(help="P(positive | not I).")] = 0.01,
    false_negative_rate: Annotated[float, typer.Option(help="P(negative | I).")] = 0.001,
    rounds: Annotated[int, typer.Option(help="Updates of everybody.")] = 5,
    clip: Annotated[float | None, typer.Option(help="Clip messages to [0, CLIP].")] = None,
    levels: Annotated[int | None, typer.Option(help="Round messages to so many values.")] = None,
    out: Annotated[Path | None, typer.Option(help="Write all beliefs: .csv or .parquet.")] = None,
    as_json: Json = False,
    quiet: Quiet = False,
    threads: Threads = None,
) -> None:
    """Infer who is infected from your own contact list and tests.

    Prints the 20 people most likely infected or about to be on the last day; --out writes everybody
    and every day. Ids and days are whole numbers from 0; contacts are directed, so write two rows
    for two phones that heard each other.

    Example: dnatrace infer contacts.csv tests.csv --p1 0.05 --out beliefs.parquet
    """
    _start(quiet, threads)
    from dnatrace import tables
    from dnatrace.experiments import belief_tables
    from dnatrace.inference import factorised_neighbours as fn
    from dnatrace.seir import SeirParameters, TestErrors

    if out is not None:
        belief_tables.check_format(out)
    contact_rows, test_rows = tables.read_contacts(contacts), tables.read_tests(tests)
    parameters = SeirParameters(p0=p0, p1=p1, g=g, h=h)
    beliefs = fn.infer(
        contact_rows,
        test_rows,
        n_people=people,
        n_days=days,
        parameters=parameters,
        test_errors=TestErrors(
            false_positive_rate=false_positive_rate, false_negative_rate=false_negative_rate
        ),
        rounds=rounds,
        clip=clip,
        levels=levels,
    )
    if out is not None:
        belief_tables.write(beliefs, out)
    highest = belief_tables.highest(beliefs, n=20)
    if as_json:
        size = {"people": beliefs.shape[0], "days": beliefs.shape[1]}
        rows = {
            "contacts": contact_rows.columns["day"].size,
            "tests": test_rows.columns["day"].size,
        }
        _print_json(size | rows | {"highest": highest, "version": __version__})
    elif out is None:
        _print_table(
            f"Highest P(E) + P(I) on day {beliefs.shape[1] - 1} of {beliefs.shape[0]:,} people",
            highest,
        )
    else:
        logging.getLogger("dnatrace").info("wrote %s", out)


@app.command()
def run(
    preset: Annotated[str, typer.Option(help="Named configuration to start from.")] = "standard",
    config: Annotated[Path | None, typer.Option(help="TOML file laid over the preset.")] = None,
    setting: Annotated[
        list[str] | None, typer.Option("--set", help="section.key=value; may be repeated.")
    ] = None,
    method: Annotated[str | None, typer.Option(help="Tracing method.")] = None,
    release: Annotated[str | None, typer.Option(help="Variant of the method's release.")] = None,
    score: Annotated[str | None, typer.Option(help="infected or exposed-or-infected.")] = None,
    epsilon: Annotated[float | None, typer.Option(help="Privacy budget.")] = None,
    delta: Annotated[float | None, typer.Option(help="Probability the bound may fail.")] = None,
    unit: Annotated[str | None, typer.Option(help="ε per release, contact or pair.")] = None,
    gamma: Annotated[float | None, typer.Option(help="Messages are clipped to [0, γ].")] = None,
    p1: Annotated[float | None, typer.Option(help="Transmission by one contact.")] = None,
    noise: Annotated[str | None, typer.Option(help="fast (simulation) or secure.")] = None,
    people: Annotated[int | None, typer.Option(help="Size of the population.")] = None,
    days: Annotated[int | None, typer.Option(help="Length of the run.")] = None,
    seed: Annotated[int | None, typer.Option(help="Same seed, same result.")] = None,
    simulator: Annotated[str | None, typer.Option(help="city or replay.")] = None,
    out: Annotated[Path | None, typer.Option(help="Directory to store the run in.")] = None,
    record: Annotated[
        Path | None, typer.Option(help="New directory for what training needs, a file a day.")
    ] = None,
    as_json: Json = False,
    quiet: Quiet = False,
    threads: Threads = None,
) -> None:
    """Run an epidemic with contact tracing, once, from the first infections to the last day.

    Every day the people with the highest released scores are tested and positives isolate. Prints
    what came of it; --out also stores series, figures and provenance.

    Example: dnatrace run --method fn --people 10000 --seed 1 --set tests.capacity=0.04 --out runs
    """
    _start(quiet, threads)
    from dnatrace.experiments import presentation, runs, store
    from dnatrace.experiments.config import load_config
    from dnatrace.experiments.progress import track
    from dnatrace.recordings import Recorder

    names = "method release score epsilon delta unit gamma p1 noise people days seed simulator"
    given = locals()
    configuration = load_config(
        preset=preset,
        file=config,
        settings=setting or (),
        overrides={name: given[name] for name in names.split()},
    )
    if out is not None:
        store.check_store(out)
    result = runs.run(
        configuration,
        track=lambda logs, n: track(logs, n, "days"),
        record=Recorder.create(record) if record is not None else None,
    )
    stored = store.write_run(result, out) if out is not None else None
    if as_json:
        _print_json(result.as_json())
    else:
        presentation.show_run(result)
        if stored is not None:
            print(f"Stored in {stored}")


@app.command()
def doctor(as_json: Json = False) -> None:
    """Tell versions, threads, and which optional parts are usable.

    Example: dnatrace doctor
    """
    from dnatrace.experiments import health

    report = health.examine()
    if as_json:
        _print_json(report)
    else:
        health.show(report)


def _print_json(values: dict[str, Any]) -> None:
    print(json.dumps(values, allow_nan=False))


def _print_table(title: str, rows: list[dict[str, Any]]) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table(title=title, title_justify="left")
    for column in rows[0] if rows else ():
        table.add_column(column, justify="right")
    for row in rows:
        table.add_row(*(f"{v:.4f}" if isinstance(v, float) else str(v) for v in row.values()))
    Console().print(table)
