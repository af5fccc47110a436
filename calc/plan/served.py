"""The inverse of a plan: how many requests, and how many users, given chips serve."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from calc.plan.ask import Ask
from calc.plan.curve import swept
from calc.plan.survey import DISAGGREGATED

if TYPE_CHECKING:
    from calc.plan.search import Table

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Served:
    """What so many chips of a kind serve in one pool, by the limit on time per token.

    `limit` are limits [s]; `rate` is the highest rate that keeps all of them, the headroom left
    [1/s], 0 where none does; `size` chips of a replica there, and `answering` the time from a
    request to its last token [s], nan where none does.
    """

    chips: int
    limit: Array
    rate: Array
    size: Array
    answering: Array

    @classmethod
    def of(cls, table: Table, ask: Ask, chip: int, chips: int) -> Served:
        """Of a chip of the space, by its index; limits other than that per token are as asked."""
        c = table.columns
        usable = (table.chip == chip) & (c.arrangement != DISAGGREGATED)
        usable &= (c.ttft <= ask.ttft) & (c.used <= ask.most_used)
        at = np.flatnonzero(usable)
        replicas = np.floor(chips / table.size[at]) - ask.spare
        rate = replicas * c.rate[at] / (1 + ask.headroom)
        order = np.lexsort([-rate, c.tpot[at]])
        at, rate = at[order], rate[order]
        at, rate = at[rate > 0], rate[rate > 0]
        limits = swept(ask)
        if not at.size:
            none = np.full(limits.shape, np.nan)
            return cls(chips, limits, np.zeros(limits.shape), none, none)
        # The place of the highest rate so far.
        higher = np.r_[True, rate[1:] > np.maximum.accumulate(rate)[:-1]]
        best = np.maximum.accumulate(np.where(higher, np.arange(len(rate)), 0))
        last = np.searchsorted(c.tpot[at], limits, side="right") - 1
        chosen, kept = best[last], last >= 0
        answering = c.ttft[at] + ask.steps * c.mean_tpot[at]
        return cls(
            chips, limits, np.where(kept, rate[chosen], 0.0),
            np.where(kept, table.size[at][chosen], np.nan),
            np.where(kept, answering[chosen], np.nan),
        )  # fmt: skip

    def users(self, think: float) -> Array:
        """Users who send a request, wait for its answer and think for so long [s] (F8.19)."""
        return np.nan_to_num(self.rate * (self.answering + think))

    def at(self, limit: float) -> int:
        """The place of a limit."""
        return int(np.argmin(np.abs(np.log(self.limit / limit))))
