"""The charts of the Speculation page."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calc.words import say
from pages.ui.charts import kit
from pages.ui.writing import palette, text

Array = NDArray[np.float64]
Dict = dict[str, Any]

LOSS = "rgba(213,94,0,0.10)"
TARGET, DRAFT, OVERLAP = "#0072B2", "#E69F00", "#009E73"


def against_batch(
    batch: Array,
    series: Mapping[str, tuple[Array, int]],
    *,
    now: tuple[float, float],
    free: float,
) -> kit.Chart:
    """Speed-up against batch at several contexts, each dotted from where memory is full.

    The batch up to which verification is free and the losing region are marked.
    """
    data: list[Dict] = []
    keys = []
    for i, (name, (values, largest)) in enumerate(series.items()):
        colour, _ = kit.LINES[i % len(kit.LINES)]
        hover = (name, say("batch {n}", n="%{x:,.0f}"), "%{y:.3~r} ×")
        inside, beyond = batch <= largest, batch >= largest
        width = 3 if i == 0 else 2
        fits, does_not = kit.hovered(*hover), kit.hovered(*hover, say("does not fit"))
        data.append(_line(batch[inside], values[inside], colour, "solid", width, fits))
        data.append(_line(batch[beyond], values[beyond], colour, "dot", 1.5, does_not))
        keys.append(kit.key(name, colour, "━━"))
    data.append(_dot(*now))
    speeds = np.concatenate([values for values, _ in series.values()])
    top = 1.08 * float(np.max(speeds, where=np.isfinite(speeds), initial=1.2))
    shapes = [
        _loss("x", 1, float(batch[-1])),
        kit.rule("y", 1, "dash"),
        kit.legend(
            keys,
            [kit.key(say("checks free up to batch {n}", n=text.count(free)), palette.RULE, "╍╍")],
            [say("dotted: does not fit in memory")],
        ),
    ]
    if 1 < free < batch[-1]:
        shapes.append(kit.rule("x", free, "dot"))
    layout = {
        **kit.frame(62, legend_rows=3),
        "xaxis": kit.batch_axis(float(batch[-1])),
        "yaxis": _speed_axis(top),
        "shapes": shapes,
    }
    return kit.figure(data, layout)


def by_kind(
    batch: Array, kinds: Sequence[tuple[str, float]], speeds: Array, now: float
) -> kit.Chart:
    """Speed-up of several drafts against batch, each with its name and its speed-up `now`."""
    data: list[Dict] = []
    keys = []
    for (name, here), values, (colour, dash) in zip(kinds, speeds, kit.LINES, strict=False):
        hover = kit.hovered(name, say("batch {n}", n="%{x:,.0f}"), "%{y:.3~r} ×")
        data.append({**_line(batch, values, colour, dash, 2, hover), "name": name})
        data.append({**_dot(now, here), "marker": {"size": 9, "color": colour}})
        keys.append(kit.key(name, colour, kit.DASH_GLYPHS[dash]))
    rows = kit.wrapped(keys)
    top = 1.08 * float(np.max(speeds, where=np.isfinite(speeds), initial=1.2))
    layout = {
        **kit.frame(62, legend_rows=len(rows)),
        "xaxis": kit.batch_axis(float(batch[-1])),
        "yaxis": _speed_axis(top),
        "shapes": [_loss("x", 1, float(batch[-1])), kit.rule("y", 1, "dash"), kit.legend(*rows)],
    }
    return kit.figure(data, layout)


def against_length(
    drafted: Array, free: Array, real: Array, *, best: int, best_real: int, batch: int
) -> kit.Chart:
    """Speed-up against draft length: batch-free, and at the scenario's batch."""
    hover = (say("{n} drafted", n="%{x}"), "%{y:.3~r} ×")
    here = say("at batch {n:,}", n=batch)
    free_here = kit.hovered(say("verification free"), *hover)
    data = [
        _line(drafted, free, TARGET, "dash", 2, free_here),
        _line(drafted, real, "#D55E00", "solid", 3, kit.hovered(here, *hover)),
        # Nothing is ringed of speeds that nobody knows.
        *([_best(best, float(free[best]), TARGET)] if free[best] > 0 else []),
        *([_best(best_real, float(real[best_real]), "#D55E00")] if real[best_real] > 0 else []),
    ]
    speeds = np.concatenate([free, real])
    top = 1.12 * float(np.max(speeds, where=np.isfinite(speeds), initial=1.0))
    layout = {
        **kit.frame(62, legend_rows=3),
        "xaxis": _length_axis(drafted),
        "yaxis": _speed_axis(top),
        "shapes": [
            _loss("x", 0, float(drafted[-1])),
            kit.rule("y", 1, "dash"),
            kit.legend(
                [kit.key(say("if verification were free"), TARGET, "╍╍"),
                 kit.key(here, "#D55E00", "━━")],
                [say("ringed: the best draft length")],
            ),
        ],
    }  # fmt: skip
    return kit.figure(data, layout)


