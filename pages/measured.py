"""Measured: how far predictions are from public measurements, and one's own beside them."""

from __future__ import annotations

from pages.ui.frame import draw
from pages.ui.measured.page import PAGE

draw.page(PAGE)
