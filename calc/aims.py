"""The figures that a reviewer wants to move, and how much better one has become."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from calc import cost, decode, memory
from calc.scenario import Scenario
from calc.words import marked

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Outcome:
    """A scenario and the figures a reviewer compares: seconds, token/s, sequences, USD."""

    scenario: Scenario
    step_time: float
    throughput_per_chip: float
    max_batch: int
    usd_per_million_tokens: float

    @property
    def fits(self) -> bool:
        """Whether memory holds the batch."""
        return self.scenario.batch <= self.max_batch


def outcome(scenario: Scenario) -> Outcome:
    """The compared figures of one scenario."""
    step = decode.step_time(scenario)
    return Outcome(
        scenario,
        float(step.total),
        float(step.throughput_per_chip),
        int(memory.max_batch(scenario)),
        float(cost.per_million_tokens(scenario, step)),
    )


@dataclass(frozen=True)
class Aim:
    """A figure of an `Outcome` that a reviewer wants to move.

    Parameters
    ----------
    figure, name, label, unit : str
        The attribute, what the aim and what the figure is called, and its unit.
    more : bool
        Whether more of it is better.
    of : callable
        The figure of a scenario, without the others.
    """

    figure: str
    name: str
    label: str
    unit: str
    more: bool
    of: Callable[[Scenario], float]

    def value(self, outcome: Outcome) -> float:
        """The figure of an outcome."""
        return float(getattr(outcome, self.figure))

    def gain(self, after: float, before: float) -> float:
        """How much better `after` is, as the logarithm of the ratio; nan where one is unknown.

        >>> f"{AIMS['step_time'].gain(1.0, 2.0):.3f}, {AIMS['max_batch'].gain(1, 2):.3f}"
        '0.693, -0.693'
        """
        ratio = float(log_ratio(np.array(after, dtype=float), before))
        return ratio if self.more else -ratio


def log_ratio(after: Array, before: float) -> Array:
    """Logarithm of a ratio: 0 from nothing to nothing, infinite to or from nothing."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(after == before, 0.0, np.log(after) - np.log(before))


def _step_time(s: Scenario) -> float:
    return float(decode.step_time(s).total)


def _throughput_per_chip(s: Scenario) -> float:
    return float(decode.step_time(s).throughput_per_chip)


def _usd(s: Scenario) -> float:
    return float(cost.per_million_tokens(s, decode.step_time(s)))


def _max_batch(s: Scenario) -> float:
    return float(memory.max_batch(s))


AIMS: Mapping[str, Aim] = {
    aim.figure: aim
    for aim in (
        Aim(
            "step_time", marked("Latency"), marked("Step time"), "s", False, _step_time,
        ),
        Aim(
            "throughput_per_chip", marked("Throughput"), marked("Token/s per chip"), "token/s",
            True, _throughput_per_chip,
        ),
        Aim(
            "usd_per_million_tokens", marked("Cost"), marked("USD per Mtoken"), "USD", False, _usd,
        ),
        Aim(
            "max_batch", marked("Batch"), marked("Largest batch"), "sequences", True, _max_batch,
        ),
    )
}  # fmt: skip
