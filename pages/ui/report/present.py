"""The presentation: one chart and its sentence a screen, no chrome, keys to go on and back."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import streamlit as st

from calc import Scenario
from calc.words import say
from pages.ui.charts import kit
from pages.ui.charts.component import registered
from pages.ui.frame import link
from pages.ui.frame.page import Exhibit, Page
from pages.ui.frame.presentation import SLIDE, VIEW
from pages.ui.writing import published, tables, text, written

_KEYS, _NAMED = "present-keys", "present-named"
_SCRIPT = Path(__file__).with_name("present.js")
_HTML = '<button type="button" class="ledger-full"></button>'
_CSS = """
.ledger-full {
  all: unset; cursor: pointer; padding: 4px 8px; border-radius: 4px; font: 14px var(--st-font);
  color: var(--st-text-color);
}
.ledger-full:focus-visible { outline: 2px solid var(--st-primary-color); }
"""
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
    asked = st.query_params.get(SLIDE.key, offered[0])
    if asked not in offered:
        nothing_pinned = say("Nothing is pinned, so there is nothing to compare.")
        nothing = say("For this scenario that slide has nothing to show.")
        st.caption(nothing_pinned if asked == "compare" else nothing)
    with st.container(
        horizontal=True, horizontal_alignment="distribute", vertical_alignment="center"
    ):
        id = _chosen(offered, {key: say(one.title) for key, (one, _) in slides.items()})
    exhibit, view = slides[id]
    st.title(say(exhibit.title), anchor=False)
    with st.container(key="present-sentence"):
        st.markdown(exhibit.sentence(view))
    basis = written.basis(view.scenario, ["step_time"])
    shown = exhibit.shown(view)
    if shown:
        kit.show(shown.chart, key=f"present-{id}", alt=shown.alt, tall=True)
    st.caption(
        text.sentences(
            tables.summary(view.scenario, view.load), published.taken(view.scenario), *basis
        )
    )
    registered(_SCRIPT, _HTML, _CSS)(
        key=_KEYS,
        data={"full": say("Full screen")},
        on_pressed_change=lambda: _pressed(offered),
    )


def _chosen(offered: list[str], titles: Mapping[str, str]) -> str:
    """The slide: its place, its name, and the ways on and back, for those without a keyboard."""
    # Bound to the link, which holds ids, and seen by nobody.
    with st.container(key="bound-slide", height=1, border=False):
        id = link.option(SLIDE, offered)
    at = offered.index(id)
    st.session_state[_NAMED] = id
    step = partial(_step, offered)
    st.button(say("Back"), key="present-back", on_click=step, args=(-1,), disabled=at == 0,
              type="tertiary", icon=":material/arrow_back:")  # fmt: skip
    st.selectbox(
        say("Slide {n} of {all}", n=at + 1, all=len(offered)),
        offered,
        format_func=titles.__getitem__,
        key=_NAMED,
        on_change=lambda: st.session_state.update({SLIDE.key: st.session_state[_NAMED]}),
        width=420,
    )
    st.button(say("Next"), key="present-next", on_click=step, args=(1,), type="tertiary",
              disabled=at == len(offered) - 1, icon=":material/arrow_forward:",
              icon_position="right")  # fmt: skip
    st.button(say("Close"), key="present-close", on_click=_close, type="tertiary")
    return id


def start_at(exhibits: Sequence[Exhibit[Any]]) -> None:
    """Begin with what the page shows that one comes from."""
    if st.session_state.get(VIEW.key) == "present" and exhibits:
        # Not drawn yet: what it begins with it would not tell the link.
        st.query_params[SLIDE.key] = exhibits[0].key
        st.session_state[SLIDE.key] = exhibits[0].key


def _step(offered: list[str], by: int) -> None:
    to = offered.index(st.session_state.get(SLIDE.key, offered[0])) + by
    st.session_state[SLIDE.key] = offered[min(max(to, 0), len(offered) - 1)]


def _close() -> None:
    st.session_state[VIEW.key] = VIEW.default


def _pressed(offered: list[str]) -> None:
    # The browser's word: one of three, or nothing.
    match st.session_state[_KEYS].get("pressed"):
        case "close":
            _close()
        case "next" | "back" as way:
            _step(offered, 1 if way == "next" else -1)
