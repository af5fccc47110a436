"""The roofline: attainable FLOP/s against intensity, and where each kind of work is under it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import streamlit as st

from calc import Scenario, roofline
from calc.operators import Named, Work
from calc.roofline import Roof
from calc.words import say
from pages.ui.charts import kit
from pages.ui.frame.page import Shown
from pages.ui.writing import explained, palette, text
from pages.ui.writing import roofs as words

Dict = dict[str, Any]
TERA = 1e-12


@dataclass(frozen=True)
class Point:
    """One kind of work.

    Parameters
    ----------
    name : str
        As readers call it.
    look : Look
        Of what it waits for.
    intensity, attained, time : float
        FLOPs for each byte, FLOPs each second, and how long it takes [FLOP/byte, FLOP/s, s].
    """

    name: str
    look: palette.Look
    intensity: float
    attained: float
    time: float

    @classmethod
    def of(cls, row: Named) -> Point:
        """An operator."""
        sides = ("kv_read", "attention_compute") if row.cache else ("weight_read", "linear_compute")
        look = palette.QUANTITIES[sides[row.compute_bound]]
        return cls(say(row.name), look, row.intensity, row.attained, row.time)

    @property
    def drawn(self) -> bool:
        """Whether it has a place on logarithmic axes."""
        return all(0 < one < math.inf for one in (self.intensity, self.attained))


def shown(scenario: Scenario, work: Work, rows: Sequence[Named]) -> Shown:
    """Work of a scenario under its roofs, and what the chart says."""
    roofs = named(scenario)
    drawn = chart(roofs, roofline.reached(work), [Point.of(row) for row in rows])
    return Shown(drawn, sentence(scenario, rows))


def sentence(scenario: Scenario, rows: Sequence[Named]) -> str:
    """The ridge, and on which side of it work is."""
    return words.sentence(scenario, named(scenario), rows)


def named(scenario: Scenario) -> Mapping[str, Roof]:
    """The published roofs by their formats."""
    return {one.id: roof for one, roof in roofline.roofs(scenario).items()}


def tab(page: str, scenario: Scenario, work: Work, explained_by: tuple[str, str]) -> None:
    """The roofline of a page's operators and their table.

    A click on a point opens its explanation, of the two that are named that of work with weights or
    with cache.
    """
    rows = work.by_name()

    def opened(at: float) -> None:
        if 0 <= at < len(rows):
            explained.open_at(page, explained_by[rows[int(at)].cache])

    with st.grid(2, min_column_width=400):
        shown(scenario, work, rows).draw(f"{page}-roofline", on_click=opened)
        with st.container():
            st.markdown(sentence(scenario, rows))
            st.table(words.table(rows), hide_index=True)
            st.caption(
                say(
                    "The area of a point is its time; a click on it opens its formula. Bytes "
                    "are those of weights and cache: activations stay in the chip."
                )
            )


def chart(roofs: Mapping[str, Roof], reached: Iterable[Roof], points: Sequence[Point]) -> kit.Chart:
    """The roofs of some formats by their names, those that are reached, and work under them.

    Of a point that is clicked its place in `points` is told.
    """
    drawn = [(i, point) for i, point in enumerate(points) if point.drawn]
    below = [roof for roof in reached if roof not in roofs.values()]
    ridges = {name: roof.ridge for name, roof in roofs.items() if roof.ridge > 0}
    sheet = _Sheet.around([point for _, point in drawn], [*roofs.values(), *below], ridges)
    data = [
        _line(sheet, roof, name, 3 - i, "solid") for i, (name, roof) in enumerate(roofs.items())
    ]
    data += [_line(sheet, roof, say("reached"), 2, "dash") for roof in below]
    tops = {
        f"{text.plain_html(name)}, {text.si(roof.rate, 'FLOP/s')} ": roof.rate
        for name, roof in roofs.items()
        if math.isfinite(roof.rate)
    }
    data.append(_names_of(sheet, tops))
    data.append(_bubbles(sheet, drawn, [sheet.over(rate, name) for name, rate in tops.items()]))
    keys = [kit.key(say("published"), palette.INK, "━━")]
    keys += [kit.key(say("reached"), palette.INK, "╍╍")] if below else []
    keys += [
        kit.key(label, colour, "●")
        for label, colour in dict.fromkeys((say(p.look.label), p.look.colour) for _, p in drawn)
    ]
    rows = kit.wrapped(keys, 52)
    layout = {
        **kit.frame(66, legend_rows=len(rows)), "height": 400,
        "xaxis": kit.axis(
            say("Intensity (FLOP per byte)"), list(sheet.x), True, **_powers(sheet.x)
        ),
        "yaxis": kit.axis(say("TFLOP/s of one chip"), list(sheet.y), True, **_powers(sheet.y)),
        "shapes": [*_ridges(ridges), kit.legend(*rows)],
    }  # fmt: skip
    return kit.figure(data, layout)


def _powers(extent: tuple[float, float]) -> Dict:
    """Powers of ten, as people write them."""
    powers = range(math.ceil(extent[0]), math.floor(extent[1]) + 1)
    stride = 1 if len(powers) <= 7 else 2
    values = [10.0**power for power in powers][::stride]
    return {"tickvals": values, "ticktext": [f"{value:,.10g}" for value in values]}


# Left, right, bottom, top, as shares of the plot.
_Box = tuple[float, float, float, float]
# A letter and a line of words, and a pixel, as shares of a plot on a phone: elsewhere there is more
# room.
_LETTER, _LINE, _PIXEL = 0.021, 0.056, 0.0035
_LEAST, _MOST = 10.0, 46.0


@dataclass(frozen=True)
class _Sheet:
    """The ends of both axes, as logarithms of FLOP/byte and TFLOP/s."""

    x: tuple[float, float]
    y: tuple[float, float]

    @classmethod
    def around(
        cls, shown: Sequence[Point], roofs: Sequence[Roof], ridges: Mapping[str, float]
    ) -> _Sheet:
        """So that all ridges are seen, with a flat part, and points stand clear of the edges."""
        places = [point.intensity for point in shown]
        low = min([*places, *(ridge / 30 for ridge in ridges.values())], default=1.0) / 2.5
        high = max([*(2 * one for one in places), *(8 * ridge for ridge in ridges.values())],
                   default=1e3)  # fmt: skip
        tops = [roof.attainable(high) for roof in roofs]
        tops = [TERA * one for one in tops if math.isfinite(one)] or [1.0]
        lows = [TERA * roof.attainable(low) for roof in roofs]
        lows += [TERA * point.attained / 2.5 for point in shown]
        lows = [one for one in lows if 0 < one < math.inf] or [1e-3]
        ends = (math.log10(min(lows)), math.log10(max(tops)) + 0.25)
        return cls((math.log10(low), math.log10(high)), ends)

    def at(self, x: float, y: float) -> tuple[float, float]:
        """A place as shares of width and height."""
        across = (math.log10(x) - self.x[0]) / (self.x[1] - self.x[0])
        return across, (math.log10(TERA * y) - self.y[0]) / (self.y[1] - self.y[0])

    def over(self, rate: float, words: str) -> _Box:
        """The room of words over a flat part, at its right end."""
        _, height = self.at(10.0 ** self.x[1], rate)
        return 1 - _LETTER * text.width(words), 1.0, height, height + _LINE

    def roof(self, roof: Roof) -> tuple[list[float], list[float]]:
        """A roof's corners."""
        low, high = (10.0**end for end in self.x)
        places = [low, *([roof.ridge] if low < roof.ridge < high else []), high]
        found = [(at, TERA * roof.attainable(at)) for at in places]
        known = [(x, y) for x, y in found if math.isfinite(y)]
        return [x for x, _ in known], [y for _, y in known]


