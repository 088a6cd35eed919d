"""`dnatrace infer`."""

import logging
from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from dnatrace._version import __version__
from dnatrace.cli._command import Answer, command, table
from dnatrace.files import keep_inputs


@command(threads=True)
def infer(
    contacts: Annotated[Path, Argument(help="CSV or Parquet: sender, receiver, day.")],
    tests: Annotated[Path, Argument(help="CSV or Parquet: person, day, positive (0/1).")],
    people: Annotated[int | None, Option(help="Number of people (largest id + 1).")] = None,
    days: Annotated[int | None, Option(help="Number of days (largest day + 1).")] = None,
    p0: Annotated[float, Option(help="Infection from outside, per day.")] = 0.001,
    p1: Annotated[float, Option(help="Transmission per contact with I, as believed.")] = 0.03,
    g: Annotated[float, Option(help="E to I, per day.")] = 0.99,
    h: Annotated[float, Option(help="I to R, per day.")] = 0.10,
    false_positive_rate: Annotated[float, Option(help="P(positive | not I).")] = 0.01,
    false_negative_rate: Annotated[float, Option(help="P(negative | I).")] = 0.001,
    rounds: Annotated[int, Option(help="Updates of everybody.")] = 5,
    clip: Annotated[float | None, Option(help="Clip messages to [0, CLIP].")] = None,
    levels: Annotated[int | None, Option(help="Round messages to so many values.")] = None,
    out: Annotated[Path | None, Option(help="Write all beliefs: .csv or .parquet.")] = None,
) -> Answer:
    """Infer who is infected from your own contact list and tests.

    Prints the 20 people most likely infected or about to be on the last day; --out writes everybody
    and every day. Ids and days are whole numbers from 0; contacts are directed, so write two rows
    for two phones that heard each other.

    Example: dnatrace infer contacts.csv tests.csv --p1 0.05 --out beliefs.parquet
    """
    from dnatrace import tables
    from dnatrace.inference import belief_tables
    from dnatrace.inference import factorised_neighbours as fn
    from dnatrace.seir import SeirParameters, TestErrors

    if out is not None:
        belief_tables.check_format(out)
        keep_inputs(out, (contacts, tests))
    read = {"contacts": tables.read_contacts(contacts), "tests": tables.read_tests(tests)}
    beliefs = fn.infer(
        read["contacts"],
        read["tests"],
        n_people=people,
        n_days=days,
        parameters=SeirParameters(p0=p0, p1=p1, g=g, h=h),
        test_errors=TestErrors(
            false_positive_rate=false_positive_rate, false_negative_rate=false_negative_rate
        ),
        rounds=rounds,
        clip=clip,
        levels=levels,
    )
    if out is not None:
        belief_tables.write(beliefs, out)
        logging.getLogger("dnatrace").info("wrote %s", out)
    n_people, n_days, _ = beliefs.shape
    highest = belief_tables.highest(beliefs, n=20)
    values = {"people": n_people, "days": n_days}
    values |= {name: rows.columns["day"].size for name, rows in read.items()}
    title = f"Highest P(E) + P(I) on day {n_days - 1} of {n_people:,} people"
    return Answer(
        values=values | {"highest": highest, "version": __version__},
        shown=[title, table(highest)] if out is None else [],
    )
