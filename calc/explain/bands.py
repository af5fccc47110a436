"""Which quantities are times or rates that were measured, and between what they usually lie."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

from calc import calibration, known
from calc.explain.bounds import BOUNDS, LEAST
from calc.scenario import Scenario

# Of a decode step, and of a prompt that is read alone, at least in part.
DECODE, PROMPT = "", "prompt"

# By the ids of their explanations; those of `BOUNDS`, which says which way they go with the time.
PHASES: Mapping[str, str] = {
    **dict.fromkeys(
        ("step_time", "throughput", "throughput_per_chip", "usd_per_million_tokens",
         "usd_per_million_output_tokens", "tokens_per_joule", "mbu", "mfu"),
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
    if id not in PHASES or PHASES[id] != DECODE or known.bounded(scenario):
        return None
    low, high = (float(end) for end in calibration.edges(scenario, batch, chips))
    if not math.isfinite(value * low):
        return None
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
