"""The frame: page config, navigation, the shared link, the sidebar; then the page.

Run with ``python -m streamlit run app.py``.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path

import streamlit as st

from calc import scenario
from calc.words import say
from pages.ui.frame import language, link, pinned, presentation, session, sidebar
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

STYLE = Path(__file__).parent / "pages" / "ui" / "frame" / "frame.css"
NAME = (
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 190 24" fill="none" stroke-width="2.5">'
    '<title>Inference Ledger</title><path d="M1 21h20" stroke="#8a919b"/>'
    '<path d="M1 16 10 7h11" stroke="#2f7fc1"/><text x="30" y="18" font-size="17" '
    'font-weight="600" font-family="sans-serif" fill="#2f7fc1">'
    "Inference Ledger</text></svg>"
)
ICON = (
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16" fill="none" stroke-width="2">'
    '<path d="M1 15h14" stroke="#8a919b"/><path d="M1 12 8 5h7" stroke="#0072B2"/></svg>'
)

session.settle_heap()
language.speak()
st.set_page_config(
    page_title="Inference Ledger", page_icon=ICON, layout="wide", initial_sidebar_state=344
)
st.html(STYLE)
st.logo(NAME, size="large", icon_image=ICON)
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
catalogues = link.catalogues()
values = sidebar.controls(
    sidebar.fields(shown.groups) - set(shown.unused), catalogues, shown.unfolded
)
with st.sidebar, st.container(horizontal=True):
    link.option(presentation.LANGUAGE)
    link.option(presentation.VIEW)
link.keep([switch for page in offered for switch in page.switched])
chosen = scenario.build(values, catalogues)
st.set_page_config(page_title=tables.tab_title(say(shown.title), chosen))
if present.wanted():
    present.show(chosen, offered)
else:
    beside_title = (pinned.control, link.share, partial(download.control, chosen, offered))
    with session.lending(session.Lent(chosen, beside_title)):
        entry.run()
