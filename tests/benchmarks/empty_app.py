"""The floor: an app with one slider and nothing else, measured beside the real one."""

import gc

import streamlit as st


@st.cache_resource(show_spinner=False)
def settle_heap() -> int:
    import pandas  # noqa: F401, PLC0415
    import plotly.graph_objects  # noqa: F401, PLC0415

    gc.collect()
    gc.freeze()
    return gc.get_freeze_count()


settle_heap()
st.select_slider("Batch", [2**i for i in range(17)], value=32, key="b")
