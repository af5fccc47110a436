"""The scenario's controls. They live in the frame, so that every page shares them and the link."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import nullcontext
from functools import cache, partial
from typing import Any

import streamlit as st

from calc.fields import Catalogues, Choice, Field, Option, Quantity, Rows, Several
from calc.link import PRICES, dump_value
from calc.scenario import OWN, class_of, own_of, usual
from calc.words import inside, say
from pages.ui.charts import renderer
from pages.ui.frame import customs, groups, listed, picker, redraw, sight, taking
from pages.ui.frame.link import carried
from pages.ui.frame.presentation import BY_NAME as FIELDS
from pages.ui.writing import text


@cache
def ladder(low: int, high: int) -> Sequence[int]:
    """Stops of a logarithmic slider: four to an octave, every power of two among them."""
    stops = {low, high}
    octave = 1
    while octave <= high:
        stops.update(octave * quarter // 4 for quarter in (4, 5, 6, 7))
        octave *= 2
    return sorted(stop for stop in stops if low <= stop <= high)


def _exact_values(field: Quantity) -> set[int]:
    """Values that the slider must offer though they are no stops: the current one, the link's."""
    given = [st.session_state.get(field.key), st.query_params.get(field.key)]
    return {
        int(value)
        for value in given
        if value is not None and str(value).isdecimal() and field.problem(int(value)) is None
    }


# What a box holds above the number that it shows, unless somebody typed that or stepped to it. A
# browser sends all controls with every move: behind a fast slider the box still has an earlier
# number, which would pass for an edit and take the slider back.
UNSEEN = 2.0**-20


def _logarithmic(field: Quantity) -> int:
    """A slider on a logarithmic scale beside a box for any exact integer.

    The slider is bound to the link. The box follows it, and sets it when somebody types: that is
    one step in the browser's history, so Back undoes it.
    """
    stops = sorted({*ladder(int(field.low), int(field.high)), *_exact_values(field)})
    with st.container(horizontal=True, wrap=False, vertical_alignment="bottom"):
        value: int = st.select_slider(
            say(field.label),
            stops,
            value=int(field.default),
            key=field.key,
            help=say(field.help),
            bind="query-params",
            on_change=_moved,
            args=(field,),
        )
        exact = _exact(field)
        redraw.piece(exact, partial(_box, field), apart=[exact])
    return value


def _exact(field: Field) -> str:
    """Key of the box for an exact number, and name of the piece that it is."""
    return f"{field.key}-exact"


def _box(field: Quantity) -> None:
    exact = _exact(field)
    st.session_state[exact] = st.session_state[field.key] + UNSEEN
    st.number_input(
        say("{label}, exact", label=say(field.label)),
        float(field.low),
        field.high + UNSEEN,
        field.low + UNSEEN,  # what an emptied box holds
        step=1.0,
        format="%.0f",
        key=exact,
        label_visibility="collapsed",
        on_change=_use_exact,
        args=(field,),
    )


def _use_exact(field: Quantity) -> None:
    given = st.session_state[_exact(field)]
    if given % 1 == UNSEEN:
        _moved(field)
    else:
        st.session_state[field.key] = int(given)
        _follow(field.name)


def _moved(field: Field) -> None:
    """What follows a control that moved, and where its move is seen."""
    _follow(field.name)
    if field.name not in groups.SHAPING:
        redraw.moved(field.key, _exact(field), redraw.BODY, *sight.seen())


# What requests were long when the controls were drawn last.
_REQUEST = "_request"


def _follow(moved: str) -> None:
    """Keep context at the end of a request while it is there, or nobody has set it."""
    prompt, output, context = (FIELDS[name] for name in ("prompt", "output", "context"))
    if moved not in (prompt.name, output.name):
        return
    held = st.session_state.get(context.key, context.default)
    length = sum(st.session_state.get(one.key, one.default) for one in (prompt, output))
    if held in (context.default, st.session_state.get(_REQUEST)):
        taking.use({context.name: length})
    st.session_state[_REQUEST] = length


def _choice(field: Choice, offered: Catalogues) -> str:
    """A pick from a catalogue: formats from a list, models and chips from a box to search in."""
    ids = field.ids(offered)
    if field.catalogue == "formats" or renderer.STOCK:
        return _list(field, ids)
    with st.container(gap=None):
        # What is bound writes into the link what it shows: ids, which nobody searches by.
        with st.container(key=f"bound-{field.key}", height=1, border=False):
            now = _list(field, ids)
        picker.picker(field, offered, now, partial(_pick, field))
    return now


