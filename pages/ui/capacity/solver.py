"""The one place that imports scipy: integer programs of `calc.packing`, solved by HiGHS."""

from __future__ import annotations

import math
import time
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import Bounds, LinearConstraint, linprog, milp

from calc import packing
from calc.packing import Array, PackingError, Placement, Problem
from calc.words import say

# Unknowns to try first: they often reach the bound, and so few take HiGHS a moment.
PROMISING = (400, 1200)


def solve(problem: Problem, time_limit: float = 2.0) -> Placement:
    """The best placement that was found in the time, and a bound on what any could be.

    The relaxation gives the bound and ranks the unknowns by reduced cost. The program is solved
    with the best of them, and with all if that does not reach the bound.

    Parameters
    ----------
    problem : Problem
        From `calc.packing.build`.
    time_limit : float
        For the integer programs together [s]; HiGHS may take a second more over thousands of
        unknowns.

    Returns
    -------
    Placement
        Never worse than `calc.packing.greedy`. `proven` tells whether none can be better: after
        the time limit it may be false, and `gap` tells by how much at most.

    Raises
    ------
    PackingError
        If every replica is to be placed and that cannot be, or was not found in the time.
    """
    deadline = time.monotonic() + time_limit
    least, rank = _relaxed(problem, time_limit)
    best = packing.greedy(problem.items, problem.devices, problem.objective)
    best = replace(best, bound=problem.bound(least))
    for count in (*(n for n in PROMISING if n < rank.size), rank.size):
        left = deadline - time.monotonic()
        if best.proven or left <= 0:
            break
        x, dual = _integer(problem, rank[:count], left)
        if count == rank.size:
            if dual == math.inf:
                raise _short(problem, time_limit)
            least = max(least, dual)
        found = packing.decode(problem, x) if x is not None else best
        best = replace(min(found, best, key=_badness), bound=problem.bound(least))
    if problem.objective != "most" and not best.complete:
        raise PackingError(
            say("no way to place every replica was found in {seconds:g} s", seconds=time_limit)
        )
    return best


def _badness(placement: Placement) -> tuple[int, float]:
    sign = -1 if placement.objective == "most" else 1
    return sum(placement.unplaced), sign * placement.value


def _relaxed(problem: Problem, time_limit: float) -> tuple[float, NDArray[np.intp]]:
    """Least cost if x need not be whole, and the unknowns, the most promising first."""
    items = len(problem.items)
    # Fewer devices filled than in use would only cost more: upper limits do for each row.
    rows = np.vstack([-problem.matrix[:items], problem.matrix[items:]])
    limits = np.concatenate([-problem.lower[:items], problem.upper[items:]])
    ranges = [(0.0, most) for most in problem.most.tolist()]
    result = linprog(problem.cost, rows, limits, bounds=ranges, method="highs")
    if result.status == 2:
        raise _short(problem, time_limit)
    if result.fun is None:
        raise PackingError(say("the solver stopped without an answer, status {n}", n=result.status))
    reduced = problem.cost - rows.T @ np.asarray(result.ineqlin.marginals, dtype=float)
    # What is no filling is always needed.
    reduced[len(problem.fillings) :] = -np.inf
    return float(result.fun), np.argsort(reduced, kind="stable")


def _integer(
    problem: Problem, chosen: NDArray[np.intp], time_limit: float
) -> tuple[Array | None, float]:
    """The best x with only the chosen unknowns, and a bound on its cost: infinite if none is."""
    result = milp(
        problem.cost[chosen],
        integrality=problem.integrality[chosen],
        bounds=Bounds(0, problem.most[chosen]),
        constraints=LinearConstraint(problem.matrix[:, chosen], problem.lower, problem.upper),
        # Presolve finds nothing here, and takes seconds that it does not count.
        options={"time_limit": time_limit, "mip_rel_gap": 0.0, "presolve": False},
    )
    if result.x is None:
        return None, math.inf if result.status == 2 else -math.inf
    x = np.zeros_like(problem.cost)
    x[chosen] = result.x
    return x, float(result.mip_dual_bound)


def _short(problem: Problem, time_limit: float) -> PackingError:
    """Why not every replica can be placed: who is left over when as many as possible are."""
    most = solve(packing.build(problem.items, problem.devices, "most"), time_limit)
    left = [
        say("{n} of {name}", n=count, name=item.name)
        for item, count in zip(most.items, most.unplaced, strict=True)
        if count
    ]
    return PackingError(
        say(
            "the devices cannot hold every replica: {n} at most were placed, leaving over {left}",
            n=most.served,
            left=say(", ").join(left),
        )
    )
