"""Sortable columns of figures: the unit stands in the heading, the cells are plain numbers."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import streamlit as st

from calc import Scenario, memory
from pages.ui.writing import written

# In the place of a cell that is nothing.
MISSING = "–"


def known(value: float) -> float | None:
    """A cell, or nothing for what is unknown or never comes."""
    return float(value) if math.isfinite(value) else None


def batches(scenario: Scenario, largest: Sequence[int]) -> list[int] | list[str]:
    """Cells of largest batches, in words where sequences take no memory."""
    if not memory.takes_nothing(scenario):
        return list(largest)
    return [written.batches(scenario, one) for one in largest]


def formats(by_heading: Mapping[str, str]) -> dict[str, Any]:
    """How the numbers under each heading are written, as printf does."""
    return {
        heading: st.column_config.NumberColumn(format=form) for heading, form in by_heading.items()
    }
