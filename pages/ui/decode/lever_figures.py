"""The tornado: how far one figure moves with each thing halved and doubled."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calc.sensitivity import Sensitivities
from calc.words import inside, marked, say
from pages.ui.charts import kit
from pages.ui.writing import text, written

Array = NDArray[np.float64]

ROW = 32
# No colours of quantities: of two things that happen to each. One is hatched, too.
HALVED = (marked("halved"), "× ½", "#0b8a8a", "▨", -1)
DOUBLED = (marked("doubled"), "× 2", "#D55E00", "■", 1)
_BAR = 0.66
# Reach of the longest bar, and the changes in per cent that are then marked on the axis.
_TICKS = (
    (3.0, (-99, -90, 0, 900, 9900)),
    (1.6, (-90, -75, 0, 300, 900)),
    (0.8, (-75, -50, 0, 100, 300)),
    (0.4, (-50, -30, 0, 40, 100)),
    (0.2, (-30, -15, 0, 20, 40)),
    (0.08, (-20, -10, 0, 10, 20)),
    (0.03, (-10, -5, 0, 5, 10)),
    (0.0, (-2, -1, 0, 1, 2)),
)


def tornado(found: Sensitivities) -> kit.Chart:
    """Bars from the present value on a scale of ratios, the furthest reaching on top.

    Halving and doubling are equally long where the figure goes with the thing or against it.
    """
    moved = found.reach > text.UNMOVED
    names = [say(label) for label, shown in zip(found.labels, moved, strict=True) if shown]
    both = np.array(found.log_ratios)[:, moved]
    finite = both[np.isfinite(both)]
    left, right = (float(side.max(initial=0.0)) for side in (-finite, finite))
    # Room for what is written at the ends.
    room = 0.3 * (left + right)
    # What falls to nothing has no end: its bar goes as far as there is space.
    ends = np.clip(both, -left - room, right + room)
    together = np.sign(ends[0]) * np.sign(ends[1]) > 0
    values = (found.halved[moved], found.doubled[moved])
    data = [
        _bars(found, names, look, end, value, together)
        for look, end, value in zip((HALVED, DOUBLED), ends, values, strict=True)
    ]
    reach = max(left, right)
    marks = next(marks for least, marks in _TICKS if reach >= least)
    layout = {
        **kit.frame(136),
        "height": 92 + ROW * len(names),
        "barmode": "overlay",
        "xaxis": {
            "title": {
                "text": say("Change of {figure} (%)", figure=inside(found.aim.label)),
                "standoff": 8,
            },
            "automargin": False, "range": [-left - room, right + room], "zeroline": False,
            "tickvals": [math.log1p(mark / 100) for mark in marks],
            "ticktext": [f"{mark:+,}".replace("-", "−") if mark else "0" for mark in marks],
        },
        "yaxis": {
            "autorange": "reversed", "automargin": False, "ticksuffix": "  ", "showgrid": False,
            "type": "category", "categoryorder": "array", "categoryarray": names,
        },
        "shapes": [
            {**kit.rule("x", 0.0, "solid"), "layer": "above"},
            kit.legend(
                [kit.key(say(name), colour, glyph) for name, _, colour, glyph, _ in
                 (HALVED, DOUBLED)]
            ),
        ],
    }  # fmt: skip
    return kit.figure(data, layout)


def _bars(
    found: Sensitivities,
    names: list[str],
    look: tuple[str, str, str, str, int],
    ends: Array,
    values: Array,
    together: NDArray[np.bool_],
) -> dict[str, Any]:
    name, factor, colour, _, side = look
    known = np.isfinite(ends)
    # Bars that go the same way share the row's height; others have it to themselves.
    width = np.where(together, _BAR / 2, _BAR)
    offset = np.where(together & (side > 0), 0.0, -_BAR / 2)
    hatched = {"pattern": {"shape": "/", "size": 6, "solidity": 0.4, "fillmode": "replace"}}
    return {
        "type": "bar", "orientation": "h", "name": say(name),
        "y": [label for label, shown in zip(names, known, strict=True) if shown],
        "x": ends[known], "width": width[known], "offset": offset[known],
        "text": [
            "" if abs(end) < text.UNMOVED else text.change(value, found.now)
            for end, value in zip(ends[known], values[known], strict=True)
        ],
        "textposition": "outside", "cliponaxis": False, "textfont": {"size": 12},
        "customdata": [
            written.moved(found.aim.figure, found.now, value) for value in values[known]
        ],
        "hovertemplate": kit.hovered(f"%{{y}} {factor}", "%{customdata}"),
        "marker": {
            "color": colour, "line": {"color": colour, "width": 1}, **(hatched if side < 0 else {}),
        },
    }  # fmt: skip


# Of techniques: hatched is what is in use already.
IN_USE, POSSIBLE = (marked("in use"), "▨"), (marked("possible"), "■")


def gains(names: list[str], factors: list[float], in_use: list[bool], title: str) -> kit.Chart:
    """Factors on a logarithmic axis from 1, the largest on top."""
    ends = [math.log(factor) for factor in factors]
    left, right = -min(0.0, *ends), max(0.0, *ends)
    room = 0.25 * (left + right) or 0.1
    marks = next(marks for least, marks in _TICKS if max(left, right) >= least)
    hatched = {"shape": ["/" if one else "" for one in in_use], "size": 6, "solidity": 0.4,
               "fillmode": "replace"}  # fmt: skip
    colour = DOUBLED[2]
    told = [text.times(factor) for factor in factors]
    data = [{
        "type": "bar", "orientation": "h", "y": names, "x": ends, "text": told,
        "textposition": "outside", "cliponaxis": False, "textfont": {"size": 12},
        "hovertemplate": kit.hovered("%{y}", "%{text}"),
        "marker": {"color": colour, "line": {"color": colour, "width": 1}, "pattern": hatched},
    }]  # fmt: skip
    layout = {
        **kit.frame(172),
        "height": 92 + 28 * len(names),
        "xaxis": {
            "title": {"text": title, "standoff": 8}, "automargin": False, "zeroline": False,
            "range": [-left - (room if left else 0.05), right + room],
            "tickvals": [math.log1p(mark / 100) for mark in marks],
            "ticktext": [f"{1 + mark / 100:.3g}" for mark in marks],
        },
        "yaxis": {
            "autorange": "reversed", "automargin": False, "ticksuffix": "  ", "showgrid": False,
            "type": "category", "categoryorder": "array", "categoryarray": names,
        },
        "shapes": [
            {**kit.rule("x", 0.0, "solid"), "layer": "above"},
            kit.legend([kit.key(say(name), colour, glyph) for name, glyph in (POSSIBLE, IN_USE)]),
        ],
    }  # fmt: skip
    return kit.figure(data, layout)


def described(found: Sensitivities) -> str:
    """The same in words."""
    both = zip(found.labels, found.halved, found.doubled, found.reach, strict=True)
    rows = [
        say(
            "{name} {less} halved, {more} doubled",
            name=say(label),
            less=written.quantity(found.aim.figure, half),
            more=written.quantity(found.aim.figure, double),
        )
        for label, half, double, reach in both
        if reach > text.UNMOVED
    ]
    what = say(
        "{figure} with each thing halved and doubled, {value} now.",
        figure=say(found.aim.label),
        value=written.quantity(found.aim.figure, found.now),
    )
    return text.sentences(what, text.sentence(*rows))
