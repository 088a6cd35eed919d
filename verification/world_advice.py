"""The head of the page of `verification.world`: what to do, each sentence by a rule."""

from collections.abc import Sequence

from dnatrace.plans.comparison import named_interval
from dnatrace.plans.intervals import fewer, interval, more
from dnatrace.sweeps.costs import ratio_of_means
from dnatrace.sweeps.results import markdown_table
from dnatrace.sweeps.spread import Spread
from dnatrace.sweeps.study import Study
from verification.world_words import (
    APP_RULE,
    CONTAINED,
    EVER,
    EXACT,
    FLOOR,
    OF_THE_APP,
    PRIVATE,
    STATUS_QUO,
    Label,
    gain,
)

DEFAULT, BELIEFS = "headcount", "fn (two rounds)"
PROVED = (PRIVATE, DEFAULT)  # with a proof for a person; public facts send nothing at all
_AT_HOME = "isolation_person_days"
# The same world with one lever more: cell without it, cell with it, what it is.
LEVERS = (
    ("quarantine", "quarantine, 0.5 % per day", "0.5 instead of 0.2 % sent home per day by score"),
    ("uk-2020-autumn", "uk-2020-autumn, 0.5 % sent home per day", "0.5 % sent home per day"),
    ("adoption-60", "adoption-60, 0.5 % sent home per day", "0.5 % sent home per day"),
    ("adoption-60", "adoption-60, both", "that, and the ill wait at home"),
)
WAITING = ("adoption-60", "adoption-60, the ill wait at home")


def cells_of(study: Study[Label]) -> list[str]:
    """Return the rows of the page."""
    return list(dict.fromkeys(cell for cell, _ in study.summaries))


def told(study: Study[Label], better: str, worse: str) -> dict[str, Spread]:
    """Return where one averts more than the other by an interval above 0, and by how much."""
    found = {cell: gain(study, cell, better, worse) for cell in cells_of(study)}
    return {cell: one for cell, one in found.items() if one and one.interval[0] > 0.0}


def compared(study: Study[Label], better: str, worse: str) -> list[str]:
    """Return where both were run."""
    return [cell for cell in cells_of(study) if gain(study, cell, better, worse) is not None]


def choice(study: Study[Label], cell: str) -> str:
    """Return what to use in a scenario: the least that is told that is shown to pay.

    Tracing by public facts if it averts more than the status quo, messages with a proof if they
    avert more than that, each by a 90 % interval above 0. What noise leaves of exact counts cannot
    gain where these gain nothing: there it is chance.
    """
    if cell not in told(study, FLOOR, STATUS_QUO):
        return STATUS_QUO
    if cell not in told(study, EXACT, FLOOR):
        return FLOOR
    gains = {name: told(study, name, FLOOR).get(cell) for name in PROVED}
    paying = {name: one.mean for name, one in gains.items() if one is not None}
    return max(paying, key=paying.__getitem__, default=FLOOR)


def head(study: Study[Label]) -> list[str]:
    """Return what to do in sentences, then by scenario."""
    sentences = [
        *_ranking(study),
        *_levers(study),
        *_messages(study),
        *_app_rule(study),
        *_contained(study),
    ]
    return [
        "## What to do",
        "",
        *(f"{place}. {text}" for place, text in enumerate(sentences, start=1)),
        "",
        "What to use in each scenario, by a rule: the levers alone, unless tracing by public facts "
        "averts more; that, unless exact counts avert more and private ones with a proof do, too; "
        "each by a 90 % interval above 0. Against the status quo of the scenario, on the seeds by "
        "which the rule chose.",
        "",
        *choice_table(study),
        "",
    ]


def choice_table(study: Study[Label]) -> list[str]:
    """Return what to use in each scenario, what it brings and what it costs."""
    rows = []
    for cell in cells_of(study):
        name = choice(study, cell)
        ever = study.spread((cell, name), EVER, scale=100.0)
        row = [cell, WORDS.get(name, name), _shown(ever)]
        if name == STATUS_QUO:
            rows.append([*row, "–", "–"])
            continue
        rows.append([*row, _fewer(gain(study, cell, name, STATUS_QUO)), _home(study, cell, name)])
    columns = ["scenario", "use", "ever infected, %", f"{PER} against the status quo"]
    return markdown_table([*columns, "days at home per person"], rows)


WORDS = {STATUS_QUO: "the levers alone", FLOOR: "public facts"}
PER = "infections per 10,000 people"


def _shown(found: Spread) -> str:
    return interval(named_interval("n", found.values), "n")


def _fewer(found: Spread | None) -> str:
    assert found is not None  # both were run
    return fewer(named_interval("n", found.values), "n", "infections").removesuffix(" infections")


def _home(study: Study[Label], cell: str, name: str, than: Label | None = None) -> str:
    baseline = than or (cell, STATUS_QUO)
    people = study.spread((cell, name), "people").values
    days = study.difference((cell, name), baseline, _AT_HOME).values / people
    return more(named_interval("n", days), "n", "days").removesuffix(" days")


def _range(found: Sequence[Spread]) -> str:
    means = [one.mean for one in found]
    low, high = (f"{round(value):,}" for value in (min(means), max(means)))
    return low if low == high else f"{low} to {high}"


