"""The charts of the KV cache page."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calc.words import say
from pages.ui.charts import kit
from pages.ui.writing import palette, text

Array = NDArray[np.float64]


def bars(values: Mapping[str, float], words: Mapping[str, str], title: str) -> kit.Chart:
    """One bar a variant from nothing on, so that twice is twice as long, its value beside it."""
    names = list(values)
    shown = np.array([values[name] for name in names], dtype=float)
    high = max(float(shown.max(initial=0.0)), 1e-9)
    data = [{
        "type": "bar", "orientation": "h", "y": names, "x": shown, "text": list(words.values()),
        "textposition": "outside", "cliponaxis": False, "textfont": {"size": kit.FONT_SIZE},
        "marker": {"color": [kit.LINES[i % len(kit.LINES)][0] for i in range(len(names))]},
        "hovertemplate": "%{y}: %{text}<extra></extra>",
    }]  # fmt: skip
    layout = {
        **kit.frame(140),
        "xaxis": {
            "range": [0.0, 1.28 * high], "title": {"text": title, "standoff": 8},
            "automargin": False, **kit.ticks(0.0, high, False),
        },
        "yaxis": {
            "autorange": "reversed", "automargin": False, "ticksuffix": "  ", "showgrid": False,
        },
        "bargap": 0.35,
    }  # fmt: skip
    return kit.figure(data, layout)


def against_context(
    context: Array, caches: Mapping[str, Array], weights: float, now: float
) -> kit.Chart:
    """Cache of one sequence against context, log-log, with the weights as a reference line."""
    data: list[dict[str, Any]] = []
    rows: list[str] = []
    for i, (name, series) in enumerate(caches.items()):
        colour, dash = kit.LINES[i % len(kit.LINES)]
        data.append({
            "type": "scatter", "mode": "lines", "x": context, "y": series / 1e9, "name": name,
            "line": {"color": colour, "dash": dash, "width": 3 if i == 0 else 2},
            "hovertemplate": kit.hovered(
                text.plain_html(name), say("{n} tokens", n="%{x:,.0f}"), "%{y:.3~r} GB"
            ),
        })  # fmt: skip
        rows.append(kit.key(text.plain_html(name), colour, "━━"))
    # A logarithm knows no nothing: where nobody caches, the axis ends below the weights.
    drawn = [series[series > 0] for series in caches.values()]
    low = min([float(np.min(one)) for one in drawn if one.size] or [1e-3 * weights]) / 1e9
    high = max(weights, *(float(series[-1]) for series in caches.values())) / 1e9
    extent = [math.log10(low) - 0.1, math.log10(high) + 0.25]
    tokens = [4**i for i in range(5, 12) if context[0] <= 4**i <= context[-1]]
    layout = {
        **kit.frame(72, legend_rows=math.ceil((len(rows) + 1) / 3)),
        "xaxis": {
            "type": "log", "range": [math.log10(context[0]), math.log10(context[-1])],
            "tickvals": tokens, "ticktext": [f"{t // 1024:,}k" for t in tokens],
            "title": {"text": say("Context (tokens, k = 1,024)"), "standoff": 8},
            "automargin": False,
        },
        "yaxis": {
            "type": "log", "range": extent, "title": {"text": say("KV cache per sequence (GB)")},
            "automargin": False, **kit.ticks(10 ** extent[0], high, True),
        },
        "shapes": [
            kit.rule("y", weights / 1e9, "dash"),
            kit.rule("x", now, "dot"),
            kit.legend(
                *[rows[i : i + 3] for i in range(0, len(rows), 3)],
                [kit.key(say("all weights"), palette.RULE, "╍╍")],
            ),
        ],
    }  # fmt: skip
    return kit.figure(data, layout)


def intensity(values: Mapping[str, float], ridges: Mapping[str, float]) -> kit.Chart:
    """Arithmetic intensity of decode attention, against the ridge points of the chip."""
    words = {name: text.intensity(value) for name, value in values.items()}
    drawn = bars(values, words, say("Decode attention, FLOP per byte of cache"))
    known = {name: ridge for name, ridge in ridges.items() if ridge > 0}
    reach = max([*values.values(), *known.values()], default=1.0)
    axis = drawn.layout["xaxis"]
    shapes = [
        kit.rule("x", ridge, "dash", say("ridge {format}, {n:,.0f}", format=name, n=ridge))
        for name, ridge in known.items()
    ]
    wider = {**axis, "range": [axis["range"][0], math.log10(reach) + 0.5]}
    return kit.figure(drawn.data, {**drawn.layout, "xaxis": wider, "shapes": shapes})


def utilisation(
    length: Array, paged: Array, contiguous: Array, now: float, block: int
) -> kit.Chart:
    """Share of reserved cache that holds tokens, paged and contiguous, against mean length."""
    series = (
        (say("blocks of {n}", n=block), paged, kit.LINES[1]),
        (say("contiguous"), contiguous, kit.LINES[0]),
    )
    data = [
        {
            "type": "scatter", "mode": "lines", "x": length, "y": 100 * share, "name": name,
            "line": {"color": colour, "dash": dash, "width": 2.5},
            "hovertemplate": kit.hovered(
                name, say("{n} tokens", n="%{x:,.0f}"), "%{y:.1f} %"
            ),
        }
        for name, share, (colour, dash) in series
    ]  # fmt: skip
    keys = [kit.key(name, colour, "━━") for name, _, (colour, _) in series]
    layout = {
        **kit.frame(62),
        "xaxis": {
            "type": "log", "range": [math.log10(length[0]), math.log10(length[-1])],
            "title": {"text": say("Mean length (tokens)"), "standoff": 8}, "automargin": False,
            **kit.ticks(float(length[0]), float(length[-1]), True),
        },
        "yaxis": {
            "range": [0, 104], "dtick": 20, "automargin": False,
            "title": {"text": say("Reserved cache in use (%)")},
        },
        "shapes": [kit.rule("x", now, "dot"), kit.legend(keys)],
    }  # fmt: skip
    return kit.figure(data, layout)
