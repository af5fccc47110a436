"""The server's settings."""

from __future__ import annotations

import streamlit as st


def test_options_that_streamlit_does_not_list_are_still_there() -> None:
    """One that is gone raises here; a server would say nothing."""
    assert st.get_option("runner.postScriptGC") is False
