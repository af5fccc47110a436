"""What the limit on time per token costs, chip by chip."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from calc.plan.ask import Ask

if TYPE_CHECKING:
    from calc.plan.search import Table

Array = NDArray[np.float64]

_LIMITS = 40
_REACH = 16.0  # limits on either side of the one that is asked


@dataclass(frozen=True)
class Curve:
    """The least price of each chip by limit.

    `limit` is the time per token [s], `usd` the price by chip × limit [USD/hour], `chips` and the
    other objectives alike; inf where nothing is within the limit, nan where the figure is unknown.
    """

    limit: Array
    least: Array

    @classmethod
    def of(cls, table: Table, ask: Ask) -> Curve:
        """From the plans that keep all other limits; the limit on time per token is swept."""
        kept = np.flatnonzero(table.kept(ask) & np.isfinite(table.usd))
        limits = ask.tpot * np.geomspace(1 / _REACH, _REACH, _LIMITS + 1)
        chips = int(table.chip.max(initial=-1)) + 1
        least = np.full((chips, len(limits) + 1), np.inf)
        first = np.searchsorted(limits, table.columns.tpot[kept])
        np.minimum.at(least, (table.chip[kept], first), table.usd[kept])
        return cls(limits, np.minimum.accumulate(least, axis=1)[:, :-1])
