"""What a cached prefix is worth: sessions that a memory keeps, and reload against recompute."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from calc import cost, memory, prefill
from calc.scenario import Scenario
from calc.words import marked

Array = NDArray[np.float64]
CHIPS, HOST, SSD = marked("chip memory beside weights"), marked("host memory"), marked("SSD")


@dataclass(frozen=True)
class Tier:
    """A memory of one replica that keeps prefixes.

    `name` is marked for translation; `limit` is its size [byte], `bandwidth` that of reading it
    back over all chips [byte/s], inf where caches are used in place.
    """

    name: str
    limit: float
    bandwidth: float


def sessions(limit: float, each: float) -> int:
    """Whole caches of a size that a memory keeps (F8.25) [byte].

    >>> sessions(450 * 2**30, 8192 * 163_840)
    360
    """
    return int(limit / each) if each > 0 else 0


def reload_time(scenario: Scenario, context: ArrayLike, tier: Tier) -> Array:
    """Time to bring the cache of a context back from a memory [s] (F8.25)."""
    return np.asarray(memory.kv_per_sequence(scenario, context) / tier.bandwidth)


def recompute_time(scenario: Scenario, context: ArrayLike) -> Array:
    """Time to read so many tokens again, with nothing cached [s] (F5.1)."""
    return np.asarray(prefill.prompt_time(scenario, context, 0).total)


def storage_worth(scenario: Scenario, context: int, tier: Tier, between: float) -> float:
    """Most that a byte may cost a second for a reload to be cheaper than reading again (F8.25).

    Parameters
    ----------
    scenario : Scenario
        A replica, at its price.
    context : int
        What is kept [token].
    tier : Tier
        Where.
    between : float
        Time until it is asked for again [s].

    Returns
    -------
    float
        [USD/(byte s)]; 0 where reading again is quicker, nan without a price.
    """
    saved = float(recompute_time(scenario, context) - reload_time(scenario, context, tier))
    usd = scenario.n_chips * cost.price(scenario) / 3600 * max(saved, 0.0)
    kept = float(memory.kv_per_sequence(scenario, context))
    return usd / (kept * between) if kept > 0 else 0.0


@dataclass(frozen=True)
class Provider:
    """What a provider asks for prompts, cached and not.

    Parameters
    ----------
    input_price : float
        Of plain input [USD/million tokens].
    discount : float
        Off it for cached tokens [share].
    storage : float
        Of keeping them [USD/(million tokens hour)].
    """

    input_price: float
    discount: float
    storage: float

    @property
    def calls_to_pay(self) -> float:
        """Calls an hour from which cached input is cheaper than plain input [1/h] (F8.25).

        Examples
        --------
        75 % off at $1 per million tokens and hour, of input at $1.25:

        >>> round(Provider(1.25, 0.75, 1.0).calls_to_pay, 3)
        1.067
        """
        return self.storage / (self.discount * self.input_price)
