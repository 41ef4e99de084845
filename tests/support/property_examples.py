"""How many examples a property test tries.

`make test` tries the same ones on every machine, so that its answer depends on the code alone;
`make test-properties` tries many more, and others each time.
"""

from __future__ import annotations

import os
from typing import Any

from hypothesis import HealthCheck, settings

PROFILES = {"default": 0.25, "thorough": 20.0}
"""By name, how many times the number that a test names."""

_ORDINARY = 100


def load_profile() -> None:
    """Takes the profile that `HYPOTHESIS_PROFILE` names."""
    for name, times in PROFILES.items():
        # Machines in continuous integration are slow and shared: deadlines fail there by chance.
        settings.register_profile(
            name, deadline=None, max_examples=round(times * _ORDINARY), derandomize=times < 1,
            suppress_health_check=[HealthCheck.too_slow],
        )  # fmt: skip
    settings.load_profile(_profile())


def examples(count: int, **more: Any) -> settings:
    """As many examples, times what the profile says."""
    return settings(max_examples=max(10, round(count * PROFILES[_profile()])), **more)


def _profile() -> str:
    return os.environ.get("HYPOTHESIS_PROFILE", "default")
