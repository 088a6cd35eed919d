"""Choose tests by a published threshold: `python -m verification.threshold`.

Runs the default method with both policies, `highest-scores`, which reads all scores, and
`threshold`, which reads a noisy histogram of them, on the same seeds of the city (10,000 people,
100 days), with tests for 8 and 4 % of people per day, and prints the peak of infected people and
the tests used.
"""

import sys
from collections.abc import Sequence
from typing import Any

from verification.closed_loop import parser, read_call

FIRST_SEED = 1301  # none of the seeds on which anything was chosen
POLICIES: dict[str, dict[str, Any]] = {
    "highest scores": {"name": "highest-scores"},
    "threshold, ε = 1 per day": {"name": "threshold"},
    "threshold, ε = 0.1 per day": {"name": "threshold", "epsilon": 0.1},
}
CAPACITIES = (0.08, 0.04)
METHODS = ("headcount",)
NOTE = (
    "Peak of infected people in ‰; ε of the policy is for one person's score in one histogram. "
    "`tests used` is the mean share of the capacity; differences are to choosing the highest."
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run all of them and report."""
    options = parser(__doc__, seeds=6, first_seed=FIRST_SEED)
    options.add_argument("--people", type=int, default=10_000)
    call = read_call(options, "verification.threshold", arguments)
    configs = {
        (method, f"{capacity:.0%}", name): call.configuration(
            method=method,
            people=call.options.people,
            **{"tests.capacity": capacity, **{f"policy.{k}": v for k, v in policy.items()}},
        )
        for method in METHODS
        for capacity in call.some(CAPACITIES)
        for name, policy in POLICIES.items()
    }
    study = call.study(configs)
    keys = ("method", "tests", "policy")
    best = next(iter(POLICIES))
    rows = study.rows(keys, baselines={key: (*key[:2], best) for key in configs if key[2] != best})
    for row, (key, config) in zip(rows, configs.items(), strict=True):
        summaries = study.summaries[key]
        most = config.tests.most_tests(config.people) * config.days
        used = [s["tests_used"] / most for s in summaries]
        row["tests used"] = f"{sum(used) / len(used):.3f}"
    call.report(rows, title="Tests by a published threshold", notes=[NOTE])
    return 0


if __name__ == "__main__":
    sys.exit(main())
