"""`dnatrace attack`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Option

from dnatrace.cli._command import Answer, Force, command
from dnatrace.cli._configuration import RELEASE, configured
from dnatrace.files import keep_inputs, replacing

if TYPE_CHECKING:
    from dnatrace.runs.config import RunConfig


def _read(*_: Any) -> tuple[str, ...]:
    """Return the settings that a release depends on: the adversary knows no city and no days."""
    from dnatrace.runs.audited import READ

    return READ


@command(threads=True)
@configured(*RELEASE, published="paper", reads=_read)
def attack(
    config: "RunConfig",
    co_attackers: Annotated[int, Option(help="Further attackers, who pool their scores.")] = 0,
    days: Annotated[int, Option(help="Number of days on which they meet the victim.")] = 1,
    draws: Annotated[int, Option(help="Number of victims of each kind.")] = 100_000,
    out: Annotated[Path | None, Option(help="Picture: .png, .svg or .pdf.")] = None,
    force: Force = False,
) -> Answer:
    """Play the paper's adversary: somebody who meets only the victim and watches their own score.

    Example: dnatrace attack --method dpfn-s --epsilon 1 --co-attackers 3 --days 5 --out attack.png
    """
    from dnatrace.methods.base import release_of
    from dnatrace.runs import audits

    if out is not None:
        audits.check_picture(out)
        keep_inputs(out, config.files, force=force)
    result = audits.attack(config, co_attackers=co_attackers, days=days, draws=draws)
    if out is not None:
        with replacing(out) as temporary:
            result.draw(temporary)
    values = {
        "method": config.method.name,
        "release": release_of(config.method),
        "success": result.success,
        "success_interval": list(result.success_interval),
        "true_positive_rate": result.true_positive_rate,
        "false_positive_rate": result.false_positive_rate,
        "limit": result.limit,
        "co_attackers": co_attackers,
        "days": days,
        "draws": result.draws,
    }
    wrote = [] if out is None else [f"Wrote {out}"]
    return Answer(values=values | {"file": out and str(out)}, shown=[result.words, *wrote])
