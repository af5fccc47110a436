"""What all charts share: plain-dict figures, their parts, and the one function that shows them.

Fixed margins, ranges and ticks, and a legend written as text: each spares the browser a layout
pass on every slider move.
"""

from __future__ import annotations

import base64
import json
import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import plotly.graph_objects as go
from numpy.typing import ArrayLike, NDArray

from calc.words import say
from pages.ui.charts import renderer
from pages.ui.writing import palette, text

Dict = dict[str, Any]
Array = NDArray[np.float64]

MILLI = 1e3
FONT_SIZE = 12.5
DASH_GLYPHS = {
    "solid": "━━", "dash": "╍╍", "dot": "┅┅", "dashdot": "━╍", "longdash": "━ ━",
    "longdashdot": "━ ╍",
}  # fmt: skip
_TYPED = {np.dtype(np.float64): "f8", np.dtype(np.float32): "f4"}
# Variants are no quantities: they get neutral and spare colours, and dashes of their own.
LINES = (
    ("#D55E00", "solid"), ("#0072B2", "solid"), ("#56B4E9", "dash"), ("#009E73", "dot"),
    ("#CC79A7", "dashdot"), ("#8a6d00", "longdash"), ("#7f868f", "longdashdot"),
    ("#5b4bb0", "dash"), ("#0b8a8a", "dot"), ("#b03060", "solid"), ("#4c566a", "dash"),
)  # fmt: skip
# Drawn of every step.
TERMS = ("weight_read", "linear_compute", "kv_read")


@dataclass
class Chart:
    """Traces and layout as plain dicts of arrays, which the browser draws as they are.

    Plotly's own object would copy and check every one of them again at every slider move: that
    was half of a rerun. The tests build it, and so does whoever wants `figure`.
    """

    data: list[Dict]
    layout: Dict

    def figure(self) -> go.Figure:
        """The same as Plotly's object, every property validated."""
        return go.Figure(data=self.data, layout=self.layout)

    def to_json(self) -> str:
        """The text that plotly.js reads, arrays as bytes: exact, short, and free to hold nan."""
        return json.dumps(plain({"data": self.data, "layout": self.layout}), allow_nan=False)


