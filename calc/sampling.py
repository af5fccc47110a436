"""Distributions over the next token, how alike a draft's and a target's are, and exactness.

A distribution is an array of probabilities over a vocabulary that adds up to 1.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from calc.errors import LedgerError
from calc.words import say

Array = NDArray[np.float64]


class DistributionError(LedgerError):
    """Weights that are no distribution, and why."""


def distribution(weights: ArrayLike) -> Array:
    """Non-negative weights as probabilities.

    Raises
    ------
    DistributionError
        If a weight is negative or not finite, or all are 0.

    Examples
    --------
    >>> distribution([2, 1, 1]).tolist()
    [0.5, 0.25, 0.25]
    """
    values = np.asarray(weights, dtype=float)
    if values.ndim != 1 or not values.size:
        raise DistributionError("there are no weights")
    if not np.isfinite(values).all():
        raise DistributionError(say("a weight is not a finite number"))
    if (values < 0).any():
        raise DistributionError(say("a weight is negative"))
    largest = values.max()
    if largest == 0:
        raise DistributionError(say("all weights are 0"))
    scaled = values / largest
    return np.asarray(scaled / scaled.sum())


MOST_WEIGHTS = 16


def pair_of_text(text: str) -> tuple[Array, Array]:
    """Weights of a target and a draft as a link carries them: commas between, then a semicolon.

    They are checked and given back as they were, not scaled.

    >>> [weights.tolist() for weights in pair_of_text("5,3,2;6,3,1")]
    [[5.0, 3.0, 2.0], [6.0, 3.0, 1.0]]
    """
    sides = [side.split(",") for side in text.split(";")]
    if len(sides) != 2 or len(sides[0]) != len(sides[1]):
        raise DistributionError(say("there are no two lists of equally many weights"))
    if not 2 <= len(sides[0]) <= MOST_WEIGHTS:
        raise DistributionError(say("there are not 2 to {most} weights", most=MOST_WEIGHTS))
    try:
        target, draft = (np.array([float(part) for part in side]) for side in sides)
    except ValueError as error:
        raise DistributionError(say("a weight is not a number")) from error
    for side in (target, draft):
        distribution(side)
    return target, draft


def text_of_pair(target: ArrayLike, draft: ArrayLike) -> str:
    """Two lists of weights as the text that `pair_of_text` reads, to six digits."""
    sides = (np.asarray(side, dtype=float) for side in (target, draft))
    return ";".join(",".join(f"{weight:.6g}" for weight in side) for side in sides)


def at_temperature(p: Array, temperature: float) -> Array:
    """Sharper below 1, flatter above; 0 is greedy, all on the largest.

    >>> at_temperature(distribution([3, 1]), 0).tolist()
    [1.0, 0.0]
    """
    if temperature == 0:
        return np.asarray(np.arange(p.size) == np.argmax(p), dtype=float)
    # Against the likeliest, so that a tiny temperature overflows to "never" and not to nothing.
    with np.errstate(divide="ignore", over="ignore"):
        logits = np.log(p / p.max()) / temperature
    return distribution(np.exp(logits))


def keep_top_k(p: Array, top_k: int) -> Array:
    """Only the `top_k` likeliest; 0 keeps all."""
    if not 0 < top_k < p.size:
        return p
    kept = np.argsort(-p, kind="stable")[:top_k]
    return distribution(np.where(np.isin(np.arange(p.size), kept), p, 0.0))


def keep_top_p(p: Array, top_p: float) -> Array:
    """Only the likeliest that together reach `top_p`; 1 keeps all."""
    order = np.argsort(-p, kind="stable")
    before = np.cumsum(p[order]) - p[order]
    kept = order[before < top_p] if top_p < 1 else order
    return distribution(np.where(np.isin(np.arange(p.size), kept), p, 0.0))


def processed(p: Array, temperature: float = 1.0, top_k: int = 0, top_p: float = 1.0) -> Array:
    """Temperature, then top-k, then top-p, renormalised (F10.1)."""
    return keep_top_p(keep_top_k(at_temperature(p, temperature), top_k), top_p)


# Logits that a link can hold.
MOST_LOGITS = 64


def logits_of_text(text: str) -> Array:
    """Logits as a link carries them: numbers with commas between.

    Raises
    ------
    DistributionError
        If they are fewer than 2, more than 64, or no finite numbers.

    Examples
    --------
    >>> logits_of_text("2.5,1,-3e-1").tolist()
    [2.5, 1.0, -0.3]
    """
    parts = text.split(",")
    if not 2 <= len(parts) <= MOST_LOGITS:
        raise DistributionError(say("there are not 2 to {most} logits", most=MOST_LOGITS))
    try:
        found = np.array([float(part) for part in parts])
    except ValueError as error:
        raise DistributionError(say("a logit is not a number")) from error
    if not np.isfinite(found).all():
        raise DistributionError(say("a logit is not a finite number"))
    return found


def softmax(logits: ArrayLike) -> Array:
    """Logits as probabilities.

    >>> [round(float(one), 3) for one in softmax([2, 1, 0])]
    [0.665, 0.245, 0.09]
    """
    values = np.asarray(logits, dtype=float)
    return distribution(np.exp(values - values.max()))


@dataclass(frozen=True)
class Survivors:
    """Tokens that can still be sampled after each step, and the probability that they had.

    `top_k` and `top_p` are each alone at the temperature, `both` one after the other; `kept` is the
    share of probability at the temperature that `both` leaves, `choices` e to the entropy of what
    is then sampled from: so many equally likely tokens are as uncertain.
    """

    tokens: int
    top_k: int
    top_p: int
    both: int
    kept: float
    choices: float


def survivors(p: Array, temperature: float, top_k: int, top_p: float) -> Survivors:
    """How many tokens survive temperature, top-k and top-p (F10.2).

    Examples
    --------
    >>> found = survivors(distribution([8, 4, 2, 1, 1]), 1.0, 3, 0.8)
    >>> (found.tokens, found.top_k, found.top_p, found.both, round(found.kept, 3))
    (5, 3, 3, 2, 0.75)
    """
    heated = at_temperature(p, temperature)
    left = processed(p, temperature, top_k, top_p)
    some = left[left > 0]
    return Survivors(
        int(np.count_nonzero(heated)),
        int(np.count_nonzero(keep_top_k(heated, top_k))),
        int(np.count_nonzero(keep_top_p(heated, top_p))),
        some.size,
        float(heated[left > 0].sum()),
        float(np.exp(-(some * np.log(some)).sum())),
    )


def surviving(p: Array, temperature: float, top_k: int, top_p: ArrayLike) -> Array:
    """Tokens that survive at each of several top-p, behind temperature and top-k.

    >>> surviving(distribution([8, 4, 2, 1, 1]), 1.0, 0, [0.5, 0.8, 1.0]).tolist()
    [1, 3, 5]
    """
    left = np.sort(keep_top_k(at_temperature(p, temperature), top_k))[::-1]
    left = left[left > 0]
    before = np.cumsum(left) - left
    shares = np.asarray(top_p, dtype=float)
    return np.where(shares < 1, np.searchsorted(before, shares), left.size)


def acceptance(p: Array, q: Array) -> float:
    """Probability that a token drafted from q is accepted for p: 1 − total variation.

    .. math:: \\alpha = \\sum_x \\min(p(x), q(x))

    References
    ----------
    F7.1; Leviathan et al. 2022, corollary 3.6.

    Examples
    --------
    >>> p, q = distribution([0.5, 0.3, 0.2]), distribution([0.6, 0.3, 0.1])
    >>> round(acceptance(p, q), 3)
    0.9
    """
    return float(np.minimum(p, q).sum())


def residual(p: Array, q: Array) -> Array:
    """What is sampled after a rejection, ``[p − q]₊`` renormalised; p itself where p equals q."""
    left = np.maximum(p - q, 0.0)
    # Below rounding nothing is ever rejected, so any distribution would do.
    return p if left.sum() < 1e-15 else distribution(left)


@dataclass(frozen=True)
class Simulation:
    """What came out of drawing many tokens, beside what should.

    `emitted` are frequencies, `standard_error` the sampling error of each under p, `accepted` the
    share of drafts accepted, `chi_square` the distance from p with so many `degrees` of freedom:
    around that many if they agree.
    """

    emitted: Array
    standard_error: Array
    accepted: float
    chi_square: float
    degrees: int


def _summary(tokens: NDArray[np.int64], accepted: NDArray[np.bool_], p: Array) -> Simulation:
    draws = tokens.size
    emitted = np.bincount(tokens, minlength=p.size) / draws
    possible = p > 0
    expected = draws * p[possible]
    distance = float((((draws * emitted[possible]) - expected) ** 2 / expected).sum())
    # A token that p forbids is a deviation without bound.
    if (emitted[~possible] > 0).any():
        distance = float("inf")
    error = np.sqrt(p * (1 - p) / draws)
    return Simulation(emitted, error, float(accepted.mean()), distance, int(possible.sum()) - 1)


def simulate(p: Array, q: Array, draws: int = 100_000, seed: int = 0) -> Simulation:
    """Exact speculative sampling: accept with ``min(1, p/q)``, else draw from the residual."""
    random = np.random.default_rng(seed)
    drafted = random.choice(p.size, draws, p=q)
    accepted = random.random(draws) * q[drafted] < p[drafted]
    replaced = random.choice(p.size, draws, p=residual(p, q))
    return _summary(np.where(accepted, drafted, replaced), accepted, p)


def simulate_threshold(
    p: Array, q: Array, threshold: float = 0.09, draws: int = 100_000, seed: int = 0
) -> Simulation:
    """The heuristic that accepts whatever the target finds likely enough, else draws from p.

    Fast, and not exact: what it emits is not p.
    """
    random = np.random.default_rng(seed)
    drafted = random.choice(p.size, draws, p=q)
    accepted = p[drafted] > threshold
    replaced = random.choice(p.size, draws, p=p)
    return _summary(np.where(accepted, drafted, replaced), accepted, p)
