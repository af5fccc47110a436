"""What the Compare page shows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from calc import Scenario, compare
from calc.compare import Point
from pages.ui.charts import frontiers
from pages.ui.compare import words
from pages.ui.frame import pinned
from pages.ui.frame.page import View
from pages.ui.frame.pinned import Contender

# Points that were clicked, each a name and a batch.
CLICKED = "_compare_points"


@dataclass(frozen=True, eq=False)
class CompareView(View):
    """The sidebar's scenario and the pinned ones, and what of the pins could not be used."""

    contenders: Sequence[Contender]
    problems: Sequence[str]

    @classmethod
    def of(cls, scenario: Scenario, choices: Mapping[Any, Any]) -> CompareView:
        """With what is pinned now."""
        return cls(scenario, choices, *pinned.contenders(scenario))

    @property
    def several(self) -> bool:
        """Whether there is anything to compare."""
        return len(self.contenders) > 1

    @cached_property
    def names(self) -> list[str]:
        """Of all contenders."""
        return [one.name for one in self.contenders]

    @cached_property
    def baseline(self) -> int:
        """The contender that differences are taken from; the first where its pin has gone."""
        name = self.chosen(pinned.BASELINE, self.names[0])
        return self.names.index(name) if name in self.names else 0

    @cached_property
    def measured(self) -> list[dict[str, float]]:
        """All measures of all contenders."""
        return words.figures_of(self.contenders)

    @cached_property
    def curves(self) -> list[frontiers.Curve]:
        """Of all contenders."""
        return [frontiers.Curve.of(one.name, one.scenario) for one in self.contenders]

    @cached_property
    def points(self) -> list[tuple[str, Point]]:
        """The two that are compared: the last that were clicked.

        A first click stands against the baseline, so that it is answered too.
        """
        scenarios = {one.name: one.scenario for one in self.contenders}
        clicked = [point for point in self.chosen(CLICKED, []) if point[0] in scenarios]
        if len(clicked) < 2:
            pair = [self.names[self.baseline], self.names[1 if self.baseline == 0 else 0]]
            usual = [(name, float(scenarios[name].batch)) for name in pair]
            clicked = [*usual[: 2 - len(clicked)], *clicked]
        return [(name, compare.point(scenarios[name], batch)) for name, batch in clicked]
