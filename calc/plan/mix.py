"""Requests that are alike, as a plan counts them: all of them, or each class of a mix (F13.7)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Part:
    """Requests that are alike.

    Parameters
    ----------
    name : str
        What they are called; empty where all are alike.
    share : float
        Part of all requests that they are.
    prompt, output, known : float
        Mean tokens of a prompt and of an answer, and of a prompt that is cached [token].
    ttft, tpot : float
        Their limits [s].
    first_ratio, each_ratio : float
        How many times stricter the limit of a plan is than theirs, at most 1: times are compared
        after they are scaled by it.
    """

    name: str
    share: float
    prompt: float
    output: float
    known: float
    ttft: float
    tpot: float
    first_ratio: float = 1.0
    each_ratio: float = 1.0

    @property
    def read(self) -> float:
        """Tokens of a prompt that have to be read [token]."""
        return self.prompt - self.known

    @property
    def steps(self) -> float:
        """Decode steps of an answer: its first token comes out of the prompt."""
        return max(self.output - 1.0, 1.0)


def mean(parts: Sequence[Part], figure: Callable[[Part], float]) -> float:
    """A figure of a request, averaged over all requests."""
    return sum(part.share * figure(part) for part in parts)


def averaged(parts: Sequence[Part], figures: Sequence[Array]) -> Array:
    """A figure of each part, averaged over all requests."""
    if len(parts) == 1:
        return figures[0]
    return np.asarray(sum(part.share * one for part, one in zip(parts, figures, strict=True)))


def squared(parts: Sequence[Part], figures: Sequence[Array]) -> Array | float:
    """Mean square of a figure over the square of its mean: 1 where all parts are alike."""
    if len(parts) == 1:
        return 1.0
    squares = averaged(parts, [one**2 for one in figures])
    return np.asarray(squares / averaged(parts, figures) ** 2)


def strictest(ratios: Sequence[float], times: Sequence[Array]) -> Array:
    """The time that is closest to its limit, scaled to the limit of the plan [s]."""
    if len(times) == 1:
        return times[0]
    scaled = [ratio * time for ratio, time in zip(ratios, times, strict=True)]
    return np.asarray(np.maximum.reduce(np.broadcast_arrays(*scaled)))
