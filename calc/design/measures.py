"""What designs are judged by, of one model or of many at once (see `calc.design.points`)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from calc import cost, decode, host, memory
from calc.layout import Layout
from calc.scenario import Scenario
from calc.words import marked

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Measure:
    """A figure of a model in a scenario, in SI units.

    Parameters
    ----------
    label : str
        Marked for translation.
    better : int
        1 where more is better, -1 where less is, 0 where neither is.
    of : callable
        The figure; an array where the model's figures are.
    """

    label: str
    better: int
    of: Callable[[Scenario], Array]


def flops_per_token(scenario: Scenario) -> Array:
    """FLOPs of one decoded token at the scenario's context: matrices, scores and values [FLOP].

    References
    ----------
    F1.8, F3.3.
    """
    model = scenario.model
    return 2.0 * model.active_params + model.attention_flops(scenario.context)


def largest_batch(scenario: Scenario) -> Array:
    """Whole sequences that fit, as `memory.max_batch` (F6.2)."""
    s, model = scenario, scenario.model
    if s.fidelity == "bound":
        left = memory.capacity(s) - (model.weight_bytes(s.stored) - host.weights(s))
        return memory.whole(left, model.kv_bytes(s.context, s.kv_format), memory.largest_asked())
    layout = Layout.of(s)
    usable = max(0.0, s.chip.memory * s.usable_memory - s.runtime_memory)
    room = usable - layout.weights_per_chip(s)
    each = layout.cache_per_chip(s, s.context) + memory.activations_per_chip(s, layout)
    most = memory.largest_asked() // layout.dp
    return np.asarray(layout.dp * memory.whole(room, each, most))


MEASURES: Mapping[str, Measure] = {
    "step_time": Measure(marked("Step time"), -1, lambda s: decode.step_time(s).total),
    "max_batch": Measure(marked("Largest batch"), 1, largest_batch),
    "kv_per_sequence": Measure(
        marked("KV cache per sequence"), -1,
        lambda s: np.asarray(s.model.kv_bytes(s.context, s.kv_format)),
    ),
    "kv_per_token": Measure(
        marked("KV cache per token"), -1,
        lambda s: np.asarray(s.model.kv_bytes_per_token(s.kv_format), dtype=float),
    ),
    "total_params": Measure(
        marked("Parameters"), 0, lambda s: np.asarray(s.model.total_params, dtype=float)
    ),
    "active_params": Measure(
        marked("Active parameters"), 0, lambda s: np.asarray(s.model.active_params, dtype=float)
    ),
    "flops_per_token": Measure(marked("FLOPs per token"), -1, flops_per_token),
    "throughput_per_chip": Measure(
        marked("Token/s per chip"), 1, lambda s: decode.step_time(s).throughput_per_chip
    ),
    "usd_per_million_tokens": Measure(
        marked("USD per Mtoken"), -1,
        lambda s: np.asarray(cost.per_million_tokens(s, decode.step_time(s))),
    ),
}  # fmt: skip
