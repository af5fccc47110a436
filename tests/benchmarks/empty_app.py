"""The floor: an app with one slider and nothing else, measured beside the real one."""

import gc
import importlib

import streamlit as st


@st.cache_resource(show_spinner=False)
def settle_heap() -> int:
    for module in ("pandas", "plotly.graph_objects"):
        importlib.import_module(module)
    gc.collect()
    gc.freeze()
    return gc.get_freeze_count()


settle_heap()
st.select_slider("Batch", [2**i for i in range(17)], value=32, key="b")
