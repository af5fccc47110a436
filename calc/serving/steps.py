"""What a decode step of a served batch takes: plain, or drafted and checked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from calc import decode, memory, speculative
from calc.scenario import Scenario

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Step:
    """A step that gives every sequence one token: work, messages and overhead [s].

    `hides` is the share of the shorter of work and messages that hides behind the other.
    """

    busy: Array
    communication: Array
    overhead: Array
    hides: float

    @property
    def known(self) -> bool:
        """Whether the chip and its links are published."""
        return bool(np.isfinite(self.busy + self.communication + self.overhead).all())


class Steps(Protocol):
    """How tokens are made."""

    def time(self, scenario: Scenario, batch: ArrayLike, context: ArrayLike) -> Step:
        """A step of batches of equal contexts."""

    def memory(self, scenario: Scenario) -> float:
        """What it takes beside weights and cache [byte]."""


@dataclass(frozen=True)
class Plain:
    """One token of each sequence a step."""

    def time(self, scenario: Scenario, batch: ArrayLike, context: ArrayLike) -> Step:
        step = decode.step_time(scenario, batch=batch, context=context)
        return Step(step.busy, step.communication, step.overhead, step.link_overlap)

    def memory(self, scenario: Scenario) -> float:
        return 0.0


PLAIN = Plain()


@dataclass(frozen=True)
class Speculative:
    """Tokens are drafted and checked: each takes its share of a check, on average (F8.26).

    Drafts, acceptance and their length are the scenario's. A check gives the expected number of
    tokens to every sequence, at the cost that it has in the batch. Tokens of a check come together
    in truth, so that gaps between them are alike here and are not there. Chunks of prompts and
    token budgets count one token of a sequence, and the cache of a draft model is left out.

    References
    ----------
    F7.4, F8.26.
    """

    def time(self, scenario: Scenario, batch: ArrayLike, context: ArrayLike) -> Step:
        s = scenario
        check = decode.step_time(s, batch=batch, context=context, tokens=s.n_draft + 1)
        drafting = s.n_draft * speculative.draft_time(s, batch, context)
        tokens = float(speculative.expected_tokens(s.acceptance, s.n_draft))
        return Step(
            np.asarray((check.busy + drafting) / tokens),
            np.asarray(check.communication / tokens),
            np.asarray(check.overhead / tokens),
            check.link_overlap,
        )

    def memory(self, scenario: Scenario) -> float:
        if scenario.draft is None:
            return 0.0
        return float(memory.weights(speculative.draft_scenario(scenario)))
