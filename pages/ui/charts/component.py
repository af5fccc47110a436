"""Small components of our own: constant JavaScript in a file, data as JSON."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import streamlit as st


@cache
def registered(file: Path, html: str = "", css: str = "") -> Callable[..., Any]:
    """The component whose script is `file`, registered once a server."""
    return st.components.v2.component(
        f"ledger_{file.stem}",
        html=html,
        css=css,
        js=file.read_text(encoding="utf-8"),
        isolate_styles=False,
    )
