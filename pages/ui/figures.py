"""All charts: result arrays in, one plain-dict figure out, and the one function that shows them.

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

from calc.decode import Frontier, StepTime
from calc.memory import Ledger
from calc.words import say
from pages.ui import palette, renderer, text

Dict = dict[str, Any]

MILLI = 1e3
HEIGHT = 452
PLOT_DOMAIN = [0.27, 1.0]
BAR = (0.0, 0.085)
FONT_SIZE = 12.5
DASH_GLYPHS = {
    "solid": "━━", "dash": "╍╍", "dot": "┅┅", "dashdot": "━╍", "longdash": "━ ━",
    "longdashdot": "━ ╍",
}  # fmt: skip
_TYPED = {np.dtype(np.float64): "f8", np.dtype(np.float32): "f4"}
# Drawn of a step; those that are nowhere charged are left out.
TERMS = ("weight_read", "linear_compute", "kv_read")
MORE_TERMS = ("attention_compute", "communication", "overhead")


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
    return {"name": "legend", **_box(0, 1, 1.02, 1.1, label=words, align="bottom left")}


def hovered(*lines: str, beside: str = "") -> str:
    """What a chart says under the pointer, in lines, and what stands beside its box."""
    return f"{'<br>'.join(lines)}<extra>{beside}</extra>"


def _range(values: list[ArrayLike], log: bool) -> tuple[list[float], float, float]:
    """An axis range around values, and the data bounds it came from."""
    flat = np.concatenate([np.ravel(np.asarray(v, dtype=float)) for v in values])
    flat = flat[np.isfinite(flat) & (flat > 0)]
    low, high = (float(flat.min()), float(flat.max())) if flat.size else (0.1, 10.0)
    if log:
        return [math.log10(low) - 0.08, math.log10(high) + 0.08], low, high
    return [0.0, high * 1.06], 0.0, high


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


def _axis(title: str, extent: list[float], log: bool, **more: Any) -> Dict:
    return {
        "title": {"text": title, "standoff": 10}, "type": "log" if log else "linear",
        "range": extent, "automargin": False, "zeroline": False, "showgrid": True, **more,
    }  # fmt: skip


def batch_axis(upper: float) -> Dict:
    powers = [2**i for i in range(0, math.ceil(math.log2(upper)) + 1)]
    stride = 1 if len(powers) <= 9 else 2 if len(powers) <= 15 else 4
    ticks = powers[::stride]
    extent = [0.0, math.log10(upper)]
    return _axis(
        say("Batch (sequences)"), extent, True, tickvals=ticks, ticktext=[f"{t:,}" for t in ticks]
    )


def _layout(xaxis: Dict, yaxis: Dict, legend_rows: int = 2, **more: Any) -> Dict:
    top = 12 + 17 * max(legend_rows, 2)
    return {
        "height": HEIGHT, "margin": {"l": 74, "r": 14, "t": top, "b": 8, "autoexpand": False},
        "xaxis": {**xaxis, "anchor": "y"}, "yaxis": {**yaxis, "domain": PLOT_DOMAIN, "anchor": "x"},
        "showlegend": False,
        "hovermode": "closest", "dragmode": "zoom", "template": "none",
        "font": {"size": FONT_SIZE}, **more,
    }  # fmt: skip


def _band(x0: float, x1: float, colour: str) -> Dict:
    return {
        "type": "rect", "xref": "x", "yref": "paper", "x0": x0, "x1": x1,
        "y0": PLOT_DOMAIN[0], "y1": 1, "fillcolor": colour, "line": {"width": 0}, "layer": "below",
    }  # fmt: skip


def step_time(
    step: StepTime,
    current: StepTime,
    *,
    bound: StepTime | None,
    compute_bound_from: float,
    max_batch: int,
    log: bool,
) -> Chart:
    """Step time against batch, with the compute-bound and the does-not-fit regions shaded.

    `bound` is the same at the textbook bound, drawn as a thin dashed line.
    """
    batch, upper, ink = step.batch, float(step.batch[-1]), palette.INK
    charged = step.charged()
    names_drawn = [*TERMS, *(name for name in MORE_TERMS if charged[name].any())]
    terms = {name: getattr(step, name) * MILLI for name in names_drawn}
    looks = {name: palette.QUANTITIES[name] for name in terms}
    unseen = () if "attention_compute" in terms else ("attention_compute",)
    beside = [getattr(step, name) * MILLI for name in unseen]
    hover = np.column_stack([step.total * MILLI, *terms.values(), *beside])
    lines: list[Dict] = [
        {
            "type": "scatter", "mode": "lines", "name": say(look.label), "hoverinfo": "skip",
            "x": batch, "y": terms[name],
            "line": {"color": look.colour, "dash": look.dash, "width": 2},
        }
        for name, look in looks.items()
    ]  # fmt: skip
    if bound is not None:
        lines.append({
            "type": "scatter", "mode": "lines", "name": say("bound"), "x": batch,
            "y": bound.total * MILLI, "hoverinfo": "skip",
            "line": {"color": ink, "dash": "dash", "width": 1.5},
        })  # fmt: skip
    whole = say("step")
    spelled = [
        f"{say(look.label)} %{{customdata[{i}]:.3~r}} ms"
        for i, look in enumerate(looks.values(), 1)
    ]
    if unseen:
        time = f"%{{customdata[{len(terms) + 1}]:.3~r}} ms"
        spelled.append(say("attention FLOPs {time}, not charged", time=time))
    lines.append({
        "type": "scatter", "mode": "lines", "name": whole,
        "x": batch, "y": step.total * MILLI,
        "line": {"color": ink, "width": 3}, "customdata": hover,
        "hovertemplate": hovered(
            say("batch {n}", n="%{x:,.0f}"), f"<b>{whole} %{{customdata[0]:.3~r}} ms</b>", *spelled
        ),
    })  # fmt: skip
    extent, low, high = _range([step.total * MILLI, *terms.values()], log)
    if log:
        # A thin term may start decades below the step; three decades under the top are enough.
        extent[0] = max(extent[0], extent[1] - 3.2)
        low = 10 ** extent[0]
    lines.append(
        marker(
            current.batch,
            current.total * MILLI,
            text.si(float(current.total), "s"),
            right=float(current.batch) < upper**0.2,
        )
    )
    regions, shapes = [], []
    if compute_bound_from < upper:
        shapes.append(_band(compute_bound_from, upper, palette.COMPUTE_BOUND))
        regions.append(
            key(
                say("compute-bound past {n:,}", n=math.floor(compute_bound_from)),
                "rgba(0,158,115,0.55)",
                "■",
            )
        )
    if max_batch < upper:
        shapes.append(_band(max(max_batch, 1), upper, palette.DOES_NOT_FIT))
        regions.append(key(_misfit(max_batch), "rgba(138,145,155,0.8)", "■"))
    names = [key(whole, ink, "━━")] + [
        key(say(look.label), look.colour, DASH_GLYPHS[look.dash]) for look in looks.values()
    ]
    if bound is not None:
        names.append(key(say("bound"), ink, "╍╍"))
    rows = wrapped([*names, *regions], 56)
    parts = {name: float(term) for name, term in current.charged().items()}
    layout = _layout(
        batch_axis(upper),
        _axis(say("Time per step (ms)"), extent, log, **ticks(low, high, log)),
        shapes=[
            *shapes,
            legend(*rows),
            *_bar(say("This step, {time}", time=text.si(float(current.total), "s")), parts, "s"),
        ],
        legend_rows=len(rows),
    )
    return figure(lines, layout)


def _misfit(max_batch: int) -> str:
    """From where on memory does not hold the batch."""
    if not max_batch:
        return say("does not fit at any batch")
    return say("does not fit past {n:,}", n=max_batch)


def marker(x: ArrayLike, y: ArrayLike, label: str, *, right: bool) -> Dict:
    """The current scenario: a dot with its value beside it, on the side where there is room."""
    return {
        "type": "scatter", "mode": "markers+text", "x": [float(np.asarray(x))],
        "y": [float(np.asarray(y))], "text": [f"<b>{label}</b>"],
        "textposition": "top right" if right else "top left", "cliponaxis": False,
        "textfont": {"size": 13}, "hoverinfo": "skip",
        "marker": {"size": 12, "color": "#D55E00", "line": {"color": palette.INK, "width": 2}},
    }  # fmt: skip


def frontier(
    curve: Frontier,
    current: StepTime,
    held: Ledger,
    *,
    bound: Frontier | None,
    max_batch: int,
    log: bool,
) -> Chart:
    """Throughput per chip against latency per token, batch running along the curve from 1."""
    ink = palette.INK
    latency, per_chip = curve.latency * MILLI, curve.throughput_per_chip
    hover = hovered(
        say("batch {n}", n="%{customdata:,.0f}"),
        say("{time} per token", time="%{x:.3~r} ms"),
        say("{rate} token/s per chip", rate="%{y:.3~r}"),
    )
    # The dashed part starts at the last batch that fits, so that the curve has no gap.
    beyond = ~curve.fits
    beyond[:-1] |= ~curve.fits[1:]
    lines: list[Dict] = []
    for part, dash in ((curve.fits, "solid"), (beyond, "dot")):
        lines.append({
            "type": "scatter", "mode": "lines", "x": latency[part], "y": per_chip[part],
            "customdata": curve.batch[part], "hovertemplate": hover,
            "line": {"color": ink, "width": 3 if dash == "solid" else 2, "dash": dash},
            "opacity": 1 if dash == "solid" else 0.55,
        })  # fmt: skip
    if bound is not None:
        lines.append({
            "type": "scatter", "mode": "lines", "x": bound.latency * MILLI,
            "y": bound.throughput_per_chip, "hoverinfo": "skip",
            "line": {"color": ink, "width": 1.5, "dash": "dash"},
        })  # fmt: skip
    lines.append(_milestones(curve, latency, per_chip, float(current.batch), hover, ink))
    label = say("batch {n}", n=text.count(float(current.batch)))
    near_left = float(current.batch) < float(curve.batch[-1]) ** 0.2
    lines.append(
        marker(
            current.total * MILLI,
            current.throughput_per_chip,
            label,
            right=near_left,
        )
    )
    both = [curve] if bound is None else [curve, bound]
    xrange, xlow, xhigh = _range([c.latency * MILLI for c in both], log)
    yrange, ylow, yhigh = _range([c.throughput_per_chip for c in both], log)
    yrange[1] += 0.06 if log else 0.06 * yrange[1]
    yrange[0] -= 0.08 if log else 0.0
    parts = held.parts()
    row = [key(say("fits in memory"), ink, "━━")]
    if beyond.any():
        row.append(key(_misfit(max_batch), ink, "┅┅"))
    if bound is not None:
        row.append(key(say("bound"), ink, "╍╍"))
    layout = _layout(
        _axis(say("Time per output token (ms)"), xrange, log, **ticks(xlow, xhigh, log)),
        _axis(say("Throughput (token/s per chip)"), yrange, log, **ticks(ylow, yhigh, log)),
        shapes=[
            legend(row, [say("up and to the left is better")]),
            *_bar(say("Memory, {size} in all", size=text.si(held.total, "B")), parts, "B"),
            *_full_mark(held),
        ],
    )
    return figure(lines, layout)


def _full_mark(held: Ledger) -> list[Dict]:
    """Where memory is full, when what is wanted goes beyond it."""
    if held.free >= 0:
        return []
    full = (held.total - held.reserved) / (held.total - held.free)
    return [{
        "type": "line", "xref": "paper", "yref": "paper", "x0": full, "x1": full,
        "y0": BAR[0] - 0.01, "y1": BAR[1] + 0.02,
        "line": {"color": "#D55E00", "width": 3},
    }]  # fmt: skip


def _milestones(
    curve: Frontier,
    latency: NDArray[np.float64],
    per_chip: NDArray[np.float64],
    current: float,
    hover: str,
    ink: str,
) -> Dict:
    """Batches worth reading along the frontier: powers of four, but not where others stand.

    The current one has its label already; its point stays, so that a scrub only moves points.
    """
    at: list[int] = []
    for mark in 4.0 ** np.arange(9):
        i = int(np.argmin(np.abs(curve.batch - mark)))
        crowded = at and _apart(latency, i, at[-1]) + _apart(per_chip, i, at[-1]) < 0.08
        if curve.batch[i] == mark and not crowded:
            at.append(i)
    # The last one may stand at the right edge.
    sides = ["bottom right"] * max(len(at) - 1, 0) + ["bottom left"]
    return {
        "type": "scatter", "mode": "markers+text", "x": latency[at], "y": per_chip[at],
        "text": [f"{batch:,.0f}" if batch != current else "" for batch in curve.batch[at]],
        "textposition": sides,
        "textfont": {"size": 11.5}, "customdata": curve.batch[at], "hovertemplate": hover,
        "marker": {"size": 6, "color": ink},
    }  # fmt: skip


def _bar(title: str, parts: dict[str, float], unit: str) -> list[Dict]:
    """A stacked bar below the plot, as rectangles: bar traces would cost a second pair of axes."""
    whole = sum(part for part in parts.values() if part > 0)
    low, high = BAR
    drawn = [_box(0, 1, high, high + 0.06, label=title, align="top left")]
    start = 0.0
    for name, part in parts.items():
        if not part > 0:
            continue
        look, end = palette.QUANTITIES[name], start + part / whole
        # The figure alone, or nothing, where the segment is too narrow for more.
        figure, room = text.si(part, unit), part / whole - 0.03
        whole_words = f"{say(look.label)} {figure}"
        fitting = [w for w in (whole_words, figure) if 0.017 * text.width(w) < room]
        # Free space is nearly the page's own colour: its text takes the theme's.
        on = {"weight_read": "#ffffff", "weights": "#ffffff", "free": None}.get(name, "#171c26")
        drawn.append(
            _box(start, end, low, high, fill=look.colour, label="".join(fitting[:1]), ink=on)
        )
        start = end
    return drawn


def _box(
    x0: float, x1: float, y0: float, y1: float, *,
    fill: str = "rgba(0,0,0,0)", label: str = "", align: str = "middle center",
    ink: str | None = None,
) -> Dict:  # fmt: skip
    return {
        "type": "rect", "xref": "paper", "yref": "paper", "x0": x0, "x1": x1, "y0": y0, "y1": y1,
        "fillcolor": fill, "line": {"width": 0},
        "label": {
            "text": label, "textposition": align, "padding": 0,
            "font": {"size": FONT_SIZE, "color": ink} if ink else {"size": FONT_SIZE},
        },
    }  # fmt: skip


def _apart(values: NDArray[np.float64], one: int, other: int) -> float:
    """Distance of two points of a curve on a logarithmic axis, as a share of its span."""
    known = values[np.isfinite(values) & (values > 0)]
    span = math.log(known.max() / known.min()) if known.size else 0.0
    return abs(math.log(values[one] / values[other])) / span if span else 0.0


def figure(data: list[Dict], layout: Dict) -> Chart:
    """A chart from plain dicts."""
    return Chart(data, layout)
