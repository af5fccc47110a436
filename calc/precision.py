"""What a change of one of the three precisions moves, and what it leaves where it was."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

from calc import decode, memory, roofline
from calc.checkpoint import ATTENTION
from calc.formats import NumberFormat
from calc.scenario import Scenario

# The three switches: field of the scenario and the use that its format must have.
SWITCHES: Mapping[str, str] = {
    "weight_format": "weights",
    "kv_format": "kv",
    "compute_format": "compute",
}


@dataclass(frozen=True)
class Figures:
    """What precision may move: times of one step [s], batches [sequence], token/s per chip."""

    weight_read: float
    linear_compute: float
    kv_read: float
    critical_batch: float
    max_batch: float
    step_time: float
    throughput_per_chip: float


def figures(scenario: Scenario) -> Figures:
    """The figures of one scenario (F9.3)."""
    step = decode.step_time(scenario)
    return Figures(
        float(step.weight_read),
        float(step.linear_compute) if math.isfinite(scenario.linear_rate) else math.nan,
        float(step.kv_read),
        roofline.compute_bound_batch(scenario),
        float(memory.max_batch(scenario)),
        float(step.total),
        float(step.throughput_per_chip),
    )


def differ(one: float, other: float) -> bool:
    """Whether two figures are different; two unknown ones are not."""
    return one != other and not (math.isnan(one) and math.isnan(other))


def switched(scenario: Scenario, switch: str, to: NumberFormat) -> Scenario:
    """The scenario with one precision changed."""
    if switch == "weight_format":
        return replace(scenario, weight_format=to)
    if switch == "kv_format":
        return replace(scenario, kv_format=to)
    return replace(scenario, compute_format=to)


def suggestion(scenario: Scenario, switch: str, formats: Mapping[str, NumberFormat]) -> str:
    """Id of a format of about half the bits; of a known rate, for compute; else the same."""
    now: NumberFormat = getattr(scenario, switch) or scenario.stored.of(ATTENTION)
    fitting = [
        id
        for id, item in formats.items()
        if SWITCHES[switch] in item.uses
        and item.bits <= now.bits / 2
        and (switch != "compute_format" or scenario.chip.publishes(item))
    ]
    return max(fitting, key=lambda id: formats[id].bits, default=now.id)
