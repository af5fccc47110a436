"""About: method, nomenclature, and where every figure of the chosen model and chip comes from."""

from __future__ import annotations

from pages.ui.about.page import PAGE
from pages.ui.frame import draw

draw.page(PAGE)
