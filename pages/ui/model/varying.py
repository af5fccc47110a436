"""Tabs that vary the model: one thing held while another moves, families, and maps."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import streamlit as st

from calc.design import dimensions, edits, held, ladders, points, table
from calc.design.dimensions import Dimension
from calc.design.measures import MEASURES
from calc.design.reading import Table
from calc.words import say
from pages.ui.charts import kit, lines
from pages.ui.frame import language
from pages.ui.model import editing, figures
from pages.ui.model.tables import FORMS
from pages.ui.model.view import Costs, ModelView
from pages.ui.writing import row_choice, sortable, text

HOLD, MOVE, GIVE, SHOW = "model-hold", "model-move", "model-give", "model-show"
ACROSS, UP, MAPPED = "model-across", "model-up", "model-mapped"
# What these controls hold at first, as far as a model has it.
FIRST = {
    HOLD: "total_params", MOVE: "attention.kv_heads", GIVE: "feedforward.width", SHOW: "step_time",
    ACROSS: "attention.window", UP: "attention.kv_heads", MAPPED: "step_time",
}  # fmt: skip

# What charts divide a measure by, and the unit that is left.
_UNITS: Mapping[str, tuple[float, str]] = {
    "step_time": (1e-3, "ms"),
    "kv_per_sequence": (1e9, "GB"),
    "kv_per_token": (1024, "KiB"),
    "total_params": (1e9, "B"),
    "active_params": (1e9, "B"),
    "flops_per_token": (1e9, "GFLOP"),
    "usd_per_million_tokens": (1, "USD"),
    "max_batch": (1, ""),
    "throughput_per_chip": (1, "token/s"),
}


def _choice(label: str, options: Sequence[str], key: str, names: Callable[[str], str]) -> str:
    """A choice that keeps what was chosen as long as the model has it."""
    usual = options.index(FIRST[key]) if FIRST[key] in options else 0
    if st.session_state.get(key) not in options:
        st.session_state[key] = options[usual]
    chosen: str = st.selectbox(
        label, options, format_func=names, key=language.renamed(key), persist_state="session",
        width=190,
    )  # fmt: skip
    return chosen


def _labels(known: Mapping[str, Dimension]) -> Callable[[str], str]:
    return lambda id: known[id].label


def _measured(id: str) -> str:
    return say(MEASURES[id].label)


def _titled(id: str) -> str:
    """A measure with its unit."""
    unit = _UNITS[id][1]
    return f"{_measured(id)} ({unit})" if unit else _measured(id)


def _put(moves: Mapping[Dimension, int]) -> Callable[[Table], Table]:
    """The edit that gives dimensions their values."""
    values = {path: value for one, value in moves.items() for path in one.paths}
    return lambda content: edits.canonical(edits.put(content, values))


def hold(view: ModelView) -> None:
    """A measure that stays while one dimension moves and another gives way."""
    known = view.dimensions
    gives = [id for id, one in known.items() if one.name in held.GIVES and one.value]
    if not gives or len(known) < 2:
        st.caption(say("This model has no two dimensions that could move."))
        return
    label = _labels(known)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        what = _choice(say("Hold"), list(held.HOLDS), HOLD, lambda id: say(held.HOLDS[id]))
        moving = known[_choice(say("Move"), list(known), MOVE, label)]
        others = [id for id in gives if id != moving.id]
        if not others:
            st.caption(say("Nothing else can give way."))
            return
        giving = known[_choice(say("Let give way"), others, GIVE, label)]
        shown = _choice(say("Show"), list(MEASURES), SHOW, _measured)
    s = view.scenario
    values = dimensions.values(moving, view.content, 12, s.context)
    found = held.solve(s, view.content, what, moving, values, giving)
    curve = held.measured(s, view.content, found, moving, giving, shown)
    scale, unit = _UNITS[shown]
    now = float(MEASURES[shown].of(s)) / scale
    solved = [i for i in range(len(values)) if np.isfinite(found.solved[i])]
    if not solved:
        st.caption(
            say("{what} does not hang on {giving}: nothing to solve for.",
                what=_measured(what), giving=giving.label)
        )  # fmt: skip
        return
    with st.grid(2, min_column_width=400, vertical_alignment="top"):
        kit.show(
            lines.chart(
                found.moved, {_measured(shown): (curve / scale, lines.TOTAL)},
                x_title=moving.label, y_title=_titled(shown), unit=unit,
                now=(moving.value, now, FORMS[shown](now * scale)) if moving.value else None,
                x_ticks={float(v): f"{v:,}" for v in values[:: -(-len(values) // 8)]},
            ),
            key="model-held",
            revision=f"{what}-{moving.id}-{giving.id}-{shown}",
            alt=say("{measure} against {moving} at {held}.", measure=_measured(shown),
                    moving=moving.label, held=say(held.HOLDS[what])),
        )  # fmt: skip
        with st.container():
            row_choice.picked(
                "model-held-rows",
                {
                    moving.label: [int(found.moved[i]) for i in solved],
                    giving.label: [int(found.solved[i]) for i in solved],
                    say("Off (%)"): [
                        round(100 * (float(found.reached[i]) / found.target - 1), 2) for i in solved
                    ],
                    _titled(shown): [sortable.known(float(curve[i]) / scale) for i in solved],
                },
                lambda row: editing.change(
                    _put({moving: int(found.moved[solved[row]]),
                          giving: int(found.solved[solved[row]])})
                ),
                column_config=sortable.formats({_titled(shown): "%.4g"}),
            )  # fmt: skip
            missing = len(values) - len(solved)
            st.caption(
                text.sentences(
                    say("Off is what rounding to {n:,} leaves. A row you choose becomes the model.",
                        n=giving.granule),
                    say("Values without a solution: {n}.", n=missing) if missing else "",
                )
            )  # fmt: skip


def ladder(view: ModelView) -> None:
    """Families of attention on this model; a row becomes the model."""
    rungs = ladders.attention(view.content)
    if not rungs:
        st.caption(say("This model has no heads to attend with in another way."))
        return
    costs = [Costs(view.moved_to(table.read(rung.content))) for rung in rungs]
    shown = ("total_params", "kv_per_token", "kv_per_sequence", "step_time", "max_batch",
             "usd_per_million_tokens")  # fmt: skip
    columns: dict[str, list[Any]] = {say("Attention"): [rung.label for rung in rungs]}
    for id in shown:
        columns[_titled(id)] = [
            sortable.known(float(MEASURES[id].of(one.scenario)) / _UNITS[id][0]) for one in costs
        ]
    row_choice.picked(
        "model-ladder",
        columns,
        lambda row: editing.change(lambda content: rungs[row].content, block=0),
        column_config=sortable.formats({_titled(id): "%.4g" for id in shown}),
    )
    st.caption(
        say(
            "The layers that attend under each kind; feed-forward parts and layers with a state "
            "stay. A row you choose becomes the model."
        )
    )


def heat(view: ModelView) -> None:
    """Two dimensions as a map of a measure; a click takes a cell."""
    known = view.dimensions
    if len(known) < 2:
        st.caption(say("This model has no two dimensions that could move."))
        return
    label = _labels(known)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        across = known[_choice(say("Across"), list(known), ACROSS, label)]
        rest = [id for id in known if id != across.id]
        up = known[_choice(say("Up"), rest, UP, label)]
        shown = _choice(say("Show"), list(MEASURES), MAPPED, _measured)
    s = view.scenario
    # Around the origin's values, so that a map stays where it is while somebody clicks on it.
    were = dimensions.of(table.written(view.origin))
    x, y = (
        dimensions.values(
            one, view.content, context=s.context,
            middle=were[one.id].value or s.context if one.id in were else 0,
        )
        for one in (across, up)
    )  # fmt: skip
    z = points.measured(
        s,
        view.content,
        {across.paths: np.array(x)[None, :], up.paths: np.array(y)[:, None]},
        MEASURES[shown].of,
    )
    form = FORMS[shown]
    said = [
        [
            f"{across.label} {x[j]:,}<br>{up.label} {y[i]:,}<br><b>{form(z[i, j])}</b>"
            for j in range(len(x))
        ]
        for i in range(len(y))
    ]
    now = [_nearest(values, one) for values, one in ((x, across), (y, up))]
    kit.show(
        figures.heat(x, y, z, said, (across.label, up.label), (now[0], now[1]), _measured(shown),
                     form),
        key="model-heat",
        revision=f"{across.id}-{up.id}-{shown}",
        alt=say("{measure} over {across} and {up}.", measure=_measured(shown),
                across=across.label, up=up.label),
        on_click=partial(take_cell, across, x, up, y),
    )  # fmt: skip
    st.caption(
        say("A cell you click becomes the model. Blank cells are models whose figures do not go "
            "together.")
    )  # fmt: skip


def _nearest(values: Sequence[int], dimension: Dimension) -> int:
    """The place of the present value; the last where there is none yet."""
    return values.index(dimension.value) if dimension.value in values else len(values) - 1


def take_cell(
    across: Dimension, x: Sequence[int], up: Dimension, y: Sequence[int], cell: float
) -> None:
    row, column = divmod(int(cell), len(x))
    if 0 <= row < len(y):
        editing.change(_put({across: x[column], up: y[row]}))
