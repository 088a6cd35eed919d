"""`dnatrace infer`."""

import logging
from pathlib import Path
from typing import Annotated

import typer

from dnatrace._version import __version__
from dnatrace.cli.options import Json, Quiet, Threads, print_json, print_table, start


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
    start(quiet, threads)
    from dnatrace import tables
    from dnatrace.inference import belief_tables
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
        print_json(size | rows | {"highest": highest, "version": __version__})
    elif out is None:
        print_table(
            f"Highest P(E) + P(I) on day {beliefs.shape[1] - 1} of {beliefs.shape[0]:,} people",
            highest,
        )
    else:
        logging.getLogger("dnatrace").info("wrote %s", out)
