"""Which quantities are times or rates that were measured, and between what they usually lie."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

import numpy as np
from numpy.typing import ArrayLike, NDArray

from calc import calibration, known
from calc.explain.bounds import BOUNDS, LEAST
from calc.scenario import Scenario

Array = NDArray[np.float64]

# Of a decode step, and of a prompt that is read alone, at least in part.
DECODE, PROMPT = "", "prompt"

# By the ids of their explanations; those of `BOUNDS`, which says which way they go with the time.
PHASES: Mapping[str, str] = {
    **dict.fromkeys(
        ("step_time", "throughput", "throughput_per_chip", "usd_per_million_tokens",
         "usd_per_million_output_tokens", "tokens_per_joule", "mbu", "mfu", "user_rate"),
        DECODE,
    ),
    **dict.fromkeys(
        ("prefill_time", "prompt_token_rate", "usd_per_million_input_tokens",
         "usd_per_thousand_requests", "end_to_end"),
        PROMPT,
    ),
}  # fmt: skip


def band(id: str, scenario: Scenario) -> calibration.Range | None:
    """What a quantity's time is usually multiplied by; None where nothing may be claimed."""
    if id not in PHASES or known.bounded(scenario):
        return None
    return calibration.band(scenario, PHASES[id] or None)


def edges(
    scenario: Scenario, batch: ArrayLike | None = None, chips: ArrayLike | None = None
) -> tuple[Array, Array] | None:
    """What times of decode steps are multiplied by for both ends of their bands.

    As `calibration.edges`; None where nothing may be claimed of any of them.
    """
    if known.bounded(scenario):
        return None
    low, high = calibration.edges(scenario, batch, chips)
    return (low, high) if np.isfinite(low).any() else None


def usual(
    id: str,
    value: float,
    scenario: Scenario,
    batch: float | None = None,
    chips: float | None = None,
) -> tuple[float, float] | None:
    """Between what a quantity usually lies, in its unit; None where nothing may be claimed.

    It is of the scenario's step, or of another `batch` or number of `chips` of a stage.
    """
    ends = edges(scenario, batch, chips) if PHASES.get(id) == DECODE else None
    if ends is None or not math.isfinite(value):
        return None
    low, high = (float(end) for end in ends)
    return (value * low, value * high) if BOUNDS[id] == LEAST else (value / high, value / low)


def notes(scenario: Scenario, ids: Iterable[str]) -> list[str]:
    """What bands of some quantities stand on, or why they have none; each once."""
    if known.bounded(scenario):
        return []
    found: list[str] = []
    for phase in dict.fromkeys(PHASES[id] for id in ids if id in PHASES):
        one = calibration.band(scenario, phase or None)
        found.append(one.basis if one else calibration.no_band(scenario, phase or None))
    return list(dict.fromkeys(filter(None, found)))
