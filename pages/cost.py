"""Cost: what tokens and requests cost, and what the chips get done for it."""

from __future__ import annotations

from pages.ui.cost.page import PAGE
from pages.ui.frame import draw

draw.page(PAGE)
