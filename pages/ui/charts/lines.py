"""Line charts of several quantities against one, the plainest of the ledger's charts."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calc.words import marked
from pages.ui.charts import kit
from pages.ui.writing import palette

Array = NDArray[np.float64]
Line = tuple[Array, palette.Look]

TOTAL = palette.Look(marked("total"), palette.INK)
BOUND = palette.Look(marked("bound"), palette.INK, "dash")


def chart(
    x: Array,
    lines: Mapping[str, Line],
    *,
    x_title: str,
    y_title: str,
    unit: str,
    now: tuple[float, float, str] | None = None,
    rules: Sequence[tuple[str, float, str]] = (),
    x_ticks: Mapping[float, str] | None = None,
    log_y: bool = True,
    decades: float = 4.0,
) -> kit.Chart:
    """Lines over a logarithmic axis, values given in what `y_title` says.

    Parameters
    ----------
    x : array
        Where the lines have their points.
    lines : mapping
        Name to values and look; the first is drawn on top and thick.
    unit : str
        Behind each value in the hover.
    now : tuple, optional
        The scenario: a marker at x and y with a label.
    rules : sequence
        Lines across: axis, place, label.
    x_ticks : mapping, optional
        Where the x axis is labelled; 1, 2, 5 steps otherwise.
    decades : float
        How far below the largest value a logarithmic axis may reach.
    """
    data: list[dict[str, Any]] = []
    names = list(lines)
    known = x[np.isfinite(x)]
    start, end = (float(known[0]), float(known[-1])) if known.size else (1.0, 10.0)
    for name in [*names[1:], names[0]]:
        values, look = lines[name]
        if log_y:
            # A logarithmic axis has no place for nothing.
            values = np.where(values > 0, values, np.nan)
        data.append({
            "type": "scatter", "mode": "lines", "x": x, "y": values, "name": name,
            "line": {
                "color": look.colour, "dash": look.dash, "width": 3 if name == names[0] else 2,
            },
            "hovertemplate": f"{name}<br>%{{x:,.0f}}<br>%{{y:.3~r}} {unit}<extra></extra>",
        })  # fmt: skip
    if now is not None and math.isfinite(now[1]):
        first = lines[names[0]][0]
        first = first[np.isfinite(first)]
        falls = first.size > 1 and first[-1] < first[0]
        # Above the curve, where it leaves room; never over the right edge.
        inside = now[0] < start * (end / start) ** 0.85
        data.append(kit.marker(*now, right=inside if falls else now[0] < math.sqrt(start * end)))
    legend = [
        kit.key(name, look.colour, kit.DASH_GLYPHS[look.dash]) for name, (_, look) in lines.items()
    ]
    rows = kit.wrapped(legend)
    seen = [values for values, _ in lines.values()]
    if now is not None:
        seen.append(np.array([now[1]], dtype=float))
    extent, low, high = _extent(seen, rules, log_y, decades)
    across = (
        {"tickvals": list(x_ticks), "ticktext": list(x_ticks.values())}
        if x_ticks is not None
        else kit.ticks(start, end, True)
    )
    layout = {
        **kit.frame(66, legend_rows=len(rows)),
        "xaxis": {
            "type": "log", "range": [math.log10(start), math.log10(end)], "automargin": False,
            "title": {"text": x_title, "standoff": 8}, **across,
        },
        "yaxis": {
            "type": "log" if log_y else "linear", "range": extent, "automargin": False,
            "title": {"text": y_title}, **kit.ticks(low, high, log_y),
        },
        "shapes": [
            *_rules(math.sqrt(start * end), rules),
            kit.legend(*rows),
        ],
    }  # fmt: skip
    return kit.figure(data, layout)


def _rules(middle: float, rules: Sequence[tuple[str, float, str]]) -> list[dict[str, Any]]:
    """Lines across with a level label each, on the side where there is room, one below another."""
    drawn = []
    for i, (axis, at, label) in enumerate(rules):
        rule = kit.rule(axis, at, "dot", label)
        if axis == "x":
            rule["y1"] = 1 - 0.09 * i
            side = "left" if at < middle else "right"
            rule["label"] |= {"textangle": 0, "xanchor": side, "yanchor": "top", "padding": 5}
        else:
            rule["label"] |= {"yanchor": "top", "padding": 4}
        drawn.append(rule)
    return drawn


def _extent(
    values: list[Array], rules: Sequence[tuple[str, float, str]], log: bool, decades: float
) -> tuple[list[float], float, float]:
    flat = np.concatenate([np.ravel(v) for v in values])
    flat = flat[np.isfinite(flat) & (flat > 0)]
    if not flat.size:
        flat = np.array([0.1, 1.0])
    high = max(float(flat.max()), *(at for axis, at, _ in rules if axis == "y"), 0.0)
    if not log:
        return [0.0, 1.1 * high], 0.0, high
    low = max(float(flat.min()), high / 10**decades)
    return [math.log10(low) - 0.08, math.log10(high) + 0.12], low, high
