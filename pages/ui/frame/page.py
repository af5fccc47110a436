"""The frame that app.py puts around every page, and how a page gets its scenario."""

from __future__ import annotations

import gc
import importlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import streamlit as st

from calc import Scenario
from calc.explain import EXPLANATIONS
from calc.words import say
from pages.ui.frame import link, pinned
from pages.ui.report import download
from pages.ui.writing import tables, text

ROOT = Path(__file__).parents[3]
HOME = "decode"
_SCENARIO = "_scenario"


@st.cache_resource(show_spinner=False)
def settle_heap() -> int:
    """Take the imported modules out of the garbage collector's sight, once per server.

    Streamlit collects all generations after every run; over the heap of pandas and Plotly that
    costs more than everything else in a rerun.
    """
    # Streamlit imports it with the first table; its heap must be there before the freeze.
    importlib.import_module("pandas")
    gc.collect()
    gc.freeze()
    return gc.get_freeze_count()


@contextmanager
def around(scenario: Scenario) -> Iterator[None]:
    """Lends the scenario to the page for one run of it."""
    st.session_state[_SCENARIO] = scenario
    try:
        yield
    finally:
        del st.session_state[_SCENARIO]


def current_scenario() -> Scenario:
    """The scenario of the frame.

    The first request to a fresh server runs a page file without app.py, because a folder named
    pages/ switches Streamlit to its old discovery until st.navigation is called once. A page that
    finds no frame therefore calls it, with every page so that none is "not found", and starts over.
    """
    scenario: Scenario | None = st.session_state.get(_SCENARIO)
    if scenario is None:
        files = sorted((ROOT / "pages").glob("*.py"))
        st.navigation(
            [st.Page(file, default=file.stem == HOME) for file in files], position="hidden"
        )
        st.rerun()
    return scenario


def header(title: str, scenario: Scenario) -> None:
    """A page's title, the scenario in one line, the share control, and what a link got wrong."""
    with st.container(
        horizontal=True, horizontal_alignment="distribute", vertical_alignment="center"
    ):
        st.title(title, anchor=False, width="content")
        with st.container(horizontal=True, width="content"):
            pinned.control()
            link.share()
            download.control(scenario)
    st.caption(tables.summary(scenario))
    # Places of their own, so that charts below stay the same when something is said here or not.
    with st.container():
        link.notices()


def notes(said: Iterable[str]) -> None:
    """What to know beside the verdict, a line each; an empty one says nothing."""
    lines = [f":material/info: {one}" for one in said if one]
    with st.container():
        if lines:
            st.caption("  \n".join(lines))


def metrics(shown: Mapping[str, str]) -> None:
    """A row of figures by the ids of their explanations; what has none cannot be shown."""
    cards([(say(EXPLANATIONS[id].label), value, None) for id, value in shown.items()])


def cards(shown: Sequence[tuple[str, str, str | None]]) -> None:
    """A row of figures, each a label, a value and its meaning; two to a row on a phone."""
    with st.grid(len(shown), min_column_width=128):
        for label, value, meaning in shown:
            st.metric(label, text.on_card(value), border=True, help=meaning)
