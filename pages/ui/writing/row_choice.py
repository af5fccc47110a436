"""A table of alternatives: choosing a row makes it the sidebar's scenario."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import streamlit as st

from pages.ui.frame import sidebar
from pages.ui.writing import sortable


def table(
    key: str,
    columns: Mapping[str, list[Any]],
    settings: Callable[[int], Mapping[str, Any]],
    **look: Any,
) -> None:
    """Draw a sortable table.

    Parameters
    ----------
    key : str
        Identity of the table on its page.
    columns : mapping
        Heading to cells.
    settings : callable
        Plain values, by field name, that a row stands for.
    look : Any
        As `st.dataframe` takes it.
    """
    count = f"_{key}_applied"
    # A new table after each choice: the tick belongs to a row, and rows move.
    id = f"{key}-{st.session_state.get(count, 0)}"

    def apply() -> None:
        chosen = st.session_state[id]["selection"]["rows"]
        if chosen:
            sidebar.use(settings(chosen[0]))
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
