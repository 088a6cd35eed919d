"""`dnatrace run`."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Exit, Option

from dnatrace.cli._command import Answer, command
from dnatrace.cli._configuration import RUN, Yes, configured
from dnatrace.errors import InputError
from dnatrace.files import check_directory

if TYPE_CHECKING:
    from dnatrace.runs.config import RunConfig


@contextmanager
def _telling_how_to_resume(checkpoint: Path | None) -> Iterator[None]:
    """Say, when the user ends a run, that it resumes; it does if a checkpoint has been written."""
    try:
        yield
    except KeyboardInterrupt:
        if checkpoint is None or not checkpoint.is_file():
            raise
        print("dnatrace: interrupted; the same command resumes", file=sys.stderr)
        raise Exit(130) from None


@command(threads=True)
@configured(*RUN)
def run(
    config: "RunConfig",
    out: Annotated[Path | None, Option(help="Directory to store the run in.")] = None,
    label: Annotated[str | None, Option(help="Label of the stored run, for `list`.")] = None,
    checkpoint: Annotated[
        Path | None,
        Option(help="File that keeps the state of the run; a killed run resumes from it."),
    ] = None,
    checkpoint_every: Annotated[
        int | None, Option(min=1, show_default="10", help="Days between two checkpoints.")
    ] = None,
    yes: Yes = False,
) -> Answer:
    """Run an epidemic with contact tracing, once, from the first infections to the last day.

    Every day the people with the highest released scores are tested and positives isolate. Prints
    the outcome; --out also stores series, figures, provenance and a report. With --checkpoint, a
    run that was killed resumes where it was when the same command is given again.

    Example: dnatrace run --method fn --people 10000 --seed 1 --set tests.capacity=0.04 --out runs
    """
    from dnatrace.report import write_report
    from dnatrace.runs import needs, presentation, store
    from dnatrace.runs import run as runs
    from dnatrace.runs.progress import tracker

    if out is not None:
        check_directory(out)
    if label is not None:
        store.check_label(label)
        if out is None:
            raise InputError("--label names a stored run: give --out, too")
    if checkpoint is None and checkpoint_every is not None:
        raise InputError("--checkpoint-every has no effect without --checkpoint")
    needs.check([config], yes=yes)
    with _telling_how_to_resume(checkpoint):
        result = runs.run(
            config, track=tracker("days"), checkpoint=checkpoint, checkpoint_every=checkpoint_every
        )
    places = []
    if out is not None:
        stored = store.write_run(result, out, label=label)
        places = [f"Stored in {stored}, report in {write_report(stored).path}"]
    return Answer(values=result.as_json(), shown=[lambda: presentation.show_run(result), *places])
