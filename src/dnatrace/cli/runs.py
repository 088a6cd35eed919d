"""`dnatrace run`."""

from pathlib import Path
from typing import Annotated

import typer

from dnatrace.cli.options import Json, Quiet, Threads, print_json, start


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
    simulator: Annotated[str | None, typer.Option(help="city, replay, openabm, covasim.")] = None,
    out: Annotated[Path | None, typer.Option(help="Directory to store the run in.")] = None,
    as_json: Json = False,
    quiet: Quiet = False,
    threads: Threads = None,
) -> None:
    """Run an epidemic with contact tracing, once, from the first infections to the last day.

    Every day the people with the highest released scores are tested and positives isolate. Prints
    what came of it; --out also stores series, figures, provenance and a page to read.

    Example: dnatrace run --method fn --people 10000 --seed 1 --set tests.capacity=0.04 --out runs
    """
    start(quiet, threads)
    from dnatrace.report import write_report
    from dnatrace.runs import presentation, store
    from dnatrace.runs import run as runs
    from dnatrace.runs.config import load_config
    from dnatrace.runs.progress import track

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
    )
    stored = store.write_run(result, out) if out is not None else None
    page = write_report(stored) if stored is not None else None
    if as_json:
        print_json(result.as_json())
    else:
        presentation.show_run(result)
        if page is not None:
            print(f"Stored in {stored}, report in {page.path}")