def _list(field: Choice, ids: list[str]) -> str:
    chosen: str = st.selectbox(
        say(field.label),
        ids,
        index=ids.index(field.default),
        key=field.key,
        help=say(field.help),
        bind="query-params",
        on_change=_chosen,
        args=(field,),
    )
    return chosen


def _chosen(field: Choice) -> None:
    taking.suggest(field.name)
    _moved(field)


def _pick(field: Choice, id: str) -> None:
    st.session_state[field.key] = id
    taking.suggest(field.name)


def _control(field: Field, offered: Catalogues, chosen: Mapping[str, Any]) -> Any:
    if isinstance(field, Choice):
        return _choice(field, offered)
    if isinstance(field, Option):
        return _option(field)
    if isinstance(field, Several):
        return _several(field, offered)
    if isinstance(field, Rows):
        return listed.control(field)
    number = int if field.whole else float
    if field.table:
        return st.number_input(
            say(field.label),
            number(field.low),
            number(field.high),
            None,
            step=1 if field.whole else field.step,
            key=field.key,
            help=_help(field),
            placeholder=_unset(field, chosen, offered),
            bind="query-params",
            on_change=_moved,
            args=(field,),
        )
    if field.name in groups.TYPED:
        return st.number_input(
            say(field.label),
            number(field.low),
            number(field.high),
            number(field.default),
            step=1 if field.whole else field.step,
            key=field.key,
            help=_help(field),
            bind="query-params",
            on_change=_moved,
            args=(field,),
        )
    if field.whole and field.low > 0:
        return _logarithmic(field)
    return st.slider(
        say(field.label),
        number(field.low),
        number(field.high),
        number(field.default),
        step=1 if field.whole else field.step,
        key=field.key,
        help=say(field.help),
        bind="query-params",
        on_change=_moved,
        args=(field,),
    )


def _unset(field: Quantity, chosen: Mapping[str, Any], offered: Catalogues) -> str:
    """What an empty box stands for: the figure of the calibration or class, or the default."""
    fidelity = chosen["fidelity"]
    found = class_of(offered["chips"][chosen["chip"]], fidelity, chosen["engine"])
    fitted: list[Any] = [FIELDS[name].resolve(chosen[name], offered) for name in OWN]
    own = own_of(fidelity, *fitted)
    value = dump_value(field, field.plain(getattr(usual(found, own), field.name)))
    if own and field.name in ("bandwidth_efficiency", "kernel_time"):
        return say("{value} by your calibration", value=value)
    return say("{value} by the table", value=value) if found else value


def _help(field: Quantity) -> str:
    told = say(field.help)
    return say("{help} In {unit}.", help=told, unit=say(field.unit)) if field.unit else told


def _option(field: Option) -> str:
    if field.name == "fidelity":
        chosen: str = st.segmented_control(
            say(field.label),
            field.options,
            default=field.default,
            required=True,
            key=field.key,
            help=say(field.help),
            label_visibility="collapsed",
            bind="query-params",
        )
        return chosen
    return st.selectbox(
        say(field.label),
        field.options,
        index=field.options.index(field.default),
        key=field.key,
        help=say(field.help),
        bind="query-params",
        on_change=_moved,
        args=(field,),
    )


def _several(field: Several, offered: Catalogues) -> str:
    """Any number of answers; none stands for the default.

    The text that the link holds is out of sight, and follows them.
    """
    with st.container(key=f"bound-{field.key}", height=1, border=False):
        now = st.text_input(say(field.label), field.default, key=field.key, bind="query-params")
    ids, chosen = field.ids(offered), f"{field.key}-chosen"
    given = () if now == field.default else field.resolve(now, offered)
    st.session_state[chosen] = [id for id in given if id in ids]
    st.multiselect(
        say(field.label),
        ids,
        key=chosen,
        format_func=lambda id: _named(field, id, offered),
        help=say(field.help),
        placeholder=_named(field, field.default, offered),
        on_change=_gather,
        args=(field, chosen),
    )
    return now


