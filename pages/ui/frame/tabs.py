"""Tabs that stay open: after another page, and in another language."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeVar

import streamlit as st

from calc.words import say

T = TypeVar("T")


def show(key: str, tabs: Mapping[str, Callable[[T], bool | None]], view: T) -> bool:
    """Draw tabs by their labels; only the open one is computed. Whether it has more to draw."""
    place = f"_{key}"
    labels = [say(label) for label in tabs]
    # In a session's first run the browser may know better: after a restart of the server.
    if place in st.session_state and st.session_state.get(key) not in labels:
        st.session_state[key] = labels[st.session_state[place]]
    st.session_state[f"{place}-labels"] = labels
    unfinished = False
    for i, (tab, draw) in enumerate(
        zip(st.tabs(labels, key=key, on_change="rerun"), tabs.values(), strict=True)
    ):
        if tab.open:
            st.session_state[place] = i
            with tab:
                unfinished |= bool(draw(view))
    return unfinished
