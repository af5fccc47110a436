"""The presentation: one chart and its sentence a screen, no chrome, keys to go on and back."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import streamlit as st

from calc import Scenario
from calc.words import say
from pages.ui.charts import kit
from pages.ui.charts.component import registered
from pages.ui.frame import link
from pages.ui.frame.page import Page
from pages.ui.frame.presentation import SLIDE, VIEW
from pages.ui.writing import published, tables, text

_KEYS = "present-keys"
_SCRIPT = Path(__file__).with_name("present.js")
_STYLE = """
<style>
[data-testid=stSidebar], [data-testid=stHeader], [data-testid=stSidebarCollapsedControl] {
  display: none;
}
[data-testid=stMainBlockContainer] { padding: 1.5rem 3vw 0.5rem; max-width: none; }
[data-testid=stMain] h1 { font-size: clamp(1.6rem, 3vw, 2.6rem); padding: 0; }
.st-key-present-sentence p { font-size: clamp(1.1rem, 1.9vw, 1.7rem); line-height: 1.4; }
</style>
"""


def wanted() -> bool:
    """Whether the link asks for the presentation."""
    return bool(st.session_state.get(VIEW.key, st.query_params.get(VIEW.key)) == "present")


def show(scenario: Scenario, pages: Iterable[Page[Any]]) -> None:
    """The slide that the link names."""
    st.html(_STYLE)
    link.notices()
    slides = {
        exhibit.key: (exhibit, view)
        for page in pages
        for view in [page.slide(scenario)]
        for exhibit in page.exhibits
        if exhibit.offered(view)
    }
    offered = list(slides)
    if st.query_params.get(SLIDE.key, offered[0]) not in offered:
        st.caption(say("Nothing is pinned, so there is nothing to compare."))
    with st.container(
        horizontal=True, horizontal_alignment="distribute", vertical_alignment="center"
    ):
        id = link.option(SLIDE, offered)
        st.button(say("Close"), key="present-close", on_click=_close, type="tertiary")
    exhibit, view = slides[id]
    st.title(say(exhibit.title), anchor=False)
    with st.container(key="present-sentence"):
        st.markdown(exhibit.sentence(view))
    shown = exhibit.shown(view)
    if shown:
        kit.show(shown.chart, key=f"present-{id}", alt=shown.alt, tall=True)
    st.caption(text.sentences(tables.summary(scenario), published.taken(view.scenario)))
    registered(_SCRIPT)(key=_KEYS, on_pressed_change=lambda: _pressed(offered))


def _close() -> None:
    st.session_state[VIEW.key] = VIEW.default


def _pressed(offered: list[str]) -> None:
    # The browser's word: one of three, or nothing.
    match st.session_state[_KEYS].get("pressed"):
        case "close":
            _close()
        case "next" | "back" as way:
            at = offered.index(st.session_state.get(SLIDE.key, offered[0]))
            to = at + (1 if way == "next" else -1)
            st.session_state[SLIDE.key] = offered[min(max(to, 0), len(offered) - 1)]
