"""The charts of the Quantization page."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from calc import decode, quantization
from calc.words import say
from pages.ui.charts import kit
from pages.ui.writing import palette, text

Array = NDArray[np.float64]

_SMALL = 252
_SHOWN = 128


def step_lines(now: decode.StepTime, then: decode.StepTime, name: str) -> kit.Chart:
    """The three lines of a step against batch, thin as they are and thick as they would be."""
    data = []
    batch = now.batch
    for term in kit.TERMS:
        look = palette.QUANTITIES[term]
        for step, width, opacity in ((now, 1.5, 0.55), (then, 3, 1)):
            data.append({
                "type": "scatter", "mode": "lines", "x": batch,
                "y": getattr(step, term) * kit.MILLI, "opacity": opacity,
                "line": {"color": look.colour, "width": width,
                         "dash": "dot" if step is now else "solid"},
                "hovertemplate": kit.hovered(
                    say(look.label), say("batch {n}", n="%{x:,.0f}"), "%{y:.3~r} ms",
                    beside=say("now") if step is now else say("then"),
                ),
            })  # fmt: skip
    values = np.concatenate([np.asarray(trace["y"], dtype=float) for trace in data])
    top = float(np.nanmax(values, initial=1e-6))
    extent = [math.log10(top) - 3, math.log10(top) + 0.1]
    layout = {
        **_frame(),
        "xaxis": kit.batch_axis(float(2 ** math.ceil(math.log2(batch[-1])))),
        "yaxis": {
            "type": "log", "range": extent, "title": {"text": say("Time (ms)")},
            "automargin": False, **kit.ticks(10 ** extent[0], top, True),
        },
        "shapes": [
            kit.legend(
                [f"<b>{text.plain_html(name)}</b>"],
                [kit.key(say(palette.QUANTITIES[n].label), palette.QUANTITIES[n].colour, "━━")
                 for n in kit.TERMS],
            )
        ],
    }  # fmt: skip
    return kit.figure(data, layout)


def frontiers(now: decode.Frontier, then: decode.Frontier, name: str) -> kit.Chart:
    """Both frontiers: thin as it is, thick as it would be, up to the batch that memory holds."""
    data, spans = [], []
    for curve, width, dash in ((now, 1.5, "dot"), (then, 3, "solid")):
        x = np.where(curve.fits, curve.latency * kit.MILLI, np.nan)
        y = np.where(curve.fits, curve.throughput_per_chip, np.nan)
        spans.append((x, y))
        data.append({
            "type": "scatter", "mode": "lines", "x": x, "y": y, "customdata": curve.batch,
            "line": {"color": palette.INK, "width": width, "dash": dash},
            "hovertemplate": kit.hovered(
                say("batch {n}", n="%{customdata:,.0f}"), "%{x:.3~r} ms",
                say("{rate} token/s per chip", rate="%{y:.3~r}"),
            ),
        })  # fmt: skip
    low_x, high_x = _bounds([x for x, _ in spans])
    low_y, high_y = _bounds([y for _, y in spans])
    layout = {
        **_frame(),
        "xaxis": {
            "type": "log", "range": [math.log10(low_x) - 0.05, math.log10(high_x) + 0.05],
            "title": {"text": say("Time per token (ms)"), "standoff": 8}, "automargin": False,
            **kit.ticks(low_x, high_x, True),
        },
        "yaxis": {
            "type": "log", "range": [math.log10(low_y) - 0.05, math.log10(high_y) + 0.1],
            "title": {"text": say("Token/s per chip")}, "automargin": False,
            **kit.ticks(low_y, high_y, True),
        },
        "shapes": [
            kit.legend([f"<b>{text.plain_html(name)}</b>"],
                           [kit.key(say("then"), palette.INK, "━━"),
                            kit.key(say("now"), palette.INK, "┅┅")])
        ],
    }  # fmt: skip
    return kit.figure(data, layout)


def _bounds(values: list[Array]) -> tuple[float, float]:
    flat = np.concatenate(values)
    flat = flat[np.isfinite(flat) & (flat > 0)]
    return (float(flat.min()), float(flat.max())) if flat.size else (0.1, 1.0)


def _frame() -> kit.Dict:
    return {**kit.frame(60, legend_rows=2), "height": _SMALL}


def tensor(result: quantization.Quantized) -> kit.Chart:
    """The first values as they were and as they come back."""
    original = np.ravel(result.values)[:_SHOWN]
    restored = np.ravel(result.reconstructed)[:_SHOWN]
    at = np.arange(len(original), dtype=float)
    data = [
        {
            "type": "scatter",
            "mode": "lines+markers",
            "marker": {"size": 3, "symbol": "square"},
            "x": at,
            "y": restored,
            "name": say("reconstructed"),
            "line": {"color": "#D55E00", "width": 2, "shape": "hvh"},
            "hovertemplate": say("value {i}: {value} reconstructed", i="%{x}", value="%{y:.4~r}")
            + "<extra></extra>",
        },
        {
            "type": "scatter",
            "mode": "markers",
            "x": at,
            "y": original,
            "name": say("original"),
            "marker": {"color": "#0072B2", "size": 5},
            "hovertemplate": say("value {i}: {value}", i="%{x}", value="%{y:.4~r}")
            + "<extra></extra>",
        },
    ]
    layout = {
        **kit.frame(66),
        "xaxis": {"title": {"text": say("Value (first {n})", n=len(at)), "standoff": 8},
                  "automargin": False, "range": [-1, len(at)], "nticks": 8},
        "yaxis": {"title": {"text": say("Original and reconstructed")}, "automargin": False},
        "shapes": [kit.legend([kit.key(say("original"), "#0072B2", "●"),
                                   kit.key(say("reconstructed"), "#D55E00", "━━")])],
    }  # fmt: skip
    return kit.figure(data, layout)


def error(result: quantization.Quantized) -> kit.Chart:
    """The error of the same values, between plus and minus half a step."""
    wrong = np.ravel(result.error)[:_SHOWN]
    bound = np.ravel(np.broadcast_to(result.bound, result.values.shape))[:_SHOWN]
    at = np.arange(len(wrong), dtype=float)
    edge = {"color": palette.RULE, "width": 1.5, "dash": "dash", "shape": "hvh"}
    data = [
        {"type": "scatter", "mode": "lines", "x": at, "y": sign * bound, "line": edge,
         "hoverinfo": "skip"}
        for sign in (1, -1)
    ]  # fmt: skip
    data.append({
        "type": "scatter", "mode": "markers", "x": at, "y": wrong,
        "marker": {"color": "#CC79A7", "size": 5},
        "hovertemplate": say("value {i}: error {value}", i="%{x}", value="%{y:.3~r}")
        + "<extra></extra>",
    })  # fmt: skip
    reach = float(np.max(np.abs(np.concatenate([wrong, bound])), initial=0.0)) or 1.0
    layout = {
        **kit.frame(76),
        "xaxis": {"title": {"text": say("Value (first {n})", n=len(at)), "standoff": 8},
                  "automargin": False, "range": [-1, len(at)], "nticks": 8},
        "yaxis": {"title": {"text": say("Error")}, "range": [-1.25 * reach, 1.25 * reach],
                  "automargin": False},
        "shapes": [kit.legend([kit.key(say("error"), "#CC79A7", "●"),
                                   kit.key(say("± half a step"), palette.RULE, "╍╍")])],
    }  # fmt: skip
    return kit.figure(data, layout)