def _named(field: Several, id: str, offered: Catalogues) -> str:
    if id in field.groups:
        return say(field.groups[id])
    item = offered[field.catalogue][id]
    if getattr(item, "price", None) is None:
        return say("{chip}, no price published", chip=item.name)
    return str(item.name)


def _gather(field: Several, chosen: str) -> None:
    st.session_state[field.key] = field.plain(st.session_state[chosen])


def controls(used: Collection[str], offered: Catalogues, unfolded: Collection[str]) -> None:
    """Draw the controls.

    What a page does not use is said beside the heading. Every control stays in its place: a bound
    one that is left out, or drawn elsewhere, may lose its value from the link.
    """
    values: dict[str, Any] = {}
    there = carried()
    with st.sidebar:
        for group, rows in groups.GROUPS.items():
            st.caption(_heading(group, rows, used))
            for row in rows:
                values |= _row(row, offered, values, there)
                if "weight_format" in row:
                    _parts(values, offered)
            if group in customs.EDITORS:
                customs.EDITORS[group](there)
        for group, rows in groups.FOLDED.items():
            # A place of its own, so that the groups below stay where they are.
            with st.container():
                idle = group in groups.FINE and values["fidelity"] == "bound" and "fidelity" in used
                opened = group in unfolded
                values |= _folded(group, rows, used, offered, values, opened, idle, there)
    st.session_state[_REQUEST] = values["prompt"] + values["output"]


def _parts(values: Mapping[str, Any], offered: Catalogues) -> None:
    """How a model is published, where weights are taken so."""
    if values["weight_format"] != taking.PUBLISHED:
        return
    model = offered["models"][values["model"]]
    if model.checkpoint:
        told = say("As published: {parts}", parts=text.plain(model.checkpoint.described))
    else:
        told = say("No source says how this model is published: bf16 is taken.")
    st.caption(told)


def _row(
    names: tuple[str, ...],
    offered: Catalogues,
    chosen: Mapping[str, Any],
    there: Collection[str],
) -> dict[str, Any]:
    if not any(groups.asked(name, chosen) or FIELDS[name].key in there for name in names):
        return {name: FIELDS[name].absent for name in names}
    alone = len(names) == 1
    row = nullcontext() if alone else st.container(horizontal=True, wrap=False, gap="xsmall")
    with row:
        return {name: _control(FIELDS[name], offered, chosen) for name in names}


# Texts of the link that stand in a group.
_TEXTS: Mapping[str, Mapping[str, Callable[[], None]]] = {
    groups.SPECULATION: {customs.WEIGHTS: customs.weights},
    groups.TERMS: {PRICES: customs.prices},
}


def _folded(
    group: str,
    rows: groups.Places,
    used: Collection[str],
    offered: Catalogues,
    chosen: Mapping[str, Any],
    unfolded: bool,
    idle: bool,
    there: Collection[str],
) -> dict[str, Any]:
    """A group behind a heading. While it is closed only rows that hold something are drawn."""
    values: dict[str, Any] = {name: FIELDS[name].absent for row in rows for name in row}
    texts = _TEXTS.get(group, {})
    keeps = any(key in there for key in (*(FIELDS[name].key for name in values), *texts))
    if not (keeps or any(name in used for name in values)):
        return values
    with st.expander(
        say("{group} · not used at bound", group=say(group)) if idle else say(group),
        expanded=unfolded,
        key=f"group-{group}-{unfolded}",
        on_change="rerun",
    ) as fold:
        # Nothing to draw, nothing to hold a place for.
        for row in rows if fold.open or keeps else ():
            with st.container():
                if fold.open or any(FIELDS[name].key in there for name in row):
                    values |= _row(row, offered, {**chosen, **values}, there)
        for key, draw in texts.items():
            if fold.open or key in there:
                draw()
    return values


def _heading(group: str, rows: Iterable[Iterable[str]], used: Collection[str]) -> str:
    """A group's name, and what of it the page does not use."""
    name = f"**{say(group)}**"
    if group == "Fidelity" and "fidelity" not in used and "tensor_parallel" in used:
        return say("{group} · operators at least on this page", group=name)
    fields = [field for row in rows for field in row]
    here = [inside(FIELDS[field].label) for field in fields if field in used]
    if len(here) == len(fields):
        return name
    if not here:
        return say("{group} · not used on this page", group=name)
    return say("{group} · this page uses {fields} only", group=name, fields=text.listed(here))