def plain(value: Any) -> Any:
    """A value as JSON knows it; numbers that are none become null."""
    if isinstance(value, dict):
        return {name: plain(item) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if isinstance(value, np.ndarray):
        return _typed_array(value) if value.dtype in _TYPED else plain(value.tolist())
    if isinstance(value, np.generic):
        return plain(value.item())
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def _typed_array(values: NDArray[np.floating[Any]]) -> Dict:
    """plotly.js's form of an array of floating-point numbers."""
    typed: Dict = {
        "dtype": _TYPED[values.dtype],
        "bdata": base64.b64encode(values.tobytes()).decode("ascii"),
    }
    if values.ndim > 1:
        typed["shape"] = ", ".join(map(str, values.shape))
    return typed


def show(
    figure: Chart,
    key: str,
    alt: str,
    revision: str = "",
    on_click: Callable[[float], None] | None = None,
    tall: bool = False,
) -> None:
    """Put a figure on the page; `alt` says in words what it shows (see `renderer.show`)."""
    renderer.show(figure, key, alt, revision, on_click, tall)


def key(label: str, colour: str, glyph: str) -> str:
    """One entry of a legend."""
    return f'<span style="color:{colour}">{glyph}</span> {label}'


def wrapped(entries: list[str], longest: int = 46) -> list[list[str]]:
    """Legend entries in rows that a phone has room for."""
    rows: list[list[str]] = [[]]
    for entry in entries:
        words = re.sub("<[^>]*>", "", entry)
        used = sum(text.width(re.sub("<[^>]*>", "", e)) + 3 for e in rows[-1])
        if rows[-1] and used + text.width(words) > longest:
            rows.append([])
        rows[-1].append(entry)
    return rows


def legend(*rows: list[str]) -> Dict:
    """The legend as a line of text a row above the plot, within the figure so exports keep it.

    The renderer makes buttons of the entries that are called as a trace is.
    """
    words = "<br>".join("   ".join(row) for row in rows if row)
    return {"name": "legend", **box(0, 1, 1.02, 1.1, label=words, align="bottom left")}


def area(low: tuple[Array, Array], high: tuple[Array, Array]) -> Dict:
    """Where eight in ten lie: between two curves, each x and y, as far as both are known."""
    known = np.isfinite(low[1]) & np.isfinite(high[1])
    x, y = (
        np.concatenate([one[known], other[known][::-1]])
        for one, other in zip(low, high, strict=True)
    )
    return {
        "type": "scatter", "mode": "lines", "name": say("usual range"), "x": x, "y": y,
        "fill": "toself", "fillcolor": palette.BAND, "line": {"width": 0}, "hoverinfo": "skip",
    }  # fmt: skip


def area_key() -> str:
    """Its entry in a legend."""
    return key(say("usual range"), palette.BAND_KEY, "■")


def hovered(*lines: str, beside: str = "") -> str:
    """What a chart says under the pointer, in lines, and what stands beside its box."""
    return f"{'<br>'.join(lines)}<extra>{beside}</extra>"


def ticks(low: float, high: float, log: bool) -> Dict:
    """Explicit ticks: 1, 2, 5 steps on a log axis, about five steps on a linear one."""
    if not log:
        return {"nticks": 6, "tickformat": "~s" if high >= 1e4 else ",~g"}
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    steps = (1, 2, 5) if len(decades) <= 3 else (1, 3) if len(decades) <= 4 else (1,)
    values = [step * 10.0**decade for decade in decades for step in steps]
    return {"tickvals": values, "ticktext": [_tick(value) for value in values]}


def _tick(value: float) -> str:
    if value >= 1e4:
        return f"{value / 1e3:,.0f}k" if value < 1e6 else f"{value / 1e6:,.0f}M"
    return f"{value:,.0f}" if value >= 1 else f"{value:.10f}".rstrip("0")


def axis(title: str, extent: list[float], log: bool, **more: Any) -> Dict:
    """An axis of a title with its unit and a fixed range."""
    return {
        "title": {"text": title, "standoff": 10}, "type": "log" if log else "linear",
        "range": extent, "automargin": False, "zeroline": False, "showgrid": True, **more,
    }  # fmt: skip


def batch_axis(upper: float) -> Dict:
    """A logarithmic axis of batches from 1, with powers of two for ticks."""
    powers = [2**i for i in range(0, math.ceil(math.log2(upper)) + 1)]
    stride = 1 if len(powers) <= 9 else 2 if len(powers) <= 15 else 4
    ticks = powers[::stride]
    extent = [0.0, math.log10(upper)]
    return axis(
        say("Batch (sequences)"), extent, True, tickvals=ticks, ticktext=[f"{t:,}" for t in ticks]
    )


def marker(x: ArrayLike, y: ArrayLike, label: str, *, right: bool) -> Dict:
    """The current scenario: a dot with its value beside it, on the side where there is room."""
    return {
        "type": "scatter", "mode": "markers+text", "x": [float(np.asarray(x))],
        "y": [float(np.asarray(y))], "text": [f"<b>{label}</b>"],
        "textposition": "top right" if right else "top left", "cliponaxis": False,
        "textfont": {"size": 13}, "hoverinfo": "skip",
        "marker": {"size": 12, "color": "#D55E00", "line": {"color": palette.INK, "width": 2}},
    }  # fmt: skip


def box(
    x0: float, x1: float, y0: float, y1: float, *,
    fill: str = "rgba(0,0,0,0)", label: str = "", align: str = "middle center",
    ink: str | None = None,
) -> Dict:  # fmt: skip
    """A rectangle on the sheet with words in it, from shares of its width and height."""
    return {
        "type": "rect", "xref": "paper", "yref": "paper", "x0": x0, "x1": x1, "y0": y0, "y1": y1,
        "fillcolor": fill, "line": {"width": 0},
        "label": {
            "text": label, "textposition": align, "padding": 0,
            "font": {"size": FONT_SIZE, "color": ink} if ink else {"size": FONT_SIZE},
        },
    }  # fmt: skip


def figure(data: list[Dict], layout: Dict) -> Chart:
    """A chart from plain dicts."""
    return Chart(data, layout)


def frame(left: int, legend_rows: int = 1) -> Dict:
    return {
        "height": 340, "showlegend": False, "template": "none", "hovermode": "closest",
        "margin": {"l": left, "r": 16, "t": 16 + 18 * legend_rows, "b": 46, "autoexpand": False},
        "font": {"size": FONT_SIZE},
    }  # fmt: skip


def rule(axis: str, at: float, dash: str, label: str = "") -> Dict:
    across = {"x": "y", "y": "x"}[axis]
    return {
        "type": "line", f"{axis}ref": axis, f"{across}ref": "paper", f"{axis}0": at, f"{axis}1": at,
        f"{across}0": 0, f"{across}1": 1, "line": {"color": palette.RULE, "width": 2, "dash": dash},
        "label": {"text": label, "textposition": "end", "font": {"size": 11}},
    }  # fmt: skip
