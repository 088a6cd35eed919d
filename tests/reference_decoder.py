"""Slow, obvious twins of tallies and decoders, and decoders that show what they read."""

import math

import numpy as np

from dnatrace.networks.decoder import N_INPUTS, Alarm, Decoder, shapes

ALARM = Alarm(low=0.02, high=0.1)


def tally(window, messages, alarm, person):
    """Alarm by alarm."""
    total = 0.0
    for t, day in enumerate(window):
        for contact in range(day.offsets[person], day.offsets[person + 1]):
            message = float(messages[t, day.senders[contact]])
            rung = min(max((message - alarm.low) / (alarm.high - alarm.low), 0.0), 1.0)
            total += round(rung * 2**20) / 2**20
    return total


def score(decoder, tallies, noise, inputs, person):
    """Input by input, layer by layer, for one person; tallies newest first."""
    x = [0.0] * N_INPUTS
    for r, noisy in enumerate(tallies[:, person]):
        x[r] = noisy / math.sqrt(noise**2 + 4.0**2)
    for age, outcome in enumerate(inputs.outcomes[::-1, person]):
        if outcome == 0:
            x[14 + age] = 1.0
        if outcome == 1:
            x[28 + age] = 1.0
    x[42] = math.log(1.0 + inputs.mean_contacts[person])
    if inputs.age_groups is not None and inputs.age_groups[person] < 9:
        x[43 + inputs.age_groups[person]] = 1.0
    x[52] = math.log(min(max(noise, 0.1), 1000.0)) / 2.0
    x[53] = math.log(inputs.test_errors.false_positive_rate + 1e-3)
    x[54] = math.log(inputs.test_errors.false_negative_rate + 1e-3)
    for layer in range(3):
        weight, bias = decoder.weights[f"{layer}.weight"], decoder.weights[f"{layer}.bias"]
        x = [
            float(bias[o]) + sum(float(weight[i, o]) * x[i] for i in range(len(x)))
            for o in range(len(bias))
        ]
        if layer < 2:
            x = [max(value, 0.0) for value in x]
    return x[0]


def random_decoder(seed=0, width=6, alarm=ALARM):
    rng = np.random.default_rng(seed)
    weights = {k: rng.normal(size=s).astype(np.float32) for k, s in shapes(width).items()}
    return Decoder(name=f"random-{seed}", alarm=alarm, weights=weights, provenance={})


def straight_decoder(alarm=ALARM):
    """The newest tally itself, scaled: nothing that could be shown is hidden by decoding."""
    weights = {k: np.zeros(s, dtype=np.float32) for k, s in shapes(2).items()}
    weights["0.weight"][0] = 1.0, -1.0
    weights["1.weight"][:] = np.eye(2)
    weights["2.weight"][:, 0] = 1.0, -1.0
    return Decoder(name="straight", alarm=alarm, weights=weights, provenance={})
