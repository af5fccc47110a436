"""A trace of requests of one's own, uploaded; it replaces the random traffic."""

from __future__ import annotations

import streamlit as st

from calc import link, serving
from calc.serving import Traffic
from calc.words import say
from pages.ui.frame import language
from pages.ui.writing import text

_LINKED = next(one for one in link.TEXTS if one.key == "trace")
_LONG, _PROBLEM = "_trace", "_trace_problem"


def given() -> Traffic | None:
    """The traffic of the trace in use: the link's, or one too long for it.

    Kept while the text stays, so that what is simulated from it stays as well.
    """
    content = st.session_state.get(_LONG) or str(
        st.session_state.get(_LINKED.key, st.query_params.get(_LINKED.key, ""))
    )
    of = (content, language.current())
    kept = st.session_state.get("_trace_read")
    if kept is None or kept[0] != of:
        kept = (of, serving.read_trace(content) if content else None)
        st.session_state["_trace_read"] = kept
    traffic: Traffic | None = kept[1]
    return traffic


def notice() -> list[str]:
    """That a trace is in use, where it is."""
    if given() is None:
        return []
    return [say("A trace is served: the settings of Traffic are not used (see the tab Trace).")]


def _read() -> None:
    language.speak()
    file = st.session_state["trace-file"]
    st.session_state[_PROBLEM] = ""
    if file is None:
        return
    content = file.getvalue().decode("utf-8", errors="replace")
    try:
        serving.read_trace(content)
    except serving.ServingError as error:
        st.session_state[_PROBLEM] = str(error)
        return
    short = len(content) <= _LINKED.longest
    st.session_state[_LINKED.key] = content if short else ""
    st.session_state[_LONG] = "" if short else content


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
    if st.session_state.get(_LONG):
        st.caption(
            say(
                "This trace is longer than {n:,} characters: it stays in this browser's session "
                "and is not part of the link.",
                n=_LINKED.longest,
            )
        )


def _drop() -> None:
    st.session_state[_LINKED.key] = st.session_state[_LONG] = ""
