"""`dnatrace certify`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Argument

from dnatrace.cli._command import Answer, command, table
from dnatrace.errors import InputError

if TYPE_CHECKING:
    from dnatrace.networks.decoder import Decoder

Model = Annotated[str, Argument(help="Name of a shipped model, or path of a model file.")]


@command()
def certify(model: Model = "dna") -> Answer:
    """Print what is proved about a network, layer by layer, recomputed from its weights.

    For a decoder, print what it reads. Exits with 1 when the certificate in the file of a network
    does not match the weights.

    Example: dnatrace certify dna-paper
    """
    from dnatrace.networks.decoder import decoder_names, is_decoder

    try:
        path = path_of(model)
    except InputError as error:
        raise InputError(f"{error}; decoders: {', '.join(decoder_names())}") from None
    return _certify_decoder(model, path) if is_decoder(path) else _certify_network(model, path)


def path_of(model: str) -> Path:
    """Return the file of a shipped network or decoder, or of a path."""
    from dnatrace.networks.decoder import decoder_names, decoder_path
    from dnatrace.networks.runtime import model_path

    return decoder_path(model) if model in decoder_names() else model_path(model)


def _certify_network(name: str, path: Path) -> Answer:
    from dnatrace.networks.runtime import read_model

    held = read_model(path)
    design, proved = held.architecture, held.certificate
    values = {
        "model": name,
        "kind": design.kind.value,
        "variant": design.variant.value,
        "gamma": design.gamma,
        "lipschitz_bound": proved.lipschitz_bound,
        "digest": proved.digest,
        "digest_matches": held.digest_matches,
        "certificate_matches": held.matches,
        "layers": [
            {"layer": x.name, "shape": list(x.shape), "norm": x.norm} for x in proved.layers
        ],
        "provenance": held.provenance,
    }
    rows = [
        {"layer": x.name, "shape": " × ".join(map(str, x.shape)), "norm": f"{x.norm:.9f}"}
        for x in proved.layers
    ]
    text = (
        f"Lipschitz bound {proved.lipschitz_bound:.9f}: one of C messages moves G by at most "
        f"{design.gamma:g} × {proved.lipschitz_bound:.9f} / C.\nWeights {proved.digest}.\n"
        f"{'The certificate in the file matches.' if held.matches else 'IT DOES NOT MATCH.'}"
    )
    title = f"{name}: linear maps on the path of a message"
    return Answer(values=values, shown=[title, table(rows), text], failed=not held.matches)


def _certify_decoder(name: str, path: Path) -> Answer:
    """Return what is proved about a decoder's inputs; a file that does not match is refused."""
    from dnatrace.networks.decoder import SENSITIVITY, load_decoder

    decoder = load_decoder(path)
    alarm = decoder.alarm
    values = {
        "decoder": name,
        "alarm": {"low": alarm.low, "high": alarm.high},
        "sensitivity": SENSITIVITY,
        "digest": decoder.digest,
        "provenance": decoder.provenance,
    }
    text = (
        f"{name}: a decoder. Nothing is asked of its weights: {_what_it_reads(decoder)}\n"
        f"Weights {decoder.digest}; the certificate in the file matches."
    )
    return Answer(values=values, shown=[text])


def _what_it_reads(decoder: "Decoder") -> str:
    """Return what a decoder reads, and how far one message or test can move it."""
    alarm, heads = decoder.alarm, decoder.heads
    rung = f"(message - {alarm.low:g}) / {alarm.high - alarm.low:g}, cut to 0 … 1"
    if heads is not None:
        news = heads.release == "news"
        said = "1 on the day a positive test becomes known" if news else rung
        return (
            "it reads head counts after noise, and public facts.\nA head count is the sum over "
            f"distinct people met, each once, of their largest alarm, {said}: one test result of "
            f"one person moves all {decoder.channels} channels together by at most 1 per release."
        )
    if not decoder.reads_releases:
        return "it reads public facts alone."
    return (
        "it reads tallies after noise, and public facts.\nA tally is the sum over contacts of "
        f"{rung}: one message moves it by at most 1, for every history of own tests."
    )