def _line(sheet: _Sheet, roof: Roof, name: str, width: float, dash: str) -> Dict:
    x, y = sheet.roof(roof)
    return {
        "type": "scatter", "mode": "lines", "x": x, "y": y, "name": name, "hoverinfo": "skip",
        "line": {"color": palette.INK, "width": max(width, 1.5), "dash": dash},
        "opacity": 0.75 if dash == "solid" else 0.55,
    }  # fmt: skip


def _names_of(sheet: _Sheet, tops: Mapping[str, float]) -> Dict:
    """What each flat part is the roof of, at its right end."""
    return {
        "type": "scatter", "mode": "text", "x": [10.0 ** sheet.x[1]] * len(tops),
        "y": [TERA * rate for rate in tops.values()], "text": list(tops),
        "textposition": "top left", "textfont": {"size": 11.5}, "hoverinfo": "skip",
    }  # fmt: skip


def _ridges(ridges: Mapping[str, float]) -> Iterator[Dict]:
    """A line down from each ridge, its intensity at the foot."""
    for i, ridge in enumerate(ridges.values()):
        rule = kit.rule("x", ridge, "dot", say("ridge {n}", n=text.round_count(ridge)))
        rule["label"] |= {
            "textposition": "start", "textangle": 0, "xanchor": "left" if i % 2 else "right",
            "yanchor": "bottom", "padding": 4,
        }  # fmt: skip
        yield rule


