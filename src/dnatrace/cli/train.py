"""`dnatrace train`."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Argument, Option

from dnatrace.cli._command import Answer, command, needs_extra, table
from dnatrace.cli._configuration import Gamma, Yes
from dnatrace.errors import InputError
from dnatrace.files import check_directory

if TYPE_CHECKING:
    from rich.table import Table

DECODERS = ("tally", "tally-largest", "headcount", "world")
NETWORKS = ("dna", "dna-paper", *DECODERS)


@command(kernels=True)
def train(
    dataset: Annotated[
        Path | None, Argument(help="Directory that `dnatrace dataset` wrote; `data` if absent.")
    ] = None,
    out: Annotated[Path, Option(help="Directory for models and curves.")] = Path("models"),
    network: Annotated[
        str,
        Option(help="dna, dna-paper (as published); decoders: " + ", ".join(DECODERS) + "."),
    ] = "dna",
    variant: Annotated[
        list[str] | None, Option(help="combined, alone or public; may be repeated. All by default.")
    ] = None,
    gamma: Gamma = None,
    epochs: Annotated[int | None, Option(help="Passes over the samples; 40 by default.")] = None,
    samples: Annotated[int | None, Option(help="Use only this many samples.")] = None,
    rounds: Annotated[int | None, Option(help="Decoders: rounds of runs and training.")] = None,
    runs: Annotated[int | None, Option(help="Decoders: runs per round.")] = None,
    people: Annotated[int | None, Option(help="Decoders: people per run.")] = None,
    days: Annotated[int | None, Option(help="Decoders: days per run.")] = None,
    steps: Annotated[int | None, Option(help="Decoders: steps of training.")] = None,
    tallies: Annotated[
        int | None, Option(help="tally, tally-largest: newest tallies that are read, 0 to 14.")
    ] = None,
    seed: Annotated[int, Option(help="Same seed, same weights.")] = 1,
    force: Annotated[bool, Option("--force", help="Replace existing models.")] = False,
    yes: Yes = False,
) -> Answer:
    """Train a network on simulated runs, certify it and write a model file.

    Networks of dna learn from a dataset; their curves of loss and validation AUC are written, too
    (.csv, .svg), and training that was killed resumes from its last epoch when the command is given
    again. The decoder of tally makes its own runs, round by round, using what it has learned so
    far; tally-largest is that of its release `largest`. headcount trains three decoders on the same
    runs: its own two and that of public-facts; world trains the same three for policies with
    levers. Needs the extra `train`.

    Example: dnatrace train data --network dna --epochs 40 --out models
    """
    of_dna = _given(DATASET=dataset, variant=variant, gamma=gamma, epochs=epochs, samples=samples)
    of_tally = _given(
        rounds=rounds, runs=runs, people=people, days=days, steps=steps, tallies=tallies
    )
    if network not in NETWORKS:
        raise InputError(f"network '{network}' does not exist; there are {', '.join(NETWORKS)}")
    check_directory(out)
    with _nothing_left_of(out):
        if network in DECODERS:
            _refuse(network, of_dna)
            rows = _train_decoders(out, network, seed, of_tally, force=force, yes=yes)
            learned = "runs of its own"
        else:
            _refuse(network, of_tally)
            rows = _train_networks(out, network, seed, of_dna, force)
            learned = f"{rows[0]['samples']:,} samples"
    return Answer(values={"models": rows}, shown=[f"Trained on {learned}", *_shown(rows, out)])


@contextmanager
def _nothing_left_of(out: Path) -> Iterator[None]:
    """Remove directories that the block makes if it leaves nothing in them."""
    missing = [path for path in (out, *out.parents) if not path.exists()]
    try:
        yield
    finally:
        for path in missing:
            with suppress(OSError):  # it holds something, or was never made
                path.rmdir()


_FILES = ("model", "decoder")  # the columns of files
_HEADS = {"validation_auc": "validation AUC", "lipschitz_bound": "Lipschitz bound"}


def _shown(rows: Sequence[dict[str, Any]], out: Path) -> "list[str | Table]":
    """Return what a terminal of 80 columns shows about models: their names, not whole paths."""
    left_out = ("variant", "samples", "digest")  # in the name, in the title, in lines of their own
    short = [
        {
            _HEADS.get(key, key): Path(value).name if key in _FILES else value
            for key, value in row.items()
            if key not in left_out
        }
        for row in rows
    ]
    names = [next(iter(row.values())) for row in short]
    weights = [f"{name}: weights {row['digest']}" for name, row in zip(names, rows, strict=True)]
    return [table(short), *weights, f"Stored in {out}"]


def _given(**options: Any) -> dict[str, Any]:
    return {name: value for name, value in options.items() if value is not None}


def _refuse(network: str, options: dict[str, Any]) -> None:
    """Raise for the first given option that has no meaning for a network."""
    for name in options:
        shown = name if name.isupper() else f"--{name}"
        raise InputError(f"{shown} has no meaning for the network '{network}'")


def _train_networks(
    out: Path, network: str, seed: int, options: dict[str, Any], force: bool
) -> list[dict[str, Any]]:
    from dnatrace.networks.architecture import Variant
    from dnatrace.runs.progress import track
    from dnatrace.settings import choose

    with needs_extra("train", "training"):
        from dnatrace.training.recipes import Order, train_models
    dataset = options.pop("DATASET", Path("data"))
    variants = tuple(choose("variant", v, Variant) for v in options.pop("variant", None) or Variant)
    order = Order(
        dataset=dataset, out=out, network=network, variants=variants, seed=seed, **options
    )
    return train_models(order, force=force, track=track)


def _train_decoders(
    out: Path, network: str, seed: int, options: dict[str, Any], *, force: bool, yes: bool
) -> list[dict[str, Any]]:
    from dnatrace.networks.model_file import SUFFIX
    from dnatrace.runs import needs
    from dnatrace.runs.progress import track

    if "tallies" in options and not network.startswith("tally"):
        raise InputError(f"--tallies has no meaning for the network '{network}'")
    with needs_extra("train", "training"):
        from dnatrace.training.decoder_rounds import TALLY, Order, train_decoders
        from dnatrace.training.largest_rounds import LARGEST
        from dnatrace.training.person_rounds import PERSON
        from dnatrace.training.world_rounds import WORLD
    plan = {plan.network: plan for plan in (TALLY, LARGEST, PERSON, WORLD)}[network]
    own = {name: options.pop(name) for name in ("steps", "tallies") if name in options}
    order = Order(out=out, settings=replace(plan.settings, seed=seed, **own), plan=plan, **options)
    needs.check(order.configs(0)[: order.workers], at_once=order.workers, yes=yes)
    _make_room(out, [out / f"{student.name}{SUFFIX}" for student in plan.students], force)
    return train_decoders(order, track=track)


def _make_room(out: Path, files: list[Path], force: bool) -> None:
    """Make the directory; existing files are replaced only by force."""
    for file in files:
        if file.exists() and not force:
            raise InputError(f"{file}: exists already; --force replaces it")
    out.mkdir(parents=True, exist_ok=True)
