"""What the Sharding page shows."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any

from calc import Scenario, decode, sharding
from calc.decode import StepTime
from pages.ui.frame.page import Metrics, View


class ShardingView(View):
    """A step whose links are charged, and one product of it."""

    @classmethod
    def of(cls, scenario: Scenario, choices: Mapping[Any, Any]) -> ShardingView:
        """Links are always charged here."""
        return cls(sharding.with_links(scenario), choices)

    @cached_property
    def step(self) -> StepTime:
        """The step in this layout."""
        return decode.step_time(self.scenario)

    @cached_property
    def total(self) -> float:
        """Its time [s]."""
        return float(self.step.total)

    @cached_property
    def product(self) -> sharding.Matmul:
        """One MLP product."""
        return sharding.matmul(self.scenario)

    @cached_property
    def limits(self) -> sharding.Limit:
        """The widths where links pass memory and compute."""
        return sharding.current_limits(self.scenario)


METRICS: Metrics[ShardingView] = {
    "step_time": lambda view: view.total,
    "matmul_hbm": lambda view: float(view.product.hbm),
    "matmul_math": lambda view: float(view.product.math),
    "matmul_link": lambda view: float(view.product.link),
    "hbm_limit": lambda view: view.limits.hbm,
    "compute_limit": lambda view: view.limits.compute,
}
