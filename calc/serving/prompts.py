"""How long a replica reads prompts, alone or several in one pass."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from calc import prefill
from calc.scenario import Scenario

Array = NDArray[np.float64]
# Points of the table of a pass's matrices at operators, up to so many tokens.
_POINTS, _MOST = 256, 1 << 22


class Prompts:
    """Times of prompts, looked up where they were asked for before.

    Parameters
    ----------
    scenario : Scenario
        What runs on what.
    longest : int
        Longest prompt that will be read together with others [token].
    """

    def __init__(self, scenario: Scenario, longest: int) -> None:
        self._scenario, self._longest = scenario, longest
        self._known: dict[tuple[int, int], float] = {}

    def learn(self, prompts: NDArray[np.int64], known: NDArray[np.int64] | int = 0) -> None:
        """Time many prompts in one call, to be looked up later."""
        pairs = np.unique(np.stack(np.broadcast_arrays(prompts, known), axis=-1), axis=0)
        times = prefill.prompt_time(self._scenario, pairs[:, 0], pairs[:, 1]).total
        keys = zip(pairs[:, 0].tolist(), pairs[:, 1].tolist(), strict=True)
        self._known.update(zip(keys, np.ravel(times).tolist(), strict=True))

    def alone(self, length: int, known: int = 0) -> float:
        """Time to read a prompt of which so many tokens are cached [s]."""
        time = self._known.get((length, known))
        if time is None:
            time = float(prefill.prompt_time(self._scenario, length, known).total)
            self._known[length, known] = time
        return time

    def together(self, parts: Sequence[tuple[int, int]]) -> float:
        """Time to read parts of prompts in one pass over the weights [s].

        Parameters
        ----------
        parts : sequence of (before, size)
            Of each the prompt tokens read before it and its own.

        References
        ----------
        F5.1, F5.2 for the tokens of all: matrices see their sum, attention each by itself.
        """
        if len(parts) == 1:
            [(before, size)] = parts
            return self.alone(before + size, before)
        tokens = sum(size for _, size in parts)
        pairs = sum(float(self._pairs[at + size] - self._pairs[at]) for at, size in parts)
        s = self._scenario
        if s.fidelity != "bound" or s.host_share:
            return float(np.interp(tokens, *self._matrices)) + pairs
        each, head = self._flops
        cache = sum(float(self._cache[at + size]) for at, size in parts)
        weights = float(s.model.bytes_read(float(tokens), s.stored, s.routing_skew))
        read = (weights + cache) / (s.n_chips * s.chip.bandwidth)
        return max(tokens * each + len(parts) * head + pairs, read)

    @cached_property
    def _pairs(self) -> Array:
        """Time of attention over a prompt up to every length [s]."""
        return np.concatenate([[0.0], self._attention(np.arange(1.0, self._longest + 1.0))])

    def _attention(self, lengths: Array) -> Array:
        s = self._scenario
        if s.fidelity == "bound":
            rate = s.n_chips * s.chip.peak(s.compute_format) * s.constants.mfu
            return np.asarray(s.model.prefill_attention_flops(lengths) / rate)
        work = prefill.prompt_time(s, lengths, 0).work
        none = np.zeros_like(lengths)
        return np.asarray(sum((one.time for one in work.operators if one.cache), none))

    @cached_property
    def _cache(self) -> Array:
        """Cache of a prompt of every length [byte]."""
        s, lengths = self._scenario, np.arange(self._longest + 1.0)
        return np.asarray(s.model.kv_bytes(lengths, s.kv_format) * np.ones_like(lengths))

    @cached_property
    def _flops(self) -> tuple[float, float]:
        """Time of a token's matrices, and of scoring one [s]."""
        s = self._scenario
        rate = s.n_chips * s.linear_rate * s.constants.mfu
        head = 2.0 * s.model.head_params / rate
        return float(prefill.linear_flops(s.model, 1.0) / rate - head), head

    @cached_property
    def _matrices(self) -> tuple[Array, Array]:
        """Numbers of tokens, and the time of a pass over so many but for attention [s]."""
        tokens = np.unique(np.geomspace(1, _MOST, _POINTS).round())
        time = prefill.prompt_time(self._scenario, tokens, 0).total
        return tokens, np.asarray(time - self._attention(tokens))
