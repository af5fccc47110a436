"""The charts of the Sharding page."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from calc import Scenario, sharding
from calc.explain import bands
from calc.words import marked, say
from pages.ui.charts import kit, lines
from pages.ui.writing import palette, text

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


def against_width(scenario: Scenario, total: float) -> kit.Chart:
    """The decode step against the chips of a replica that is one group, and this replica's."""
    widths, n = _widths(scenario), scenario.n_chips
    swept = sharding.by_width(scenario, widths)
    sweep, bound = swept.step, swept.bound
    edges = bands.edges(scenario, chips=widths)
    label = text.si(total, "s")
    if sharding.width(scenario) != n:
        label = say("this layout {time}", time=label)
    return lines.chart(
        widths,
        {
            say("step"): (1e3 * sweep.total, lines.TOTAL),
            say("weight read"): (1e3 * sweep.weight_read, _LOOKS["weight_read"]),
            say("KV read"): (1e3 * sweep.kv_read, _LOOKS["kv_read"]),
            say("linear FLOPs"): (1e3 * sweep.linear_compute, _LOOKS["linear_compute"]),
            say("communication"): (1e3 * sweep.communication, _LOOKS["communication"]),
            say("bound"): (1e3 * bound, lines.BOUND),
        },
        x_title=say("Chips of a replica (lines: all in one group)"),
        y_title=say("Time per step (ms)"),
        unit="ms",
        now=(n, 1e3 * total, label),
        x_ticks=_ticks(widths),
        around=((widths, 1e3 * sweep.total * edges[0]), (widths, 1e3 * sweep.total * edges[1]))
        if edges
        else None,
        decades=3.2,
    )


def matmul(scenario: Scenario) -> kit.Chart:
    """Memory, arithmetic and links of one MLP product against the width.

    Links are those of the scenario's group at every width, so that lines cross at its limits.
    """
    widths = _widths(scenario)[1:]
    times = sharding.matmul(scenario, widths)
    at = sharding.width(scenario)
    own, limits = sharding.matmul(scenario, at), sharding.current_limits(scenario)
    link = times.link if at == 1 else np.full_like(widths, float(own.link))
    largest = max(float(own.hbm), float(own.math), float(own.link))
    rules = [
        ("x", limit, say(message, n=text.ways(limit)))
        for message, limit in (
            (marked("past memory at {n}"), limits.hbm),
            (marked("past compute at {n}"), limits.compute),
        )
        if widths[0] < limit < widths[-1]
    ]
    return lines.chart(
        widths,
        {
            say("weights from memory"): (MICRO * times.hbm, _LOOKS["weight_read"]),
            say("FLOPs"): (MICRO * times.math, _LOOKS["linear_compute"]),
            say("links"): (MICRO * link, _LOOKS["communication"]),
        },
        x_title=say("Tensor-parallel width (chips)"),
        y_title=say("Time of one MLP product (µs)"),
        unit="µs",
        now=(at, MICRO * largest, text.si(largest, "s")) if at > 1 else None,
        rules=rules,
        x_ticks=_ticks(widths),
    )


def two_axes(scenario: Scenario) -> kit.Chart:
    """Messages of one MLP with one and with both dimensions of its matrices split."""
    chips = np.geomspace(4, 1024, 60)
    one, two = sharding.split_times(scenario, chips)
    crossing = sharding.two_axis_crossover(
        scenario.model.d_model, sharding.mlp_columns(scenario.model)
    )
    return lines.chart(
        chips,
        {
            say("both split (2-D)"): (MICRO * two, palette.Look("2-D", "#CC79A7")),
            say("columns split (1-D)"): (MICRO * one, palette.Look("1-D", "#8a6d00", "dash")),
        },
        x_title=say("Chips"),
        y_title=say("Messages of one MLP (µs)"),
        unit="µs",
        rules=[("x", crossing, say("2-D sends less past {n:,.0f}", n=crossing))],
        x_ticks={float(2**i): f"{2**i:,}" for i in range(2, 11)},
    )
