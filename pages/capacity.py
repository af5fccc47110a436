"""Capacity: does it fit, on how many, and what the smallest topology is worth."""

from __future__ import annotations

from pages.ui.capacity.page import PAGE
from pages.ui.frame import draw

draw.page(PAGE)
