"""`dnatrace dataset`."""

from contextlib import nullcontext
from pathlib import Path
from typing import Annotated

from typer import Option

from dnatrace.cli._command import Answer, command, table
from dnatrace.cli._configuration import Setting, Yes, refuse_given_twice, refuse_set


@command(threads=True)
def dataset(
    out: Annotated[Path, Option(help="New directory for the dataset.")] = Path("data"),
    people: Annotated[int | None, Option(help="Size of the population (default 100,000).")] = None,
    days: Annotated[int | None, Option(help="Length of every run (default 100).")] = None,
    method: Annotated[
        str | None,
        Option("--method", "--policy", help="Method whose scores choose tests (default dpfn-s)."),
    ] = None,
    train_seeds: Annotated[str, Option(help="Runs to train on, such as 1,5-8.")] = "7001",
    validation_seeds: Annotated[str, Option(help="Runs to validate training on.")] = "7002",
    test_seeds: Annotated[str, Option(help="Runs to evaluate on.")] = "7003",
    setting: Setting = None,
    force: Annotated[bool, Option("--force", help="Replace an existing dataset.")] = False,
    yes: Yes = False,
) -> Answer:
    """Run epidemics and keep what a network learns from: one sample per person and day.

    Samples are all person-days in state I and as many others, drawn uniformly, with messages as
    histograms. At first 0.5 % of the people are infected, so that even a method that works leaves
    enough to learn from.

    Example: dnatrace dataset --out data --people 20000 --days 60
    """
    from dnatrace.runs import needs
    from dnatrace.runs.progress import tracker
    from dnatrace.training import generate as training_data
    from dnatrace.training.dataset import replacing_dataset

    refuse_given_twice(setting or (), {"people": people, "days": days, "method": method})
    seeds = {"train": train_seeds, "validation": validation_seeds, "test": test_seeds}
    plan = training_data.plan_dataset(
        people=people,
        days=days,
        method=method,
        seeds={split: training_data.parse_seeds(text) for split, text in seeds.items()},
        settings=setting or (),
    )
    seeds_of = "is not read: seeds are --train-seeds, --validation-seeds and --test-seeds"
    refuse_set(setting or (), lambda key: key != "seed", seeds_of)
    needs.check([plan.config], yes=yes)
    with replacing_dataset(out) if force else nullcontext(out) as directory:
        info = training_data.generate(plan, directory, track=tracker("days"))
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
    title = f"Method {info.origin['policy']}, dataset {info.digest}"
    return Answer(
        values=info.as_dict() | {"out": str(out)}, shown=[title, table(rows), f"Stored in {out}"]
    )
