"""Sharding: how wide a replica may be split, where links take over, and which layout is best."""

from __future__ import annotations

from pages.ui.frame import draw
from pages.ui.sharding.page import PAGE

draw.page(PAGE)
