"""What stands below the fold: drawn again while it is in sight, and when it is reached."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import streamlit as st

from pages.ui.charts.component import registered
from pages.ui.frame import redraw

# The piece, and what tells whether it is in sight.
BELOW = "below"
MARK = "fold"
_NEAR, _COUNT = "_fold_near", "_fold_count"


def seen() -> Sequence[str]:
    """The piece, while the browser has told that it is in sight."""
    return [BELOW] if st.session_state.get(_NEAR) else []


def mark() -> None:
    """Draw what tells, first of all that stands below."""
    # Always other data, so that the browser is told of each time.
    count = st.session_state[_COUNT] = st.session_state.get(_COUNT, 0) + 1
    registered(Path(__file__).with_name("sight.js"), '<div class="ledger-fold"></div>')(
        key=MARK,
        data={"near": bool(st.session_state.get(_NEAR)), "count": count},
        height=1,
        on_told_change=_told,
    )


def _told() -> None:
    """It came into sight, went out of it, or is to be as all else is."""
    told = st.session_state[MARK].get("told")
    if told in ("near", "far"):
        st.session_state[_NEAR] = told == "near"
    redraw.reached(BELOW)
