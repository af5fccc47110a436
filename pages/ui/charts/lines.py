"""Line charts of several quantities against one, the plainest of the ledger's charts."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calc.words import marked
from pages.ui.charts import kit
from pages.ui.writing import palette, text

Array = NDArray[np.float64]
Line = tuple[Array, palette.Look]
# Two curves, each x and y.
Around = tuple[tuple[Array, Array], tuple[Array, Array]]

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
    around: Around | None = None,
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
    around : tuple, optional
        The band of the first line.
    decades : float
        How far below the largest value a logarithmic axis may reach.
    """
    data: list[dict[str, Any]] = []
    names = list(lines)
    known = x[np.isfinite(x)]
    start, end = (float(known[0]), float(known[-1])) if known.size else (1.0, 10.0)
    area = kit.area(*around) if around else None
    if area and area["x"].size:
        data.append(area)
        start, end = min(start, float(area["x"].min())), max(end, float(area["x"].max()))
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
        # Above the curve, where it leaves room; never over an edge.
        edge = start * (end / start) ** (0.85 if falls else 0.2)
        data.append(kit.marker(*now, right=bool(now[0] < edge)))
    legend = [
        kit.key(name, look.colour, kit.DASH_GLYPHS[look.dash]) for name, (_, look) in lines.items()
    ]
    seen = [values for values, _ in lines.values()]
    if area and area["x"].size:
        legend.append(kit.area_key())
        seen.append(area["y"])
    rows = kit.wrapped(legend)
    if now is not None:
        seen.append(np.array([now[1]], dtype=float))
    extent, low, high = _extent(seen, rules, log_y, decades)
    room = _Room(start, end, extent, log_y)
    taken = []
    if now is not None and math.isfinite(now[1]):
        taken.append(
            room.beside(now[0], now[1], now[2], right=data[-1]["textposition"] == "top right")
        )
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
        "shapes": [*_rules(rules, room, taken), kit.legend(*rows)],
    }  # fmt: skip
    return kit.figure(data, layout)


# Of the plot's height and width: what a line of words and a letter take at the usual size.
_LINE, _LETTER = 0.08, 0.0175
# Left, right, bottom, top, as shares of the plot.
Box = tuple[float, float, float, float]


@dataclass(frozen=True)
class _Room:
    """Where on the plot things are: a logarithmic axis across, one of either kind up."""

    start: float
    end: float
    extent: list[float]
    log: bool

    def x(self, at: float) -> float:
        span = math.log(self.end / self.start) if self.end > self.start else 1.0
        return math.log(max(at, self.start) / self.start) / span

    def y(self, at: float) -> float:
        low, high = self.extent
        place = math.log10(at) if self.log and at > 0 else at
        return (place - low) / (high - low)

    def beside(self, x: float, y: float, words: str, *, right: bool) -> Box:
        """Words over a point, to one side of it."""
        left, low, width = self.x(x), self.y(y), _LETTER * text.width(words) + 0.03
        return (
            (left, left + width, low, low + _LINE)
            if right
            else (left - width, left, low, low + _LINE)
        )


def _rules(
    rules: Sequence[tuple[str, float, str]], room: _Room, taken: list[Box]
) -> list[dict[str, Any]]:
    """Lines across with a level label each, on the side where there is room, clear of others."""
    drawn = []
    taken = list(taken)
    # Those that lie stay where they are; those that stand end as high as there is room.
    for axis, at, label in sorted(rules, key=lambda rule: rule[0] == "x"):
        rule = kit.rule(axis, at, "dot", label)
        width = _LETTER * text.width(label)
        if axis == "x":
            place = room.x(at)
            leftward = place > 0.5
            across = (place - width, place) if leftward else (place, place + width)
            levels = [1 - _LINE * level for level in range(9)]
            top = next((y for y in levels if _free((*across, y - _LINE, y), taken)), 1.0)
            rule["y1"] = top
            taken.append((*across, top - _LINE, top))
            rule["label"] |= {
                "textangle": 0, "xanchor": "right" if leftward else "left", "yanchor": "top",
                "padding": 5,
            }  # fmt: skip
        else:
            level = room.y(at)
            taken.append((1 - width, 1.0, level - _LINE, level))
            rule["label"] |= {"yanchor": "top", "padding": 4}
        drawn.append(rule)
    return drawn


def _free(box: Box, taken: Sequence[Box]) -> bool:
    left, right, bottom, top = box
    return all(
        right < other[0] or other[1] < left or top <= other[2] or other[3] <= bottom
        for other in taken
    )


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
