"""The settings that an audit depends on: not the city, the days or the seed."""

from typing import Any

from dnatrace.policy.laboratory import BELIEVED
from dnatrace.runs.config import RunConfig
from dnatrace.seir import ErrorRates

_TEST_ERRORS = (*ErrorRates.model_fields, *BELIEVED)
_SECTIONS = ("method", "privacy", "seir")
_ACTING = ("policy", "isolation", "tests")
# Settings that an audit depends on; of a policy whether phones keep a diary, with another decoder.
READ = (*_SECTIONS, "policy", *(f"tests.{key}" for key in _TEST_ERRORS))


def audited_settings(config: RunConfig, *, closed_loop: bool = False) -> dict[str, Any]:
    """Return the values that an audit depends on; in a closed loop, those of who acts, too."""
    values = config.effective()
    acting = _ACTING if closed_loop else ()
    kept = {key: values[key] for key in ("schema", *_SECTIONS, *acting) if key in values}
    if closed_loop:
        return kept
    tests = values.get("tests", {})
    return kept | {"tests": {key: tests[key] for key in _TEST_ERRORS if tests.get(key) is not None}}
