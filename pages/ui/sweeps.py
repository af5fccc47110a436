"""The points that curves are drawn at, and series over several models."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from calc import Model, Scenario

Array = NDArray[np.float64]

BESIDE = ["deepseek-v3", "gemma-3-27b", "gpt-oss-120b"]


def contexts() -> Array:
    """Contexts from 1k to 1M tokens, sixteen to an octave pair."""
    return np.asarray(2.0 ** np.linspace(10, 20, 81))


def lengths(longest: int) -> Array:
    """Mean lengths up to the longest."""
    return np.geomspace(1, max(longest, 2), 80)


def intensity(scenario: Scenario) -> float:
    """Decode attention FLOPs per byte of cache for the scenario's model [FLOP/byte]."""
    return float(scenario.model.attention_intensity(scenario.context, scenario.kv_format))


def intensities(models: Mapping[str, Model], scenario: Scenario) -> dict[str, float]:
    """The same for several models."""
    return {
        name: float(model.attention_intensity(scenario.context, scenario.kv_format))
        for name, model in models.items()
    }
