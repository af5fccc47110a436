"""The frame: page config, navigation, the shared link, the sidebar; then the page.

Run with ``python -m streamlit run app.py``.
"""

from __future__ import annotations

import streamlit as st

from calc import scenario
from pages.ui import frame, link, sidebar

CORE, PREFILL, LAYOUT, LOSSES, PRICE, SPECULATION = sidebar.CORE, *sidebar.FOLDED
COMMON = (CORE, LAYOUT, LOSSES, PRICE)

# One line a page: its file, its title, the groups of fields that it uses and, of those, which it
# unfolds; and the fields that it has no use for.
PAGES = {
    "pages/decode.py": ("Decode", COMMON, (), ()),
    "pages/prefill.py": ("Prefill", (*COMMON, PREFILL), (PREFILL,), ()),
    "pages/kv_cache.py": ("KV cache", COMMON, (), ("batch",)),
    "pages/sharding.py": ("Sharding", COMMON, (LAYOUT,), ("fidelity",)),
    "pages/capacity.py": ("Capacity", (*COMMON, PREFILL), (), ("prompt", "mfu")),
    "pages/quantization.py": ("Quantization", COMMON, (), ()),
    "pages/cost.py": ("Cost", (*COMMON, PREFILL), (PRICE,), ()),
    "pages/speculative.py": ("Speculation", (*COMMON, SPECULATION), (SPECULATION,), ()),
    "pages/about.py": ("About", ("Model", "Hardware"), (), ("n_chips", "usable_memory")),
}

ICON = (
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16" fill="none" stroke-width="2">'
    '<path d="M1 15h14" stroke="#8a919b"/><path d="M1 12 8 5h7" stroke="#0072B2"/></svg>'
)

frame.settle_heap()
st.set_page_config(
    page_title="Inference Ledger", page_icon=ICON, layout="wide", initial_sidebar_state=344
)
entries = {
    st.Page(file, title=title, default=file == f"pages/{frame.HOME}.py"): uses
    for file, (title, *uses) in PAGES.items()
}
page = st.navigation(list(entries), position="top")
link.canonicalise()
groups, unfolded, unused = next(u for e, u in entries.items() if e.url_path == page.url_path)
offered = link.catalogues()
values = sidebar.controls(sidebar.fields(groups) - set(unused), offered, unfolded)
with frame.around(scenario.build(values, offered)):
    page.run()
