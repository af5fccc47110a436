"""The charts of the Sharding page."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from calc import Scenario, sharding
from pages.ui import figures, lines, palette, text

Array = NDArray[np.float64]

_LOOKS = palette.QUANTITIES
MICRO = 1e6


def _widths(scenario: Scenario) -> Array:
    """Powers of two to well past the chips, and the scenario's own width."""
    far = max(64, 4 * scenario.n_chips)
    marks = 2.0 ** np.arange(0, np.ceil(np.log2(far)) + 1)
    return np.unique(np.append(marks, float(sharding.width(scenario))))


def _ticks(widths: Array) -> dict[float, str]:
    marks = [float(2**i) for i in range(18) if 2**i <= widths[-1]]
    return {mark: f"{mark:,.0f}" for mark in (marks if len(marks) <= 11 else marks[::2])}


def against_width(scenario: Scenario) -> figures.Chart:
    """The decode step against the width when one group is all of the replica."""
    widths, at = _widths(scenario), sharding.width(scenario)
    swept = sharding.by_width(scenario, widths)
    sweep, bound = swept.step, swept.bound
    own = float(sharding.by_width(scenario, at).step.total)
    # A scenario of several groups or stages is another replica than those drawn.
    here = (at, 1e3 * own, text.si(own, "s")) if at == scenario.n_chips else None
    groups = [("x", at, f"groups of {at:,} here")] if here is None else []
    return lines.chart(
        widths,
        {
            "step": (1e3 * sweep.total, lines.TOTAL),
            "weight read": (1e3 * sweep.weight_read, _LOOKS["weight_read"]),
            "KV read": (1e3 * sweep.kv_read, _LOOKS["kv_read"]),
            "linear FLOPs": (1e3 * sweep.linear_compute, _LOOKS["linear_compute"]),
            "communication": (1e3 * sweep.communication, _LOOKS["communication"]),
            "bound": (1e3 * bound, lines.BOUND),
        },
        x_title="Tensor-parallel width (chips of the replica)",
        y_title="Time per step (ms)",
        unit="ms",
        now=here,
        rules=groups,
        x_ticks=_ticks(widths),
        decades=3.2,
    )


def matmul(scenario: Scenario) -> figures.Chart:
    """Memory, arithmetic and links of one MLP product against the width."""
    widths = _widths(scenario)[1:]
    times = sharding.matmul(scenario, widths)
    at = sharding.width(scenario)
    own = sharding.matmul(scenario, at)
    largest = max(float(own.hbm), float(own.math), float(own.link))
    rules = [
        ("x", limit, f"past {name} at {text.round_count(limit)}")
        for name, falling in (("memory", times.hbm), ("compute", times.math))
        for limit in [sharding.crossing(widths, falling, times.link)]
        if limit < widths[-1]
    ]
    return lines.chart(
        widths,
        {
            "links": (MICRO * times.link, _LOOKS["communication"]),
            "weights from memory": (MICRO * times.hbm, _LOOKS["weight_read"]),
            "FLOPs": (MICRO * times.math, _LOOKS["linear_compute"]),
        },
        x_title="Tensor-parallel width (chips)",
        y_title="Time of one MLP product (µs)",
        unit="µs",
        now=(at, MICRO * largest, text.si(largest, "s")) if at > 1 else None,
        rules=rules,
        x_ticks=_ticks(widths),
    )


def two_axes(scenario: Scenario) -> figures.Chart:
    """Messages of one MLP with one and with both dimensions of its matrices split."""
    chips = np.geomspace(4, 1024, 60)
    one, two = sharding.split_times(scenario, chips)
    crossing = sharding.two_axis_crossover(
        scenario.model.d_model, sharding.mlp_columns(scenario.model)
    )
    return lines.chart(
        chips,
        {
            "both split (2-D)": (MICRO * two, palette.Quantity("2-D", "#CC79A7")),
            "columns split (1-D)": (MICRO * one, palette.Quantity("1-D", "#8a6d00", "dash")),
        },
        x_title="Chips",
        y_title="Messages of one MLP (µs)",
        unit="µs",
        rules=[("x", crossing, f"2-D sends less past {crossing:,.0f}")],
        x_ticks={float(2**i): f"{2**i:,}" for i in range(2, 11)},
    )
