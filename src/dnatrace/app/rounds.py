"""Play the attacker: A is tested, B lives with A and looks at their own scores.

Rounds are played in the real loop, with the exchange, the method and the noise of a configuration,
or without the noise. A machine that knows both worlds guesses alongside the player.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dnatrace.app.unnoised import simulated, without_noise
from dnatrace.app.workers import Tell
from dnatrace.privacy.attack import (
    best_threshold,
    discriminant,
    exact_interval,
    guessing_limit,
)
from dnatrace.runs.config import RunConfig
from dnatrace.runs.person_audits import audit_person, scripted_loop, with_noise
from dnatrace.runs.worlds import World, WorldName, worlds

_LEARNED = 1000  # rounds of each kind from which the machine learns its rule
_PLAYED = 1000  # rounds of each kind in which its success is measured
_BEFORE = 4  # days shown before the test

Floats = NDArray[np.float64]


@dataclass(slots=True)
class _Scores:
    """Draw what B sees on the days around the test: [draws, days]. Every call has its own seed."""

    config: RunConfig
    world: World
    noisy: bool
    next_seed: int

    def __call__(self, positive: bool, draws: int) -> Floats:
        """Return `draws` rounds in which the test has the given result."""
        world, receiver = self.world.repeated(draws), self.world.receiver or 0
        loop = scripted_loop(self.config, world, int(positive), seed=self.next_seed)
        self.next_seed += 1
        played = loop if self.noisy else without_noise(loop, self.config)
        seen = slice(receiver, None, self.world.n_people)
        scores = [log.released.scores[seen] for log in played.run(len(world.days))]
        return np.stack(scores[self.first :], axis=1)

    @property
    def first(self) -> int:
        """The index of the first day that is shown."""
        return max(0, self.config.seir.window - 1 - _BEFORE)


def play(tell: Tell, config: RunConfig, noisy: bool, rounds: int, seed: int) -> dict[str, Any]:
    """Return rounds to guess in, the machine's guesses, and the best that anybody can achieve."""
    played = with_noise(simulated(config))
    sample = _Scores(played, worlds(WorldName.COUPLE, played)[0], noisy, 1000 * seed + 1)
    tell("learning")
    learned = [sample(positive, _LEARNED) for positive in (False, True)]
    rule = discriminant(learned)
    threshold = best_threshold(*(scores @ rule for scores in learned))
    tell("playing")
    judged = [sample(positive, _PLAYED) @ rule > threshold for positive in (False, True)]
    right = int((~judged[0]).sum() + judged[1].sum())
    order = np.random.default_rng(seed).permutation(2 * rounds) % 2
    given = [sample(positive, rounds) for positive in (False, True)]
    chosen = [(bool(kind), given[kind][number]) for number, kind in enumerate(order[:rounds])]
    return {
        "days": list(
            range(-(played.seir.window - 1 - sample.first), learned[0].shape[1] - _BEFORE)
        ),
        "rounds": [
            {"positive": positive, "scores": scores.tolist()}
            | {"machine": bool(scores @ rule > threshold)}
            for positive, scores in chosen
        ],
        "typical": {
            name: scores.mean(axis=0).tolist()
            for name, scores in zip(("negative", "positive"), learned, strict=True)
        },
        "machine": {
            "success": right / (2 * _PLAYED),
            "interval": exact_interval(right, 2 * _PLAYED),
            "rounds": 2 * _PLAYED,
        },
        **_promised(config, played, noisy),
    }


def _promised(config: RunConfig, played: RunConfig, noisy: bool) -> dict[str, Any]:
    """Return what is promised about one test, and how often anybody can be right, at most."""
    found = audit_person(played, WorldName.COUPLE)
    epsilon = found.claimed_epsilon if found.proved else None
    limit = 0.5 if epsilon == 0.0 else guessing_limit(epsilon, found.delta)
    silenced = config.method.adds_noise and not noisy
    return {"epsilon": epsilon, "limit": 1.0 if silenced else limit}
