"""Cache memory in blocks, as engines hand it out, against one contiguous piece a sequence."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

if TYPE_CHECKING:
    from calc.model import Model

Array = NDArray[np.float64]


def allocated_tokens(context: ArrayLike, block: int) -> Array:
    """Tokens' worth of blocks that a sequence occupies [token] (F2.9).

    >>> float(allocated_tokens(500, 16))
    512.0
    """
    return np.asarray(block * np.ceil(np.asarray(context, dtype=float) / block))


def expected_waste(block: int) -> float:
    """Tokens left empty in the last block on average, for lengths spread evenly [token]."""
    return (block - 1) / 2


def worst_waste(block: int) -> int:
    """Tokens left empty in the last block at worst [token]."""
    return block - 1


def paged_utilisation(mean_length: ArrayLike, block: int) -> Array:
    """Share of allocated blocks that holds tokens, for lengths spread around a mean.

    .. math:: S / (S + (b - 1) / 2)

    >>> round(float(paged_utilisation(500, 16)), 3)
    0.985
    """
    length = np.asarray(mean_length, dtype=float)
    return np.asarray(length / (length + expected_waste(block)))


def contiguous_utilisation(mean_length: ArrayLike, reserved: ArrayLike) -> Array:
    """Share that holds tokens when every sequence reserves its longest possible length.

    >>> round(float(contiguous_utilisation(200, 4096)), 3)
    0.049
    """
    return np.asarray(np.asarray(mean_length, dtype=float) / reserved)


def window_blocks(window: int, longest: int, chunk: int, block: int) -> int:
    """Blocks that one sequence may hold in a sliding-window layer while a prompt chunk is read.

    One block more than the tokens need, since the window need not start at a block's edge
    (F2.3).

    >>> window_blocks(128, 131072, 8192, 16)
    521
    """
    return -(-min(window - 1 + chunk, longest) // block) + 1


def page_groups(model: Model) -> tuple[int, int]:
    """Groups of equally many layers that a hybrid allocator pages together, and layers in each.

    Group size is the smallest count of any kind of cache, or the largest when they are within half
    of each other; what does not divide is padded (F2.4).
    """
    counts: Counter[str] = Counter()
    for block in model.blocks:
        counts[block.attention.paged_as] += block.count
    # Layers that keep no cache of their own are handed no pages.
    del counts[""]
    if not counts:
        return 0, 0
    smallest, largest = min(counts.values()), max(counts.values())
    size = largest if largest < 1.5 * smallest else smallest
    return sum(-(-count // size) for count in counts.values()), size
