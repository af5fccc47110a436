"""How fast each class of a mix is answered by a plan."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from calc.plan import pools, replica, waits
from calc.plan.candidate import Candidate
from calc.plan.mix import Part

Array = NDArray[np.float64]


@dataclass(frozen=True)
class ClassTimes:
    """Times of a class at the asked percentile, per token and to the first [s], and its limits."""

    part: Part
    tpot: float
    ttft: float

    @property
    def name(self) -> str:
        """What the class is called; empty where all requests are alike."""
        return self.part.name

    @property
    def tightness(self) -> float:
        """How much of the limit that it is closest to it takes."""
        return max(self.tpot / self.part.tpot, self.ttft / self.part.ttft)


def class_times(one: Candidate) -> tuple[ClassTimes, ...]:
    """The times of each class, at the rate that a replica answers.

    References
    ----------
    F13.7.
    """
    tpots, ttfts = _two_pools(one) if one.prefill else _one_pool(one)
    return tuple(
        ClassTimes(part, float(np.ravel(tpot)[0]), float(np.ravel(ttft)[0]))
        for part, tpot, ttft in zip(one.ask.parts, tpots, ttfts, strict=True)
    )


def _one_pool(one: Candidate) -> tuple[Sequence[Array], Sequence[Array]]:
    layout = replica.layout_of(one.scenario)
    if one.budget:
        found = replica.steady(one.scenario, layout, one.batch, one.budget, one.ask)
    else:
        found = replica.whole(one.scenario, layout, one.batch, one.ask)
    return found.tpots, found.ttfts


def _two_pools(one: Candidate) -> tuple[Sequence[Array], Sequence[Array]]:
    ask, pool = one.ask, one.prefill
    assert pool
    decoding = pools.decoders(one.scenario, replica.layout_of(one.scenario), one.batch, ask)
    layout = replica.layout_of(pool.scenario)
    found = pools.readers(pool.scenario, layout, ask)
    used, lanes = np.asarray(one.used), (pool.replicas - ask.spare) * found.lanes
    wait = waits.wait(used, found.reading, ask.scatter * found.uneven, lanes)
    late = pools.exposures(pool.scenario, layout, ask, found.own)
    return (
        [
            tpot + exposed / part.steps
            for tpot, exposed, part in zip(decoding.tpots, late, ask.parts, strict=True)
        ],
        [waits.first_token(ask, used, wait, own, 0.0) for own in found.own],
    )
