"""Every private method at several ε: `python verification/private_methods.py --out FILE.md`.

The city, 10,000 people, 100 days, 8 % tests a day, preset `standard`. Every method runs at γ = 0.7,
the largest value in use, and at its own best γ, chosen by the mean peak on validation seeds that
are not used again. `fn` (no privacy) and `public-only` (no messages) bound what can be reached.
Reported: peak of infected people in ‰, mean ± half of the 90 % Student-t interval, and median.

Finished parts are kept beside the table (FILE.json), so that an interrupted call goes on where it
stopped. The whole takes about an hour on two cores.
"""

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from dnatrace import __version__
from dnatrace.files import replacing
from dnatrace.runs.config import RunConfig, load_config
from dnatrace.sweeps.study import CONFIDENCE, compare

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
WITHOUT_CLIP = {"traditional"}  # no message, so nothing to clip
EPSILONS = (0.1, 0.2, 1.0, 10.0)
GAMMAS = (0.05, 0.1, 0.2, 0.4, 0.7, 1.0)
PUBLISHED_GAMMA = 0.7
FIRST_VALIDATION_SEED, FIRST_TEST_SEED = 501, 2001

Results = dict[str, dict[str, Any]]


def configuration(method: str, release: str | None, **more: Any) -> RunConfig:
    return load_config(overrides={"method": method, "release": release, **more})


def peaks(configs: dict[str, RunConfig], seeds: Sequence[int]) -> dict[str, dict[str, Any]]:
    comparison = compare(configs, seeds=seeds)
    rows = {}
    for label in configs:
        spread = comparison.spread(label, "peak_infected")
        rows[label] = {
            "mean": 1000 * spread.mean,
            "half_width": 1000 * spread.half_width,
            "median": 1000 * spread.median,
            "privacy": comparison.summaries[label][0]["privacy"],
        }
    return rows


def best_gamma(
    method: str, release: str, epsilon: float, seeds: Sequence[int]
) -> tuple[float, dict[str, float]]:
    configs = {
        str(gamma): configuration(method, release, epsilon=epsilon, gamma=gamma) for gamma in GAMMAS
    }
    means = {gamma: row["mean"] for gamma, row in peaks(configs, seeds).items()}
    return float(min(means, key=lambda gamma: means[gamma])), means


def measure(
    method: str, release: str, epsilon: float, validation: Sequence[int], test: Sequence[int]
) -> dict[str, Any]:
    if method in WITHOUT_CLIP:
        config = configuration(method, release, epsilon=epsilon)
        return {"only": peaks({"only": config}, test)["only"]}
    gamma, means = best_gamma(method, release, epsilon, validation)
    configs = {
        name: configuration(method, release, epsilon=epsilon, gamma=value)
        for name, value in (("published", PUBLISHED_GAMMA), ("best", gamma))
    }
    return peaks(configs, test) | {"gamma": gamma, "validation": means}


def number(row: dict[str, Any]) -> str:
    return f"{row['mean']:.1f} ± {row['half_width']:.1f} ({row['median']:.1f})"


def cost(row: dict[str, Any]) -> str:
    privacy = row["privacy"]
    true = privacy["true_epsilon"]
    if true is not None:
        return f"not sound: up to {true['worst']:.3g} a release"
    return f"{privacy['per_contact_epsilon']:.3g}"


def render(results: Results, validation: Sequence[int], test: Sequence[int]) -> str:
    lines = [
        "# Private methods on the built-in city",
        "",
        "Produced by `python verification/private_methods.py`; the text at its head says how.",
        f"{len(test)} seeds ({test[0]} to {test[-1]}); γ chosen on {len(validation)} others "
        f"({validation[0]} to {validation[-1]}) from {', '.join(map(str, GAMMAS))}. δ = 0.001, ε "
        f"per release. Peak of infected people in ‰: mean ± half of the {CONFIDENCE:.0%} interval "
        f"(median).",
        "",
        "Bounds: "
        + "; ".join(f"`{name}` {number(row)}" for name, row in results["bounds"].items())
        + ".",
        "",
        "| method, release | ε | at γ = 0.7 | best γ | at best γ | ε per contact |",
        "|---|---|---|---|---|---|",
    ]
    for method, release in METHODS:
        for epsilon in EPSILONS:
            row = results.get(f"{method}/{release}/{epsilon}")
            if row is None:
                continue
            only = row.get("only")
            cells = (
                [number(only), "no clip", number(only), cost(only)]
                if only
                else [
                    number(row["published"]),
                    str(row["gamma"]),
                    number(row["best"]),
                    cost(row["best"]),
                ]
            )
            lines.append(f"| {method}, {release} | {epsilon:g} | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True, help="the table, a Markdown file")
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--validation-seeds", type=int, default=3)
    options = parser.parse_args()
    validation = range(FIRST_VALIDATION_SEED, FIRST_VALIDATION_SEED + options.validation_seeds)
    test = range(FIRST_TEST_SEED, FIRST_TEST_SEED + options.seeds)
    kept = options.out.with_suffix(".json")
    settings = {"seeds": list(test), "validation_seeds": list(validation), "version": __version__}
    results: Results = json.loads(kept.read_text()) if kept.exists() else {"settings": settings}
    if results.get("settings") != settings:
        sys.exit(f"{kept}: was made with other seeds or another version; move it away first")

    def keep(key: str, value: dict[str, Any]) -> None:
        results[key] = value
        with replacing(kept) as temporary:
            temporary.write_text(json.dumps(results, indent=1) + "\n")
        with replacing(options.out) as temporary:
            temporary.write_text(render(results, validation, test))
        print(key, flush=True)

    if "bounds" not in results:
        names = ("none", "random", "public-only", "fn", "oracle")
        keep("bounds", peaks({name: configuration(name, None) for name in names}, test))
    for method, release in METHODS:
        for epsilon in EPSILONS:
            key = f"{method}/{release}/{epsilon}"
            if key not in results:
                keep(key, measure(method, release, epsilon, validation, test))


if __name__ == "__main__":
    main()
