"""What stands around every page beside its controls: style, name, ways for keys and for phones."""

from __future__ import annotations

from pathlib import Path

import streamlit as st

from calc.words import say
from pages.ui.charts.component import registered

_HERE = Path(__file__).parent
# In the head of every page where `serve.py` serves it, and sent by the app where it does not.
STYLE = _HERE / "frame.css"

ICON = (
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16" fill="none" stroke-width="2">'
    '<path d="M1 15h14" stroke="#8a919b"/><path d="M1 12 8 5h7" stroke="#0072B2"/></svg>'
)
# A blue that is read on both backgrounds.
_NAME = (
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 190 24" fill="none" stroke-width="2.5">'
    '<title>Inference Ledger</title><path d="M1 21h20" stroke="#8a919b"/>'
    '<path d="M1 16 10 7h11" stroke="#2f7fc1"/><text x="30" y="18" font-size="17" '
    'font-weight="600" font-family="sans-serif" fill="#2f7fc1">Inference Ledger</text></svg>'
)


def dress() -> None:
    """Style and name, before anything else is drawn."""
    st.html(STYLE)
    st.logo(_NAME, size="large", icon_image=ICON)


def ways() -> None:
    """Ways past the sidebar for keys, and a drawer for phones that closes behind one."""
    registered(_HERE / "chrome.js", "<div hidden></div>")(
        key="chrome",
        data={
            "skips": say("Shortcuts"),
            "toAnswer": say("To the answer"),
            "toPages": say("To the pages"),
            "drawer": say("Pages and settings"),
            "more": say("{n} more", n="{n}"),
        },
        height=1,
        # A server that is back draws all.
        on_back_change=lambda: None,
    )
