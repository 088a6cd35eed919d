"""Every private method at several ε: `python -m verification.private_methods --out FILE.md`.

The city, 10,000 people, 100 days, 8 % tests per day, preset `standard`. Every method runs at
γ = 0.7, the largest value in use, and at its own best γ, chosen by the mean peak on validation
seeds that are not used again. `none`, `random`, `fn` (no privacy), `public-only` (no messages) and
`oracle` bound what can be achieved. The report gives the peak of infected people in ‰ with its 90 %
Student-t interval, median and 95th percentile.

A store keeps finished runs, so that an interrupted call resumes. It takes about an hour on two
cores.
"""

import sys
from collections.abc import Sequence
from typing import Any

from dnatrace.runs.config import RunConfig
from dnatrace.sweeps.study import PER_MILLE, best_settings
from verification.closed_loop import PEAK, Call, parser, read_call

METHODS = (
    ("dpfn-s", "linear"),
    ("dpfn-s", "as_published"),
    ("dpfn", "frozen"),
    ("per-message", "frozen"),
    ("traditional", "gaussian"),
    ("dpfn-s", "restart"),
    ("dpfn", "correlated"),
    ("dpfn", "as_published"),
    ("per-message", "as_published"),
)
WITHOUT_CLIP = {"traditional"}  # no messages, so nothing to clip
BOUNDS = ("none", "random", "public-only", "fn", "oracle")
EPSILONS = (0.1, 0.2, 1.0, 10.0)
GAMMAS = (0.05, 0.1, 0.2, 0.4, 0.7, 1.0)
PUBLISHED_GAMMA = 0.7
FIRST_SEED = 2001

# Method, release, ε, γ; the last two are None where there is none.
Label = tuple[str, str, float | None, float | None]


def configuration(call: Call, label: Label) -> RunConfig:
    names = ("method", "release", "epsilon", "gamma")
    given: dict[str, Any] = {k: v for k, v in zip(names, label, strict=True) if v not in (None, "")}
    return call.configuration(**given)


def cost(privacy: dict[str, Any]) -> str:
    """Return ε per contact, or by how much a release that is not sound exceeds its own."""
    if privacy["true_epsilon"] is not None:
        return f"not sound: up to {privacy['true_epsilon']['worst']:.3g} per release"
    per_contact = privacy["per_contact_epsilon"]
    return "" if per_contact is None else f"{per_contact:.3g}"


def main(arguments: Sequence[str] | None = None) -> int:
    options = parser(__doc__, seeds=20, first_seed=FIRST_SEED)
    call = read_call(options, "verification.private_methods", arguments)
    cells = [(*method, epsilon) for method in METHODS for epsilon in call.some(EPSILONS)]
    clipped = [cell for cell in cells if cell[0] not in WITHOUT_CLIP]
    candidates: list[Label] = [(*cell, gamma) for cell in clipped for gamma in call.some(GAMMAS, 2)]
    chosen_from = call.study({k: configuration(call, k) for k in candidates}, call.validation)
    best = best_settings(chosen_from, PEAK)
    labels: list[Label] = [(name, "", None, None) for name in BOUNDS]
    for cell in cells:
        gammas = (PUBLISHED_GAMMA, best[cell]) if cell in best else (None,)
        labels += [(*cell, gamma) for gamma in dict.fromkeys(gammas)]
    study = call.study({label: configuration(call, label) for label in labels})
    rows = study.rows(("method", "release", "epsilon", "gamma"))
    for label, row in zip(labels, rows, strict=True):
        row["is_best"] = "best" if best.get(label[:3]) == label[3] and label[3] else ""
        row["per_contact_epsilon"] = cost(study.summaries[label][0]["privacy"])
    chosen = [
        dict(zip(("method", "release", "epsilon"), cell, strict=True))
        | {"gamma": best[cell]}
        | {"means": {g: PER_MILLE * chosen_from.spread((*cell, g), PEAK).mean for g in means}}
        for cell, means in ((cell, call.some(GAMMAS, 2)) for cell in clipped)
    ]
    call.report(
        rows,
        title="Private methods on the built-in city",
        notes=[
            "Peak of infected people in ‰; δ = 0.001, ε per release.",
            f"γ chosen from {', '.join(map(str, call.some(GAMMAS, 2)))} on seeds "
            f"{', '.join(map(str, call.validation))}.",
        ],
        validation=list(call.validation),
        chosen=chosen,
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
