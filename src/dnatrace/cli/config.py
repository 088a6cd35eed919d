"""`dnatrace config`."""

import json

from typer import Typer

from dnatrace.cli._command import Answer, Command, Group, command

app = Typer(cls=Group, no_args_is_help=True, help="What a configuration may say.")


@app.command(cls=Command)
@command()
def schema() -> Answer:
    """Print the JSON Schema of the configuration, for editors and other checkers of TOML files.

    Example: dnatrace config schema > dnatrace.schema.json
    """
    from dnatrace.runs.config import RunConfig

    values = RunConfig.model_json_schema()
    return Answer(values=values, shown=[json.dumps(values, indent=2)], indent=2)


@app.command(cls=Command)
@command()
def parameters() -> Answer:
    """Print every key with its default, meaning and source, as a page of Markdown.

    Example: dnatrace config parameters > docs/parameters.md
    """
    from dataclasses import asdict

    from dnatrace.runs import parameters

    values = {key: asdict(known) for key, known in parameters.described_settings().items()}
    return Answer(values=values, shown=[parameters.as_markdown().rstrip()])
