"""The trust boundary: a statistic with a stated sensitivity goes in, a released score comes out.

The closed forms of the Gaussian mechanism are loaded on first use.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dnatrace.privacy.gaussian import gaussian_delta as gaussian_delta
    from dnatrace.privacy.gaussian import gaussian_epsilon as gaussian_epsilon
    from dnatrace.privacy.gaussian import gaussian_sigma as gaussian_sigma

_CLOSED_FORMS = ("gaussian_delta", "gaussian_epsilon", "gaussian_sigma")


def __getattr__(name: str) -> Any:
    if name not in _CLOSED_FORMS:
        raise AttributeError(f"module 'dnatrace.privacy' has no attribute {name!r}")
    return getattr(import_module("dnatrace.privacy.gaussian"), name)


def __dir__() -> list[str]:
    return sorted(_CLOSED_FORMS)
