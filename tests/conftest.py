"""Settings for all tests."""

from __future__ import annotations

from hypothesis import settings

# A loaded machine is slow, and no test is about speed.
settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")
