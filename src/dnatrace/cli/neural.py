"""`dnatrace dataset` and `dnatrace evaluate`."""

from pathlib import Path
from typing import Annotated

import typer

from dnatrace.cli.options import Json, Quiet, Threads, print_json, print_table, start


def dataset(
    out: Annotated[Path, typer.Option(help="New directory for the dataset.")] = Path("data"),
    people: Annotated[int | None, typer.Option(help="Size of the population (100000).")] = None,
    days: Annotated[int | None, typer.Option(help="Length of every run (100).")] = None,
    policy: Annotated[
        str | None, typer.Option(help="Method that chooses tests in the runs (dpfn-s).")
    ] = None,
    train_seeds: Annotated[str, typer.Option(help="Runs to train on, such as 1,5-8.")] = "7001",
    validation_seeds: Annotated[str, typer.Option(help="Runs to watch training on.")] = "7002",
    test_seeds: Annotated[str, typer.Option(help="Runs to evaluate on.")] = "7003",
    setting: Annotated[
        list[str] | None, typer.Option("--set", help="section.key=value; may be repeated.")
    ] = None,
    as_json: Json = False,
    quiet: Quiet = False,
    threads: Threads = None,
) -> None:
    """Run epidemics and keep what a network learns from: one sample a person and day.

    All person-days in state I and as many others, drawn uniformly; messages as histograms. At first
    0.5 % of the people are infected, so that a policy that works leaves enough to learn from.

    Example: dnatrace dataset --out data --people 20000 --days 60
    """
    start(quiet, threads)
    from dnatrace.runs.progress import track
    from dnatrace.training import generate as training_data

    plan = training_data.plan_dataset(
        people=people,
        days=days,
        method=policy,
        seeds={
            "train": training_data.parse_seeds(train_seeds),
            "validation": training_data.parse_seeds(validation_seeds),
            "test": training_data.parse_seeds(test_seeds),
        },
        settings=setting or (),
    )
    info = training_data.generate(plan, out, track=lambda steps, n: track(steps, n, "days"))
    if as_json:
        print_json(info.as_dict() | {"out": str(out)})
        return
    rows = [
        {
            "split": name,
            "samples": f"{split.samples:,}",
            "in state I": f"{split.positives:,}",
            "person-days": f"{info.origin['runs'][name]['person_days']:,}",
            "error of F": f"{split.f_error_rms:.1e} (at most {split.f_error_most:.1e})",
        }
        for name, split in info.splits.items()
    ]
    print_table(f"Policy {info.origin['policy']}, dataset {info.digest}", rows)
    print(f"Stored in {out}")


def evaluate(
    model: Annotated[
        str | None, typer.Argument(help="Model file or the name of a shipped one.")
    ] = None,
    data: Annotated[
        Path | None, typer.Option(help="Dataset; its test split is used. Absent: a small run.")
    ] = None,
    resamplings: Annotated[int, typer.Option(help="Of people, for the intervals.")] = 200,
    out: Annotated[
        Path | None, typer.Option(help="Write the table: .md, and .json beside it.")
    ] = None,
    as_json: Json = False,
    quiet: Quiet = False,
    threads: Threads = None,
) -> None:
    """Print how well FN and the networks tell infected people from others.

    Networks that stand beside the model in its directory (alone, without messages, the paper's) are
    part of the table. Without --data a small run is made, which takes seconds.

    Example: dnatrace evaluate --data data --out auc.md
    """
    start(quiet, threads)
    import json
    import logging

    from dnatrace.runs.progress import track
    from dnatrace.training import auc_table, evaluation

    if out is not None:
        auc_table.check_page(out)
    models = auc_table.choose_models(model)
    if data is not None:
        held = auc_table.read_test_data(data)
    else:
        held = auc_table.small_test_data(track=lambda steps, n: track(steps, n, "days"))
        logging.getLogger("dnatrace").info("evaluated on %s", held.description)
    table = auc_table.make_table(models, held, resamplings=resamplings)
    values = table.as_json()
    if out is not None:
        auc_table.write_page(table, out, json.dumps(values, indent=1, allow_nan=False))
    if as_json:
        print_json(values)
        return
    for group in evaluation.GROUPS:
        print_table(f"AUC in percent, {group}", auc_table.table_rows(table, group))
    print(f"Data: {held.description}")
