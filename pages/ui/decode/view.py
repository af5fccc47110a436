"""What the Decode page shows, and how it moves at a scrubber's stops."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from calc import Scenario, cost, decode, known, memory, roofline
from calc.aims import AIMS
from calc.decode import Frontier, StepTime
from calc.explain import bands
from calc.measured import Row, near
from calc.memory import Ledger
from calc.scenario import FIELDS
from calc.techniques import Technique
from calc.words import marked
from pages.ui.charts import kit, marks, scrubber
from pages.ui.decode import figures, levers, techniques
from pages.ui.frame.page import Metrics, View
from pages.ui.writing import written
from presets import measured as public

Array = NDArray[np.float64]

SCALES = (marked("logarithmic"), marked("linear"))
SCALE = "decode-scale"
MEASURED = "decode-measured"


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


class DecodeView(View):
    """One step, and the curves around it."""

    @cached_property
    def log(self) -> bool:
        """Whether the charts' axes are logarithmic."""
        return bool(self.chosen(SCALE, SCALES[0]) == SCALES[0])

    @cached_property
    def step(self) -> StepTime:
        """The scenario's step."""
        return decode.step_time(self.scenario)

    @cached_property
    def reached(self) -> written.Reached | None:
        """What engines reach of it, where that is known and not what is shown."""
        return written.reached(self.scenario)

    @cached_property
    def largest(self) -> int:
        """Sequences that fit."""
        return int(memory.max_batch(self.scenario))

    @cached_property
    def crossing(self) -> float:
        """The batch from which the linear layers are compute-bound."""
        return roofline.compute_bound_batch(self.scenario)

    @cached_property
    def ledger(self) -> Ledger:
        """What is resident."""
        return memory.ledger(self.scenario)

    @cached_property
    def techniques(self) -> Sequence[Technique]:
        """What techniques buy, the most for latency first."""
        return techniques.tried(self.scenario, AIMS[levers.FIRST_AIM])

    @cached_property
    def batches(self) -> Array:
        """The curves' points: the slider's stops are among them, so that none adds one."""
        end = decode.sweep_end(self.scenario, self.largest, self.crossing)
        stops = scrubber.stops(FIELDS["batch"], 1, end, self.scenario.batch)
        return decode.batch_sweep(end, [self.largest, *stops])

    @cached_property
    def sweep(self) -> Sweep:
        """The curves."""
        return Sweep.over(self.scenario, self.batches)

    @property
    def marked(self) -> bool:
        """Whether measurements are asked for."""
        return bool(self.chosen(MEASURED, False))

    @cached_property
    def measured(self) -> Sequence[Row]:
        """Public measurements near the scenario, where they are asked for."""
        return () if not self.marked else near(public.rows(), self.scenario)

    def step_chart(self) -> kit.Chart:
        """The step and its terms against batch."""
        drawn = figures.step_time(
            self.sweep.step,
            self.step,
            bound=self.sweep.bound,
            usual=bands.edges(self.scenario, self.sweep.step.batch),
            compute_bound_from=self.crossing,
            max_batch=self.largest,
            log=self.log,
            bounded=known.bounded(self.scenario),
        )
        batch, time = self._steps()
        return marks.on(drawn, self.measured, batch, kit.MILLI * time)

    def frontier_chart(self) -> kit.Chart:
        """Throughput against latency."""
        bound = self.sweep.bound
        curve = self.smooth(Frontier.of(self.sweep.step, self.largest))
        drawn = figures.frontier(
            curve,
            self.step,
            self.ledger,
            bound=Frontier.of(bound, self.largest) if bound else None,
            usual=bands.edges(self.scenario, curve.batch),
            max_batch=self.largest,
            log=self.log,
            bounded=known.bounded(self.scenario),
        )
        rates = np.array([row.throughput_per_chip for row in self.measured])
        return marks.on(drawn, self.measured, kit.MILLI * self._steps()[1], rates)

    def _steps(self) -> tuple[Array, Array]:
        """Batch and time of what was measured [sequence, s]."""
        rows = self.measured
        return np.array([row.batch for row in rows]), np.array([row.seconds for row in rows])

    def smooth(self, curve: Frontier) -> Frontier:
        """The batches that all groups of a layout share alike: others wait for the fullest.

        All of them where there are more groups than sequences.
        """
        groups = 1 if self.scenario.fidelity == "bound" else self.scenario.attention_dp
        alike = curve.batch % groups == 0
        return curve.of_batches(alike) if alike.any() else curve

    def frame(self) -> scrubber.Frame:
        """What moves."""
        charts = {"step-time": self.step_chart(), "frontier": self.frontier_chart()}
        return scrubber.Frame(charts, list(written.row(METRICS, self).values()))


# The three answers first: how fast, how many, what cost.
METRICS: Metrics[DecodeView] = {
    "step_time": lambda view: float(view.step.total),
    "max_batch": lambda view: view.largest,
    "usd_per_million_tokens": lambda view: float(cost.per_million_tokens(view.scenario, view.step)),
    "throughput": lambda view: float(view.step.throughput),
    "throughput_per_chip": lambda view: float(view.step.throughput_per_chip),
    "compute_bound_batch": lambda view: view.crossing,
}


def by_batch(view: DecodeView) -> scrubber.Scrub:
    """Scrubs the batch along the curves that are drawn."""
    field, s = FIELDS["batch"], view.scenario
    stops = scrubber.stops(field, 1, float(view.sweep.step.batch[-1]), s.batch)
    # What no batch moves.
    unmoved = ("sweep", "largest", "crossing", "log", "measured")
    still = {name: getattr(view, name) for name in unmoved}

    def family() -> Iterator[scrubber.Frame]:
        steps = decode.step_time(s, batch=np.array(stops, dtype=float))
        for i, batch in enumerate(stops):
            yield view.moved(replace(s, batch=int(batch)), step=steps.at(i), **still).frame()

    of = (replace(s, batch=1), view.crossing, view.log, len(view.measured))
    return scrubber.Scrub(field, stops, s.batch, of, family)


def by_context(view: DecodeView) -> scrubber.Scrub:
    """Scrubs the context: all curves at all stops come from one call."""
    field, s = FIELDS["context"], view.scenario
    longest = max(s.model.max_context or 0, 131072, s.context)
    stops = scrubber.stops(field, 256, longest, s.context)

    def family() -> Iterator[scrubber.Frame]:
        context = np.array(stops, dtype=float)
        sweeps = Sweep.over(s, view.batches, context[:, np.newaxis])
        steps = decode.step_time(s, context=context)
        largest = memory.max_batch(s, context)
        for i, length in enumerate(stops):
            moved = view.moved(
                replace(s, context=int(length)),
                step=steps.at(i),
                sweep=sweeps.at(i),
                largest=int(largest[i]),
                crossing=view.crossing,
                log=view.log,
                measured=view.measured,
            )
            yield moved.frame()

    of = (replace(s, context=1), view.crossing, view.log, len(view.measured))
    return scrubber.Scrub(field, stops, s.context, of, family)
