"""What the Quantization page shows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from calc import Scenario, decode, precision
from calc.decode import Frontier, StepTime
from pages.ui.frame.page import View
from pages.ui.quantization import tables
from presets import formats

# Where a choice of the reader is kept, by the switch; nothing while it is what is suggested.
TO = {switch: f"to-{switch}" for switch in precision.SWITCHES}


class QuantizationView(View):
    """The scenario, and what becomes of it when one of the three precisions is changed."""

    @cached_property
    def suggested(self) -> Mapping[str, str]:
        """The format that each switch starts with."""
        return {
            switch: precision.suggestion(self.scenario, switch, formats)
            for switch in precision.SWITCHES
        }

    @cached_property
    def to(self) -> Mapping[str, str]:
        """The format that each switch changes to: the chosen one, or what is suggested."""
        chosen = {switch: self.chosen(TO[switch], "") for switch in precision.SWITCHES}
        return {
            switch: id if id in offered(switch) else self.suggested[switch]
            for switch, id in chosen.items()
        }

    def key(self, switch: str) -> str:
        """Of a switch's control: another suggestion is another control."""
        return f"to-{switch}-{self.suggested[switch]}"

    @cached_property
    def changed(self) -> Mapping[str, Scenario]:
        """The scenario with one precision changed, by the switch."""
        return {
            switch: precision.switched(self.scenario, switch, formats[id])
            for switch, id in self.to.items()
        }

    @cached_property
    def now(self) -> precision.Figures:
        """The figures that precision may move."""
        return precision.figures(self.scenario)

    @cached_property
    def then(self) -> Mapping[str, precision.Figures]:
        """The same of each change."""
        return {switch: precision.figures(s) for switch, s in self.changed.items()}

    @cached_property
    def names(self) -> Mapping[str, str]:
        """Each change as charts call it."""
        return tables.names(self.changed)

    @cached_property
    def batches(self) -> NDArray[np.float64]:
        """The curves' points."""
        batch, largest = self.scenario.batch, int(self.now.max_batch)
        return decode.batch_sweep(max(2.0 * batch, 1.5 * largest, 256), [batch, largest])

    @cached_property
    def step(self) -> StepTime:
        """The curve as it is now."""
        return decode.step_time(self.scenario, batch=self.batches)

    @cached_property
    def frontier(self) -> Frontier:
        """The frontier as it is now."""
        return decode.frontier(self.scenario, self.batches)


def offered(switch: str) -> Sequence[str]:
    """Ids of the formats that a switch may be set to."""
    use = precision.SWITCHES[switch]
    return [id for id, item in formats.items() if use in item.uses]
