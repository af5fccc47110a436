"""Sortable columns of figures: the unit stands in the heading, the cells are plain numbers."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import streamlit as st

from calc import Scenario, memory
from pages.ui.writing import written

# In the place of a cell that is nothing.
MISSING = "–"
_RISING, _FALLING = "up", "down"
_ARROWS = {_RISING: "↑", _FALLING: "↓"}


@dataclass(frozen=True)
class Column:
    """A column: what links call it, its heading, its cells, and how numbers are written."""

    name: str
    heading: str
    cells: Sequence[Any]
    form: str = ""


def orders(names: Sequence[str]) -> tuple[str, ...]:
    """The orders that a table of such columns can have, the first of them as it comes."""
    return ("", *(f"{name}-{way}" for name in names for way in _ARROWS))


def rows(columns: Sequence[Column], order: str) -> list[int]:
    """The rows in an order. What is unknown is last both ways."""
    name, _, way = order.rpartition("-")
    cells: Sequence[Any] = next((one.cells for one in columns if one.name == name), ())
    known = [i for i, cell in enumerate(cells) if cell not in (None, "")]
    known.sort(key=lambda i: cells[i], reverse=way == _FALLING)
    return [*known, *(i for i in range(len(columns[0].cells)) if i not in set(known))]


def table(key: str, columns: Sequence[Column], **look: Any) -> None:
    """Draw a table that a click on a heading sorts, and another the other way.

    Streamlit's own order puts what is unknown first. `key` is that of the order, which is held as
    a switch is; `look` is as `st.dataframe` takes it.
    """
    order = str(st.session_state.get(key) or "")
    found = rows(columns, order)
    sorted_by, _, way = order.rpartition("-")
    headings = {
        one.name: f"{one.heading} {_ARROWS[way]}" if one.name == sorted_by else one.heading
        for one in columns
    }
    # A new table for each order: what is chosen of it is a heading, and headings change.
    id = f"{key}-table-{order}"
    st.dataframe(
        {headings[one.name]: [one.cells[i] for i in found] for one in columns},
        column_config=formats({headings[one.name]: one.form for one in columns if one.form}),
        hide_index=True,
        placeholder=MISSING,
        key=id,
        on_select=partial(_sort, key, id, {head: name for name, head in headings.items()}),
        selection_mode="single-column",
        **look,
    )


def _sort(key: str, id: str, names: Mapping[str, str]) -> None:
    chosen = st.session_state[id]["selection"]["columns"]
    if chosen and chosen[0] in names:
        rising = f"{names[chosen[0]]}-{_RISING}"
        again = st.session_state.get(key) == rising
        st.session_state[key] = f"{names[chosen[0]]}-{_FALLING}" if again else rising


def known(value: float) -> float | None:
    """A cell, or nothing for what is unknown or never comes."""
    return float(value) if math.isfinite(value) else None


def batches(scenario: Scenario, largest: Sequence[int]) -> list[int] | list[str]:
    """Cells of largest batches, in words where sequences take no memory."""
    if not memory.takes_nothing(scenario):
        return list(largest)
    return [written.batches(scenario, one) for one in largest]


def formats(by_heading: Mapping[str, str]) -> dict[str, Any]:
    """How the numbers under each heading are written, as printf does."""
    return {
        heading: st.column_config.NumberColumn(format=form) for heading, form in by_heading.items()
    }
