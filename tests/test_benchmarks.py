"""What benchmarks/ says of itself; the figures are not tested, they belong to the machine."""

from collections import Counter

import pytest

from benchmarks import first_run

QUICK = ["run", "--quiet", "--people", "300", "--days", "3"]


@pytest.mark.slow
def test_the_first_run_compiles_each_kernel_once_and_none_of_another_method():
    first, second = first_run.first_and_second(QUICK)
    ours = Counter(
        row["kernel"] for row in first["compiled"] if row["kernel"].startswith("dnatrace.")
    )
    assert "dnatrace.networks._runtime_kernels.decode" in ours  # it would say nothing without
    # One signature per kernel: `_layer` reads read-only weights and noisy numbers alike.
    assert {name: n for name, n in ours.items() if n > 1} == {}
    assert not [name for name in ours if "inference._kernels" in name]  # rounds of fn
    assert len(ours) <= 40
    assert not [row for row in second["compiled"] if row["kernel"].startswith("dnatrace.")]
