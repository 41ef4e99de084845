"""Settings for every test: hypothesis profiles."""

from __future__ import annotations

import os

from hypothesis import HealthCheck, settings

# Machines in continuous integration are slow and shared: deadlines would fail there by chance.
settings.register_profile(
    "default", deadline=None, max_examples=100, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile("thorough", deadline=None, max_examples=2000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))
