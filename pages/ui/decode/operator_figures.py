"""Charts of what a step is made of: each operator, and the experts that a batch reads."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calc.decode import StepTime
from calc.words import say
from pages.ui.charts import kit
from pages.ui.writing import palette, text

Array = NDArray[np.float64]
ROW = 27


def operators(step: StepTime) -> kit.Chart:
    """Both sides of each operator as bars, with the side that binds it in words."""
    rows = step.work.by_name()
    sides = [
        ("weight_read", [0.0 if r.cache else r.read for r in rows]),
        ("kv_read", [r.read if r.cache else 0.0 for r in rows]),
        ("linear_compute", [0.0 if r.cache else r.compute for r in rows]),
        ("attention_compute", [r.compute if r.cache else 0.0 for r in rows]),
    ]
    names = [say(r.name) for r in rows]
    words = [
        say("{time}, compute", time=text.si(r.time, "s"))
        if r.compute_bound
        else say("{time}, memory", time=text.si(r.time, "s"))
        for r in rows
    ]
    others = {say(name): float(time) for name, time in step.work.transfers.items()}
    overhead = say(palette.QUANTITIES["overhead"].label)
    if float(step.overhead):
        others[overhead] = float(step.overhead)
    reach = max([*(max(r.read, r.compute) for r in rows), *others.values()])
    data = [_bars(names, times, palette.QUANTITIES[quantity]) for quantity, times in sides]
    for name, time in others.items():
        look = palette.QUANTITIES["overhead" if name == overhead else "communication"]
        data.append(_bars([name], [time], look))
    labels = [*words, *(text.si(time, "s") for time in others.values())]
    ends = [*(max(r.read, r.compute) for r in rows), *others.values()]
    data.append({
        "type": "scatter", "mode": "text", "x": [end * kit.MILLI for end in ends],
        "y": [*names, *others], "text": [f"  {label}" for label in labels],
        "textposition": "middle right", "cliponaxis": False, "hoverinfo": "skip",
    })  # fmt: skip
    number = len(rows) + len(others)
    legend = [
        kit.key(say(palette.QUANTITIES[q].label), palette.QUANTITIES[q].colour, "■")
        for q, times in sides if any(times)
    ]  # fmt: skip
    layout = {
        **kit.frame(158, legend_rows=len(kit.wrapped(legend, 30))),
        "height": 118 + ROW * number,
        "barmode": "group", "bargap": 0.25, "bargroupgap": 0.0,
        "xaxis": {
            "title": {"text": say("Time per step (ms)"), "standoff": 8},
            "automargin": False, "range": [0, 1.9 * reach * kit.MILLI], "nticks": 6,
        },
        "yaxis": {
            "autorange": "reversed", "automargin": False, "ticksuffix": "  ", "showgrid": False,
            "type": "category", "categoryorder": "array", "categoryarray": [*names, *others],
        },
        "shapes": [kit.legend(*kit.wrapped(legend, 30))],
    }  # fmt: skip
    return kit.figure(data, layout)


def _bars(names: list[str], times: list[float], look: palette.Look) -> dict[str, Any]:
    kept = [(n, t) for n, t in zip(names, times, strict=True) if t > 0]
    return {
        "type": "bar", "orientation": "h", "name": say(look.label), "width": 0.34,
        "offset": 0.0 if "FLOPs" in look.label else -0.34,
        "y": [n for n, _ in kept], "x": [t * kit.MILLI for _, t in kept],
        "marker": {"color": look.colour},
        "hovertemplate": f"%{{y}}<br>{say(look.label)} %{{x:.3~r}} ms<extra></extra>",
    }  # fmt: skip


def expert_traffic(
    batch: Array, share: Array, uniform: Array | None, least: float, now: tuple[float, float]
) -> kit.Chart:
    """Share of the routed experts that a step reads, between its two limits."""
    blue = palette.QUANTITIES["weights"].colour
    hover = kit.hovered(
        say("batch {n}", n="%{x:,.0f}"), say("{n} % of the routed weights", n="%{y:.3~r}")
    )
    data = [{
        "type": "scatter", "mode": "lines", "x": batch, "y": 100 * share, "hovertemplate": hover,
        "line": {"color": blue, "width": 3},
    }]  # fmt: skip
    legend = [kit.key(say("read in a step"), blue, "━━")]
    if uniform is not None:
        data.append({
            "type": "scatter", "mode": "lines", "x": batch, "y": 100 * uniform,
            "hoverinfo": "skip", "line": {"color": blue, "width": 1.5, "dash": "dash"},
        })  # fmt: skip
        legend.append(kit.key(say("uniform routing"), blue, "╍╍"))
    legend.append(kit.key(say("top-k: all tokens agree"), palette.RULE, "┅┅"))
    data.append(kit.marker(now[0], 100 * now[1], f"{100 * now[1]:.3g} %", right=now[0] < 64))
    layout = {
        **kit.frame(62),
        "xaxis": kit.batch_axis(float(2 ** math.ceil(math.log2(batch[-1])))),
        "yaxis": {
            "title": {"text": say("Routed experts read (%)")}, "tickvals": [0, 20, 40, 60, 80, 100],
            "range": [0, 118], "automargin": False,
        },
        "shapes": [kit.rule("y", 100 * least, "dot"), kit.legend(legend)],
    }  # fmt: skip
    return kit.figure(data, layout)