def tokens(drafted: Array, series: Mapping[float, Array], alpha: float, own: Array) -> kit.Chart:
    """Tokens per verification against draft length, one acceptance emphasised."""
    hover = (say("{n} drafted", n="%{x}"), say("{n} tokens", n="%{y:.3~r}"))
    data = [
        _line(drafted, values, palette.RULE, "solid", 1.5, kit.hovered(f"α = {a:g}", *hover))
        for a, values in series.items()
    ]
    data.append({
        "type": "scatter", "mode": "text", "hoverinfo": "skip",
        "x": [drafted[-1]] * len(series), "y": [values[-1] for values in series.values()],
        "text": [f"{a:g}" for a in series], "textposition": "middle right", "cliponaxis": False,
        "textfont": {"size": 11},
    })  # fmt: skip
    own_hover = kit.hovered(f"α = {alpha:g}", *hover)
    data.append(_line(drafted, own, "#D55E00", "solid", 3, own_hover))
    shapes = [kit.legend([kit.key(f"α = {alpha:g}", "#D55E00", "━━")])]
    if alpha < 1 and 1 / (1 - alpha) < 1.2 * float(series[max(series)][-1]):
        ceiling = say("its ceiling 1 / (1 − α) = {n:.3g}", n=1 / (1 - alpha))
        shapes = [
            kit.rule("y", 1 / (1 - alpha), "dash"),
            kit.legend(
                [
                    kit.key(f"α = {alpha:g}", "#D55E00", "━━"),
                    kit.key(ceiling, palette.RULE, "╍╍"),
                ]
            ),
        ]
    frame = kit.frame(62)
    frame["margin"]["r"] = 40
    layout = {
        **frame,
        "xaxis": _length_axis(drafted),
        "yaxis": {
            "title": {"text": say("Tokens per verification")}, "automargin": False,
            "range": [0, 1.1 * float(max(values[-1] for values in (*series.values(), own)))],
        },
        "shapes": shapes,
    }  # fmt: skip
    return kit.figure(data, layout)


def speed_map(alpha: Array, drafted: Array, speed: Array, now: tuple[float, float]) -> kit.Chart:
    """Batch-free speed-up over acceptance and draft length, with the line where it breaks even."""
    data: list[Dict] = [
        {
            "type": "heatmap", "x": drafted, "y": alpha, "z": speed, "colorscale": "Cividis",
            "hovertemplate": kit.hovered(
                say("{n} drafted", n="%{x}"), "α = %{y:.2f}", "%{z:.3~r} ×"
            ),
            "colorbar": {"title": {"text": "×"}, "thickness": 12, "outlinewidth": 0},
        },
        {
            "type": "contour", "x": drafted, "y": alpha, "z": speed, "showscale": False,
            "contours": {"start": 1, "end": 1, "size": 1, "coloring": "none"},
            "line": {"color": "#ffffff", "width": 2, "dash": "dash"}, "hoverinfo": "skip",
        },
        _dot(*now),
    ]  # fmt: skip
    frame = kit.frame(62)
    frame["margin"]["r"] = 70
    layout = {
        **frame,
        "xaxis": _length_axis(drafted),
        "yaxis": {"title": {"text": say("Acceptance α")}, "range": [0, 1], "automargin": False},
        "shapes": [kit.legend([kit.key(say("breaks even"), palette.RULE, "╍╍")])],
    }
    return kit.figure(data, layout)


def overlap(names: Sequence[str], p: Array, q: Array) -> kit.Chart:
    """Target and draft distributions side by side, and what they share."""
    bars = (
        (say("target p"), p, TARGET),
        (say("draft q"), q, DRAFT),
        (say("shared"), np.minimum(p, q), OVERLAP),
    )
    data = [
        {
            "type": "bar", "x": list(names), "y": values, "name": name,
            "marker": {"color": colour},
            "hovertemplate": f"%{{x}}<br>{name} %{{y:.3f}}<extra></extra>",
        }
        for name, values, colour in bars
    ]  # fmt: skip
    keys = [kit.key(name, colour, "■") for name, _, colour in bars]
    layout = {
        **kit.frame(56),
        "barmode": "group", "bargap": 0.25,
        "xaxis": {"automargin": False, "type": "category"},
        "yaxis": {
            "title": {"text": say("Probability")}, "automargin": False,
            "range": [0, 1.1 * float(max(p.max(), q.max()))],
        },
        "shapes": [kit.legend(keys)],
    }  # fmt: skip
    return kit.figure(data, layout)


def _line(x: Array, y: Array, colour: str, dash: str, width: float, hover: str) -> Dict:
    return {
        "type": "scatter", "mode": "lines", "x": x, "y": y, "hovertemplate": hover,
        "line": {"color": colour, "dash": dash, "width": width},
    }  # fmt: skip


def _dot(x: float, y: float) -> Dict:
    return {
        "type": "scatter", "mode": "markers", "x": [x], "y": [y], "hoverinfo": "skip",
        "cliponaxis": False,
        "marker": {"size": 12, "color": "#D55E00", "line": {"color": "#ffffff", "width": 2}},
    }  # fmt: skip


def _best(x: int, y: float, colour: str) -> Dict:
    return {
        "type": "scatter", "mode": "markers+text", "x": [x], "y": [y], "text": [f"<b>{x}</b>"],
        "textposition": "top center", "hoverinfo": "skip", "cliponaxis": False,
        "marker": {"size": 11, "color": "rgba(0,0,0,0)", "line": {"color": colour, "width": 2.5}},
    }  # fmt: skip


def _loss(axis: str, start: float, end: float) -> Dict:
    """Below 1, where speculation loses."""
    return {
        "type": "rect", "xref": axis, "yref": "y", "x0": start, "x1": end, "y0": 0, "y1": 1,
        "fillcolor": LOSS, "line": {"width": 0}, "layer": "below",
    }  # fmt: skip


def _speed_axis(top: float) -> Dict:
    return {
        "title": {"text": say("Speed-up over plain decoding (×)")}, "automargin": False,
        "range": [0, max(top, 1.3)], "dtick": 0.5 if top < 4 else math.ceil(top / 6),
    }  # fmt: skip


def _length_axis(drafted: Array) -> Dict:
    return {
        "title": {"text": say("Draft length (tokens)"), "standoff": 8}, "automargin": False,
        "dtick": 2,
        "range": [float(drafted[0]) - 0.3, float(drafted[-1]) + 0.3],
    }  # fmt: skip
