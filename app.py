"""The frame: page config, navigation, the shared link, the sidebar; then the page.

Run with ``python -m streamlit run app.py``.
"""

from __future__ import annotations

import streamlit as st

from calc import scenario
from calc.words import marked, say
from pages.ui.frame import language, link, presentation, sidebar
from pages.ui.frame import page as frame
from pages.ui.report import present

CORE = sidebar.CORE
PREFILL, LAYOUT, LOSSES, PRICE, TRAFFIC, SERVING, SPECULATION = sidebar.FOLDED
COMMON = (CORE, LAYOUT, LOSSES, PRICE)

# One line a page: its file, its title, the groups of fields that it uses and, of those, which it
# unfolds; and the fields that it has no use for.
PAGES = {
    "pages/decode.py": (marked("Decode"), COMMON, (), ()),
    "pages/prefill.py": (marked("Prefill"), (*COMMON, PREFILL), (PREFILL,), ()),
    "pages/kv_cache.py": (marked("KV cache"), COMMON, (), ("batch",)),
    "pages/sharding.py": (marked("Sharding"), COMMON, (LAYOUT,), ("fidelity",)),
    "pages/capacity.py": (marked("Capacity"), (*COMMON, PREFILL), (), ("prompt", "mfu")),
    "pages/quantization.py": (marked("Quantization"), COMMON, (), ()),
    "pages/cost.py": (marked("Cost"), (*COMMON, PREFILL), (PRICE,), ()),
    "pages/serving.py": (
        marked("Serving"),
        (*COMMON, PREFILL, TRAFFIC, SERVING),
        (TRAFFIC, SERVING),
        ("batch", "context"),
    ),
    "pages/speculative.py": (marked("Speculation"), (*COMMON, SPECULATION), (SPECULATION,), ()),
    "pages/compare.py": (marked("Compare"), (*COMMON, PREFILL), (), ()),
    "pages/about.py": (marked("About"), ("Model", "Hardware"), (), ("n_chips", "usable_memory")),
}

ICON = (
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16" fill="none" stroke-width="2">'
    '<path d="M1 15h14" stroke="#8a919b"/><path d="M1 12 8 5h7" stroke="#0072B2"/></svg>'
)

frame.settle_heap()
language.speak()
st.set_page_config(
    page_title="Inference Ledger", page_icon=ICON, layout="wide", initial_sidebar_state=344
)
entries = {
    st.Page(file, title=say(title), default=file == f"pages/{frame.HOME}.py"): uses
    for file, (title, *uses) in PAGES.items()
}
page = st.navigation(list(entries), position="top")
link.canonicalise()
groups, unfolded, unused = next(u for e, u in entries.items() if e.url_path == page.url_path)
offered = link.catalogues()
values = sidebar.controls(sidebar.fields(groups) - set(unused), offered, unfolded)
with st.sidebar, st.container(horizontal=True):
    link.option(presentation.LANGUAGE)
    link.option(presentation.VIEW)
link.keep()
chosen = scenario.build(values, offered)
if present.wanted():
    present.show(chosen)
else:
    with frame.around(chosen):
        page.run()
