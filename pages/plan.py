"""Plan: which hardware, how much of it, serves a traffic within limits, and for what."""

from __future__ import annotations

from pages.ui.frame import draw
from pages.ui.plan.page import PAGE

draw.page(PAGE)