def _bubbles(sheet: _Sheet, drawn: Sequence[tuple[int, Point]], kept: Iterable[_Box]) -> Dict:
    """The points, the longest first so that none hides another; those at one place share a name."""
    longest = max((point.time for _, point in drawn), default=1.0) or 1.0
    ordered = sorted(drawn, key=lambda one: -one[1].time)
    sizes = [max(_LEAST, _MOST * math.sqrt(point.time / longest)) for _, point in ordered]
    places = [sheet.at(point.intensity, point.attained) for _, point in ordered]
    names, sides = _named([point.name for _, point in ordered], places, sizes, kept)
    return {
        "type": "scatter", "mode": "markers+text", "cliponaxis": False,
        "x": [point.intensity for _, point in ordered],
        "y": [TERA * point.attained for _, point in ordered],
        "text": names, "textposition": sides, "textfont": {"size": 12},
        "customdata": [i for i, _ in ordered],
        "hovertext": [
            "<br>".join([
                f"<b>{text.plain_html(point.name)}</b>", text.intensity(point.intensity),
                text.si(point.attained, "FLOP/s"), text.si(point.time, "s"),
            ])
            for _, point in ordered
        ],
        "hovertemplate": "%{hovertext}<extra></extra>",
        "marker": {
            "size": sizes, "color": [point.look.colour for _, point in ordered], "opacity": 0.8,
            "line": {"color": palette.INK, "width": 1},
        },
    }  # fmt: skip


# Points so near, as a share of the plot, are at one place.
_NEAR = 0.03
_SIDES = (
    "middle right", "bottom right", "middle left", "top left", "bottom center", "top center",
    "bottom left", "top right",
)  # fmt: skip
# Names of one place that are said.
_SAID = 3


def _named(
    names: Sequence[str],
    places: Sequence[tuple[float, float]],
    sizes: Sequence[float],
    kept: Iterable[_Box],
) -> tuple[list[str], list[str]]:
    """The words beside each point and the side they stand on, clear of what is `kept` free.

    None where there is no room.
    """
    groups: list[list[int]] = []
    for i, (x, y) in enumerate(places):
        near = (
            group for group in groups
            if abs(places[group[0]][0] - x) < _NEAR and abs(places[group[0]][1] - y) < _NEAR
        )  # fmt: skip
        group = next(near, None)
        if group is None:
            groups.append([i])
        else:
            group.append(i)
    taken = [*kept, *(_around(places[group[0]], sizes[group[0]]) for group in groups)]
    beside = {group[0]: _lines([names[i] for i in group]) for group in groups}
    words, sides = [""] * len(names), [_SIDES[0]] * len(names)
    # What takes most room first.
    for first, lines in sorted(beside.items(), key=lambda one: -sum(map(text.width, one[1]))):
        # Lines beside a small point would stand on the roof.
        for side in _SIDES if len(lines) == 1 else (_SIDES[1], *_SIDES):
            box = _beside(places[first], sizes[first], lines, side)
            if _within(box) and all(_apart(box, other) for other in taken):
                taken.append(box)
                words[first] = "<br>".join(map(text.plain_html, lines))
                sides[first] = side
                break
    return words, sides


def _lines(names: Sequence[str]) -> Sequence[str]:
    """Names one below another, as many as are said."""
    return names if len(names) <= _SAID else [*names[: _SAID - 1], f"+{len(names) - _SAID + 1}"]


def _around(place: tuple[float, float], size: float) -> _Box:
    (x, y), half = place, 0.4 * size * _PIXEL
    return x - half, x + half, y - half, y + half


def _beside(place: tuple[float, float], size: float, lines: Sequence[str], side: str) -> _Box:
    (x, y), out = place, (0.5 * size + 3) * _PIXEL
    width = _LETTER * max(map(text.width, lines))
    height = _LINE * len(lines)
    across = {"left": (x - out - width, x - out), "right": (x + out, x + out + width),
              "center": (x - width / 2, x + width / 2)}[side.split()[1]]  # fmt: skip
    up = {"top": (y + out, y + out + height), "bottom": (y - out - height, y - out),
          "middle": (y - height / 2, y + height / 2)}[side.split()[0]]  # fmt: skip
    return (*across, *up)


def _within(box: _Box) -> bool:
    return box[0] > -0.02 and box[1] < 1.02 and box[2] > 0.06 and box[3] < 1.0


def _apart(one: _Box, other: _Box) -> bool:
    return one[1] <= other[0] or other[1] <= one[0] or one[3] <= other[2] or other[3] <= one[2]
