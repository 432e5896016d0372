"""Hypothesis without a deadline: how long an example takes is the machine's business, not a test's."""

from __future__ import annotations

from hypothesis import HealthCheck, settings

settings.register_profile("evo_nabla", deadline=None, max_examples=60, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("evo_nabla")
