"""`dnatrace app`."""

import json
from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from dnatrace.cli._command import Json, Quiet, needs_extra, set_up


def app(
    link: Annotated[
        str, Argument(metavar="[LINK]", help="Link of an earlier page, to restore its settings.")
    ] = "",
    port: Annotated[int, Option(min=0, max=65535, help="Port to listen on; 0: any free one.")] = 0,
    browser: Annotated[bool, Option("--browser/--no-browser", help="Open the browser.")] = True,
    store: Annotated[Path, Option(help="Directory in which runs are kept.")] = Path("runs"),
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Open a local page to ask "what if", watch the answer day by day and download it.

    Prints the address and serves the page, to this machine alone, until it is interrupted. Results
    are kept in a store that `report`, `list`, `sweep` and Python read.

    Example: dnatrace app --port 8600 --no-browser
    """
    set_up(quiet, None)
    with needs_extra("app", "the live page"):
        from dnatrace.app import serving

    def announce(address: str) -> None:
        print(json.dumps({"address": address}) if as_json else address, flush=True)

    serving.serve(store, port=port, link=link, browser=browser, announce=announce)