def _ranking(study: Study[Label]) -> list[str]:
    """Return whether tracing pays at all, and whether the default may stay on."""
    rows, pays = compared(study, FLOOR, STATUS_QUO), told(study, FLOOR, STATUS_QUO)
    if not rows:
        return []
    text = "Rank people by public facts (own tests and symptoms, how many they meet, age), whatever"
    text += f" else is done: that averts more than the levers alone in {len(pays)} of {len(rows)} "
    text += f"rows, {_range(list(pays.values()))} {PER}." if pays else "rows."
    others = [cell for cell in rows if cell not in pays]
    text += f" Not shown in: {'; '.join(others)}." if others else ""
    worse = told(study, STATUS_QUO, DEFAULT)
    if compared(study, DEFAULT, STATUS_QUO):
        stays = f"It does worse than the levers alone in: {'; '.join(worse)}; switch it off there."
        text += " The default, `headcount`, is nowhere worse than the levers alone."
        text = text if not worse else text.rpartition(" The default")[0] + f" {stays}"
    return [text]


def _levers(study: Study[Label]) -> list[str]:
    """Return what staying at home is worth beside tests."""
    lines = []
    without, with_it = ((cell, STATUS_QUO) for cell in WAITING)
    averted = _averted(study, without, with_it)
    if averted is not None:
        lines.append(
            f"Let people with symptoms wait for their result at home before anything else: in "
            f"{WAITING[0]}, without any tracing, {_fewer(averted)} {PER} and "
            f"{_home(study, with_it[0], STATUS_QUO, without)} days at home per person."
        )
    found = []
    for before, after, what in LEVERS:
        averted = _averted(study, (before, FLOOR), (after, FLOOR))
        if averted is not None:
            days = _home(study, after, FLOOR, (before, FLOOR))
            found.append(
                f"   - {before}, {what}: {_fewer(averted)}, {days} days at home per person"
            )
    if found:
        text = (
            "Send the highest scores home instead of only testing them, where people can be asked "
        )
        text += f"to. By public facts, {PER} against the same without it:"
        lines.append("\n".join([text, *found]))
    return lines


def _averted(study: Study[Label], without: Label, with_it: Label) -> Spread | None:
    """Return what is averted per 10,000 people, if that is shown."""
    if not {without, with_it} <= set(study.summaries):
        return None
    found = study.difference(without, with_it, EVER, scale=10_000.0)
    return found if found.interval[0] > 0.0 else None


def _messages(study: Study[Label]) -> list[str]:
    """Return where messages pay, exact and private."""
    rows, exact = compared(study, EXACT, FLOOR), told(study, EXACT, FLOOR)
    private = told(study, PRIVATE, FLOOR)
    if not rows:
        return []
    none = [cell for cell in rows if cell not in exact]
    lines = []
    if none:
        text = "Send no messages, and promise everybody that none leave a phone, in: "
        text += f"{'; '.join(none)}. There exact counts are not shown to avert more than public "
        text += "facts, so privacy costs nothing that could be told."
        lines.append(text)
    if exact:
        text = f"Messages decide in {'; '.join(exact)}: exact counts, which are not private, avert "
        text += f"{_range(list(exact.values()))} {PER} more than public facts. "
        lines.append(text + _kept(exact, private))
    beliefs = [cell for cell in told(study, FLOOR, BELIEFS) if cell.startswith(OF_THE_APP)]
    if beliefs:
        lines.append(
            "Do not pass on beliefs (`fn`, not private) where few have the app: they avert fewer "
            f"than public facts in {'; '.join(beliefs)}."
        )
    return lines


def _kept(exact: dict[str, Spread], private: dict[str, Spread]) -> str:
    """Return what a promise to a person leaves of the gain of exact counts."""
    shares = {cell: private[cell].mean / one.mean for cell, one in exact.items() if cell in private}
    lost = [cell for cell in exact if cell not in private]
    parts = [f"{100 * share:.0f} % of it in {cell}" for cell, share in shares.items()]
    parts += [f"nothing that could be told in {'; '.join(lost)}"] if lost else []
    return f"With a promise of ε = 5 per person `news` keeps {', '.join(parts)}."


def _app_rule(study: Study[Label]) -> list[str]:
    """Return what the rule of the apps costs beside public facts with people sent home."""
    found = []
    for cell in compared(study, APP_RULE, STATUS_QUO):
        rule = _price(study, cell, APP_RULE)
        facts = _price(study, f"{cell}, 0.5 % sent home per day", FLOOR)
        if rule and facts and rule["n_low"] > facts["n_high"]:
            days = [interval(one, "n") for one in (rule, facts)]
            found.append(
                f"{cell} {days[0]} days at home per infection averted instead of {days[1]}"
            )
    if not found:
        return []
    return [
        "Do not send home every contact of a reported case (the rule of the apps), if scores by "
        f"public facts can choose: {'; '.join(found)}."
    ]


def _price(study: Study[Label], cell: str, name: str) -> dict[str, float] | None:
    """Return days at home per infection averted against the status quo, if it has an interval."""
    if not {(cell, name), (cell, STATUS_QUO)} <= set(study.summaries):
        return None
    averted = study.difference((cell, STATUS_QUO), (cell, name), EVER).values
    days = study.difference((cell, name), (cell, STATUS_QUO), _AT_HOME).values
    found = ratio_of_means(days, averted * study.spread((cell, name), "people").values)
    if found.value is None or found.low is None or found.high is None or averted.mean() <= 0.0:
        return None
    return {"n": found.value, "n_low": found.low, "n_high": found.high}


def _contained(study: Study[Label]) -> list[str]:
    """Return where every run ends small, by what may be used."""

    def where(name: str) -> str:
        small = [
            cell
            for cell in cells_of(study)
            if (cell, name) in study.summaries
            and max(study.spread((cell, name), EVER).values) <= CONTAINED
        ]
        return "; ".join(small) or "no row"

    text = (
        f"Do not count on containment: every run stays below {100 * CONTAINED:g} % infected with "
    )
    text += f"public facts in {where(FLOOR)}, with private counts in {where(PRIVATE)}, with exact "
    return [text + f"ones in {where(EXACT)}, and knowing the truth in {where('oracle')}."]
