"""Tabs that stay open: after another page, and in another language."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import streamlit as st


def show(key: str, labels: Sequence[str]) -> Sequence[Any]:
    """Draw tabs; only what is in the one whose `open` is true need be computed."""
    place = f"_{key}"
    if st.session_state.get(key) not in labels:
        st.session_state[key] = labels[st.session_state.get(place, 0)]
    drawn = st.tabs(labels, key=key, on_change="rerun")
    st.session_state[place] = next(i for i, tab in enumerate(drawn) if tab.open)
    return drawn
