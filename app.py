"""The frame: page config, navigation, the shared link, the sidebar; then the page.

Run with ``python -m streamlit run app.py``.
"""

from __future__ import annotations

import streamlit as st

from calc import scenario
from pages.ui import frame, link, sidebar

SPECULATION = frozenset(
    {"acceptance", "n_draft", "draft", "cost_ratio", "temperature", "top_k", "top_p"}
)
ALL = frozenset(scenario.FIELDS) - SPECULATION

# One line a page: its file, its title, and the scenario fields that it uses.
PAGES = {
    "pages/decode.py": ("Decode", ALL),
    "pages/kv_cache.py": ("KV cache", ALL - {"batch"}),
    "pages/speculative.py": ("Speculation", ALL | SPECULATION),
    "pages/about.py": ("About", frozenset({"model", "chip"})),
}

ICON = (
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16" fill="none" stroke-width="2">'
    '<path d="M1 15h14" stroke="#8a919b"/><path d="M1 12 8 5h7" stroke="#0072B2"/></svg>'
)

frame.settle_heap()
st.set_page_config(
    page_title="Inference Ledger", page_icon=ICON, layout="wide", initial_sidebar_state=330
)
fields_of = {
    st.Page(file, title=title, default=file == f"pages/{frame.HOME}.py"): fields
    for file, (title, fields) in PAGES.items()
}
page = st.navigation(list(fields_of), position="top")
link.canonicalise()
used = next(fields for entry, fields in fields_of.items() if entry.url_path == page.url_path)
offered = link.catalogues()
values = sidebar.controls(used, offered)
with frame.around(scenario.build(values, offered)):
    page.run()
