"""How long requests wait: when they give up, and when the service ends them."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from calc.serving.task import Fate, Task
from calc.serving.traffic import Traffic


@dataclass(frozen=True)
class Deadlines:
    """By request, the time to its first token and to its last that it does not exceed [s]."""

    patience: list[float]
    timeout: list[float]

    @classmethod
    def of(cls, traffic: Traffic) -> Deadlines | None:
        """Those of the classes of some requests; none where all wait for ever."""
        found = traffic.classified
        if not found or all(math.isinf(min(one.gives_up, one.ends)) for one in found.classes):
            return None
        return cls(
            found.each(lambda one: one.gives_up).tolist(), found.each(lambda one: one.ends).tolist()
        )

    def after(self, task: Task, came: float) -> Iterator[tuple[float, Fate]]:
        """When a request that came at a time ends if it has no token, or not all, and how [s]."""
        for limits, fate in ((self.patience, Fate.CANCELLED), (self.timeout, Fate.TIMED_OUT)):
            limit = limits[task.request]
            if limit < math.inf:
                yield came + limit, fate
