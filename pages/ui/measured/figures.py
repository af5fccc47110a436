"""The charts of the Measured page: each measurement a point, coloured by what ran it."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calc.words import say
from pages.ui.charts import kit
from pages.ui.measured.view import MeasuredView
from pages.ui.writing import palette, text

Array = NDArray[np.float64]
Dict = dict[str, Any]

# Never colour alone.
_SYMBOLS = ("circle", "diamond", "square", "triangle-up", "cross", "x", "star", "hexagon")
_GLYPHS = ("●", "◆", "■", "▲", "✚", "✕", "★", "⬢")
_OTHERS = ("#8a919b", "circle-open", "○")
_HEIGHT = 430


def against_prediction(view: MeasuredView) -> kit.Chart:
    """Measured against predicted time, the band around the line where they are equal."""
    x, y = kit.MILLI * view.predicted, kit.MILLI * view.seconds
    low, high = float(min(x.min(), y.min())), float(max(x.max(), y.max()))
    ends = np.array([low / 1.3, high * 1.3])
    found = view.agreement
    band = kit.area((ends, found.low * ends), (ends, found.high * ends))
    hover = kit.hovered(
        "%{text}", say("measured {time}", time="%{y:,.4~r} ms"),
        say("predicted {time}", time="%{x:,.4~r} ms"),
    )  # fmt: skip
    points, rows = _points(view, x, y, hover, view.told)
    extent, ticks = [math.log10(one) for one in ends], kit.ticks(low, high, True)
    return _drawn(
        [band, _line(ends, ends), *points],
        rows,
        kit.axis(say("Predicted (ms)"), extent, True, **ticks),
        kit.axis(say("Measured (ms)"), extent, True, **ticks),
    )


def against_batch(view: MeasuredView) -> kit.Chart:
    """Measured over predicted time against batch."""
    ratio = view.seconds / view.predicted
    upper = 2.0 ** math.ceil(math.log2(max(float(view.batches.max()), 2.0)))
    ends, one = np.array([1 / 1.2, 1.2 * upper]), np.ones(2)
    found = view.agreement
    low, high = float(min(ratio.min(), 1.0)), float(max(ratio.max(), 1.0))
    hover = kit.hovered(
        "%{text}", say("batch {n}", n="%{x:.4~r}"), say("{n} × predicted", n="%{y:.3~r}")
    )
    points, rows = _points(view, view.batches, ratio, hover, [row.id for row in view.rows])
    band = kit.area((ends, found.low * one), (ends, found.high * one))
    across = kit.batch_axis(upper)
    across["range"] = [math.log10(ends[0]), math.log10(ends[1])]
    return _drawn(
        [band, _line(ends, one), *points],
        rows,
        across,
        kit.axis(
            say("Measured over predicted"), [math.log10(low) - 0.06, math.log10(high) + 0.06],
            True, **kit.ticks(low, high, True),
        ),
    )  # fmt: skip


def _drawn(data: list[Dict], rows: list[list[str]], across: Dict, up: Dict) -> kit.Chart:
    layout = {
        **kit.frame(66, legend_rows=len(rows)),
        "height": _HEIGHT, "xaxis": across, "yaxis": up, "shapes": [kit.legend(*rows)],
    }  # fmt: skip
    return kit.figure(data, layout)


def _points(
    view: MeasuredView, x: Array, y: Array, hover: str, told: Any
) -> tuple[list[Dict], list[list[str]]]:
    """A trace for each engine, the most frequent first, and the legend."""
    data, legend = [], [kit.key(say("as predicted"), palette.INK, "╍╍"), kit.area_key()]
    for name, looks, here in _groups(view.engines):
        colour, symbol, glyph = looks
        data.append({
            "type": "scatter", "mode": "markers", "name": name, "x": x[here], "y": y[here],
            "text": [told[at] for at in here], "customdata": view.places[here].astype(float),
            "hovertemplate": hover,
            "marker": {"size": 7, "color": colour, "symbol": symbol, "opacity": 0.75},
        })  # fmt: skip
        legend.append(kit.key(text.plain_html(name), colour, glyph))
    if view.picked is not None:
        at = view.rows.index(view.picked)
        data.append({
            "type": "scatter", "mode": "markers", "x": x[[at]], "y": y[[at]], "hoverinfo": "skip",
            "marker": {"size": 15, "color": "rgba(0,0,0,0)",
                       "line": {"color": palette.INK, "width": 2}},
        })  # fmt: skip
    return data, kit.wrapped(legend, 58)


def _groups(
    engines: NDArray[np.str_],
) -> Iterator[tuple[str, tuple[str, str, str], NDArray[np.intp]]]:
    """Engines with their looks and where their points are; those beyond the looks together."""
    frequent = [str(name) for name, _ in Counter(engines.tolist()).most_common()]
    if len(frequent) > len(_SYMBOLS):
        frequent = frequent[: len(_SYMBOLS) - 1]
    for i, name in enumerate(frequent):
        looks = (kit.LINES[i % len(kit.LINES)][0], _SYMBOLS[i], _GLYPHS[i])
        yield name, looks, np.flatnonzero(engines == name)
    others = np.flatnonzero(~np.isin(engines, frequent))
    if others.size:
        yield say("others"), _OTHERS, others


def _line(x: Array, y: Array) -> Dict:
    return {
        "type": "scatter", "mode": "lines", "x": x, "y": y, "hoverinfo": "skip",
        "line": {"color": palette.INK, "dash": "dash", "width": 1.5},
    }  # fmt: skip
