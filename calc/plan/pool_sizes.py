"""How many chips each of two pools takes, by the limit on time per token."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from calc.plan.ask import Ask
from calc.plan.candidate import Candidate
from calc.plan.curve import swept
from calc.plan.survey import DISAGGREGATED

if TYPE_CHECKING:
    from calc.plan.search import Table

Array = NDArray[np.float64]

# A limit that rounding put below a point of the curve is at that point.
_ROUNDED = 1 + 1e-9


@dataclass(frozen=True)
class PoolSizes:
    """The best two pools of one chip at each limit.

    `limit` are limits on time per token [s]. `decode` and `prefill` are chips of each pool there,
    nan where nothing keeps the limit, and `decode_size` and `prefill_size` those of one replica.
    """

    chip: int
    limit: Array
    decode: Array
    decode_size: Array
    prefill: Array
    prefill_size: Array

    @classmethod
    def of(
        cls, table: Table, ask: Ask, chip: int | None = None, rows: Sequence[Candidate] = ()
    ) -> PoolSizes | None:
        """Of one chip, or of that whose two pools are best; None where there are none.

        `rows` are plans of that chip that are known better than those of the table.
        """
        c, aim = table.columns, table.objective(ask)
        known = table.kept(ask) & (c.arrangement == DISAGGREGATED) & np.isfinite(aim)
        if chip is not None:
            known &= table.chip == chip
        at = np.flatnonzero(known)
        if not at.size:
            return None
        if chip is None:
            within = at[c.tpot[at] <= ask.tpot]
            among = within if within.size else at
            return cls.of(table, ask, int(table.chip[among[np.argmin(aim[among])]]), rows)
        two = [one for one in rows if one.prefill]
        decode = table.replicas[at] * table.size[at]
        prefill = table.chips[at] - decode
        width = np.array([
            table.surveys[survey].layout.chips[table.pools[survey].layout[column]]
            for survey, column in zip(table.survey[at], c.chip[at], strict=True)
        ])  # fmt: skip
        more = [
            (one.tpot, one.aim, one.replicas * one.scenario.n_chips, one.scenario.n_chips,
             one.prefill.replicas * one.prefill.scenario.n_chips, one.prefill.scenario.n_chips)
            for one in two if one.prefill
        ]  # fmt: skip
        parts = np.stack([c.tpot[at], aim[at], decode, table.size[at], prefill, width])
        if more:
            parts = np.concatenate([parts, np.array(more, dtype=float).T], axis=1)
        tpot, cost, *sizes = parts[:, np.argsort(parts[0], kind="stable")]
        # Where the best so far was found: later ones replace it only where they are better.
        lower = np.r_[True, cost[1:] < np.minimum.accumulate(cost)[:-1]]
        best = np.maximum.accumulate(np.where(lower, np.arange(len(cost)), 0))
        limits = swept(ask)
        last = np.searchsorted(tpot, limits, side="right") - 1
        shown = [np.where(last >= 0, size[best[last]], np.nan) for size in sizes]
        return cls(chip, limits, *shown)

    def at(self, limit: float) -> tuple[float, float] | None:
        """Chips that read prompts and chips that decode at a limit; None where nothing keeps it."""
        place = int(np.searchsorted(self.limit, limit * _ROUNDED, side="right")) - 1
        if place < 0 or np.isnan(self.decode[place]):
            return None
        return float(self.prefill[place]), float(self.decode[place])
