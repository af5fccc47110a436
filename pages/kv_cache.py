"""KV cache: what each kind of attention would cache, and how many sequences fit."""

from __future__ import annotations

from pages.ui.frame import draw
from pages.ui.kv_cache.page import PAGE

draw.page(PAGE)
