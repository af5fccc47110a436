"""What app.py lends to a page for one run of it, and how a page gets it."""

from __future__ import annotations

import gc
import importlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import streamlit as st

from calc import Scenario
from pages.ui.frame.page import ROOT

HOME = "decode"
_LENT = "_lent"


@dataclass(frozen=True)
class Lent:
    """The sidebar's scenario, and the controls that stand beside a page's title."""

    scenario: Scenario
    beside_title: Sequence[Callable[[Scenario], None]]


@st.cache_resource(show_spinner=False)
def settle_heap() -> int:
    """Take the imported modules out of the garbage collector's sight, once per server.

    A full collection over the heap of pandas and Plotly takes longer than any rerun.
    """
    # Streamlit imports it with the first table; its heap must be there before the freeze.
    importlib.import_module("pandas")
    gc.collect()
    gc.freeze()
    return gc.get_freeze_count()


@contextmanager
def lending(lent: Lent) -> Iterator[None]:
    """Lends it for one run."""
    st.session_state[_LENT] = lent
    try:
        yield
    finally:
        del st.session_state[_LENT]


def lent() -> Lent:
    """What app.py has lent.

    The first request to a fresh server runs a page file without app.py, because a folder named
    pages/ switches Streamlit to its old discovery until st.navigation is called once. A page that
    finds no frame therefore calls it, with every page so that none is "not found", and starts over.
    """
    found: Lent | None = st.session_state.get(_LENT)
    if found is None:
        files = sorted((ROOT / "pages").glob("*.py"))
        st.navigation(
            [st.Page(file, default=file.stem == HOME) for file in files], position="hidden"
        )
        st.rerun()
    return found
