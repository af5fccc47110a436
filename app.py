"""The frame: page config, navigation, the shared link, the sidebar; then the page.

Served by ``python -m streamlit run serve.py``.
"""

from __future__ import annotations

from functools import partial

import streamlit as st

from calc.words import say
from pages.ui.frame import (
    chrome,
    groups,
    language,
    link,
    made,
    pinned,
    presentation,
    redraw,
    session,
    sidebar,
)
from pages.ui.frame.page import pages
from pages.ui.report import download, present
from pages.ui.writing import tables

# Each has a folder in pages/ui and a file in pages; the report and the slides follow this order.
PAGES = (
    "decode",
    "plan",
    "prefill",
    "kv_cache",
    "model",
    "sharding",
    "capacity",
    "quantization",
    "cost",
    "serving",
    "speculative",
    "compare",
    "measured",
    "about",
)

session.settle_heap()
redraw.begin()
language.speak()
st.set_page_config(page_icon=chrome.ICON, layout="wide", initial_sidebar_state=344)
chrome.dress()
offered = pages(PAGES)
entries = {
    page.name: st.Page(
        f"pages/{page.name}.py", title=say(page.title), default=page.name == session.HOME
    )
    for page in offered
}
entry = st.navigation(list(entries.values()), position="top")
link.canonicalise()
shown = next(page for page in offered if entries[page.name].url_path == entry.url_path)
sidebar.controls(groups.fields(shown.groups) - set(shown.unused), link.catalogues(), shown.unfolded)
with st.sidebar, st.container(horizontal=True):
    spoken = language.current()
    if link.option(presentation.LANGUAGE) != spoken:
        # A step in the browser's history: controls take what the link says as they are drawn.
        st.rerun()
    link.option(presentation.VIEW, on_change=partial(present.start_at, shown.exhibits))
    chrome.ways()
link.keep([switch for page in offered for switch in page.switched])
held = link.widget_values()
chosen = link.scenario(held)
made.keep(chosen, held)
if present.wanted():
    st.set_page_config(page_title=tables.tab_title(say(shown.title), chosen))
    present.show(chosen, offered)
else:
    beside_title = (pinned.control, link.share, partial(download.control, offered))
    with session.lending(session.Lent(chosen, beside_title)):
        entry.run()
redraw.done(link.DEFAULTS)
