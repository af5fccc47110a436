"""The charts of the Serving page."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calc import serving
from calc.serving import Run, Service, State
from calc.words import marked, say
from pages.ui.charts import kit
from pages.ui.serving.simulations import Simulated, name
from pages.ui.writing import palette

Array = NDArray[np.float64]
Dict = dict[str, Any]

# What a request does, in the colours of what it waits for.
STATES = {
    State.WAITING: palette.Look(marked("waiting"), "rgba(138,145,155,0.55)"),
    State.PREFILL: palette.Look(marked("reading the prompt"), "#009E73"),
    State.TRANSFER: palette.Look(marked("cache on its way"), "#CC79A7"),
    State.DECODE: palette.Look(marked("decoding"), "#0072B2"),
    State.PREEMPTED: palette.Look(marked("preempted"), "#D55E00"),
}
_COLOURS = dict(zip(
    ("static", "dynamic", "continuous", "chunked", "disaggregated"), kit.LINES, strict=False
))  # fmt: skip
# Of the panels of a chart, from the top: what plotly.js calls their axis in a trace, in a layout.
_AXES = (("y", "yaxis"), ("y2", "yaxis2"))
# Their heights, by how many there are.
_PANELS = {1: [[0.0, 1.0]], 2: [[0.53, 1.0], [0.0, 0.47]]}
# Points of a curve that a screen can tell apart.
_POINTS = 400


def timeline(run: Run, requests: int) -> kit.Chart:
    """What the first requests did and when, one row each, in the order of arrival.

    Where other replicas read than decode, each pool has its own rows, one below the other.
    """
    first = run.intervals.upto(requests)
    pools = {say("Request"): first}
    if run.readers:
        pools = {
            say("Request, prefill pool"): first.on(*range(run.readers)),
            say("Request, decode pool"): first.on(*range(run.readers, len(run.names))),
        }
    data = []
    legend = {}
    for pool, (axis, _) in zip(pools.values(), _AXES, strict=False):
        for state, look in STATES.items():
            part = pool.of(state)
            if not part.request.size:
                continue
            label = say(look.label)
            legend[label] = kit.key(label, look.colour, "■")
            data.append({
                "type": "bar", "orientation": "h", "name": label, "y": part.request + 1.0,
                "base": part.start, "x": part.end - part.start, "width": 0.8,
                "yaxis": axis, "customdata": [run.names[i] for i in part.replica],
                "marker": {"color": look.colour, "line": {"width": 0}},
                "hovertemplate": kit.hovered(
                    say("request {n}", n="%{y:.0f}"), label, "%{x:.3~r} s", beside="%{customdata}"
                ),
            })  # fmt: skip
    last = float(first.end.max(initial=0.0)) or 1.0
    rows = kit.wrapped(list(legend.values()))
    layout = {
        **kit.frame(56, legend_rows=len(rows)),
        "height": 400, "barmode": "overlay", "bargap": 0,
        "xaxis": {"title": {"text": say("Time (s)"), "standoff": 8}, "range": [0, 1.02 * last],
                  "automargin": False, "nticks": 7, "anchor": _AXES[len(pools) - 1][0]},
        "shapes": [kit.legend(*rows)],
    }  # fmt: skip
    for title, (_, axis), domain in zip(pools, _AXES, _PANELS[len(pools)], strict=False):
        layout[axis] = {
            "title": {"text": title}, "range": [requests + 0.6, 0.4], "automargin": False,
            "dtick": max(1, round(len(pools) * requests / 8)), "tick0": 0, "showgrid": False,
            "domain": domain,
        }  # fmt: skip
    return kit.figure(data, layout)


def distribution(
    simulated: Simulated,
    of: Callable[[Run], Array],
    title: str,
    limits: Sequence[float],
    unit: str = "s",
) -> kit.Chart:
    """Share of requests within a latency, one line a policy, the limits marked, in one `unit`.

    Policies that are still to come have their places in the legend.
    """
    data = []
    legend = []
    known = []
    for policy in simulated.compared:
        colour, dash = _COLOURS[policy]
        label = name(policy)
        legend.append(kit.key(label, colour, kit.DASH_GLYPHS[dash]))
        if policy in simulated.coming:
            continue
        values, share = serving.cdf(of(simulated.outcomes[policy].run))
        at = _spread(len(values))
        known.append(values[values > 0])
        data.append({
            "type": "scatter", "mode": "lines", "name": label, "x": values[at],
            "y": 100 * share[at], "line": {"color": colour, "dash": dash, "width": 2.5},
            "hovertemplate": kit.hovered(label, f"%{{x:.3~r}} {unit}", "%{y:.1f} %"),
        })  # fmt: skip
    flat = np.concatenate([*known, limits])
    low, high = float(np.quantile(flat, 0.01)), float(flat.max())
    rows = kit.wrapped([*legend, kit.key(say("limit"), palette.RULE, "╍╍")])
    layout = {
        **kit.frame(58, legend_rows=len(rows)), "height": 400,
        "xaxis": {
            "type": "log", "range": [math.log10(low) - 0.1, math.log10(high) + 0.05],
            "title": {"text": title, "standoff": 8}, "automargin": False,
            **kit.ticks(low, high, True),
        },
        "yaxis": {"title": {"text": say("Requests within (%)")}, "range": [0, 104], "dtick": 20,
                  "automargin": False},
        "shapes": [*(kit.rule("x", limit, "dash") for limit in limits), kit.legend(*rows)],
    }  # fmt: skip
    return kit.figure(data, layout)


def _spread(count: int) -> NDArray[np.int64]:
    """Few of many points in order, the ends among them."""
    return np.unique(np.linspace(0, max(count - 1, 0), min(count, _POINTS)).astype(np.int64))


def occupancy(run: Run) -> kit.Chart:
    """Requests that decode, wait or are put out, over time."""
    series = {}
    for state in (State.DECODE, State.WAITING, State.PREEMPTED):
        part = run.intervals.of(state)
        if part.request.size:
            series[STATES[state]] = part.running()
    return _over_time(series, say("Requests"))


def memory(run: Run) -> kit.Chart:
    """Cache in use over all replicas: blocks handed out, and what of them holds tokens."""
    times = np.unique(np.concatenate([use.time for use in run.memory]))
    total = sum(use.total for use in run.memory)

    def share(series: Callable[[serving.MemoryUse], Array]) -> Array:
        parts = [np.interp(times, use.time, series(use)) for use in run.memory]
        return np.asarray(100 * np.sum(parts, axis=0) / max(total, 1))

    used = palette.Look(marked("handed out"), "#E69F00")
    filled = palette.Look(marked("holds tokens"), "#0072B2", "dash")
    series = {
        used: (times, share(lambda use: use.used)),
        filled: (times, share(lambda use: use.filled)),
    }
    kept = share(lambda use: use.kept)
    if kept.any():
        series[palette.Look(marked("kept prefixes"), "#CC79A7", "dot")] = (times, kept)
    return _over_time(series, say("Cache in use (%)"))


def _over_time(series: Mapping[palette.Look, tuple[Array, Any]], title: str) -> kit.Chart:
    data = []
    legend = []
    top = 1.0
    for look, (times, values) in series.items():
        at = _spread(len(times))
        label = say(look.label)
        top = max(top, float(np.max(values, initial=0.0)))
        legend.append(kit.key(label, look.colour, kit.DASH_GLYPHS[look.dash]))
        data.append({
            "type": "scatter", "mode": "lines", "name": label, "x": times[at],
            "y": np.asarray(values, dtype=float)[at],
            "line": {"color": look.colour, "dash": look.dash, "width": 2, "shape": "hv"},
            "hovertemplate": kit.hovered(label, "%{x:.3~r} s", "%{y:.3~r}"),
        })  # fmt: skip
    end = max((float(times[-1]) for times, _ in series.values() if len(times)), default=1.0)
    layout = {
        **kit.frame(58, legend_rows=1), "height": 260,
        "xaxis": {"title": {"text": say("Time (s)"), "standoff": 8}, "range": [0, end],
                  "automargin": False, "nticks": 7},
        "yaxis": {"title": {"text": title}, "range": [0, 1.08 * top], "automargin": False,
                  "nticks": 6},
        "shapes": [kit.legend(legend)],
    }  # fmt: skip
    return kit.figure(data, layout)


# Figures of a policy at rising rates or numbers of clients.
Curve = Sequence[tuple[float, Service]]


def load(
    curves: Mapping[str, Curve], of: Callable[[Service], float], title: str, across: str, *,
    now: float, limit: float = 0.0, rings: Mapping[str, tuple[float, Service]] | None = None,
) -> kit.Chart:  # fmt: skip
    """A figure of each policy against the load, on a logarithmic scale where it has a limit."""
    data: list[Dict] = []
    legend = []
    log, known, loads = limit > 0, [limit] if limit else [], [now]
    for policy, curve in curves.items():
        colour, dash = _COLOURS[policy]
        label = name(policy)
        at = np.array([load for load, _ in curve])
        values = np.array([of(one) for _, one in curve])
        values = np.where(np.isfinite(values), values, np.nan)
        known += [float(value) for value in values if value > 0]
        loads += at.tolist()
        legend.append(kit.key(label, colour, kit.DASH_GLYPHS[dash]))
        data.append({
            "type": "scatter", "mode": "lines+markers", "name": label, "x": at, "y": values,
            "line": {"color": colour, "dash": dash, "width": 2.5}, "marker": {"size": 5},
            "hovertemplate": kit.hovered(label, "%{x:.3~r}", "%{y:.3~r}"),
        })  # fmt: skip
        if rings and policy in rings and not log:
            ring, figures = rings[policy]
            data.append({
                "type": "scatter", "mode": "markers", "name": label, "hoverinfo": "skip",
                "cliponaxis": False, "x": [ring], "y": [of(figures)],
                "marker": {"size": 13, "color": "rgba(0,0,0,0)",
                           "line": {"color": colour, "width": 2.5}},
            })  # fmt: skip
    low, high = (min(known), max(known)) if known else (0.1, 1.0)
    first, last = min(loads), max(loads)
    rows = kit.wrapped(legend)
    shapes = [kit.legend(*rows), kit.rule("x", now, "dot")]
    if limit:
        shapes.append(kit.rule("y", limit, "dash"))
    extent = [math.log10(low) - 0.1, math.log10(high) + 0.1] if log else [0.0, 1.1 * high]
    layout = {
        **kit.frame(62, legend_rows=len(rows)),
        "xaxis": {
            "type": "log", "range": [math.log10(first) - 0.03, math.log10(last) + 0.03],
            "title": {"text": across, "standoff": 8},
            "automargin": False, **kit.ticks(first, last, True),
        },
        "yaxis": {
            "type": "log" if log else "linear", "range": extent, "title": {"text": title},
            "automargin": False, **kit.ticks(low if log else 0.0, high, log),
        },
        "shapes": shapes,
    }  # fmt: skip
    return kit.figure(data, layout)
