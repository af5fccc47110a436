"""A box for a text of the link: what the link has no room for stays in the box, and is said."""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

from calc.words import say
from pages.ui.frame import language
from pages.ui.frame.link import refusal


def box(key: str, label: str, longest: int, draw: Callable[..., object]) -> None:
    """Draw what is typed into, and out of sight what the link holds.

    Parameters
    ----------
    key : str
        Of the text in links.
    label : str
        Of both.
    longest : int
        Characters that it may have.
    draw : callable
        The box, with its help.
    """
    state, shown, drawn, problem = st.session_state, *_keys(key)
    with st.container(key=f"bound-{key}", height=1, border=False):
        held = st.text_area(label, key=key, bind="query-params", max_chars=longest)
    if shown not in state or state.get(drawn) != held:
        # A link, a step in the browser's history, or what another control made.
        state[shown], state[problem] = held, ""
    state[drawn] = held
    draw(label, key=shown, max_chars=longest, persist_state="session", on_change=_take, args=(key,))
    if state.get(problem):
        st.warning(say("Not in the link: {reason}.", reason=state[problem]))


def _keys(key: str) -> tuple[str, str, str]:
    """Keys of what is typed, of the text that the box was drawn with, and of what is wrong."""
    return f"{key}-typed", f"_{key}-drawn", f"_{key}-refused"


def _take(key: str) -> None:
    language.speak()
    shown, drawn, problem = _keys(key)
    text = st.session_state[shown]
    st.session_state[problem] = refusal({key: text})
    if not st.session_state[problem]:
        st.session_state[key] = st.session_state[drawn] = text
