"""What the Model page shows: the model as it is edited, beside the one that it comes from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property

from calc import Model, Scenario, cost, custom, decode, memory
from calc.decode import StepTime
from calc.design import dimensions, table
from calc.design.dimensions import Dimension
from calc.design.reading import Table
from pages.ui.frame.page import Metrics, View
from presets import models


@dataclass(frozen=True)
class Costs:
    """What a model costs in a scenario; each figure is computed when it is first asked for."""

    scenario: Scenario

    @cached_property
    def step(self) -> StepTime:
        """The decode step."""
        return decode.step_time(self.scenario)

    @cached_property
    def largest(self) -> int:
        """Sequences that fit."""
        return int(memory.max_batch(self.scenario))

    @cached_property
    def usd(self) -> float:
        """USD for a million tokens."""
        return float(cost.per_million_tokens(self.scenario, self.step))


class ModelView(View):
    """The scenario's model, what it was edited from, and what both cost."""

    @cached_property
    def model(self) -> Model:
        """As it is."""
        return self.scenario.model

    @cached_property
    def origin(self) -> Model:
        """What it was edited from; itself where it was not."""
        return origin_of(self.model)

    @property
    def edited(self) -> bool:
        """Whether it is not what it was edited from."""
        own = self.model
        return replace(self.origin, id=own.id, name=own.name) != own

    @cached_property
    def content(self) -> Table:
        """Its table."""
        return table.written(self.model)

    @cached_property
    def dimensions(self) -> Mapping[str, Dimension]:
        """What of it can be moved."""
        return dimensions.of(self.content)

    @cached_property
    def now(self) -> Costs:
        """What it costs."""
        return Costs(self.scenario)

    @cached_property
    def before(self) -> Costs:
        """What it came from costs in the same scenario."""
        return Costs(self.moved_to(self.origin)) if self.edited else self.now

    def moved_to(self, model: Model) -> Scenario:
        """The scenario with another model."""
        return replace(self.scenario, model=model)


def origin_of(model: Model) -> Model:
    """The model that another was edited from; itself where none is known."""
    if model.origin in models:
        return models[model.origin]
    return custom.model(model.origin) if model.origin.startswith("{") else model


METRICS: Metrics[ModelView] = {
    "weights": lambda view: memory.weights(view.scenario),
    "kv_per_token": lambda view: view.model.kv_bytes_per_token(view.scenario.kv_format),
    "kv_alone": lambda view: float(view.model.kv_bytes(view.scenario.context,
                                                       view.scenario.kv_format)),
    "step_time": lambda view: float(view.now.step.total),
    "max_batch": lambda view: view.now.largest,
    "usd_per_million_tokens": lambda view: view.now.usd,
}  # fmt: skip
