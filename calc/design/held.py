"""Hold one measure of a model while a dimension moves: a second dimension is solved for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from calc.design import points
from calc.design.dimensions import Dimension
from calc.design.measures import MEASURES
from calc.design.reading import Table
from calc.scenario import Scenario
from calc.words import marked

Array = NDArray[np.float64]


# What can be held, as it is said, by measure; and figures that can give way, all of which a measure
# rises or falls with whatever the others are.
HOLDS: Mapping[str, str] = {
    "total_params": marked("the same parameters"),
    "active_params": marked("the same active parameters"),
    "kv_per_sequence": marked("the same cache per sequence"),
    "step_time": marked("the same step time"),
}
GIVES = frozenset(
    {"width", "expert_width", "shared_width", "experts", "count", "d_model", "head_dim", "kv_rank",
     "window", "vocabulary"}
)  # fmt: skip


@dataclass(frozen=True)
class Held:
    """Models of one measure.

    Parameters
    ----------
    moved : array
        Values of the dimension that moves.
    solved : array
        Those of the dimension that gives way; nan where no value of it goes together.
    reached : array
        The measure, as near to the target as whole granules allow.
    target : float
        What is held.
    """

    moved: Array
    solved: Array
    reached: Array
    target: float


def solve(
    scenario: Scenario,
    content: Table,
    measure: str,
    moving: Dimension,
    values: ArrayLike,
    giving: Dimension,
) -> Held:
    """The values of one dimension with which the measure stays what it is while another moves.

    Measures rise or fall with every dimension, so that halving finds the value; of the two beside
    the target the nearer is taken.

    Parameters
    ----------
    scenario : Scenario
        In which the measure is taken; its model is that of `content`.
    content : Table
        The model now.
    measure : str
        Of `calc.design.measures.MEASURES`.
    moving, values : Dimension, array_like
        What moves, and where to.
    giving : Dimension
        What is solved for, in whole granules from its lowest value to its highest.
    """
    of = MEASURES[measure].of
    target = float(of(scenario))
    moved = np.asarray(values, dtype=float)
    step = giving.granule
    low = np.full(moved.shape, float(max(1, -(-giving.low // step))))
    high = np.full(moved.shape, float(min(giving.high // step, 2**24)))

    def at(granules: Array) -> Array:
        figures = {moving.paths: moved, giving.paths: step * granules}
        return points.measured(scenario, content, figures, of)

    now = np.full(moved.shape, float(giving.value // step))
    rising = ~(at(high) < at(np.clip(now, low, high)))
    while np.any(high - low > 1):
        middle = np.floor((low + high) / 2)
        found = at(middle)
        # What goes together with nothing is too small: fewer experts than a token takes.
        above = np.where(rising, found >= target, found <= target)
        low, high = np.where(above, low, middle), np.where(above, middle, high)
    ends = at(low), at(high)
    off = [np.where(np.isnan(end), np.inf, np.abs(end - target)) for end in ends]
    nearer = off[0] <= off[1]
    reached = np.where(nearer, *ends)
    # Beyond the last granule there is nothing, as where the measure does not heed the dimension.
    slack = np.abs(np.where(nearer, ends[1], ends[0]) - reached)
    known = np.abs(reached - target) <= np.maximum(slack, 1e-9 * abs(target))
    solved = np.where(nearer, low, high) * step
    return Held(moved, np.where(known, solved, np.nan), np.where(known, reached, np.nan), target)


def measured(
    scenario: Scenario, content: Table, held: Held, moving: Dimension, giving: Dimension, of: str
) -> Array:
    """Another measure of the models that were solved for; nan where there is none."""
    known = np.isfinite(held.solved)
    found = np.full(held.moved.shape, np.nan)
    if known.any():
        figures = {moving.paths: held.moved[known], giving.paths: held.solved[known]}
        found[known] = points.measured(scenario, content, figures, MEASURES[of].of)
    return found
