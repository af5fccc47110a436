"""Every sensible layout of a scenario's chips, timed in one call and held against memory."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from calc import cost, decode, layout, memory
from calc.layout import Layout
from calc.scenario import KV_SHARDINGS, Scenario
from calc.sharding import with_links


@dataclass(frozen=True)
class LayoutRow:
    """One layout: its widths, its step [s], rate and price, share of links, what memory holds."""

    tp: int
    dp: int
    ep: int
    pp: int
    kv_sharding: str
    total: float
    throughput_per_chip: float
    usd_per_million_tokens: float
    communication: float
    max_batch: int
    fits: bool
    best: bool

    @property
    def settings(self) -> dict[str, Any]:
        """What it sets of a scenario, plain values by field name."""
        return {
            "tensor_parallel": self.tp,
            "attention_dp": self.dp,
            "expert_parallel": self.ep,
            "pipeline": self.pp,
            "kv_sharding": self.kv_sharding,
        }


def layouts(scenario: Scenario) -> list[LayoutRow]:
    """Layouts that make the scenario's chips, fastest first, those that fit before the others.

    Every tensor, data and pipeline width that is legal, experts split in place or spread, and the
    cache beyond its heads copied or split. The first one that fits is `best`.
    """
    s = with_links(scenario)
    found = [row for how in KV_SHARDINGS for row in _layouts(replace(s, kv_sharding=how))]
    found.sort(key=lambda row: (not row.fits, row.total if math.isfinite(row.total) else math.inf))
    if found and found[0].fits and math.isfinite(found[0].total):
        found[0] = replace(found[0], best=True)
    return found


def _layouts(s: Scenario) -> list[LayoutRow]:
    """The layouts for one way to keep a cache beyond its heads; without need of one, as copies."""
    heads = [b.attention.split.cache_heads for b in s.model.blocks]
    fewest = min((h for h in heads if h), default=0)
    rows = [
        (tp, dp, ep, s.n_chips // (tp * dp))
        for tp in _divisors(s.n_chips)
        if s.kv_sharding == "replicated" or 0 < fewest < tp
        for dp in _divisors(s.n_chips // tp)
        for ep in (_divisors(tp * dp) if s.model.routed_params else [1])
        if _sensible(s, tp, dp, ep)
    ]
    if not rows:
        return []
    tp, dp, ep, pp = np.array(rows, dtype=float).T
    chosen = Layout.of_widths(tp, dp, ep, pp, s.micro_batches)
    step = decode.step_time(s, layout=chosen)
    weights = chosen.weights_per_chip(s)
    room = s.chip.memory * s.usable_memory - s.runtime_memory - weights
    each = chosen.cache_per_chip(s, s.context) + memory.activations_per_chip(s, chosen)
    largest = chosen.dp * memory.whole(room, each, memory.largest_asked() // chosen.dp)
    total, talk = step.total, step.charged()["communication"]
    paid = cost.per_million_tokens(s, step)
    return [
        LayoutRow(
            *widths,
            s.kv_sharding,
            float(total[i]),
            float(step.throughput_per_chip[i]),
            float(paid[i]),
            float(talk[i] / total[i]),
            int(largest[i]),
            bool(largest[i] >= s.batch and room[i] > 0),
            False,
        )
        for i, widths in enumerate(rows)
    ]


def _divisors(number: int) -> list[int]:
    small = [i for i in range(1, math.isqrt(number) + 1) if number % i == 0]
    return sorted({*small, *(number // i for i in small)})


def _sensible(s: Scenario, tp: int, dp: int, ep: int) -> bool:
    """Legal for the model, with work for every group and stage."""
    pp = s.n_chips // (tp * dp)
    wanted = pp * dp <= s.batch and pp <= _MOST_STAGES and ep in (1, *_spreads(tp * dp))
    return wanted and not layout.illegal(s.model, tp, dp, ep, pp, s.redundant_experts)


_MOST_STAGES = 16


def _spreads(stage: int) -> tuple[int, ...]:
    """Experts over all chips of a stage, or over a half or a quarter as many ranks."""
    return (stage, stage // 2, stage // 4)
