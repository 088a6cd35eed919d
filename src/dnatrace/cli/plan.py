"""`dnatrace plan`."""

import logging
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Exit, Option

from dnatrace.cli._command import Answer, command, needs_extra, table
from dnatrace.cli._configuration import Setting, Yes, refuse_set
from dnatrace.cli.sweep import Cluster, Workers, start, told_in_one_line
from dnatrace.files import check_directory

if TYPE_CHECKING:
    from dnatrace.plans.planning import Plan, Planner

_LOG = logging.getLogger("dnatrace")
# By budgets, options and the search, in every run of a plan.
_DECIDED = (
    *("seed", "method.name", "method.release", "privacy.epsilon", "privacy.unit"),
    *("tests.capacity", "policy.most_tests", "policy.most_quarantined"),
    *("policy.symptoms.capacity", "policy.symptoms.waits_at_home"),
    *("policy.household.days", "policy.household.trigger", "policy.household.negative_ends"),
    *("policy.quarantine.days", "policy.quarantine.most_at_once", "policy.quarantine.capacity"),
    *("policy.quarantine.negative_ends", "policy.release_tests.capacity"),
)


@command(kernels=True)
def plan(
    scenario: Annotated[str, Option(help="The world; `dnatrace config scenarios` lists them.")],
    tests: Annotated[float, Option(help="Largest share of people tested per day.")],
    quarantine: Annotated[float, Option(help="Largest share of people in quarantine on a day.")],
    epsilon: Annotated[float, Option(help="ε of one test of a person; 0: no messages at all.")],
    setting: Setting = None,
    people: Annotated[int | None, Option(help="Size of the population.")] = None,
    days: Annotated[int | None, Option(help="Length of the runs.")] = None,
    evaluations: Annotated[
        int | None, Option(min=1, help="Number of proposals; 200 by default.")
    ] = None,
    seeds: Annotated[
        int | None, Option(min=1, help="Seeds for validation, and fresh ones; 10 each.")
    ] = None,
    seed: Annotated[int, Option(min=0, help="Same seed, same plan.")] = 0,
    quick: Annotated[bool, Option("--quick", help="Make a small version, marked as such.")] = False,
    out: Annotated[Path | None, Option(help="Directory for JSON, MD, HTML and CSV.")] = None,
    store: Annotated[
        Path | None, Option(help="Directory of the runs; OUT/runs by default.")
    ] = None,
    workers: Workers = None,
    cluster: Cluster = None,
    force: Annotated[bool, Option("--force", help="Replace an existing plan.")] = False,
    yes: Yes = False,
) -> Answer:
    """Say what to do within budgets of tests, quarantine and privacy.

    Searches levers, their sizes, methods and ε on validation seeds; the recommendation, the front
    of alternatives and the value of a little more of each budget are measured on fresh seeds.
    Quarantine means staying at home for a reason other than a positive result of one's own. Budgets
    hold on every day. Runs are kept in the store, so that an interrupted call resumes; files in OUT
    that are not of this very plan are replaced only with --force.

    Example: dnatrace plan --scenario autumn --tests 0.01 --quarantine 0.02 --epsilon 5 --out plan
    """
    start(cluster)
    with needs_extra("plan", "dnatrace plan"):
        from dnatrace.plans import planning
    from dnatrace.plans.budgets import Budgets
    from dnatrace.runs import needs
    from dnatrace.sweeps.processes import usable_cores
    from dnatrace.sweeps.study import kept_in

    with kept_in(store or (out / "runs" if out is not None else None)) as kept:
        planner = planning.Planner(
            world=planning.world_of(scenario, setting or (), quick=quick, people=people, days=days),
            budgets=Budgets(tests=tests, quarantine=quarantine, epsilon=epsilon),
            effort=planning.effort_of(evaluations, seeds, quick=quick),
            store=kept,
            seed=seed,
            where={"workers": workers, "cluster": cluster},
        )
        _check(planner, out)
        if cluster is None:  # the memory of its machines is unknown here
            n = workers or usable_cores()
            needs.check([planner.world.usual] * n, at_once=n, yes=yes)
        _keep_others(planner, quick, None if force else out)
        found = _made(planner)
    return _answer(found, quick, out, _command_line(planner, quick))


