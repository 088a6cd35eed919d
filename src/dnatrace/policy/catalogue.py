"""The policies by name. A new one is a file beside this one and a line here."""

from dnatrace.plugins import Catalogue
from dnatrace.policy.base import PolicySettings
from dnatrace.policy.highest_scores import HighestScoresSettings
from dnatrace.policy.levers import LeversSettings
from dnatrace.policy.sampled_scores import SampledScoresSettings
from dnatrace.policy.threshold import ThresholdSettings

POLICIES: Catalogue[PolicySettings] = Catalogue(
    PolicySettings,  # type: ignore[type-abstract]
    "dnatrace.policies",
    (HighestScoresSettings, SampledScoresSettings, ThresholdSettings, LeversSettings),
    own=tuple(key for key in LeversSettings.model_fields if key != "name"),
)
