"""Does the network help? `python verification/augmentation.py --out FILE.md [--store DIR]`.

`dpfn-s` and `dna` in the closed loop: the city, 10,000 people, 100 days, 8 % tests a day, ε = 1 per
release, twenty seeds that nothing was trained or chosen on. Each runs as published (with preset
`paper` and the paper's network) and sound (preset `standard` and our network), at γ = 0.7 and at
its own best γ, chosen by the mean peak on three other seeds. Reported: peak of infected people in ‰
with its 90 % Student-t interval, median and 95th percentile, and the difference that the network
makes, paired by seed.

Finished runs are kept in the store, so that an interrupted call goes on. About ten minutes on two
cores.
"""

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from dnatrace.files import replacing
from dnatrace.runs.config import RunConfig, load_config
from dnatrace.runs.provenance import provenance
from dnatrace.sweeps.study import CONFIDENCE, Comparison, Spread, compare

GAMMAS = (0.1, 0.2, 0.4, 0.7)
PUBLISHED_GAMMA = 0.7
VALIDATION = (501, 502, 503)
FIRST_SEED, N_SEEDS = 4001, 20
RELEASES = {"as published": ("paper", "as_published"), "sound": ("standard", "linear")}
MODELS = {"as published": "dna-paper", "sound": "dna"}
METHODS = ("dpfn-s", "dna")
EPSILON = 1.0


def configuration(method: str, kind: str, gamma: float) -> RunConfig:
    preset, release = RELEASES[kind]
    settings = {"method": method, "release": release, "epsilon": EPSILON, "gamma": gamma}
    if method == "dna":
        settings["method.model"] = MODELS[kind]
    return load_config(preset=preset, overrides=settings)


def peak(comparison: Comparison, label: str) -> Spread:
    return Spread(values=1000 * comparison.spread(label, "peak_infected").values)


def best_gammas(seeds: Sequence[int], store: Path | None) -> dict[tuple[str, str], float]:
    keys = [(m, kind, g) for kind in RELEASES for m in METHODS for g in GAMMAS]
    configs = {f"{m}/{kind}/{g}": configuration(m, kind, g) for m, kind, g in keys}
    compared = compare(configs, seeds=seeds, store=store)
    means = {key: peak(compared, "/".join(map(str, key))).mean for key in keys}
    return {
        (m, kind): min(GAMMAS, key=lambda g, m=m, kind=kind: means[m, kind, g])
        for kind in RELEASES
        for m in METHODS
    }


def measure(validation: Sequence[int], seeds: Sequence[int], store: Path | None) -> dict[str, Any]:
    best = best_gammas(validation, store)
    configs = {"fn": load_config(overrides={"method": "fn"})}
    configs["public-only"] = load_config(overrides={"method": "public-only"})
    for kind in RELEASES:
        for m in METHODS:
            configs[f"{m}/{kind}/γ = 0.7"] = configuration(m, kind, PUBLISHED_GAMMA)
            configs[f"{m}/{kind}/best γ"] = configuration(m, kind, best[m, kind])
    compared = compare(configs, seeds=seeds, store=store)
    rows = {label: row(peak(compared, label), configs[label]) for label in configs}
    gains = {}
    for kind in RELEASES:
        for gamma in ("γ = 0.7", "best γ"):
            pair = [peak(compared, f"{m}/{kind}/{gamma}").values for m in METHODS]
            gain = Spread(values=pair[1] - pair[0])
            gains[f"{kind}, {gamma}"] = {"mean": gain.mean, "half_width": gain.half_width}
    return {
        "seeds": list(seeds),
        "validation": list(validation),
        "rows": rows,
        "gains": gains,
        "provenance": provenance(configs["fn"]),
    }


def row(spread: Spread, config: RunConfig) -> dict[str, Any]:
    return {
        "gamma": config.method.gamma,
        "mean": spread.mean,
        "half_width": spread.half_width,
        "median": spread.median,
        "p95": spread.p95,
        "peaks": np.round(spread.values, 2).tolist(),
    }


def render(results: dict[str, Any]) -> str:
    seeds, validation = results["seeds"], results["validation"]
    lines = [
        "# What the network adds, in the closed loop",
        "",
        "Produced by `python verification/augmentation.py`; the text at its head says how. "
        f"Commit {results['provenance']['commit']}.",
        f"{len(seeds)} seeds ({seeds[0]} to {seeds[-1]}); γ chosen on {validation}. Peak of "
        f"infected people in ‰; ± is half of the {CONFIDENCE:.0%} interval of the mean.",
        "",
        "| method | release | γ | mean | ± | median | 95th percentile |",
        "|---|---|---|---|---|---|---|",
    ]
    for label, r in results["rows"].items():
        method, kind, gamma = [*label.split("/"), "–", "–"][:3]
        shown = "–" if gamma == "–" else f"{r['gamma']:g}{' (best)' if 'best' in gamma else ''}"
        lines.append(
            f"| `{method}` | {kind} | {shown} | {r['mean']:.1f} | {r['half_width']:.1f} "
            f"| {r['median']:.1f} | {r['p95']:.1f} |"
        )
    lines += ["", "`dna` minus `dpfn-s`, paired by seed (negative: the network helps):", ""]
    for label, gain in results["gains"].items():
        lines.append(f"- {label}: {gain['mean']:+.1f} ± {gain['half_width']:.1f}")
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True, help="Markdown; JSON goes beside it")
    parser.add_argument("--store", type=Path, help="directory of finished runs")
    parser.add_argument("--seeds", type=int, default=N_SEEDS)
    options = parser.parse_args()
    seeds = tuple(range(FIRST_SEED, FIRST_SEED + options.seeds))
    results = measure(VALIDATION, seeds, options.store)
    for path, text in (
        (options.out, render(results)),
        (options.out.with_suffix(".json"), json.dumps(results, indent=1) + "\n"),
    ):
        with replacing(path) as temporary:
            temporary.write_text(text, "utf-8")
    print(render(results))


if __name__ == "__main__":
    main()
