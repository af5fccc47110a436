"""Quantization: what each precision moves, what formats cost, and what rounding does."""

from __future__ import annotations

from pages.ui.frame import draw
from pages.ui.quantization.page import PAGE

draw.page(PAGE)
