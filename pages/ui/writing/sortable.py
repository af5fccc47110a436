"""Sortable columns of figures: the unit stands in the heading, the cells are plain numbers."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import streamlit as st

# In the place of a cell that is nothing.
MISSING = "–"


def known(value: float) -> float | None:
    """A cell, or nothing for what is unknown or never comes."""
    return float(value) if math.isfinite(value) else None


def formats(by_heading: Mapping[str, str]) -> dict[str, Any]:
    """How the numbers under each heading are written, as printf does."""
    return {
        heading: st.column_config.NumberColumn(format=form) for heading, form in by_heading.items()
    }
