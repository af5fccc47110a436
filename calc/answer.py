"""What a whole answer takes with a KV cache, and without one.

Without a cache every token of the answer is computed from the whole text before it again, as a
prompt is; with one, a token computes itself and attends to what is kept.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from calc import decode, prefill
from calc.scenario import Scenario

Array = NDArray[np.float64]


# Beyond so many tokens a curve goes no further than it must.
LONG = 1 << 16


def reach(output: int) -> int:
    """Tokens that a curve of an answer should have: twice its own at least [token]."""
    return max(4 * output, 64) if output < LONG else 2 * output


@dataclass(frozen=True)
class Work:
    """Sums over the first 1, 2, … tokens of an answer.

    `tokens` counts them, `linear` and `attention` are FLOPs of the weights and of scores and
    values [FLOP], `time` is that of one answer alone on its replica [s].
    """

    tokens: Array
    linear: Array
    attention: Array
    time: Array

    @property
    def flops(self) -> Array:
        """All of them [FLOP]."""
        return np.asarray(self.linear + self.attention)

    def doubled(self, tokens: int) -> float:
        """How many times the FLOPs of so many tokens twice as many take."""
        return float(self.flops[2 * tokens - 1] / self.flops[tokens - 1])

    def attended(self, tokens: int) -> float:
        """Part of the FLOPs of so many tokens that attention takes [share]."""
        return float(self.attention[tokens - 1] / self.flops[tokens - 1])


def without_cache(scenario: Scenario, longest: int) -> Work:
    """An answer of which every token reads the whole text again, up to `longest` tokens.

    .. math:: F = \\sum_{i=0}^{G-1} F_\\mathrm{pre}(S_p + i)

    References
    ----------
    F5.6.
    """
    s = scenario
    text = s.prompt + np.arange(longest, dtype=float)
    return _sums(
        prefill.linear_flops(s.model, text),
        s.model.prefill_attention_flops(text),
        prefill.prompt_time(s, text, 0).total,
    )


def with_cache(scenario: Scenario, longest: int) -> Work:
    """An answer whose first token reads the prompt, and each further one the cache.

    .. math:: F = F_\\mathrm{pre}(S_p) + \\sum_{i=1}^{G-1} (2 P_\\mathrm{act} + f(S_p + i))

    References
    ----------
    F5.6.
    """
    s = scenario
    context = s.prompt + np.arange(1, longest, dtype=float)
    linear = np.full(context.shape, 2.0 * s.model.active_params)
    first, others = prefill.prompt_time(s, known=0), decode.step_time(s, batch=1, context=context)
    return _sums(
        np.append(prefill.linear_flops(s.model, s.prompt), linear),
        np.append(s.model.prefill_attention_flops(s.prompt), s.model.attention_flops(context)),
        np.append(first.total, others.total),
    )


def _sums(linear: Array, attention: Array, time: Array) -> Work:
    tokens = np.arange(1, len(linear) + 1, dtype=float)
    # Without attention there is one number for all lengths.
    scores = np.broadcast_to(attention, linear.shape)
    return Work(tokens, np.cumsum(linear), np.cumsum(scores), np.cumsum(time))
