"""A trace of requests of one's own, uploaded; it replaces the random traffic."""

from __future__ import annotations

import streamlit as st

from calc import serving
from calc.serving import Traffic
from calc.words import say
from pages.ui import text

_TRACE, _PROBLEM = "_trace", "_trace_problem"


def given() -> Traffic | None:
    """The traffic of the trace in use."""
    trace: Traffic | None = st.session_state.get(_TRACE)
    return trace


def _read() -> None:
    file = st.session_state["trace-file"]
    st.session_state[_PROBLEM] = ""
    if file is None:
        st.session_state.pop(_TRACE, None)
        return
    try:
        st.session_state[_TRACE] = serving.read_trace(
            file.getvalue().decode("utf-8", errors="replace")
        )
    except serving.ServingError as error:
        st.session_state[_PROBLEM] = str(error)


def control() -> None:
    """Upload a trace, or drop the one in use."""
    st.file_uploader(
        say("A CSV with the columns arrival (s), prompt and output (tokens)"),
        type="csv",
        key="trace-file",
        on_change=_read,
    )
    problem = st.session_state.get(_PROBLEM)
    if problem:
        st.warning(
            say("This trace cannot be used: {reason} The traffic before is kept.",
                reason=text.plain(problem))
        )  # fmt: skip
    if given() is not None:
        st.button(say("Drop the trace"), key="trace-drop", on_click=_drop)
        st.caption(say("A trace stays in this browser's session: it is not part of the link."))


def _drop() -> None:
    st.session_state.pop(_TRACE, None)
