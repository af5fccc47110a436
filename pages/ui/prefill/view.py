"""What the Prefill page shows."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import cached_property

import numpy as np

from calc import answer, decode, known, prefill, ring
from calc.decode import StepTime
from calc.operators import Work
from pages.ui.frame.page import Metrics, View
from pages.ui.frame.switches import Switch

# Replicas of a ring.
WIDTH = Switch("prefill-ring", "ring", 4, range(1, ring.WIDEST + 1))


class PrefillView(View):
    """A prompt that is read, and the decode step that it stands beside."""

    @cached_property
    def reading(self) -> StepTime:
        """The prompt's time and its terms."""
        return prefill.prompt_time(self.scenario)

    @cached_property
    def work(self) -> Work:
        """The prompt's operators."""
        return prefill.by_operator(self.scenario)

    @cached_property
    def total(self) -> float:
        """The prompt's time [s]."""
        return float(self.reading.total)

    @cached_property
    def rate(self) -> float:
        """Prompts per second."""
        return prefill.prompt_rate(self.scenario, self.total)

    @cached_property
    def step(self) -> StepTime:
        """The decode step."""
        return decode.step_time(self.scenario)

    @cached_property
    def free(self) -> float:
        """Prompt tokens that a decode step takes along for nothing."""
        return prefill.free_tokens(self.scenario)

    @cached_property
    def largest_chunk(self) -> float:
        """The largest that keeps the target of a token's time."""
        return prefill.largest_chunk(self.scenario)

    @cached_property
    def width(self) -> int:
        """Replicas of the ring."""
        return int(self.chosen(WIDTH.key, WIDTH.default))

    @cached_property
    def rings(self) -> ring.Ring:
        """The prompt over rings: one replica first, powers of two, and as many as are asked for."""
        far = 2.0 ** np.arange(0, max(8, math.ceil(math.log2(4 * self.width))) + 1)
        rings = ring.read(self.scenario, np.unique(np.append(far, float(self.width))))
        if not known.bounded(self.scenario):
            return rings
        # Attention of no published rate may hide all of the exchange: the time stays a bound.
        return replace(rings, attention=np.full_like(rings.exchange, math.inf))

    @cached_property
    def ring_limit(self) -> float:
        """The width from which a ring waits; unknown where attention has no published rate."""
        return math.nan if known.bounded(self.scenario) else ring.limit(self.scenario)

    @cached_property
    def answers(self) -> tuple[answer.Work, answer.Work]:
        """The whole answer with a cache and without, as far as curves go."""
        longest = answer.reach(self.scenario.output)
        return (
            answer.with_cache(self.scenario, longest),
            answer.without_cache(self.scenario, longest),
        )

    @cached_property
    def servers_ratio(self) -> float:
        """Prefill replicas for one decode replica."""
        s = self.scenario
        return prefill.servers_ratio(1 / self.rate, s.batch, float(self.step.total), s.output)


METRICS: Metrics[PrefillView] = {
    "prefill_time": lambda view: view.total,
    "prompt_token_rate": lambda view: view.scenario.prompt * view.rate,
    "attention_share": lambda view: prefill.attention_share(view.scenario),
    "free_tokens": lambda view: view.free,
    "largest_chunk": lambda view: view.largest_chunk,
    "servers_ratio": lambda view: view.servers_ratio,
}
