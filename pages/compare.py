"""Compare: pinned scenarios side by side, what differs, and which term makes the difference."""

from __future__ import annotations

from pages.ui.compare.page import PAGE
from pages.ui.frame import draw

draw.page(PAGE)
