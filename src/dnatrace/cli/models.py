"""`dnatrace train`, `dnatrace certify` and `dnatrace export`."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer

from dnatrace.cli.options import Json, Quiet, print_json, print_table, start

NETWORKS = ("dna", "dna-paper", "tally")
Model = Annotated[str, typer.Argument(help="A model that ships, or the path of a model file.")]


def train(
    dataset: Annotated[
        Path | None,
        typer.Argument(help="Directory that `dnatrace dataset` wrote; data if absent."),
    ] = None,
    out: Annotated[Path, typer.Option(help="Directory for models and curves.")] = Path("models"),
    network: Annotated[
        str,
        typer.Option(help="dna, dna-paper for the published network, or tally for a decoder."),
    ] = "dna",
    variant: Annotated[
        list[str] | None,
        typer.Option(help="combined, alone or public; may be repeated. All by default."),
    ] = None,
    gamma: Annotated[float | None, typer.Option(help="Messages are clipped to [0, γ].")] = None,
    epochs: Annotated[int | None, typer.Option(help="Passes over the samples; 40.")] = None,
    samples: Annotated[int | None, typer.Option(help="Use so many of the samples.")] = None,
    rounds: Annotated[int | None, typer.Option(help="tally: rounds of runs and training.")] = None,
    runs: Annotated[int | None, typer.Option(help="tally: runs a round.")] = None,
    people: Annotated[int | None, typer.Option(help="tally: people of a run.")] = None,
    days: Annotated[int | None, typer.Option(help="tally: days of a run.")] = None,
    steps: Annotated[int | None, typer.Option(help="tally: steps of training.")] = None,
    tallies: Annotated[
        int | None, typer.Option(help="tally: how many of the newest tallies it reads, 0 to 14.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Same seed, same weights.")] = 1,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Train a network on simulated runs, certify it and write a model file.

    Networks of dna learn from a dataset; their curve of loss and validation AUC is written, too
    (.csv, .svg), and a run that was killed goes on from its last epoch when the command is given
    again. The decoder of tally makes its own runs, round by round, under what it has learned so
    far. Needs the extra `train`.

    Example: dnatrace train data --network dna --epochs 40 --out models
    """
    start(quiet)
    of_dna = {
        "DATASET": dataset,
        "--variant": variant,
        "--gamma": gamma,
        "--epochs": epochs,
        "--samples": samples,
    }
    of_tally = {
        "--rounds": rounds,
        "--runs": runs,
        "--people": people,
        "--days": days,
        "--steps": steps,
        "--tallies": tallies,
    }
    _check_network(network)
    _refuse(network, of_dna if network == "tally" else of_tally)
    rows = (
        _train_decoder(out, of_tally, seed)
        if network == "tally"
        else _train_networks(out, network, of_dna, seed)
    )
    if as_json:
        print_json({"models": rows})
    else:
        learned = f"{rows[0]['samples']:,} samples" if "samples" in rows[0] else "runs of its own"
        print_table(f"Trained on {learned}", rows)


def _check_network(network: str) -> None:
    from dnatrace.errors import InputError

    if network not in NETWORKS:
        raise InputError(f"network '{network}' does not exist; there are {', '.join(NETWORKS)}")


def _refuse(network: str, options: dict[str, Any]) -> None:
    """Raise for the first option that was given and means nothing to a network."""
    from dnatrace.errors import InputError

    given = [name for name, value in options.items() if value is not None]
    if given:
        raise InputError(f"{given[0]} has no meaning for the network '{network}'")


def _train_networks(
    out: Path, network: str, options: dict[str, Any], seed: int
) -> list[dict[str, Any]]:
    from dnatrace.methods.settings import choose
    from dnatrace.networks.architecture import Variant
    from dnatrace.runs.progress import track

    with _needs_training():
        from dnatrace.training.recipes import Order, train_models
    order = Order(
        dataset=options["DATASET"] or Path("data"),
        out=out,
        network=network,
        variants=tuple(choose("variant", v, Variant) for v in options["--variant"] or Variant),
        gamma=options["--gamma"],
        epochs=40 if options["--epochs"] is None else options["--epochs"],
        seed=seed,
        samples=options["--samples"],
    )
    return train_models(order, track=track)


def _train_decoder(out: Path, options: dict[str, Any], seed: int) -> list[dict[str, Any]]:
    from dnatrace.errors import InputError
    from dnatrace.networks.model_file import SUFFIX
    from dnatrace.runs.progress import track

    with _needs_training():
        from dnatrace.training.decoder import Settings
        from dnatrace.training.decoder_rounds import Order, train_decoder
    given = {name.removeprefix("--"): v for name, v in options.items() if v is not None}
    settings = {k: given.pop(k) for k in ("steps", "tallies") if k in given}
    order = Order(out=out / f"tally{SUFFIX}", settings=Settings(seed=seed, **settings), **given)
    if out.exists() and not out.is_dir():
        raise InputError(f"{out}: not a directory")
    out.mkdir(parents=True, exist_ok=True)
    return [train_decoder(order, track=track)]


