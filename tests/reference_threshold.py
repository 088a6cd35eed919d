"""Slow, obvious twins of the policy `threshold`."""

import math


def published(noisy, edges, most):
    """Walk down from the highest bin until the tests are used up: (low, high, share)."""
    bounds = [-math.inf, *edges, math.inf]
    if most <= 0:
        return math.inf, math.inf, 0.0
    sums, total = [], 0.0
    for count in reversed(list(noisy)):
        total += count
        sums.append(total)
    for places, reached in enumerate(sums):
        if reached >= most:
            k = len(noisy) - 1 - places
            above = sums[places - 1] if places else 0.0
            share = (most - above) / max(noisy[k], 1.0)
            return bounds[k], bounds[k + 1], min(1.0, max(0.0, share))
    return -math.inf, -math.inf, 1.0


def histogram(scores, edges):
    """Count people by bin."""
    counts = [0] * (len(edges) + 1)
    for score in scores:
        counts[sum(edge <= score for edge in edges)] += 1
    return counts
