"""Between which batches something holds."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
# Rows of batches, one for each of several things, or one row for all; and whether each holds there.
Holds = Callable[[Array], NDArray[np.bool_]]

# Those that a link can ask for.
MOST_BATCH = 65536
_TRIED = 65


def largest(holds: Holds) -> tuple[Array, Array]:
    """First and last of the largest batches at which something holds [sequence].

    Parameters
    ----------
    holds : callable
        Of batches in an array, whether each of several things (rows) holds.

    Returns
    -------
    first, last : ndarray
        Ends of the last run without a gap; 0 where it holds nowhere up to 65,536.

    Notes
    -----
    Looked for among batches of a geometric row, which is made finer around both ends: a gap or a
    run narrower than 19 % may be passed over.

    Examples
    --------
    >>> [float(end[0]) for end in largest(lambda batch: ((batch > 6) & (batch < 900))[np.newaxis])]
    [7.0, 899.0]
    """
    tried = np.unique(np.round(np.geomspace(1, MOST_BATCH, _TRIED)))
    found = holds(tried)
    some = found.any(axis=-1)
    tail = tried.size - 1 - np.argmax(found[:, ::-1], axis=-1)
    places = np.arange(tried.size)
    lost = np.where(~found & (places < tail[:, np.newaxis]), places, -1)
    lead = np.where(some, lost.max(axis=-1) + 1, 0)
    first, last = _edge(tried, lead, -1, holds), _edge(tried, tail, 1, holds)
    return np.where(some, first, 0.0), np.where(some, last, 0.0)


def _edge(tried: Array, at: NDArray[np.int64], side: int, holds: Holds) -> Array:
    """The outermost batch that holds, of each row, from one tried on to its neighbour."""
    inside = tried[at]
    outside = tried[np.clip(at + side, 0, tried.size - 1)]
    rows = np.arange(inside.size)
    for _ in range(math.ceil(math.log(MOST_BATCH, _TRIED - 1))):
        if (np.abs(outside - inside) <= 1).all():
            break
        between = np.round(np.linspace(inside, outside, _TRIED, axis=-1))
        found = np.broadcast_to(_each(holds, between), between.shape)
        # The first of each row is known to hold; the last is known not to, or is the same batch.
        last = np.where(found.all(axis=-1), _TRIED - 1, np.argmin(found, axis=-1) - 1)
        inside = between[rows, last]
        outside = between[rows, np.minimum(last + 1, _TRIED - 1)]
    return np.asarray(inside)


def _each(holds: Holds, between: Array) -> NDArray[np.bool_]:
    return holds(between if len(between) > 1 else between[0])
