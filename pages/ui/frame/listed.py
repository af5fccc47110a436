"""A control for a few things of one kind, each a name and figures: one to open for each."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import streamlit as st

from calc.fields import Quantity, Rows
from calc.words import say
from pages.ui.frame import language
from pages.ui.frame.link import widget_values
from pages.ui.writing import text

_NAME = "name"


def control(field: Rows) -> str:
    """What the link holds, out of sight, and beside it a way to change, add and remove."""
    with st.container(key=f"bound-{field.key}", height=1, border=False):
        now = st.text_input(
            say(field.label), key=field.key, bind="query-params", max_chars=field.longest
        )
    try:
        items = field.read(now)
    except ValueError as error:
        # What came with a step in the browser's history.
        st.warning(text.plain(str(error)))
        items = ()
    st.caption(say(field.label), help=say(field.help))
    for place, item in enumerate(items):
        key = f"{field.key}-{place}"
        with st.popover(text.plain(item.name), key=key, on_change="rerun", width="stretch") as one:
            if one.open:
                _figures(field, place, item)
    st.button(
        say("Add a class") if items else say("Split into classes"),
        key=f"{field.key}-more",
        on_click=_more,
        args=(field,),
        disabled=len(items) >= field.most,
        width="stretch",
    )
    return now


def _figures(field: Rows, place: int, item: Any) -> None:
    """The name and the figures of one."""
    key = f"{field.key}-{place}-{_NAME}"
    st.session_state[key] = item.name
    st.text_input(say("Name"), key=key, max_chars=60, on_change=_rename, args=(field, place, key))
    with st.grid(2, min_column_width=120):
        for column in field.columns:
            key, number = f"{field.key}-{place}-{column.name}", int if column.whole else float
            st.session_state[key] = number(column.plain(getattr(item, column.name)))
            label = say(column.label)
            st.number_input(
                label if column.unit in ("", "share") else f"{label} ({say(column.unit)})",
                number(column.low),
                number(column.high),
                step=1 if column.whole else column.step,
                format=None if column.whole else "%g",
                key=key,
                help=say(column.help),
                on_change=_change,
                args=(field, place, column, key),
            )
    st.button(
        say("Remove"), key=f"{field.key}-{place}-remove", on_click=_remove, args=(field, place)
    )


def _items(field: Rows) -> list[Any]:
    return list(field.read(st.session_state[field.key]))


def _put(field: Rows, items: list[Any]) -> None:
    st.session_state[field.key] = field.write(items)


def _change(field: Rows, place: int, column: Quantity, key: str) -> None:
    items = _items(field)
    value = column.resolve(st.session_state[key], {})
    items[place] = replace(items[place], **{column.name: value})
    _put(field, items)


def _rename(field: Rows, place: int, key: str) -> None:
    """Take a name that can be one and is not another's; otherwise the one before stays."""
    items, name = _items(field), field.named(st.session_state[key])
    if name and name not in [one.name for one in items]:
        items[place] = replace(items[place], name=name)
        _put(field, items)


def _more(field: Rows) -> None:
    language.speak()
    _put(field, list(field.more(_items(field), widget_values())))


def _remove(field: Rows, place: int) -> None:
    items = _items(field)
    del items[place]
    _put(field, items)