def _made(planner: "Planner") -> "Plan":
    """Make the plan; a run that fails is reported in one line, with exit code 1."""
    from dnatrace.plans import planning
    from dnatrace.runs.progress import tracker

    with told_in_one_line():
        try:
            return planning.make_plan(planner, tracker("plan"))
        except planning.RunFailedError as error:
            print(f"dnatrace: {error}", file=sys.stderr)
            raise Exit(1) from None


def _check(planner: "Planner", out: Path | None) -> None:
    """Raise, before the work is done, if the world is wrong or the files cannot be written."""
    world = planner.world
    refuse_set(world.settings, lambda key: not _is_decided(key), "is what a plan decides")
    world.usual  # noqa: B018 - raises when a setting is wrong
    refuse_set(
        world.settings, lambda key: key not in world.overrides, "is given by an option or --quick"
    )
    world.tell_what_is_idle()
    for directory in (out, planner.store):
        if directory is not None:
            check_directory(directory)
    for line in planner.budgets.too_small(world.usual.n_people):
        _LOG.warning("warning: %s", line)


def _keep_others(planner: "Planner", quick: bool, out: Path | None) -> None:
    """Raise, before the work is done, if a directory has a plan of another question."""
    from dnatrace.plans.questions import keep_others, question

    if out is not None:
        keep_others(out, question(planner.search, small=quick))


def _is_decided(key: str) -> bool:
    """Return whether a plan decides a key, which may name its table: policy.levers.most_tests."""
    from dnatrace.runs.keys import CATALOGUES

    section, _, rest = key.partition(".")
    table_name, _, within = rest.partition(".")
    named = within and table_name in CATALOGUES.get(section, ())
    return (f"{section}.{within}" if named else key) in _DECIDED


def _command_line(planner: "Planner", quick: bool) -> str:
    """Return the command that repeats the plan, without the folders of this machine."""
    from dnatrace.plans.planning import QUICK_WORLD

    world, budgets, effort = planner.world, planner.budgets, planner.effort
    usual = QUICK_WORLD if quick else {}
    size = {name: value for name, value in world.overrides.items() if usual.get(name) != value}
    parts = [f"dnatrace plan --scenario {world.scenario} --tests {_exact(budgets.tests)}"]
    parts += [f"--quarantine {_exact(budgets.quarantine)} --epsilon {_exact(budgets.epsilon)}"]
    parts += [f"--set {shlex.quote(text)}" for text in world.settings]
    parts += [f"--{name} {value}" for name, value in size.items()]
    parts += [f"--evaluations {effort.evaluations} --seeds {effort.seeds} --seed {planner.seed}"]
    return " ".join([*parts, *(["--quick"] if quick else [])])


def _exact(value: float) -> str:
    """Return a number as short as it can be read back."""
    short = f"{value:g}"
    return short if float(short) == value else repr(value)


def _answer(found: "Plan", small: bool, out: Path | None, line: str) -> Answer:
    """Write the plan, and return it for JSON and the terminal."""
    from dnatrace.plans import files, page, words
    from dnatrace.sweeps.results import write_all

    if out is not None:
        rendered = page.render(found, line, small=small)
        write_all(files.plan_files(found, line, small=small, page=rendered), out)
    said = words.recommendation(found)
    return Answer(
        values=files.as_values(found, small=small),
        shown=[
            *([files.WARNING] if small else []),
            said["in_short"],
            "\nWhat to do",
            *(f"  - {text}" for text in said["do"]),
            *(f"\n{name}: {said[key]}" for key, name in files.HEADINGS.items()),
            "\nWhat it depends on",
            *(f"  - {text}" for text in said["depends"]),
            "\nIf the world is different",
            *(f"  - {text}" for text in words.world_lines(found)),
            "\nWho bears it",
            *(f"  - {text}" for text in said["bears"]),
            "\nWhat each part and each constraint is worth",
            *(
                f"  - {text}"
                for part in (True, False)
                for text in words.margin_lines(found, parts=part)
            ),
            "\nWhat this does not know",
            *(f"  - {text}" for text in said["unknown"]),
            "\nThe front, and what is not offered",
            files.UNITS,
            *(table(rows) for rows in files.short_tables(found)),
            *([f"Written to {out}"] if out is not None else []),
        ],
    )
