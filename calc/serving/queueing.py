"""What queues and batches must do on average, in closed form: checks on a simulation.

More closed forms are where they are used: `metrics.kv_tokens_retired` (F8.7),
`prefill.servers_ratio` (F8.8), `paging.contiguous_utilisation` and `paging.paged_utilisation`
(F8.11).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike


def in_system(rate: float, time: float) -> float:
    """Little's law: requests that are there on average (F8.3).

    Examples
    --------
    10 requests a second, 0.5 s to the first token and 511 gaps of 20 ms:

    >>> round(in_system(10, 0.5 + 511 * 0.02), 1)
    107.2
    """
    return rate * time


def closed_rate(clients: float, response: float, pause: float = 0.0) -> float:
    """Requests a second of clients that wait for each answer and pause (F8.19).

    .. math:: \\frac{N}{T_\\mathrm{E2E} + Z}

    >>> closed_rate(32, 6.0, 2.0)
    4.0
    """
    return clients / (response + pause)


def mean_context(prompt: float, output: ArrayLike) -> float:
    """Cached tokens of a decoding sequence, averaged over time [token] (F8.3).

    .. math:: P + \\frac{E[G^2]}{2 E[G]}

    Long answers stay longer, so they count for more; P + G/2 if all are alike.

    >>> mean_context(1000, [300, 300])
    1150.0
    """
    lengths = np.asarray(output, dtype=float)
    return prompt + float((lengths**2).mean() / (2 * lengths.mean()))


def wait_md1(rate: float, time: float) -> float:
    """Mean wait for a server that takes the same time for each of Poisson arrivals [s].

    .. math:: \\frac{R D^2}{2 (1 - R D)}

    inf where it cannot keep up.

    References
    ----------
    F8.4.

    Examples
    --------
    >>> round(wait_md1(8.0, 0.1), 3)
    0.2
    """
    load = rate * time
    return rate * time**2 / (2 * (1 - load)) if load < 1 else math.inf


def ttft_md1(rate: float, time: float) -> float:
    """Mean time to first token where one replica only reads prompts [s] (F8.4)."""
    return time + wait_md1(rate, time)


def wait_one_queue(rate: float, time: float, servers: int) -> float:
    """Mean wait for several servers that take from one queue, both times exponential [s].

    .. math:: \\frac{C\\, D}{m (1 - \\rho)}

    with C of Erlang, the share of requests that wait; inf where they cannot keep up.

    References
    ----------
    F8.15.

    Examples
    --------
    >>> round(wait_one_queue(16.0, 0.1, 2), 4)
    0.1778
    """
    offered = rate * time
    used = offered / servers
    if used >= 1:
        return math.inf
    # The share that is turned away without a queue, of Erlang, by recursion over servers.
    lost = 1.0
    for server in range(1, servers + 1):
        lost = offered * lost / (server + offered * lost)
    waits = lost / (1 - used * (1 - lost))
    return waits * time / (servers * (1 - used))


def wait_in_turn(rate: float, time: float, servers: int) -> float:
    """Mean wait where requests go to several servers in turn, both times exponential [s].

    Each server sees every m-th arrival, a gap of m exponential parts (E_m/M/1):

    .. math:: \\frac{D \\sigma}{1 - \\sigma}, \\quad
              \\sigma = \\left( \\frac{\\lambda D}{\\lambda D + 1 - \\sigma} \\right)^m

    inf where they cannot keep up.

    References
    ----------
    F8.15.

    Examples
    --------
    >>> round(wait_in_turn(16.0, 0.1, 2), 4)
    0.2844
    """
    offered = rate * time
    if offered >= servers:
        return math.inf
    decay = offered / servers
    for _ in range(10_000):
        decay, before = (offered / (offered + 1 - decay)) ** servers, decay
        if abs(decay - before) < 1e-14:
            break
    return time * decay / (1 - decay)


def static_efficiency_exponential(batch: int) -> float:
    """Share of slots used by a batch that leaves together, lengths exponential: 1/H_B (F8.6).

    >>> round(static_efficiency_exponential(8), 2), round(static_efficiency_exponential(32), 2)
    (0.37, 0.25)
    """
    return 1 / sum(1 / k for k in range(1, batch + 1))


def static_efficiency_uniform(batch: int) -> float:
    """Share of slots used by a batch that leaves together, lengths uniform from 0 (F8.6).

    It is (B + 1) / 2B.

    >>> static_efficiency_uniform(8)
    0.5625
    """
    return (batch + 1) / (2 * batch)


def static_efficiency(lengths: ArrayLike, batch: int) -> float:
    """Share of slots used by a batch that leaves together, lengths drawn from given ones.

    Their mean over the mean of the longest of B (F8.6).

    Examples
    --------
    Answers of 10 and 2,000 tokens in large batches:

    >>> round(static_efficiency([10, 2000], 64), 3)
    0.502
    """
    ordered = np.sort(np.asarray(lengths, dtype=float))
    below = (np.arange(len(ordered) + 1) / len(ordered)) ** batch
    return float(ordered.mean() / (ordered @ np.diff(below)))


def dynamic_batch(slots: int, rate: float, window: float) -> float:
    """Mean batch that a full batch or a window starts, on an idle replica (F8.6).

    .. math:: E[\\min(m, 1 + \\mathrm{Poisson}(\\lambda \\tau))]

    >>> round(dynamic_batch(4, 20.0, 0.1), 3)
    2.782
    """
    mean = rate * window
    chance, total, below = math.exp(-mean), 0.0, 0.0
    for others in range(slots - 1):
        total += (1 + others) * chance
        below += chance
        chance *= mean / (others + 1)
    return total + slots * (1 - below)


def time_by_priority(
    rates: Sequence[float], means: Sequence[float], squares: Sequence[float]
) -> list[float]:
    """Mean time in a server that a higher priority takes from a lower, which then goes on [s].

    .. math:: T_k = \\frac{D_k}{1 - \\sigma_{k-1}}
              + \\frac{\\sum_{i \\le k} \\lambda_i E[D_i^2]}{2 (1 - \\sigma_{k-1}) (1 - \\sigma_k)}

    inf for those that find no time left.

    Parameters
    ----------
    rates, means, squares : sequence of float
        Of Poisson arrivals [1/s], of the time each takes [s] and of its square [s²], from the
        highest priority to the lowest.

    References
    ----------
    F8.20.

    Examples
    --------
    >>> [round(one, 3) for one in time_by_priority([2, 3], [0.1, 0.1], [0.02, 0.02])]
    [0.125, 0.25]
    """
    found, busy, left = [], 0.0, 0.0
    for rate, mean, square in zip(rates, means, squares, strict=True):
        before, busy, left = busy, busy + rate * mean, left + rate * square / 2
        found.append(
            mean / (1 - before) + left / ((1 - before) * (1 - busy)) if busy < 1 else math.inf
        )
    return found


def given_up(rate: float, time: float, patience: float) -> float:
    """Share of requests that wait longer than their patience for a server, times exponential.

    .. math:: \\frac{\\rho (1 - \\rho) e}{1 - \\rho^2 e}, \\quad
              e = e^{-(1 - \\rho) \\tau / D}

    References
    ----------
    F8.21.

    Examples
    --------
    >>> round(given_up(8.0, 0.1, 0.2), 4)
    0.1878
    """
    load = rate * time
    if load == 1:
        return time / (2 * time + patience)
    left = math.exp(-(1 - load) * patience / time)
    return load * (1 - load) * left / (1 - load**2 * left)
