"""Does the network help? `python -m verification.augmentation --out FILE.md [--store DIR]`.

`dpfn-s` and `dna` in the closed loop: the city, 10,000 people, 100 days, 8 % tests per day, ε = 1
per release, twenty seeds that nothing was trained or chosen on. Each runs as published (with preset
`paper` and the paper's network) and sound (preset `standard` and our network), at γ = 0.7 and at
its own best γ, chosen by the mean peak on three other seeds. The report gives the peak of infected
people in ‰ with its 90 % Student-t interval, median and 95th percentile, and the difference that
the network makes, paired by seed.

A store keeps finished runs, so that an interrupted call resumes. It takes about ten minutes on two
cores.
"""

import sys
from collections.abc import Sequence

from dnatrace.runs.config import RunConfig
from dnatrace.sweeps.study import best_settings
from verification.closed_loop import PEAK, Call, parser, read_call

GAMMAS = (0.1, 0.2, 0.4, 0.7)
PUBLISHED_GAMMA = 0.7
FIRST_SEED = 4001
RELEASES = {"as published": ("paper", "as_published"), "sound": ("standard", "linear")}
MODELS = {"as published": "dna-paper", "sound": "dna"}
METHODS = ("dpfn-s", "dna")
EPSILON = 1.0


def configuration(call: Call, method: str, kind: str, gamma: float) -> RunConfig:
    preset, release = RELEASES[kind]
    settings = {"method": method, "release": release, "epsilon": EPSILON, "gamma": gamma}
    if method == "dna":
        settings["method.model"] = MODELS[kind]
    return call.configuration(preset=preset, **settings)


def main(arguments: Sequence[str] | None = None) -> int:
    options = parser(__doc__, seeds=20, first_seed=FIRST_SEED)
    call = read_call(options, "verification.augmentation", arguments)
    pairs = [(method, kind) for kind in RELEASES for method in METHODS]
    gammas = call.some(GAMMAS, 2)
    candidates = {(*p, gamma): configuration(call, *p, gamma) for p in pairs for gamma in gammas}
    best = best_settings(call.study(candidates, call.validation), PEAK)
    configs = {(name, "–", "–"): call.configuration(method=name) for name in ("fn", "public-only")}
    for method, kind in pairs:
        chosen = best[method, kind]
        configs[method, kind, "0.7"] = configuration(call, method, kind, PUBLISHED_GAMMA)
        configs[method, kind, "best"] = configuration(call, method, kind, chosen)
    study = call.study(configs)
    networks = [label for label in configs if label[0] == "dna"]
    rows = study.rows(
        ("method", "release", "gamma"),
        baselines={label: ("dpfn-s", *label[1:]) for label in networks},
    )
    for row in rows:
        if row["gamma"] == "best":
            row["gamma"] = f"{best[row['method'], row['release']]:g} (best)"
    call.report(
        rows,
        title="What the network adds, in the closed loop",
        notes=[
            "Peak of infected people in ‰.",
            f"γ chosen on seeds {', '.join(map(str, call.validation))}.",
            "Difference: `dna` minus `dpfn-s`, paired by seed (negative: the network helps).",
        ],
        validation=list(call.validation),
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
