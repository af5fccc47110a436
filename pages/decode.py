"""Decode: how long is one decode step, what fills it, and where is the frontier."""

from __future__ import annotations

from pages.ui.decode.page import PAGE
from pages.ui.frame import draw

draw.page(PAGE)
