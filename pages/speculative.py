"""Speculation: what drafting buys, how long a draft should be, whether it pays at this batch."""

from __future__ import annotations

from pages.ui.frame import draw
from pages.ui.speculative.page import PAGE

draw.page(PAGE)
