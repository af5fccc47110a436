"""The charts of the Compare page: several scenarios on the same axes."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calc import Scenario, decode, memory, roofline
from calc.decode import StepTime
from calc.words import say
from pages.ui.charts import kit
from pages.ui.writing import palette, text

Array = NDArray[np.float64]
Dict = dict[str, Any]
# A point that is compared: its letter and its step.
Ring = tuple[str, StepTime]

# A clicked point is told as one number: which curve, and which batch on it.
_STRIDE = 2**20
_ROW = 34
# Of a name beside a bar; its line in the legend has it whole.
_LETTERS = 20


@dataclass(frozen=True)
class Curve:
    """One scenario over batches; `largest` is how many sequences fit."""

    name: str
    sweep: StepTime
    here: StepTime
    largest: int

    @classmethod
    def of(cls, name: str, scenario: Scenario) -> Curve:
        """Timed once for all charts."""
        s = scenario
        largest = int(memory.max_batch(s))
        end = decode.sweep_end(s, largest, roofline.compute_bound_batch(s))
        batch = decode.batch_sweep(end, [largest, s.batch])
        return cls(name, decode.step_time(s, batch=batch), decode.step_time(s), largest)


def picked(value: float) -> tuple[int, int]:
    """Curve and batch of a clicked point."""
    return divmod(int(value), _STRIDE)


def frontiers(curves: Sequence[Curve], rings: Iterable[Ring]) -> kit.Chart:
    """All frontiers; `rings` are the two points that are compared, each with its letter."""
    drawn = _overlay(
        curves,
        lambda step: kit.MILLI * step.total,
        lambda step: step.throughput_per_chip,
        kit.hovered(say("{n} ms per token", n="%{x:.3~r}"),
                        say("{n} token/s per chip", n="%{y:.3~r}")),
        {"title": say("Time per output token (ms)")},
        {"title": say("Throughput (token/s per chip)")},
    )  # fmt: skip
    for letter, step in _met(rings):
        drawn.data.append({
            "type": "scatter", "mode": "markers+text", "hoverinfo": "skip", "cliponaxis": False,
            "x": [kit.MILLI * float(step.total)], "y": [float(step.throughput_per_chip)],
            "text": [f"<b>{letter}</b>"], "textposition": "top left", "textfont": {"size": 13},
            "marker": {"size": 15, "color": "rgba(0,0,0,0)",
                       "line": {"color": palette.INK, "width": 2}},
        })  # fmt: skip
    return drawn


def _met(rings: Iterable[Ring]) -> list[Ring]:
    """Rings, those of one place together."""
    found: dict[tuple[float, float], Ring] = {}
    for letter, step in rings:
        place = (float(step.total), float(step.throughput_per_chip))
        before = found.get(place)
        found[place] = (f"{before[0]}, {letter}" if before else letter, step)
    return list(found.values())


def steps(curves: Sequence[Curve]) -> kit.Chart:
    """Step time of all against batch."""
    axis = kit.batch_axis(max(float(curve.sweep.batch[-1]) for curve in curves))
    return _overlay(
        curves,
        lambda step: step.batch,
        lambda step: kit.MILLI * step.total,
        kit.hovered(say("{n} ms per step", n="%{y:.3~r}")),
        {"axis": axis},
        {"title": say("Time per step (ms)")},
    )


def _overlay(
    curves: Sequence[Curve],
    x: Callable[[StepTime], Array],
    y: Callable[[StepTime], Array],
    hover: str,
    across: Dict,
    up: Dict,
) -> kit.Chart:
    """One line a contender, dotted where it does not fit, its own batch marked."""
    data: list[Dict] = []
    legend = []
    for i, curve in enumerate(curves):
        colour, _ = kit.LINES[i % len(kit.LINES)]
        name = text.plain_html(curve.name)
        legend.append(kit.key(name, colour, "━━"))
        batch = curve.sweep.batch
        # Wider below, so that where curves coincide all are seen.
        wider = 2.0 * (1 - i / max(len(curves) - 1, 1))
        beyond = batch > curve.largest
        beyond[:-1] |= batch[1:] > curve.largest
        template = f"{name}<br>{say('batch {n}', n='%{text}')}<br>{hover}"
        for part, dash, width in (
            (batch <= curve.largest, "solid", 2.0 + wider),
            (beyond, "dot", 1.5 + 0.6 * wider),
        ):
            data.append({
                "type": "scatter", "mode": "lines", "name": name,
                "x": x(curve.sweep)[part], "y": y(curve.sweep)[part],
                "text": [f"{b:,.0f}" for b in batch[part]],
                "customdata": _STRIDE * i + batch[part], "hovertemplate": template,
                "line": {"color": colour, "dash": dash, "width": width},
            })  # fmt: skip
        data.append({
            "type": "scatter", "mode": "markers", "name": name, "cliponaxis": False,
            "x": [float(x(curve.here))], "y": [float(y(curve.here))],
            "text": [f"{float(curve.here.batch):,.0f}"],
            "customdata": [_STRIDE * i + float(curve.here.batch)], "hovertemplate": template,
            "marker": {"size": 10 + wider, "color": colour,
                       "line": {"color": palette.INK, "width": 1.5}},
        })  # fmt: skip
    rows = kit.wrapped(legend)
    note = say("dot: its batch; dotted: does not fit")
    layout = {
        **kit.frame(70, legend_rows=len(rows) + 1),
        "height": 400,
        "xaxis": across.get("axis") or _log_axis(across["title"], [x(c.sweep) for c in curves]),
        "yaxis": _log_axis(up["title"], [y(c.sweep) for c in curves]),
        "shapes": [kit.legend(*rows, [note])],
    }
    return kit.figure(data, layout)


def _log_axis(title: str, values: Sequence[Array]) -> Dict:
    flat = np.concatenate(values)
    flat = flat[np.isfinite(flat) & (flat > 0)]
    low, high = (float(flat.min()), float(flat.max())) if flat.size else (0.1, 10.0)
    return {
        "type": "log", "range": [math.log10(low) - 0.08, math.log10(high) + 0.1],
        "title": {"text": title, "standoff": 8}, "automargin": False,
        **kit.ticks(low, high, True),
    }  # fmt: skip


def breakdowns(curves: Sequence[Curve]) -> kit.Chart:
    """What each contender's step is made of, as stacked bars."""
    names = [text.plain_html(text.shortened(curve.name, _LETTERS)) for curve in curves]
    charged = [curve.here.charged() for curve in curves]
    data: list[Dict] = []
    legend = []
    for term in charged[0]:
        times = [kit.MILLI * float(terms[term]) for terms in charged]
        if not any(time > 0 for time in times):
            continue
        look = palette.QUANTITIES[term]
        legend.append(kit.key(say(look.label), look.colour, "■"))
        data.append({
            "type": "bar", "orientation": "h", "name": say(look.label), "y": names, "x": times,
            "marker": {"color": look.colour},
            "hovertemplate": kit.hovered("%{y}", say(look.label), "%{x:.3~r} ms"),
        })  # fmt: skip
    totals = [float(curve.here.total) for curve in curves]
    known = [total for total in totals if math.isfinite(total)]
    data.append({
        "type": "scatter", "mode": "text", "y": names, "hoverinfo": "skip",
        "x": [kit.MILLI * total for total in totals], "cliponaxis": False,
        "text": [f"  {text.si(total, 's')}" for total in totals], "textposition": "middle right",
    })  # fmt: skip
    rows = kit.wrapped(legend)
    left = 24 + 7 * min(max(map(text.width, names)), _LETTERS)
    layout = {
        **kit.frame(left, legend_rows=len(rows)),
        "height": 90 + 18 * len(rows) + _ROW * len(curves),
        "barmode": "stack", "bargap": 0.35,
        "xaxis": {
            "title": {"text": say("Time per step (ms)"), "standoff": 8}, "automargin": False,
            "range": [0, 1.35 * kit.MILLI * max(known, default=1.0)], "nticks": 6,
        },
        "yaxis": {
            "autorange": "reversed", "automargin": False, "ticksuffix": "  ", "showgrid": False,
            "type": "category", "categoryorder": "array", "categoryarray": names,
        },
        "shapes": [kit.legend(*rows)],
    }  # fmt: skip
    return kit.figure(data, layout)
