"""Model: what if the architecture were different."""

from __future__ import annotations

from pages.ui.frame import draw
from pages.ui.model.page import PAGE

draw.page(PAGE)
