"""Several answers to one question: what they cost and hold, and how often a vote is right."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from calc import memory
from calc.scenario import Scenario

Array = NDArray[np.float64]

# Answers to one question at most.
MOST = 128


def _right(n: int, p: float) -> Array:
    """Probability of each number of right answers, 0 to n, of independent ones."""
    k = np.arange(n + 1)
    if p in (0.0, 1.0):
        return np.asarray(k == n * p, dtype=float)
    logs = np.concatenate([[0.0], np.cumsum(np.log(k[1:]))])
    chosen = logs[n] - logs - logs[::-1]
    return np.asarray(np.exp(chosen + k * math.log(p) + (n - k) * math.log1p(-p)))


def majority(n: int, p: float) -> tuple[float, float]:
    """Probability that more than half of n answers are right, and that exactly half are.

    .. math:: \\sum_{i > n/2} \\binom{n}{i} p^i (1-p)^{n-i}

    Parameters
    ----------
    n : int
        Answers, each independent of the others.
    p : float
        Probability that one is right.

    Notes
    -----
    With wrong answers all alike, the worst case: where they differ, fewer right ones win.

    References
    ----------
    F8.29; Wang et al. 2022.

    Examples
    --------
    >>> [round(one, 3) for one in majority(3, 0.6)], [round(one, 3) for one in majority(2, 0.6)]
    ([0.648, 0.0], [0.36, 0.48])
    """
    each = _right(n, p)
    tie = float(each[n // 2]) if n % 2 == 0 else 0.0
    return float(each[n // 2 + 1 :].sum()), tie


def any_right(n: ArrayLike, p: float) -> Array:
    """Probability that one of n answers is right: what best-of-n reaches at most.

    >>> round(float(any_right(3, 0.6)), 3)
    0.936
    """
    return np.asarray(1 - (1 - p) ** np.asarray(n, dtype=float))


def tokens(prompt: ArrayLike, output: ArrayLike, n: ArrayLike) -> tuple[Array, Array]:
    """Tokens to read and to generate for n answers to one prompt, which is read once.

    >>> [float(one) for one in tokens(8192, 512, 8)]
    [8192.0, 4096.0]
    """
    answers = np.asarray(n, dtype=float)
    return np.asarray(prompt, dtype=float) + 0 * answers, answers * np.asarray(output, dtype=float)


@dataclass(frozen=True)
class Held:
    """Cache of n answers at their full length [byte], and what as many requests would hold.

    `shared` is that of whole blocks of the prompt, held once, `own` of all that answers hold apart.
    """

    shared: float
    own: float
    apart: float

    @property
    def total(self) -> float:
        """All that the answers hold."""
        return self.shared + self.own


def held(scenario: Scenario, n: int) -> Held:
    """Cache of n answers to the scenario's prompt (F8.29).

    Whole blocks of the prompt are shared; the last one is copied where it is not full, since
    answers write behind it.
    """
    s = scenario
    common = s.prompt // s.kv_block * s.kv_block
    shared, own = map(float, memory.beside_prefix(s, common, s.prompt + s.output))
    return Held(shared, n * own, n * (shared + own))


def questions(scenario: Scenario, n: int) -> int:
    """Questions that fit at once with n answers each, of one prompt (F6.2, F8.29)."""
    active = memory.activations_per_sequence(scenario)
    return int(memory.fitting(scenario, held(scenario, n).total + n * active))


def price(usd_in: float, usd_out: float, prompt: int, output: int, n: int) -> float:
    """Price of n answers to one prompt, from prices of a million tokens in and out [USD]."""
    read, made = tokens(prompt, output, n)
    return float(usd_in * read + usd_out * made) / 1e6
