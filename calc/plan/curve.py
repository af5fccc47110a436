"""What the limit on time per token costs, chip by chip."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from calc.plan.ask import Ask
from calc.plan.candidate import Candidate

if TYPE_CHECKING:
    from calc.plan.search import Table

Array = NDArray[np.float64]

_LIMITS = 40
_REACH = 16.0  # limits on either side of the one that is asked


def swept(ask: Ask) -> Array:
    """Limits on time per token around the one that is asked, which is among them [s]."""
    return ask.tpot * np.geomspace(1 / _REACH, _REACH, _LIMITS + 1)


@dataclass(frozen=True)
class Curve:
    """The least price of each chip by limit.

    `asked` is the limit that is asked and `limit` those that are swept [s], `least` the price by
    chip × limit [USD/hour]; inf where nothing is within the limit.
    """

    asked: float
    limit: Array
    least: Array

    @classmethod
    def of(cls, table: Table, ask: Ask, rows: Iterable[tuple[int, Candidate]] = ()) -> Curve:
        """From the plans that keep all other limits; the limit on time per token is swept.

        `rows` are plans with the index of their chip, where they are known better.
        """
        kept = np.flatnonzero(table.kept(ask) & np.isfinite(table.usd))
        limits = swept(ask)
        chips = int(table.chip.max(initial=-1)) + 1
        least = np.full((chips, len(limits) + 1), np.inf)
        first = np.searchsorted(limits, table.columns.tpot[kept])
        np.minimum.at(least, (table.chip[kept], first), table.usd[kept])
        for chip, one in rows:
            if one.usd_per_hour > 0:
                at = int(np.searchsorted(limits, one.tpot))
                least[chip, at] = min(least[chip, at], one.usd_per_hour)
        return cls(ask.tpot, limits, np.minimum.accumulate(least, axis=1)[:, :-1])

    def cheapest(self, most: int) -> list[int]:
        """Chips by their price at the limit that is asked, then by that at any other."""
        at = int(np.argmin(np.abs(np.log(self.limit / self.asked))))
        order = np.lexsort([self.least[:, -1], self.least[:, at]])
        return [int(chip) for chip in order[:most] if np.isfinite(self.least[chip, -1])]

    def shown(self, chip: int) -> Array:
        """The line of one chip; nan where nothing is within the limit [USD/hour]."""
        return np.where(np.isfinite(self.least[chip]), self.least[chip], np.nan)

    @property
    def nothing(self) -> Array:
        """A line of nothing."""
        return np.full(self.limit.shape, np.nan)

    def looser(self) -> Looser | None:
        """The next limit of a round number that something keeps, and who does it cheapest."""
        kept = np.isfinite(self.least).any(axis=0) & (self.limit > self.asked)
        if not kept.any():
            return None
        first = float(self.limit[np.argmax(kept)])
        steps = [step * 10.0**power for power in range(-6, 4) for step in (1, 1.5, 2, 3, 5, 7)]
        limit = next((step for step in steps if step >= first), first)
        at = int(np.searchsorted(self.limit, limit, side="right")) - 1
        chip = int(np.argmin(self.least[:, at]))
        return Looser(limit, chip, float(self.least[chip, at]))


@dataclass(frozen=True)
class Looser:
    """A limit on time per token that can be kept [s], on which chip, and for what [USD/hour]."""

    limit: float
    chip: int
    usd: float
