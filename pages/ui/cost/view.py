"""What the Cost page shows."""

from __future__ import annotations

from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from calc import cost, decode, memory, metrics, prefill, roofline
from calc.decode import StepTime
from pages.ui.frame.page import Metrics, View


class CostView(View):
    """What a step and a prompt cost."""

    @cached_property
    def step(self) -> StepTime:
        """The decode step."""
        return decode.step_time(self.scenario)

    @cached_property
    def reading(self) -> float:
        """Time of a prompt [s]."""
        return float(prefill.prompt_time(self.scenario).total)

    @cached_property
    def prompts(self) -> float:
        """Prompts per second."""
        return prefill.prompt_rate(self.scenario, self.reading)

    @cached_property
    def largest(self) -> int:
        """Sequences that fit."""
        return int(memory.max_batch(self.scenario))

    @cached_property
    def batches(self) -> NDArray[np.float64]:
        """The curves' points."""
        s = self.scenario
        end = decode.sweep_end(s, self.largest, roofline.compute_bound_batch(s))
        return decode.batch_sweep(end, [self.largest, s.batch])

    @cached_property
    def per_output(self) -> float:
        """USD for a million output tokens."""
        return float(cost.per_million_tokens(self.scenario, self.step))

    @cached_property
    def per_input(self) -> float:
        """USD for a million input tokens."""
        return cost.per_million_input_tokens(self.scenario, self.prompts)


METRICS: Metrics[CostView] = {
    "usd_per_million_output_tokens": lambda view: view.per_output,
    "usd_per_million_input_tokens": lambda view: view.per_input,
    "usd_per_thousand_requests": lambda view: cost.requests(view.scenario, view.step, view.prompts),
    "tokens_per_joule": lambda view: float(cost.tokens_per_joule(view.scenario, view.step)),
    "mbu": lambda view: float(metrics.mbu(view.scenario, view.step)),
    "mfu": lambda view: float(metrics.mfu(view.scenario, view.step)),
}
