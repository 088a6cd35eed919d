"""The plain form of the networks in JAX: message by message, without a table."""

import jax
import jax.numpy as jnp

from dnatrace.training import deepset


def one_by_one(architecture, weights, messages, ages, owner, public):
    """G, ragged and without padding; `owner` is each message's row of `public`, ascending."""
    n = public.shape[0]
    embedded = deepset.embed(architecture, weights, messages, ages)
    sums = jax.ops.segment_sum(embedded, owner, num_segments=n, indices_are_sorted=True)
    counts = jax.ops.segment_sum(jnp.ones_like(messages), owner, num_segments=n)
    mean = sums / jnp.maximum(counts, 1.0)[:, None]
    return deepset.finish(architecture, weights, mean, public)
