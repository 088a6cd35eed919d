"""`dnatrace train`, `dnatrace certify` and `dnatrace export`."""

from pathlib import Path
from typing import Annotated, Any

import typer

from dnatrace.cli.options import Json, Quiet, print_json, print_table, start

Model = Annotated[str, typer.Argument(help="A model that ships, or the path of a model file.")]


def train(
    dataset: Annotated[
        Path, typer.Argument(help="Directory that `dnatrace dataset` wrote.")
    ] = Path("data"),
    out: Annotated[Path, typer.Option(help="Directory for models and curves.")] = Path("models"),
    network: Annotated[
        str, typer.Option(help="dna, or dna-paper for the published network.")
    ] = "dna",
    variant: Annotated[
        list[str] | None,
        typer.Option(help="combined, alone or public; may be repeated. All by default."),
    ] = None,
    gamma: Annotated[float | None, typer.Option(help="Messages are clipped to [0, γ].")] = None,
    epochs: Annotated[int, typer.Option(help="Passes over the samples.")] = 40,
    samples: Annotated[int | None, typer.Option(help="Use so many of the samples.")] = None,
    seed: Annotated[int, typer.Option(help="Same seed, same weights.")] = 1,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Train a network on simulated runs, project it, certify it and write a model file.

    Also writes the curve of loss and validation AUC (.csv, .svg). A run that was killed goes on
    from its last epoch when the command is given again, and ends with the same weights. Needs the
    extra `train`.

    Example: dnatrace train data --network dna --epochs 40 --out models
    """
    start(quiet)
    from dnatrace.errors import InputError
    from dnatrace.experiments.progress import track
    from dnatrace.methods.settings import choose
    from dnatrace.neural.architecture import Variant

    try:
        from dnatrace.experiments.model_training import Order, train_models
    except ImportError as error:
        if (error.name or "").startswith("dnatrace"):
            raise
        raise InputError(f"training needs {error.name}: pip install 'dnatrace[train]'") from error
    order = Order(
        dataset=dataset,
        out=out,
        network=network,
        variants=tuple(choose("variant", v, Variant) for v in variant or list(Variant)),
        gamma=gamma,
        epochs=epochs,
        seed=seed,
        samples=samples,
    )
    rows = train_models(order, track=track)
    if as_json:
        print_json({"models": rows})
    else:
        print_table(f"Trained on {rows[0]['samples']:,} samples", rows)


def certify(
    model: Model = "dna",
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Print what is proved of a network, layer by layer, computed anew from its weights.

    Exits with 1 when the certificate in the file does not match the weights.

    Example: dnatrace certify dna-paper
    """
    start(quiet)
    from dnatrace.neural.model_file import read_model
    from dnatrace.neural.runtime import model_path

    held = read_model(model_path(model))
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
    from dnatrace.neural.runtime import load_model

    try:
        from dnatrace.neural.export import write_onnx
    except ImportError as error:
        raise InputError("export needs onnx: pip install 'dnatrace[export]'") from error
    held = load_model(model)
    write_onnx(held, out)
    if as_json:
        print_json({"model": model, "file": str(out), "digest": held.certificate.digest})
    else:
        print(f"Wrote {out}")
