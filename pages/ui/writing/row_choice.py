"""A table of alternatives: choosing a row makes it the sidebar's scenario."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import streamlit as st

from pages.ui.frame import taking
from pages.ui.writing import sortable


def table(
    key: str,
    columns: Mapping[str, list[Any]],
    settings: Callable[[int], Mapping[str, Any]],
    **look: Any,
) -> None:
    """Draw a sortable table whose rows stand for plain values, by field name.

    Parameters are those of `picked`, but for `settings`, which gives a row's values.
    """
    picked(key, columns, lambda row: taking.use(settings(row)), **look)


def picked(
    key: str, columns: Mapping[str, list[Any]], take: Callable[[int], None], **look: Any
) -> None:
    """Draw a sortable table.

    Parameters
    ----------
    key : str
        Identity of the table on its page.
    columns : mapping
        Heading to cells.
    take : callable
        What is done with a row that was chosen.
    look : Any
        As `st.dataframe` takes it.
    """
    count = f"_{key}_applied"
    # A new table after each choice: the tick belongs to a row, and rows move.
    id = f"{key}-{st.session_state.get(count, 0)}"

    def apply() -> None:
        chosen = st.session_state[id]["selection"]["rows"]
        if chosen:
            take(chosen[0])
            st.session_state[count] = st.session_state.get(count, 0) + 1

    st.dataframe(
        columns,
        hide_index=True,
        key=id,
        on_select=apply,
        selection_mode="single-row",
        placeholder=sortable.MISSING,
        **look,
    )
