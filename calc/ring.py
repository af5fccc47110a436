"""A prompt whose tokens several replicas share, while their caches pass from one to the next.

Each replica of the ring holds all the weights and an even part of the tokens. It multiplies its
own; in every layer the keys and values of all others come by, one part after another, while it
attends to those that it has.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from calc import decode, prefill
from calc.layout import Layout
from calc.network import Network
from calc.scenario import Scenario

Array = NDArray[np.float64]

# Widths beyond are not looked at.
WIDEST = 1024


@dataclass(frozen=True)
class Ring:
    """A prompt read by rings of several widths [s].

    Parameters
    ----------
    width : array
        Replicas of the ring.
    reading : StepTime
        A replica's own part of the work, nothing of the ring in it.
    attention : array
        Scores and values of that part.
    exchange : array
        Keys and values that come from the others; they hide behind attention.
    """

    width: Array
    reading: decode.StepTime
    attention: Array
    exchange: Array

    @property
    def exposed(self) -> Array:
        """What of the exchange attention does not hide."""
        return np.maximum(self.exchange - self.attention, 0.0)

    @property
    def total(self) -> Array:
        """The prompt's time; of a ring of one that of `prefill.prompt_time`."""
        return np.asarray(self.reading.total + self.exposed)

    @property
    def kept(self) -> Array:
        """Prompts per second of a chip, as a share of those at the first of the widths."""
        spent = self.width * self.total
        return np.asarray(spent.flat[0] / spent)

    def at(self, width: float) -> Ring:
        """One of its widths alone."""
        i = int(np.flatnonzero(self.width == width)[0])
        return Ring(self.width[i], self.reading.at(i), self.attention[i], self.exchange[i])


def read(scenario: Scenario, width: ArrayLike) -> Ring:
    """A prompt over rings of replicas of the scenario.

    .. math:: T(n) = T_\\mathrm{pre}(F/n)
              + \\max\\left(0, T_\\mathrm{ring}(n) - \\frac{T_\\mathrm{att}}{n}\\right)

    Parameters
    ----------
    scenario : Scenario
        One replica, its chips, and the prompt.
    width : array_like
        Replicas of the ring.

    Returns
    -------
    Ring
        With nan where the chip has no published rate or, beyond a width of 1, no link.

    References
    ----------
    F5.5; Liu et al. 2023.
    """
    s, ways = scenario, np.asarray(width, dtype=float)
    attention = prefill.terms(s).attention_compute / ways
    reading = prefill.prompt_time(s, ways=ways)
    return Ring(ways, reading, np.asarray(attention), _exchange(s, ways))


def arriving(scenario: Scenario, width: ArrayLike) -> Array:
    """Cache of the tokens of the other replicas, which comes into each chip [byte]."""
    s = scenario
    # Of a window no more than itself comes, of a constant state nothing but itself.
    tokens = s.prompt * (1 - 1 / np.asarray(width, dtype=float))
    if s.fidelity == "bound":
        return np.asarray(s.model.kv_bytes(tokens, s.kv_format) / s.n_chips)
    chosen = Layout.of(s)
    parts = (
        block.count
        * block.attention.kv_bytes(tokens, s.kv_format)
        * chosen.cache_share(block.attention.split, s.kv_sharding)
        for block in s.model.blocks
    )
    return np.asarray(sum(parts, np.zeros(())))


def layers(scenario: Scenario) -> int:
    """Layers that keep a cache, which is handed on."""
    s = scenario
    return sum(b.count for b in s.model.blocks if b.attention.kv_bytes(1, s.kv_format) > 0)


def link(scenario: Scenario, width: ArrayLike) -> Array:
    """What each chip has to its like in the next replica [byte/s]."""
    return Network.of(scenario).one_to_one(scenario.n_chips * np.asarray(width, dtype=float))


def _exchange(s: Scenario, ways: Array) -> Array:
    hops = layers(s) * (ways - 1) * s.hop_latency
    return np.where(ways > 1, arriving(s, ways) / link(s, ways) + hops, 0.0)


def limit(scenario: Scenario) -> float:
    """Width from which the exchange takes longer than the attention that hides it [replica].

    inf if no width up to `WIDEST` does; nan if either is unknown (F5.5).
    """
    rings = read(scenario, np.arange(1, WIDEST + 1))
    if np.isnan(rings.exchange[1:]).any() or np.isnan(rings.attention).any():
        return math.nan
    longer = (rings.width > 1) & (rings.exchange >= rings.attention)
    return float(rings.width[np.argmax(longer)]) if longer.any() else math.inf
