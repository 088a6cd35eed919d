"""Who has the app."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic import field_validator

from dnatrace.rng import Stream
from dnatrace.settings import Settings, Share, setting
from dnatrace.simulators.base import N_AGE_GROUPS


class AppRules(Settings):
    """Who has the app."""

    adoption: Share | list[Share] = setting(1.0, "share with the app, or nine shares by age group")

    @field_validator("adoption")
    @classmethod
    def _nine(cls, adoption: float | list[float]) -> float | list[float]:
        if isinstance(adoption, list) and len(adoption) != N_AGE_GROUPS:
            raise ValueError(f"give one share or {N_AGE_GROUPS}, one per age group")
        return adoption

    @property
    def by_age(self) -> tuple[float, ...]:
        """The share with the app in each of the nine age groups."""
        if isinstance(self.adoption, list):
            return tuple(self.adoption)
        return (self.adoption,) * N_AGE_GROUPS


def adopters(
    adoption: NDArray[Any], age_groups: NDArray[np.uint8], stream: Stream
) -> NDArray[np.bool_]:
    """Return who has the app, given the share by age group: bool [people]."""
    return stream.uniform(np.arange(age_groups.size)) < adoption[age_groups]
