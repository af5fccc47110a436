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
        The least time per token while all else is kept [s]; inf if it cannot be.
    first : float
        The least time to the first token while all else is kept [s]; inf if it cannot be.
    times : float
        How many times both limits it takes to keep both; inf if no such number is enough.
    """

    chip: str
    kind: str
    tpot: float = math.nan
    ttft: float = math.nan
    within: float = math.inf
    first: float = math.inf
    times: float = math.inf

    def looser(self, ask: Ask) -> Mapping[str, float]:
        """The limits, by their names in `Ask`, that it would keep: one if one is enough [s].

        Rounded up to two digits; empty where no limit is in the way.
        """
        if self.kind not in ("tpot", "ttft", "both"):
            return {}
        if math.isfinite(self.within):
            return {"tpot": _above(self.within)}
        if math.isfinite(self.first):
            return {"ttft": _above(self.first)}
        if math.isfinite(self.times):
            return {name: _above(self.times * getattr(ask, name)) for name in ("tpot", "ttft")}
        return {}


def _above(time: float) -> float:
    """The next number of two digits."""
    digit = 10.0 ** (math.floor(math.log10(time)) - 1)
    return math.ceil(time / digit) * digit


def of(table: Table, ask: Ask, space: Space, served: set[int]) -> tuple[Obstacle, ...]:
    """Of every chip that is not `served`, by index, what stands in its way."""
    holds: dict[str, bool] = {}
    times: dict[str, bool] = {}
    for one in table.surveys:
        for index, chip in enumerate(one.chips):
            fits = one.holds[index]
            holds[chip.id] = holds.get(chip.id, False) or bool(fits.any())
            timed = bool(np.isfinite(one.readers.reading[index][fits]).any())
            times[chip.id] = times.get(chip.id, False) or timed
    unserved = np.array([index not in served for index in range(len(space.chips))])
    at = np.flatnonzero(unserved[table.chip])
    least = least_times(table, ask, at, table.chip[at], len(space.chips))
    found = []
    for index, chip in enumerate(space.chips):
        if index in served:
            continue
        tpot, ttft, *joint = (float(values[index]) for values in least)
        if not holds[chip.id]:
            found.append(Obstacle(chip.id, "weights"))
        elif not times[chip.id]:
            found.append(Obstacle(chip.id, "rate"))
        elif not math.isfinite(tpot):
            found.append(Obstacle(chip.id, "memory"))
        else:
            kind = kind_of(ask, tpot, ttft, joint[0])
            found.append(Obstacle(chip.id, kind, tpot, ttft, *joint))
    return tuple(found)


def kind_of(ask: Ask, tpot: float, ttft: float, within: float) -> str:
    """What is in the way of what can be timed, of `KINDS`."""
    if tpot > ask.tpot:
        return "tpot"
    if ttft > ask.ttft:
        return "ttft"
    if within > ask.tpot:
        return "both"
    return "power" if ask.objective == "energy" else "price"


def least_times(
    table: Table, ask: Ask, at: np.ndarray, place: np.ndarray, places: int
) -> tuple[np.ndarray, ...]:
    """The least of some replicas, by the place of each.

    Either time alone, either while all else is kept, and both as times of their limits.
    """
    c = table.columns
    tpot, ttft = c.tpot[at], c.ttft[at]
    usable = np.isfinite(ttft) & (c.used[at] <= ask.most_used) & np.isfinite(table.chips[at])
    kept = usable & (ttft <= ask.ttft)

    def least(values: np.ndarray, among: np.ndarray | slice = slice(None)) -> np.ndarray:
        found = np.full(places, np.inf)
        np.minimum.at(found, place[among], values[among])
        return found

    return (
        least(tpot),
        least(ttft, np.isfinite(ttft)),
        least(tpot, kept),
        least(ttft, usable & (tpot <= ask.tpot)),
        least(np.maximum(tpot / ask.tpot, ttft / ask.ttft), usable),
    )
