"""Why a chip offers no plan, and what it would take."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from calc.plan.ask import Ask, Space
from calc.words import marked

if TYPE_CHECKING:
    from calc.plan.search import Table

KINDS: Mapping[str, str] = {
    "rate": marked("a rate or a link that it needs is not published"),
    "weights": marked("the weights do not fit"),
    "memory": marked("memory holds no request beside the weights"),
    "tpot": marked("time per token"),
    "ttft": marked("time to first token"),
    "both": marked("both limits at once"),
    "price": marked("no price is published"),
    "power": marked("no power is published"),
}


@dataclass(frozen=True)
class Obstacle:
    """What keeps a chip from a plan.

    Parameters
    ----------
    chip : str
        Its id.
    kind : str
        Of `KINDS`.
    tpot, ttft : float
        The least that it can reach, each while the other may be anything [s]; nan if nothing runs.
    within : float
        The least time per token while the limit on the first token is kept [s]; inf if it is not.
    """

    chip: str
    kind: str
    tpot: float = math.nan
    ttft: float = math.nan
    within: float = math.inf


def of(table: Table, ask: Ask, space: Space, served: set[str]) -> tuple[Obstacle, ...]:
    """Of every chip that is not `served`, what stands in its way."""
    holds: dict[str, bool] = {}
    times: dict[str, bool] = {}
    for one in table.surveys:
        for index, chip in enumerate(one.chips):
            fits = one.holds[index]
            holds[chip.id] = holds.get(chip.id, False) or bool(fits.any())
            timed = bool(np.isfinite(one.readers.reading[index][fits]).any())
            times[chip.id] = times.get(chip.id, False) or timed
    least = _least(table, ask, len(space.chips))
    found = []
    for index, chip in enumerate(space.chips):
        if chip.id in served:
            continue
        tpot, ttft, within = (float(values[index]) for values in least)
        if not holds[chip.id]:
            found.append(Obstacle(chip.id, "weights"))
        elif not times[chip.id]:
            found.append(Obstacle(chip.id, "rate"))
        elif not math.isfinite(tpot):
            found.append(Obstacle(chip.id, "memory"))
        else:
            kind = _kind(ask, tpot, ttft, within)
            found.append(Obstacle(chip.id, kind, tpot, ttft, within))
    return tuple(found)


def _kind(ask: Ask, tpot: float, ttft: float, within: float) -> str:
    if tpot > ask.tpot:
        return "tpot"
    if ttft > ask.ttft:
        return "ttft"
    if within > ask.tpot:
        return "both"
    return "power" if ask.objective == "energy" else "price"


def _least(table: Table, ask: Ask, chips: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """By chip, the least time per token, to the first, and per token within the other limit."""
    tpot, ttft, within = (np.full(chips, np.inf) for _ in range(3))
    able = np.isfinite(table.columns.ttft)
    np.minimum.at(tpot, table.chip, table.columns.tpot)
    np.minimum.at(ttft, table.chip[able], table.columns.ttft[able])
    kept = table.kept(ask)
    np.minimum.at(within, table.chip[kept], table.columns.tpot[kept])
    return tpot, ttft, within
