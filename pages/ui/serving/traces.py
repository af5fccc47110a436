"""A trace of requests of one's own, uploaded; it replaces the random traffic."""

from __future__ import annotations

import gzip
import io

import streamlit as st

from calc import link, serving
from calc.serving import Traffic, trace
from calc.words import marked, say
from pages.ui.frame import language
from pages.ui.frame import link as frame
from pages.ui.writing import text

_LINKED = next(one for one in link.TEXTS if one.key == "trace")
_NAMED = next(one for one in link.TEXTS if one.key == "tf")
_LONG, _PROBLEM, _DOUBTFUL = "_trace", "_trace_problem", "_trace_doubtful"
UNITS = {"s": marked("seconds"), "ms": marked("milliseconds")}


def given() -> Traffic | None:
    """The traffic of the trace in use: the link's, or one too long for it.

    Kept while the text stays, so that what is simulated from it stays as well.
    """
    content = st.session_state.get(_LONG) or str(
        st.session_state.get(_LINKED.key, st.query_params.get(_LINKED.key, ""))
    )
    arrivals = serving.asked.process(frame.widget_values())
    of = (content, arrivals, language.current())
    kept = st.session_state.get("_trace_read")
    if kept is None or kept[0] != of:
        kept = (of, serving.read_trace(content, arrivals=arrivals) if content else None)
        st.session_state["_trace_read"] = kept
    traffic: Traffic | None = kept[1]
    return traffic


def notice() -> list[str]:
    """That a trace is in use, where it is, or that the link's is not here."""
    if given() is not None:
        return [say("A trace is served: the settings of Traffic are not used (see the tab Trace).")]
    missing = _name()
    if not missing:
        return []
    return [
        say(
            "This link was made with the trace {name}, which it does not carry: upload it under "
            "Trace.",
            name=missing,
        )
    ]


def _name() -> str:
    return str(st.session_state.get(_NAMED.key, st.query_params.get(_NAMED.key, "")))


def _read() -> None:
    language.speak()
    file = st.session_state["trace-file"]
    st.session_state[_PROBLEM] = ""
    if file is None:
        return
    try:
        content = _text(file.getvalue())
        serving.read_trace(content)
    except serving.ServingError as error:
        st.session_state[_PROBLEM] = str(error)
        return
    if trace.doubtful(content):
        st.session_state[_DOUBTFUL] = (content, file.name)
        return
    _use(content, file.name)


def _text(content: bytes) -> str:
    """The file's text, unpacked if it is packed; of a long one a little more than is read."""
    if content[:2] == b"\x1f\x8b":
        try:
            with gzip.open(io.BytesIO(content)) as packed:
                content = packed.read(2 * trace.MOST_CHARACTERS)
        except (OSError, EOFError) as error:
            raise serving.ServingError(say("The file cannot be unpacked.")) from error
    return content.decode("utf-8", errors="replace")


def _use(content: str, name: str) -> None:
    short = not frame.refusal({_LINKED.key: content, _NAMED.key: ""})
    st.session_state[_LINKED.key] = content if short else ""
    st.session_state[_LONG] = "" if short else content
    st.session_state[_NAMED.key] = "" if short else trace.named(name)
    st.session_state.pop(_DOUBTFUL, None)


def _chosen() -> None:
    content, name = st.session_state[_DOUBTFUL]
    unit = st.session_state["trace-unit"]
    if unit is not None:
        _use(trace.with_unit(content, unit), name)


def control() -> None:
    """Upload a trace, or drop the one in use."""
    st.file_uploader(
        say(
            "A CSV with the columns arrival, prompt and output, or a trace of Azure, Mooncake, "
            "Qwen-Bailian, BurstGPT, Vidur or ShareGPT as it is shipped"
        ),
        type=["csv", "tsv", "txt", "json", "jsonl", "gz"],
        key="trace-file",
        on_change=_read,
    )
    problem = st.session_state.get(_PROBLEM)
    if problem:
        st.warning(
            say("This trace cannot be used: {reason} The traffic before is kept.",
                reason=text.plain(problem))
        )  # fmt: skip
    if st.session_state.get(_DOUBTFUL):
        st.segmented_control(
            say("Nothing in the file tells the unit of its times. They are"),
            list(UNITS), format_func=lambda unit: say(UNITS[unit]), key="trace-unit",
            on_change=_chosen,
        )  # fmt: skip
    traffic = given()
    if traffic is not None:
        st.button(say("Drop the trace"), key="trace-drop", on_click=_drop)
        st.markdown("\n".join(f"- {text.plain(line)}" for line in traffic.understood))
    if st.session_state.get(_LONG):
        st.caption(
            say(
                "The link has no room for this trace: it stays in this browser's session, and "
                "the link has its name only. A link holds at most {n:,} characters of a trace, "
                "fewer beside other texts. Of a file the first {most:,} characters or {rows:,} "
                "rows are read.",
                n=_LINKED.longest,
                most=trace.MOST_CHARACTERS,
                rows=trace.MOST_ROWS,
            )
        )


def _drop() -> None:
    for key in (_LINKED.key, _NAMED.key, _LONG):
        st.session_state[key] = ""
