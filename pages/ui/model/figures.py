"""The charts of the Model page."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calc import checkpoint
from calc.checkpoint import ATTENTION, DENSE, EMBEDDING, HEAD, ROUTED, SHARED
from calc.words import say
from pages.ui.charts import kit
from pages.ui.writing import palette, text

Array = NDArray[np.float64]
Dict = dict[str, Any]

_LETTERS = 18
_ROW = 46
# Parts of a model are no quantities of a step: they get the colours of variants.
_ORDER = dict.fromkeys((EMBEDDING, ATTENTION, DENSE, ROUTED, HEAD, SHARED, *checkpoint.PARTS))
PARTS = {
    name: palette.Look(name, kit.LINES[i % len(kit.LINES)][0]) for i, name in enumerate(_ORDER)
}
_CELLS = "Cividis"


def stacked(
    rows: Mapping[str, Mapping[str, float]],
    looks: Mapping[str, palette.Look],
    title: str,
    scale: float,
    form: Callable[[float], str],
) -> kit.Chart:
    """A stacked bar a row: what each consists of, its total written at the end."""
    names = [text.plain_html(text.shortened(name, _LETTERS)) for name in rows]
    totals = [sum(parts.values()) for parts in rows.values()]
    reach = max((one for one in totals if math.isfinite(one)), default=0.0) / scale or 1.0
    data: list[Dict] = []
    for name, look in looks.items():
        values = [parts.get(name, 0.0) for parts in rows.values()]
        if not any(values):
            continue
        data.append({
            "type": "bar", "orientation": "h", "y": names, "name": say(look.label),
            "x": np.array(values) / scale, "customdata": [form(one) for one in values],
            "marker": {"color": look.colour},
            "hovertemplate": f"{say(look.label)}: %{{customdata}}<extra></extra>",
        })  # fmt: skip
    keys = [
        kit.key(say(look.label), look.colour, "■")
        for name, look in looks.items()
        if any(parts.get(name) for parts in rows.values())
    ]
    legend = kit.wrapped(keys)
    frame = kit.frame(128, legend_rows=len(legend))
    layout = {
        **frame, "barmode": "stack", "bargap": 0.35,
        "height": frame["margin"]["t"] + frame["margin"]["b"] + _ROW * len(names),
        "xaxis": {
            "range": [0, 1.26 * reach], "title": {"text": title, "standoff": 8},
            "automargin": False, **kit.ticks(0, reach, False),
        },
        "yaxis": {
            "autorange": "reversed", "automargin": False, "ticksuffix": "  ", "showgrid": False,
            "type": "category", "categoryorder": "array", "categoryarray": names,
        },
        "shapes": [kit.legend(*legend)],
        "annotations": [
            {"x": total / scale, "y": name, "text": f"<b>{form(total)}</b>",
             "showarrow": False, "xanchor": "left", "xshift": 6, "font": {"size": kit.FONT_SIZE}}
            for name, total in zip(names, totals, strict=True) if math.isfinite(total)
        ],
    }  # fmt: skip
    return kit.figure(data, layout)


def heat(
    x: Sequence[int],
    y: Sequence[int],
    z: Array,
    words: Sequence[Sequence[str]],
    names: tuple[str, str],
    now: tuple[int, int],
    title: str,
    form: Callable[[float], str],
) -> kit.Chart:
    """A measure over two dimensions, the model that is there marked; a click names a cell.

    `now` is the place of the present values; a cell is told as ``row * len(x) + column``.
    """
    # By ratio: what is nothing has no colour.
    colour = np.log10(np.where(z > 0, z, np.nan))
    across, up = (_places(values) for values in (x, y))
    known = colour[np.isfinite(colour)]
    low, high = (float(known.min()), float(known.max())) if known.size else (0.0, 1.0)
    at = np.linspace(low, high, 5)
    data: list[Dict] = [
        {
            "type": "heatmap", "z": colour, "colorscale": _CELLS, "hoverongaps": False,
            "x": list(range(len(x))), "y": list(range(len(y))),
            "customdata": np.arange(z.size).reshape(z.shape), "text": [list(row) for row in words],
            "hovertemplate": kit.hovered("%{text}"),
            "zmin": low, "zmax": high if high > low else low + 1,
            "colorbar": {
                "thickness": 12, "outlinewidth": 0,
                "tickvals": at, "ticktext": [form(float(10**v)) for v in at],
            },
        },
        {
            "type": "scatter", "mode": "markers", "x": [now[0]], "y": [now[1]],
            "hoverinfo": "skip", "cliponaxis": False,
            "marker": {"size": 13, "color": "#D55E00", "line": {"color": "#ffffff", "width": 2}},
        },
    ]  # fmt: skip
    frame = kit.frame(78)
    frame["margin"]["r"] = 112
    layout = {
        **frame, "height": 430,
        "xaxis": {"title": {"text": names[0], "standoff": 8}, "automargin": False, **across},
        "yaxis": {"title": {"text": names[1]}, "automargin": False, **up},
        "shapes": [kit.legend([kit.key(say("this model"), "#D55E00", "●"), title])],
    }  # fmt: skip
    return kit.figure(data, layout)


def _places(values: Sequence[int]) -> Dict:
    """An axis of places, some of them labelled with their values."""
    stride = math.ceil(len(values) / 9)
    at = list(range(0, len(values), stride))
    return {
        "tickvals": at, "ticktext": [f"{values[i]:,}" for i in at],
        "range": [-0.5, len(values) - 0.5], "showgrid": False,
    }  # fmt: skip
