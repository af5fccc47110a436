"""The two charts of the Decode page, each with a bar below: what fills the time, and the memory."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from calc.decode import Frontier, StepTime
from calc.memory import Ledger
from calc.words import say
from pages.ui.charts import kit
from pages.ui.charts.kit import MILLI, Chart
from pages.ui.writing import palette, text

Dict = dict[str, Any]
Array = NDArray[np.float64]
# What times are multiplied by for the ends of their bands; nan where they have none.
Edges = tuple[Array, Array]

_HEIGHT = 452
_PLOT_DOMAIN = [0.27, 1.0]
_BAR = (0.0, 0.085)
# Drawn of a step where they are charged anywhere.
_MORE_TERMS = ("attention_compute", "communication", "overhead")


def _range(values: list[ArrayLike], log: bool) -> tuple[list[float], float, float]:
    """An axis range around values, and the data bounds it came from."""
    flat = np.concatenate([np.ravel(np.asarray(v, dtype=float)) for v in values])
    flat = flat[np.isfinite(flat) & (flat > 0)]
    low, high = (float(flat.min()), float(flat.max())) if flat.size else (0.1, 10.0)
    if log:
        return [math.log10(low) - 0.08, math.log10(high) + 0.08], low, high
    return [0.0, high * 1.06], 0.0, high


def _layout(xaxis: Dict, yaxis: Dict, legend_rows: int = 2, **more: Any) -> Dict:
    top = 12 + 17 * max(legend_rows, 2)
    return {
        "height": _HEIGHT, "margin": {"l": 74, "r": 14, "t": top, "b": 8, "autoexpand": False},
        "xaxis": {**xaxis, "anchor": "y"},
        "yaxis": {**yaxis, "domain": _PLOT_DOMAIN, "anchor": "x"},
        "showlegend": False,
        "hovermode": "closest", "dragmode": "zoom", "template": "none",
        "font": {"size": kit.FONT_SIZE}, **more,
    }  # fmt: skip


def _band(x0: float, x1: float, colour: str) -> Dict:
    return {
        "type": "rect", "xref": "x", "yref": "paper", "x0": x0, "x1": x1,
        "y0": _PLOT_DOMAIN[0], "y1": 1, "fillcolor": colour, "line": {"width": 0}, "layer": "below",
    }  # fmt: skip


def step_time(
    step: StepTime,
    current: StepTime,
    *,
    bound: StepTime | None,
    usual: Edges | None = None,
    compute_bound_from: float,
    max_batch: int,
    log: bool,
    bounded: bool = False,
) -> Chart:
    """Step time against batch, with the compute-bound and the does-not-fit regions shaded.

    `bound` is the same at the textbook bound, drawn as a thin dashed line; `usual` gives the area
    around the step. `bounded` says that every time is only the least that it can be.
    """
    batch, upper, ink = step.batch, float(step.batch[-1]), palette.INK
    charged = step.charged()
    names_drawn = [*kit.TERMS, *(name for name in _MORE_TERMS if charged[name].any())]
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
        "hovertemplate": kit.hovered(
            say("batch {n}", n="%{x:,.0f}"), f"<b>{whole} %{{customdata[0]:.3~r}} ms</b>", *spelled
        ),
    })  # fmt: skip
    around = [MILLI * step.total * edge for edge in usual or ()]
    if usual:
        lines.insert(0, kit.area((batch, around[0]), (batch, around[1])))
    extent, low, high = _range([step.total * MILLI, *terms.values(), *around], log)
    if log:
        # A thin term may start decades below the step; three decades under the top are enough.
        extent[0] = max(extent[0], extent[1] - 3.2)
        low = 10 ** extent[0]
    lines.append(
        kit.marker(
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
            kit.key(
                say("compute-bound past {n:,}", n=math.floor(compute_bound_from)),
                "rgba(0,158,115,0.55)",
                "■",
            )
        )
    if max_batch < upper:
        shapes.append(_band(max(max_batch, 1), upper, palette.DOES_NOT_FIT))
        regions.append(kit.key(_misfit(max_batch), "rgba(138,145,155,0.8)", "■"))
    names = [kit.key(whole, ink, "━━")] + [
        kit.key(say(look.label), look.colour, kit.DASH_GLYPHS[look.dash]) for look in looks.values()
    ]
    if bound is not None:
        names.append(kit.key(say("bound"), ink, "╍╍"))
    if usual:
        names.append(kit.area_key())
    rows = kit.wrapped([*names, *regions], 56)
    parts = {name: float(term) for name, term in current.charged().items()}
    layout = _layout(
        kit.batch_axis(upper),
        kit.axis(
            say("Time per step, at least (ms)") if bounded else say("Time per step (ms)"),
            extent,
            log,
            **kit.ticks(low, high, log),
        ),
        shapes=[
            *shapes,
            kit.legend(*rows),
            *_bar(say("This step, {time}", time=text.si(float(current.total), "s")), parts, "s"),
        ],
        legend_rows=len(rows),
    )
    return kit.figure(lines, layout)


def _misfit(max_batch: int) -> str:
    """From where on memory does not hold the batch."""
    if not max_batch:
        return say("does not fit at any batch")
    return say("does not fit past {n:,}", n=max_batch)


def frontier(
    curve: Frontier,
    current: StepTime,
    ledger: Ledger,
    *,
    bound: Frontier | None,
    usual: Edges | None = None,
    max_batch: int,
    log: bool,
    bounded: bool = False,
) -> Chart:
    """Throughput per chip against latency per token, batch running along the curve from 1.

    `bound` is the same at the textbook bound; `usual` gives the area around the curve.
    """
    ink = palette.INK
    latency, per_chip = curve.latency * MILLI, curve.throughput_per_chip
    hover = kit.hovered(
        say("batch {n}", n="%{customdata:,.0f}"),
        say("{time} per token", time="%{x:.3~r} ms"),
        say("{rate} token/s per chip", rate="%{y:.3~r}"),
    )
    # The dashed part starts at the last batch that fits, so that the curve has no gap.
    beyond = ~curve.fits
    beyond[:-1] |= ~curve.fits[1:]
    around = [(latency * edge, per_chip / edge) for edge in usual or ()]
    lines: list[Dict] = [kit.area(around[0], around[1])] if around else []
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
        kit.marker(
            current.total * MILLI,
            current.throughput_per_chip,
            label,
            right=near_left,
        )
    )
    both = [curve] if bound is None else [curve, bound]
    xrange, xlow, xhigh = _range([*(c.latency * MILLI for c in both), *(x for x, _ in around)], log)
    yrange, ylow, yhigh = _range(
        [*(c.throughput_per_chip for c in both), *(y for _, y in around)], log
    )
    yrange[1] += 0.06 if log else 0.06 * yrange[1]
    yrange[0] -= 0.08 if log else 0.0
    parts = ledger.parts()
    row = [kit.key(say("fits in memory"), ink, "━━")]
    if beyond.any():
        row.append(kit.key(_misfit(max_batch), ink, "┅┅"))
    if bound is not None:
        row.append(kit.key(say("bound"), ink, "╍╍"))
    if around:
        row.append(kit.area_key())
    layout = _layout(
        kit.axis(
            say("Time per output token, at least (ms)")
            if bounded
            else say("Time per output token (ms)"),
            xrange,
            log,
            **kit.ticks(xlow, xhigh, log),
        ),
        kit.axis(
            say("Throughput, at most (token/s per chip)")
            if bounded
            else say("Throughput (token/s per chip)"),
            yrange,
            log,
            **kit.ticks(ylow, yhigh, log),
        ),
        shapes=[
            kit.legend(row, [say("up and to the left is better")]),
            *_bar(say("Memory, {size}", size=text.si(ledger.total, "B")), parts, "B"),
            *_full_mark(ledger),
        ],
    )
    return kit.figure(lines, layout)


def _full_mark(ledger: Ledger) -> list[Dict]:
    """Where memory is full, when what is wanted goes beyond it."""
    if ledger.free >= 0:
        return []
    full = (ledger.total - ledger.reserved) / (ledger.total - ledger.free)
    return [{
        "type": "line", "xref": "paper", "yref": "paper", "x0": full, "x1": full,
        "y0": _BAR[0] - 0.01, "y1": _BAR[1] + 0.02,
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


# A segment that is a smaller share is no more than a line.
_SEEN = 0.005


def _bar(title: str, parts: dict[str, float], unit: str) -> list[Dict]:
    """A stacked bar below the plot, as rectangles: bar traces would cost a second pair of axes."""
    whole = sum(part for part in parts.values() if part > 0)
    low, high = _BAR
    drawn: list[Dict] = []
    unnamed: list[str] = []
    start = 0.0
    for name, part in parts.items():
        if not part > 0:
            continue
        look, end = palette.QUANTITIES[name], start + part / whole
        # The figure alone, or nothing, where the segment is too narrow for more.
        figure, room = text.si(part, unit), part / whole - 0.03
        whole_words = f"{say(look.label)} {figure}"
        fitting = [w for w in (whole_words, figure) if 0.017 * text.width(w) < room]
        if fitting[:1] != [whole_words] and part > _SEEN * whole:
            # Beside the title, where there is room for names; a table below has the figures.
            unnamed.append(kit.key(say(look.label), look.colour, "■"))
        # Free space is nearly the page's own colour: its text takes the theme's.
        on = {"weight_read": "#ffffff", "weights": "#ffffff", "free": None}.get(name, "#171c26")
        drawn.append(
            kit.box(start, end, low, high, fill=look.colour, label="".join(fitting[:1]), ink=on)
        )
        start = end
    words = "   ".join([title, *unnamed])
    return [kit.box(0, 1, high, high + 0.06, label=words, align="top left"), *drawn]


def _apart(values: NDArray[np.float64], one: int, other: int) -> float:
    """Distance of two points of a curve on a logarithmic axis, as a share of its span."""
    known = values[np.isfinite(values) & (values > 0)]
    span = math.log(known.max() / known.min()) if known.size else 0.0
    return abs(math.log(values[one] / values[other])) / span if span else 0.0
