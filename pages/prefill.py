"""Prefill: how long a prompt takes, what may ride along with decoding, and what a cache saves."""

from __future__ import annotations

from pages.ui.frame import draw
from pages.ui.prefill.page import PAGE

draw.page(PAGE)
