"""The formulas of docs/method.md by section, and sources that lead to them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from urllib.parse import urlencode

import streamlit as st

from pages.ui.writing import text

FILE = Path(__file__).parents[3] / "docs" / "method.md"
LITERATURE = "Literature"
# Of the section that the About page shows, in its address.
KEY = "formulas"

_FORMULA = re.compile(r"\bF\d+\.\d+\b")


@dataclass(frozen=True)
class Place:
    """Where a formula is: the section's title, and the heading's anchor as the browser names it."""

    section: str
    anchor: str


@cache
def sections() -> Mapping[str, str]:
    """Markdown of each section by its title, the literature last."""
    parts = re.split(r"^## (.+)$", FILE.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return dict(zip(parts[1::2], map(str.strip, parts[2::2]), strict=True))


@cache
def places() -> Mapping[str, Place]:
    """Where each formula is, by its number."""
    return {
        number: Place(section, _anchor(f"{number} {title}"))
        for section, body in sections().items()
        for number, title in re.findall(r"^### (F\d+\.\d+) (.+)$", body, re.MULTILINE)
    }


def _anchor(heading: str) -> str:
    """The id that Streamlit gives a heading.

    >>> _anchor("F1.6 Latent attention (MLA)")
    'f1-6-latent-attention-mla'
    """
    return "-".join(re.findall(r"[a-z0-9]+", heading.lower()))


def linked(source: str) -> str:
    """A source as Markdown; its formulas lead to the About page, with the scenario kept."""
    return _FORMULA.sub(_link, text.plain(source))


def _link(found: re.Match[str]) -> str:
    place = places().get(found[0])
    if place is None:
        return found[0]
    query = urlencode({**st.query_params.to_dict(), KEY: place.section})
    return f"[{found[0]}](about?{query}#{place.anchor})"
