"""What one test of a person was measured to reveal where nothing is proved about it.

The figures are shown beside "no bound". They ship with the package
(reference_data/person_measured.csv, made by `verification.person_audit --table`): two worlds that
differ in one test, played end to end with noise for ε = 1 per release, exact for the noisy numbers
of each world. They show that no smaller bound holds. They are not bounds themselves: other worlds
may reveal more. They hold for the default settings of a method: with another exchange, window, clip
or model, or with other error rates of tests, messages differ, and so does what a test reveals.
"""

from functools import lru_cache

from dnatrace.methods.base import release_of
from dnatrace.reference_data import read_table
from dnatrace.runs.audited import audited_settings
from dnatrace.runs.config import RunConfig
from dnatrace.runs.quantities import shown
from dnatrace.runs.sections import PrivacySettings

TABLE = "person_measured.csv"
_MEASURES = "`dnatrace audit --world household` does it"
_NOISE = PrivacySettings()  # with which everything in the table was measured
# The worlds that are reported, and who the receiver is in them.
TOLD = {
    "couple": "their partner",
    "household": "one of a household of six",
    "common-contacts": "somebody who never met them but shares 20 contacts",
}


@lru_cache(maxsize=1)
def figures() -> dict[tuple[str, str, str], float]:
    """Return ε of one test of a person by method, release and world."""
    return {
        (row["method"], row["release"], row["world"]): float(row["epsilon"])
        for row in read_table(TABLE)
    }


def beside_no_bound(config: RunConfig) -> str | None:
    """Return what one test of a person was measured to reveal; None for methods without noise.

    The size of the noise may differ from the measured one: the text names that, and says where it
    is another one. Nothing else may.
    """
    if not config.method.adds_noise:
        return None
    key = config.method.name, release_of(config.method) or ""
    found = {who: figures().get((*key, world)) for world, who in TOLD.items()}
    known = [f"{shown(epsilon)} against {who}" for who, epsilon in found.items() if epsilon]
    if not known:
        return f"not measured for this variant; {_MEASURES}"
    if not _measured_setting(config):
        return f"not measured for this setting; {_MEASURES}"
    noise = f"measured with noise for ε = 1 per release at δ = {_NOISE.delta:g}, exactly calibrated"
    other = "" if config.privacy.target == _NOISE.target else ", which is not that of this run"
    return f"{noise}{other}: ε = {', '.join(known)}"


def _measured_setting(config: RunConfig) -> bool:
    """Return whether all that an audit depends on, except noise, is as it was measured."""
    name, release = config.method.name, release_of(config.method)
    measured = RunConfig(method={"name": name} | ({"release": release} if release else {}))
    return _digest(config) == _digest(measured)


def _digest(config: RunConfig) -> str:
    settings = audited_settings(config)
    return config.digest_of({key: settings[key] for key in settings if key != "privacy"})
