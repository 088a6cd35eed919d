"""`dnatrace config`."""

import json

from typer import Typer

from dnatrace.cli._command import Answer, command

app = Typer(help="What a configuration may say.")


@app.callback()
def _group() -> None:
    """Keep `schema` a command of the group while it is the only one."""


@app.command()
@command()
def schema() -> Answer:
    """Print the JSON Schema of the configuration, for editors and other checkers of TOML files.

    Example: dnatrace config schema > dnatrace.schema.json
    """
    from dnatrace.runs.config import RunConfig

    values = RunConfig.model_json_schema()
    return Answer(values=values, shown=[json.dumps(values, indent=2)], indent=2)
