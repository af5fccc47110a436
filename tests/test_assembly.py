"""How pages are put together: their names, what they name of others, and parts that stand alone."""

from __future__ import annotations

import ast
from collections import Counter
from typing import Any

import pytest
from pages_app import PAGES, frameless, opened
from said import within

from calc.explain import EXPLANATIONS
from pages.ui.frame import draw, groups
from pages.ui.frame.page import ROOT, Page
from pages.ui.frame.presentation import SLIDE, SLIDES
from pages.ui.frame.session import HOME


def test_every_page_has_a_folder_a_file_and_a_name_in_the_app() -> None:
    folders = {file.parent.name for file in (ROOT / "pages" / "ui").glob("*/page.py")}
    folders -= {"frame"}
    files = {file.stem for file in (ROOT / "pages").glob("*.py")}
    assert folders == files == {*PAGES}
    assert [page.name for page in PAGES.values()] == [*PAGES]
    assert next(iter(PAGES)) == HOME


@pytest.mark.parametrize("name", PAGES)
def test_a_page_s_file_draws_it_and_does_nothing_else(name: str) -> None:
    docstring, *code = ast.parse((ROOT / "pages" / f"{name}.py").read_text(encoding="utf-8")).body
    assert isinstance(docstring, ast.Expr)
    assert {*map(ast.unparse, code)} == {
        "from __future__ import annotations",
        "from pages.ui.frame import draw",
        f"from pages.ui.{name}.page import PAGE",
        "draw.page(PAGE)",
    }


@pytest.mark.parametrize("page", PAGES.values(), ids=PAGES)
def test_a_page_names_only_what_there_is(page: Page[Any]) -> None:
    assert {*page.groups} <= {*groups.GROUPS, *groups.FOLDED, groups.CORE}
    assert {*page.unfolded} <= {*page.groups}
    assert {*page.unused} <= groups.fields(page.groups)
    assert page.controls in ("", *page.parts)
    assert {*page.metrics, *page.explained} <= {*EXPLANATIONS}


def test_slides_are_told_apart_and_begin_with_the_default() -> None:
    assert [key for key, count in Counter(SLIDES).items() if count > 1] == []
    assert SLIDES[0] == SLIDE.default


QUERY = {
    "model": "deepseek-v3", "chip": "h200", "n": "32", "f": "operators", "req": "8",
    "pins": '[["half","n=16"]]',
}  # fmt: skip
ALONE = """
import streamlit as st
from pages_app import PAGES, asked
from pages.ui.frame import draw
from pages.ui.frame.page import ROOT

# What links between pages look for.
st.navigation([st.Page(ROOT / "pages" / f"{name}.py") for name in PAGES], position="hidden")
page = PAGES[st.session_state.page]
view = page.view(asked(**st.query_params.to_dict()), st.session_state)
assert page.ready(view)
if draw.parts_of(page)[st.session_state.part](view):
    # More comes, as on the page.
    st.rerun()
"""


@pytest.mark.parametrize("page", PAGES.values(), ids=PAGES)
def test_every_part_drawn_alone_says_what_it_says_on_its_page(page: Page[Any]) -> None:
    parts = draw.parts_of(page)
    places = list(opened(page.name, **QUERY)._tree[0].children.values())[-len(parts) :]
    alone = frameless(ALONE, **QUERY)
    alone.session_state["page"] = page.name
    # What the last part finds out, such as a simulation, the parts above it then know.
    if page.last:
        alone.session_state["part"] = page.last
        alone.run()
    for part, place in zip(parts, places, strict=True):
        alone.session_state["part"] = part
        alone.run()
        assert not alone.exception, part
        assert [*within(alone._tree[0])] == [*within(place)], part
