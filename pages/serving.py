"""Serving: requests that arrive, wait, are batched, run out of cache and finish."""

from __future__ import annotations

from pages.ui.frame import draw
from pages.ui.serving.page import PAGE

draw.page(PAGE)
