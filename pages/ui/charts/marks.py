"""Measured points on a chart that was drawn without them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from calc.measured import Row
from calc.words import say
from pages.ui.charts import kit
from pages.ui.writing import palette, text

_GLYPH = "◇"


def told(row: Row) -> str:
    """A measurement under the pointer, in terms that are the same in every language."""
    s = row.scenario
    what = f"{s.model.id}, {s.n_chips} × {s.chip.id}, {s.stored.id}"
    load = f"{row.batch:,.4g} × {row.context:,.0f}"
    said = f"{row.engine_name} {row.engine_version}, {row.source} {row.date}"
    return "<br>".join(text.plain_html(one) for one in (f"{row.id}: {what}, {load}", said))


def on(chart: kit.Chart, rows: Sequence[Row], x: ArrayLike, y: ArrayLike) -> kit.Chart:
    """The chart with a point for each row, its y axis as long as they need."""
    if not rows:
        return chart
    across, up = np.asarray(x, dtype=float), np.asarray(y, dtype=float)
    points = {
        "type": "scatter", "mode": "markers", "name": say("measured"), "x": across, "y": up,
        "text": [told(row) for row in rows], "hovertemplate": kit.hovered("%{text}"),
        "marker": {"size": 8, "symbol": "diamond-open", "color": palette.INK, "line": {"width": 1}},
    }  # fmt: skip
    entry = kit.key(say("measured"), palette.INK, _GLYPH)
    shapes = [_named(one, entry) for one in chart.layout["shapes"]]
    axis = chart.layout["yaxis"]
    layout = {**chart.layout, "shapes": shapes, "yaxis": {**axis, "range": _long(axis, up)}}
    return replace(chart, data=[*chart.data, points], layout=layout)


def _named(shape: kit.Dict, entry: str) -> kit.Dict:
    """The legend with an entry more; other shapes as they are."""
    if shape.get("name") != "legend":
        return shape
    label = shape["label"]
    return {**shape, "label": {**label, "text": f"{label['text']}   {entry}"}}


def _long(axis: kit.Dict, values: np.ndarray[tuple[int], np.dtype[np.float64]]) -> list[float]:
    low, high = axis["range"]
    least, most = float(values.min()), float(values.max())
    if axis["type"] == "log":
        return [min(low, math.log10(least) - 0.05), max(high, math.log10(most) + 0.05)]
    return [low, max(high, 1.05 * most)]
