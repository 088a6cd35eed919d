"""`dnatrace export`."""

from pathlib import Path
from typing import Annotated

from typer import Argument

from dnatrace.cli._command import Answer, Force, command, needs_extra
from dnatrace.cli.certify import Model, path_of
from dnatrace.errors import InputError
from dnatrace.files import keep_inputs


@command()
def export(
    model: Model,
    out: Annotated[Path, Argument(help="File to write: .onnx.")],
    force: Force = False,
) -> Answer:
    """Write a network of dna as ONNX, which maps shares of messages and public facts to G.

    Decoders (of tally, headcount and public-facts) cannot be exported. docs/network.md says what
    the inputs hold. Needs the extra `export`.

    Example: dnatrace export dna dna.onnx
    """
    if out.suffix != ".onnx":
        raise InputError(f"{out}: the name must end in .onnx")
    from dnatrace.networks.decoder import is_decoder
    from dnatrace.networks.runtime import load_model

    if is_decoder(path_of(model)):
        raise InputError(f"'{model}' is a decoder; only networks of dna can be exported")
    with needs_extra("export", "export"):
        from dnatrace.networks.export import write_onnx
    keep_inputs(out, [path_of(model)], force=force)
    held = load_model(model)
    write_onnx(held, out)
    values = {"model": model, "file": str(out), "digest": held.certificate.digest}
    return Answer(values=values, shown=[f"Wrote {out}"])
