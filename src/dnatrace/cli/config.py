"""`dnatrace config`."""

import json
from typing import Annotated

from typer import Argument, Typer

from dnatrace.cli._command import Answer, Command, Group, command

app = Typer(cls=Group, no_args_is_help=True, help="Settings, parameters and scenarios.")


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


@app.command(cls=Command)
@command()
def scenarios(
    name: Annotated[str | None, Argument(metavar="[NAME]", help="One scenario, in full.")] = None,
) -> Answer:
    """Print the scenarios that --scenario takes, or every setting of one with its source.

    Example: dnatrace config scenarios autumn
    """
    from dataclasses import asdict

    from dnatrace.runs.scenarios import ALIASES, read_scenario
    from dnatrace.runs.scenarios import scenarios as all_of_them

    if name is None:
        found = all_of_them()
        values = {key: asdict(scenario) for key, scenario in found.items()}
        width = max(map(len, found))
        short = {full: f" (short name: {alias})" for alias, full in ALIASES.items()}
        lines = [f"{k:{width}}  {s.title}{short.get(k, '')}" for k, s in found.items()]
        return Answer(values=values, shown=lines)
    one = read_scenario(name)
    lines = [f"{row['key']} = {row['value']}  ({row['source']})" for row in one.as_rows()]
    return Answer(values=asdict(one), shown=[f"{one.name}: {one.title}", *lines])