@contextmanager
def _needs_training() -> Iterator[None]:
    """Say which extra is missing when an import in the block fails for want of it."""
    from dnatrace.errors import InputError

    try:
        yield
    except ImportError as error:
        if (error.name or "").startswith("dnatrace"):
            raise
        raise InputError(f"training needs {error.name}: pip install 'dnatrace[train]'") from error


def certify(
    model: Model = "dna",
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Print what is proved of a network, layer by layer, computed anew from its weights.

    Of the decoder of tally, what it reads. Exits with 1 when the certificate in the file of a
    network does not match the weights.

    Example: dnatrace certify dna-paper
    """
    start(quiet)
    from dnatrace.networks.decoder import is_decoder
    from dnatrace.networks.runtime import read_model

    path = _path_of(model)
    if is_decoder(path):
        _certify_decoder(model, path, as_json)
        return
    held = read_model(path)
    proved = held.certificate
    layers: list[dict[str, Any]] = [
        {"layer": x.name, "shape": list(x.shape), "norm": x.norm} for x in proved.layers
    ]
    if as_json:
        print_json(
            {
                "model": model,
                "kind": held.architecture.kind.value,
                "variant": held.architecture.variant.value,
                "gamma": held.architecture.gamma,
                "lipschitz_bound": proved.lipschitz_bound,
                "digest": proved.digest,
                "digest_matches": held.digest_matches,
                "certificate_matches": held.matches,
                "layers": layers,
                "provenance": held.provenance,
            }
        )
    else:
        shown = [
            x | {"shape": " × ".join(map(str, x["shape"])), "norm": f"{x['norm']:.9f}"}
            for x in layers
        ]
        print_table(f"{model}: linear maps on the path of a message", shown)
        print(
            f"Lipschitz bound {proved.lipschitz_bound:.9f}: one of C messages moves G by at most "
            f"{held.architecture.gamma:g} × {proved.lipschitz_bound:.9f} / C.\n"
            f"Weights {proved.digest}."
        )
        print("The certificate in the file matches." if held.matches else "IT DOES NOT MATCH.")
    if not held.matches:
        raise typer.Exit(1)


def _path_of(model: str) -> Path:
    """Return the file of a network or decoder that ships, or of a path."""
    from dnatrace.networks.decoder import decoder_names, decoder_path
    from dnatrace.networks.runtime import model_path

    return decoder_path(model) if model in decoder_names() else model_path(model)


def _certify_decoder(name: str, path: Path, as_json: bool) -> None:
    """Print what is proved of what a decoder reads; a file that does not match is refused."""
    from dnatrace.networks.decoder import SENSITIVITY, load_decoder

    decoder = load_decoder(path)
    alarm = decoder.alarm
    if as_json:
        print_json(
            {
                "decoder": name,
                "alarm": {"low": alarm.low, "high": alarm.high},
                "sensitivity": SENSITIVITY,
                "digest": decoder.digest,
                "provenance": decoder.provenance,
            }
        )
        return
    print(
        f"{name}: a decoder. It reads tallies after noise, and public facts; nothing is asked of "
        f"its weights.\nA tally is the sum over contacts of (message - {alarm.low:g}) / "
        f"{alarm.high - alarm.low:g}, cut to 0 … 1: one message moves it by at most "
        f"{SENSITIVITY:g}, for every history of own tests.\nWeights {decoder.digest}; the "
        "certificate in the file matches."
    )


def export(
    model: Model,
    out: Annotated[Path, typer.Argument(help="File to write: .onnx.")],
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Write a model as ONNX, from shares of messages and public facts to G.

    Needs the extra `export`.

    Example: dnatrace export dna dna.onnx
    """
    start(quiet)
    from dnatrace.errors import InputError
    from dnatrace.networks.decoder import is_decoder
    from dnatrace.networks.runtime import load_model

    if is_decoder(_path_of(model)):
        raise InputError(f"'{model}' is a decoder; only networks of dna can be exported")
    try:
        from dnatrace.networks.export import write_onnx
    except ImportError as error:
        raise InputError("export needs onnx: pip install 'dnatrace[export]'") from error
    held = load_model(model)
    write_onnx(held, out)
    if as_json:
        print_json({"model": model, "file": str(out), "digest": held.certificate.digest})
    else:
        print(f"Wrote {out}")
