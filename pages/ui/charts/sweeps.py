"""The points that curves are drawn at, and series over several models."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from calc import Model, Scenario, decode, speculative
from calc.words import say
from pages.ui.writing import text

Array = NDArray[np.float64]

DRAFTED: Array = np.arange(0, text.LONGEST_SHOWN_DRAFT + 1, dtype=float)
ACCEPTANCES = np.linspace(0, 1, 51)
SHOWN_ACCEPTANCES = (0.5, 0.6, 0.7, 0.8, 0.9, 0.95)


def contexts() -> Array:
    """Contexts from 1k to 1M tokens, sixteen to an octave pair."""
    return np.asarray(2.0 ** np.linspace(10, 20, 81))


def lengths(longest: int) -> Array:
    """Mean lengths up to the longest."""
    return np.geomspace(1, max(longest, 2), 80)


def intensity(scenario: Scenario) -> float:
    """Decode attention FLOPs per byte of cache for the scenario's model [FLOP/byte]."""
    return float(scenario.model.attention_intensity(scenario.context, scenario.kv_format))


def intensities(models: Mapping[str, Model], scenario: Scenario) -> dict[str, float]:
    """The same for several models."""
    return {
        name: float(model.attention_intensity(scenario.context, scenario.kv_format))
        for name, model in models.items()
    }


def best(speed: Array) -> int:
    """Draft length with the largest speed-up; 0 where nothing is known."""
    return int(np.nanargmax(speed)) if np.isfinite(speed).any() else 0


def batches(scenario: Scenario, free: float) -> Array:
    """Batches from 1 to well past where verification stops being free."""
    far = 16 * free if np.isfinite(free) else 1024
    upper = 2.0 ** np.ceil(np.log2(min(max(far, 2 * scenario.batch, 64), 65536)))
    full = [speculative.max_batch(scenario, s) for s in (scenario.context, 1024, 8192, 32768)]
    return decode.batch_sweep(float(upper), [scenario.batch, *full])


def cycles_by_context(scenario: Scenario, over: Array) -> dict[str, tuple[speculative.Cycle, int]]:
    """Cycles against batch at the scenario's context and at three others, and what fits there."""
    contexts = dict.fromkeys((scenario.context, 1024, 8192, 32768))
    return {
        say("{n:,} tokens", n=context): (
            speculative.batch_speedup(scenario, batch=over, context=context),
            speculative.max_batch(scenario, context),
        )
        for context in contexts
    }


def tokens_by_acceptance() -> dict[float, Array]:
    """Tokens per verification against draft length for round acceptances."""
    return {a: speculative.expected_tokens(a, DRAFTED) for a in SHOWN_ACCEPTANCES}


def speed_map(cost_ratio: float) -> Array:
    """Batch-free speed-up over `ACCEPTANCES` (rows) and `DRAFTED` (columns)."""
    return speculative.speedup(ACCEPTANCES[:, np.newaxis], DRAFTED[np.newaxis, :], cost_ratio)


def expert_traffic(
    scenario: Scenario, batch: Array
) -> tuple[Array, Array, Array | None, float, tuple[float, float]]:
    """Share of the routed experts read against batch, the uniform limit, the least, and now."""
    model, skew = scenario.model, scenario.routing_skew
    return (
        batch,
        model.experts_read(batch, skew),
        model.experts_read(batch) if skew else None,
        float(model.experts_read(1.0)),
        (scenario.batch, float(model.experts_read(scenario.batch, skew))),
    )
