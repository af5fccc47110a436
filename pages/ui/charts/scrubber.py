"""Scrubbers beside the charts: curves and figures move under the hand, nothing is sent meanwhile.

A scrubber plays a family of frames, one for each stop; the sidebar's slider of the same field plays
it too. It is made and sent once, when somebody reaches for either, and kept by the browser while
only that field changes: a rerun that nobody scrubs in pays nothing.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import streamlit as st

from calc.fields import Field, Quantity
from calc.words import say
from pages.ui.charts import kit, renderer
from pages.ui.charts.component import registered
from pages.ui.frame import language, redraw, sidebar
from pages.ui.writing import palette, text

_HTML = '<div class="ledger-scrub"></div>'
_CSS = """
.ledger-scrub { display: flex; flex-wrap: wrap; gap: 0.25rem 2rem; }
.ledger-scrub-row {
  flex: 1 1 280px; display: grid; grid-template-columns: auto 1fr 5.5em; gap: 0.75rem;
  align-items: center; font: 14px/1.4 var(--st-font); color: var(--st-text-color);
}
.ledger-scrub-row input { width: 100%; min-width: 0; accent-color: var(--st-primary-color); }
.ledger-scrub-row output { font-variant-numeric: tabular-nums; }
.ledger-scrubbing [data-testid=stMain] :is(
  [data-testid=stMarkdown], [data-testid=stCaptionContainer], [data-testid=stDataFrame],
  [data-testid=stTable], .ledger-chart:not(.ledger-playing)
), .ledger-beyond [data-testid=stMain] :is([data-testid=stMetric], .ledger-chart) {
  opacity: 0.35; transition: opacity 0.1s 0.2s;
}
@media print { .ledger-scrub { display: none; } }
"""

# Of a trace, what a frame may move.
_MOVES = ("x", "y", "text")
_TICKS = ("dtick", "tickvals", "ticktext", "nticks")


@dataclass(frozen=True)
class Frame:
    """What moves on a page, at one stop: its charts by key, and its row of metrics."""

    charts: Mapping[str, kit.Chart]
    metrics: Sequence[str]


@dataclass(frozen=True)
class Scrub:
    """One field to scrub.

    Parameters
    ----------
    field : Quantity
        What the scrubber sets.
    stops : sequence of float
        Its values in the field's unit, the current one among them.
    now : float
        The current one.
    of : object
        All that the family depends on beside the field: while it is equal, the family is kept.
    family : callable
        The frames of all stops.
    """

    field: Field
    stops: Sequence[float]
    now: float
    of: Any
    family: Callable[[], Iterable[Frame]]


def stops(field: Field, low: float, high: float, now: float) -> list[float]:
    """The slider's own stops between two values, and the current one."""
    assert isinstance(field, Quantity)
    if field.whole:
        between: Iterable[float] = sidebar.ladder(int(low), int(high))
    else:
        between = [
            round(low + field.step * i, 6) for i in range(round((high - low) / field.step) + 1)
        ]
    return sorted({*between, now})


def show(key: str, scrubs: Sequence[Scrub]) -> None:
    """Draw scrubbers in a row; nothing where charts are Streamlit's own."""
    if renderer.STOCK:
        return
    stops = {scrub.field.key: scrub.stops for scrub in scrubs}
    registered(Path(__file__).with_name("scrubber.js"), _HTML, _CSS)(
        key=key,
        data={"rows": [_row(key, scrub) for scrub in scrubs]},
        on_wanted_change=lambda: _wanted(key),
        on_chosen_change=lambda: _chosen(key, stops),
    )


def _row(key: str, scrub: Scrub) -> dict[str, Any]:
    return {
        "key": scrub.field.key,
        "label": say(scrub.field.label),
        "stops": list(scrub.stops),
        "words": [f"{stop:,.7g}" for stop in scrub.stops],
        "index": list(scrub.stops).index(scrub.now),
        "ink": palette.INK,
        **_family(f"_{key}-{scrub.field.key}", scrub),
    }


def _family(slot: str, scrub: Scrub) -> dict[str, Any]:
    """The name of the family that the browser may play, and its text where that was asked for."""
    of = (scrub.of, list(scrub.stops), language.current())
    name, before = st.session_state.get(slot, (0, None))
    wanted = st.session_state.pop(f"{slot}-wanted", False)
    if before != of:
        if not wanted:
            return {"family": 0, "frames": None}
        name += 1
        st.session_state[slot] = (name, of)
    return {"family": name, "frames": encoded(list(scrub.family())) if wanted else None}


def encoded(family: Sequence[Frame]) -> str:
    """A family as the text that the scrubber plays.

    Of each chart the arrays of what moves in single precision, its shapes, and axes wide enough for
    all. A trace that stays is left out of the frames.
    """
    moving = {name: _moving([frame.charts[name] for frame in family]) for name in family[0].charts}
    frames = [
        {
            "charts": {
                name: {
                    "data": [
                        {p: _single(trace[p]) for p in _MOVES if p in trace} if moves else {}
                        for trace, moves in zip(chart.data, moving[name], strict=False)
                    ],
                    "shapes": chart.layout.get("shapes", []),
                }
                for name, chart in frame.charts.items()
            },
            "metrics": [text.on_card(value) for value in frame.metrics],
        }
        for frame in family
    ]
    ranges = {name: _axes([frame.charts[name] for frame in family]) for name in family[0].charts}
    return json.dumps(kit.plain({"frames": frames, "ranges": ranges}), allow_nan=False)


def _moving(charts: Sequence[kit.Chart]) -> list[bool]:
    """Of each trace, whether it is not the same in all of the charts."""
    if len({len(chart.data) for chart in charts}) > 1:
        return [True] * max(len(chart.data) for chart in charts)
    return [_moves(traces) for traces in zip(*(chart.data for chart in charts), strict=True)]


def _moves(traces: Sequence[Mapping[str, Any]]) -> bool:
    first = traces[0]
    return any(
        part not in trace or not np.array_equal(trace[part], first[part])
        for part in _MOVES
        if part in first
        for trace in traces[1:]
    )


def _single(values: Any) -> Any:
    if isinstance(values, np.ndarray) and values.dtype == float:
        return values.astype(np.float32)
    return values


def _axes(charts: Sequence[kit.Chart]) -> dict[str, Any]:
    """The widest range of each axis, so that no frame needs a new one."""
    found: dict[str, Any] = {}
    for axis in ("xaxis", "yaxis"):
        all_of = [chart.layout[axis] for chart in charts]
        low = min(one["range"][0] for one in all_of)
        high = max(one["range"][1] for one in all_of)
        found[f"{axis}.range"] = [low, high]
        widest = max(all_of, key=lambda one: float(one["range"][1] - one["range"][0]))
        if widest.get("type") == "log" and widest["range"] != [low, high]:
            ticks = kit.ticks(10.0**low, 10.0**high, True)
        else:
            ticks = {name: widest[name] for name in _TICKS if name in widest}
        found |= {f"{axis}.{name}": value for name, value in ticks.items()}
    return found


def _wanted(key: str) -> None:
    field = st.session_state[key].get("wanted")
    st.session_state[f"_{key}-{field}-wanted"] = True
    redraw.reached(redraw.BODY)


def _chosen(key: str, stops: Mapping[str, Sequence[float]]) -> None:
    # The browser's word: a field of ours and one of its stops, or nothing.
    match st.session_state[key].get("chosen"):
        case [str(field), int(index)] if field in stops and 0 <= index < len(stops[field]):
            st.session_state[field] = stops[field][index]
