"""How long requests wait for a reader of prompts, on average and at a percentile."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from calc.plan.ask import Ask

Array = NDArray[np.float64]


def wait(
    used: Array, reading: Array, scatter: Array | float, servers: Array | float = 1.0
) -> Array:
    """Mean wait for one of so many readers, each of them `used` for a share of its time [s].

    .. math:: \\bar W = \\frac{D (1 + c^2)}{2} \\frac{\\rho^{\\sqrt{2(m+1)} - 1}}{m (1 - \\rho)}

    References
    ----------
    F13.2; Sakasegawa 1977, which for one reader is Pollaczek and Khinchine's.

    Examples
    --------
    >>> round(float(wait(np.array(0.8), np.array(0.1), 1.0)), 6)
    0.2
    """
    power = np.sqrt(2 * (np.asarray(servers) + 1)) - 1
    return np.asarray(reading * scatter / 2 * used**power / (servers * (1 - used)))


def first_token(ask: Ask, used: Array, mean_wait: Array, own: Array, step: Array | float) -> Array:
    """Time to the first token that the asked share of requests keeps [s].

    Parameters
    ----------
    used : array
        Share of its time that the reader reads.
    mean_wait, own : array
        Mean wait for it, and the time that reading takes itself [s].
    step : array
        Of a step that may have to end first [s].

    References
    ----------
    F13.3. Waits have an exponential tail above an atom at 0, lengths are lognormal.
    """
    p = ask.chance
    if p is None:
        return np.asarray(mean_wait + step / 2 + own)
    waited = np.where(used <= 1 - p, 0.0, mean_wait / used * np.log(used / (1 - p)))
    if not ask.spread:
        return np.asarray(waited + own + p * step)
    deviation = math.sqrt(math.log(ask.scatter))
    longest = own * math.exp(-(deviation**2) / 2 + ask.deviations * deviation)
    beyond = np.hypot(np.maximum(waited - mean_wait, 0), np.maximum(longest - own, 0))
    return np.asarray(mean_wait + own + beyond + p * step)


def most_read(ask: Ask, decoding: Array, waiting: Array, gain: Array) -> Array:
    """Prompts read during one answer, at the asked percentile.

    A gamma quantile (Wilson and Hilferty 1931) of mean `decoding` + `waiting`. `gain` is how many
    more prompts come in one prompt's delay: a long step lets more of them in.

    References
    ----------
    F13.3.
    """
    mean = decoding + waiting
    variance = (decoding * ask.scatter + waiting**2) / (1 - gain) ** 2
    shape = mean**2 / variance
    cube = 1 - 1 / (9 * shape) + ask.deviations / (3 * np.sqrt(shape))
    return np.asarray(mean * np.maximum(cube, 0.0) ** 3)
