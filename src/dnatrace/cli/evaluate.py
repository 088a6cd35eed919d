"""`dnatrace evaluate`."""

import logging
from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from dnatrace.cli._command import Answer, Force, command, table
from dnatrace.cli.certify import path_of
from dnatrace.errors import InputError
from dnatrace.files import keep_inputs


@command(threads=True)
def evaluate(
    model: Annotated[str | None, Argument(help="Model file, or name of a shipped model.")] = None,
    data: Annotated[
        Path | None, Option(help="Dataset whose test split is used; if absent, a small run.")
    ] = None,
    resamplings: Annotated[
        int, Option(help="Number of resamplings of people, for the intervals.")
    ] = 200,
    out: Annotated[Path | None, Option(help="Write the table: .md, and .json next to it.")] = None,
    force: Force = False,
) -> Answer:
    """Print how well FN and the networks distinguish infected people from others.

    Other networks in the model's directory (alone, without messages, the paper's) are part of the
    table. Without --data a small run is made, which takes seconds.

    Example: dnatrace evaluate --data data --out auc.md
    """
    from dnatrace.networks.decoder import is_decoder
    from dnatrace.runs.progress import tracker
    from dnatrace.training import auc_table, evaluation

    if model is not None and is_decoder(path_of(model)):
        raise InputError(f"'{model}' is a decoder; only networks of dna can be evaluated")
    if out is not None:
        auc_table.check_page(out)
        read = [path_of(model or "dna"), *(data.glob("*") if data is not None else ())]
        for written in (out, out.with_suffix(".json")):
            keep_inputs(written, read, force=force)
    models = auc_table.choose_models(model)
    if data is not None:
        held = auc_table.read_test_data(data)
    else:
        held = auc_table.small_test_data(track=tracker("days"))
        logging.getLogger("dnatrace").info("evaluated on %s", held.description)
    made = auc_table.make_table(models, held, resamplings=resamplings)
    values = made.as_json()
    if out is not None:
        auc_table.write_page(made, out)
    groups = [
        part
        for group in evaluation.GROUPS
        for part in (f"AUC in percent, {group}", table(auc_table.table_rows(made, group)))
    ]
    return Answer(values=values, shown=[*groups, f"Data: {held.description}"])
