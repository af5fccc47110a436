"""What moves on the Decode page: its two charts and its metrics, now and at a scrubber's stops."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from calc import Scenario, cost, decode, memory, roofline
from calc.decode import Frontier, StepTime
from calc.scenario import FIELDS
from pages.ui.charts import scrubber
from pages.ui.decode import figures
from pages.ui.writing import text

Array = NDArray[np.float64]

METRICS = (
    "step_time", "throughput", "throughput_per_chip", "compute_bound_batch", "max_batch",
    "usd_per_million_tokens",
)  # fmt: skip


@dataclass(frozen=True)
class Landmarks:
    """What neither batch nor context moves: where compute takes over, and the charts' scale."""

    compute_bound_from: float
    log: bool

    @classmethod
    def of(cls, scenario: Scenario, log: bool) -> Landmarks:
        """Found once for all views."""
        return cls(roofline.compute_bound_batch(scenario), log)


@dataclass(frozen=True)
class Sweep:
    """Steps over batches, at the scenario's fidelity and, where that is another, at the bound."""

    step: StepTime
    bound: StepTime | None

    @classmethod
    def over(cls, scenario: Scenario, batch: Array, context: Array | None = None) -> Sweep:
        """Both in one call each; a column of contexts makes a row of each."""
        textbook = None
        if scenario.fidelity != "bound":
            plain = replace(scenario, fidelity="bound")
            textbook = decode.step_time(plain, batch=batch, context=context)
        return cls(decode.step_time(scenario, batch=batch, context=context), textbook)

    def at(self, row: int) -> Sweep:
        """One row of it."""
        return Sweep(self.step.at(row), self.bound.at(row) if self.bound else None)


def batches(scenario: Scenario, max_batch: int, landmarks: Landmarks) -> Array:
    """Where the curves have their points: the slider's stops among them, so that none adds one."""
    end = decode.sweep_end(scenario, max_batch, landmarks.compute_bound_from)
    stops = scrubber.stops(FIELDS["batch"], 1, end, scenario.batch)
    return decode.batch_sweep(end, [max_batch, *stops])


def view(
    scenario: Scenario, step: StepTime, sweep: Sweep, max_batch: int, landmarks: Landmarks
) -> scrubber.View:
    """Charts and metrics of one scenario.

    Parameters
    ----------
    scenario, step
        What is shown, and its step.
    sweep : Sweep
        Its curves over batches.
    max_batch : int
        Sequences that fit.
    """
    log, crossing = landmarks.log, landmarks.compute_bound_from
    curve, bound = sweep.step, sweep.bound
    charts = {
        "step-time": figures.step_time(
            curve, step, bound=bound, compute_bound_from=crossing, max_batch=max_batch, log=log
        ),
        "frontier": figures.frontier(
            Frontier.of(curve, max_batch),
            step,
            memory.ledger(scenario),
            bound=Frontier.of(bound, max_batch) if bound else None,
            max_batch=max_batch,
            log=log,
        ),
    }
    return scrubber.View(
        charts,
        [
            text.si(float(step.total), "s"),
            text.rate(float(step.throughput)),
            text.rate(float(step.throughput_per_chip)),
            text.count(crossing),
            text.count(max_batch),
            text.usd(float(cost.per_million_tokens(scenario, step))),
        ],
    )


def by_batch(
    scenario: Scenario, sweep: Sweep, max_batch: int, landmarks: Landmarks
) -> scrubber.Scrub:
    """Scrubs the batch along the curves that are drawn."""
    field = FIELDS["batch"]
    stops = scrubber.stops(field, 1, float(sweep.step.batch[-1]), scenario.batch)

    def family() -> Iterator[scrubber.View]:
        steps = decode.step_time(scenario, batch=np.array(stops, dtype=float))
        for i, batch in enumerate(stops):
            moved = replace(scenario, batch=int(batch))
            yield view(moved, steps.at(i), sweep, max_batch, landmarks)

    return scrubber.Scrub(
        field, stops, scenario.batch, (replace(scenario, batch=1), landmarks), family
    )


def by_context(scenario: Scenario, batch: Array, landmarks: Landmarks) -> scrubber.Scrub:
    """Scrubs the context: all curves at all stops come from one call."""
    field = FIELDS["context"]
    longest = max(scenario.model.max_context or 0, 131072, scenario.context)
    stops = scrubber.stops(field, 256, longest, scenario.context)

    def family() -> Iterator[scrubber.View]:
        context = np.array(stops, dtype=float)
        sweeps = Sweep.over(scenario, batch, context[:, np.newaxis])
        steps = decode.step_time(scenario, context=context)
        largest = memory.max_batch(scenario, context)
        for i, length in enumerate(stops):
            moved = replace(scenario, context=int(length))
            yield view(moved, steps.at(i), sweeps.at(i), int(largest[i]), landmarks)

    of = (replace(scenario, context=1), landmarks)
    return scrubber.Scrub(field, stops, scenario.context, of, family)
