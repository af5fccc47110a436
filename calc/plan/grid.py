"""The best of each chip by chips of a replica, and why some numbers of chips offer nothing."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from calc.plan import obstacles
from calc.plan.ask import Ask, Space
from calc.plan.candidate import Candidate

if TYPE_CHECKING:
    from calc.plan.search import Table


@dataclass(frozen=True)
class Grid:
    """Cells of some chips × numbers of chips.

    `chips` are indices of `Space.chips` and `sizes` chips of a replica; `usd` is the price of each
    cell's best [USD/hour], nan without one; `cells` is the best of each, or of `obstacles.KINDS`
    why there is none; an empty text where chips are not had in that number.
    """

    chips: tuple[int, ...]
    sizes: tuple[int, ...]
    usd: NDArray[np.float64]
    cells: tuple[tuple[Candidate | str, ...], ...]

    @classmethod
    def of(
        cls,
        table: Table,
        ask: Ask,
        space: Space,
        chips: tuple[int, ...],
        rows: Sequence[Candidate] = (),
    ) -> Grid:
        """Of some chips; `rows` are the best plans, best first, where they are known better."""
        had = [space.counts(space.chips[chip]) for chip in chips]
        sizes = tuple(sorted({*(size for each in had for size in each)}))
        ours = np.isin(np.arange(len(space.chips)), chips)[table.chip]
        order = table.ordered(ask, table.kept(ask) & ours)
        _, first = np.unique(_place(table, order), return_index=True)
        plans = table.plans(order[first], ask)
        served = _place(table, order[first])
        best: dict[int, Candidate] = dict(zip(served.tolist(), plans, strict=True))
        at = np.flatnonzero(ours)
        at = at[~np.isin(_place(table, at), served)]
        known, cell = np.unique(_place(table, at), return_inverse=True)
        least = obstacles.least_times(table, ask, at, cell, len(known))
        index_of = {space.chips[chip].id: chip for chip in chips}
        for row in reversed(rows):
            s = row.scenario
            if s.chip.id in index_of:
                best[index_of[s.chip.id] * 2**20 + s.n_chips] = row
        timed = {value: index for index, value in enumerate(known.tolist())}

        def one(chip: int, size: int) -> Candidate | str:
            id = chip * 2**20 + size
            if id in best:
                return best[id]
            if id in timed:
                tpot, ttft, within = (float(values[timed[id]]) for values in least[:3])
                return obstacles.kind_of(ask, tpot, ttft, within)
            return "memory" if _holds(table, space.chips[chip].id, size) else "weights"

        cells = tuple(
            tuple(one(chip, size) if size in counts else "" for size in sizes)
            for chip, counts in zip(chips, had, strict=True)
        )
        usd = [
            [math.nan if isinstance(cell, str) else cell.usd_per_hour for cell in row]
            for row in cells
        ]
        return cls(chips, sizes, np.array(usd, dtype=float).reshape(len(chips), -1), cells)


def _place(table: Table, at: NDArray[np.int64]) -> NDArray[np.int64]:
    """One number for a chip and chips of a replica."""
    return np.asarray(table.chip[at] * 2**20 + table.size[at].astype(np.int64))


def _holds(table: Table, id: str, size: int) -> bool:
    """Whether the weights fit into so many of a chip."""
    return any(
        bool(one.holds[index][one.layout.chips == size].any())
        for one in table.surveys
        for index, chip in enumerate(one.chips)
        if chip.id == id
    )
