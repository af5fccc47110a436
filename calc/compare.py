"""What sets scenarios apart: their figures, and the term of the step that made the difference."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from calc import cost, decode, memory, prefill
from calc.decode import StepTime
from calc.fields import Field
from calc.scenario import SCHEMA, Scenario


@dataclass(frozen=True)
class Measure:
    """A figure that alternatives are judged by.

    Parameters
    ----------
    id : str
        Of its explanation.
    better : int
        1 where more is better, -1 where less is.
    of : callable
        The figure of a scenario and its step, in SI units.
    """

    id: str
    better: int
    of: Callable[[Scenario, StepTime], float]


MEASURES = (
    Measure("step_time", -1, lambda s, step: float(step.total)),
    Measure("throughput", 1, lambda s, step: float(step.throughput)),
    Measure("throughput_per_chip", 1, lambda s, step: float(step.throughput_per_chip)),
    Measure("prefill_time", -1, lambda s, step: float(prefill.prompt_time(s).total)),
    Measure("max_batch", 1, lambda s, step: float(memory.max_batch(s))),
    Measure("kv_per_sequence", -1, lambda s, step: float(memory.kv_per_sequence(s))),
    Measure("weights", -1, lambda s, step: memory.weights(s)),
    Measure("usd_per_million_tokens", -1, lambda s, step: float(cost.per_million_tokens(s, step))),
)


def differing(values: Sequence[Mapping[str, Any]], fields: Sequence[Field] = SCHEMA) -> list[Field]:
    """The fields in which settings differ, in their order.

    Parameters
    ----------
    values : sequence of mapping
        Field name to plain value, one mapping a scenario.
    fields : sequence of Field
        Those to look at.
    """
    return [field for field in fields if len({str(given[field.name]) for given in values}) > 1]


def moved(one: StepTime, other: StepTime) -> list[tuple[str, float]]:
    """By how much each charged term grows from one step to another [s], largest change first.

    The changes add up to that of the steps.
    """
    before, after = one.charged(), other.charged()
    grown = {name: float(after[name]) - float(before[name]) for name in before}
    return sorted(grown.items(), key=lambda term: -abs(term[1]))


@dataclass(frozen=True)
class Point:
    """A place on a scenario's frontier: its batch, and what that yields.

    `latency` is seconds per token, `throughput_per_chip` token/s, `usd` USD per million tokens.
    """

    batch: float
    latency: float
    throughput_per_chip: float
    usd: float
    step: StepTime


def point(scenario: Scenario, batch: float) -> Point:
    """The scenario at a batch."""
    step = decode.step_time(scenario, batch=batch)
    return Point(
        batch,
        float(step.total),
        float(step.throughput_per_chip),
        float(cost.per_million_tokens(scenario, step)),
        step,
    )
