"""A source beside a formula leads to where the About page explains it."""

from __future__ import annotations

import re
from urllib.parse import parse_qs, urlsplit

import pytest
from pages_app import opened, words
from streamlit.testing.v1 import AppTest

from calc.explain import EXPLANATIONS
from pages.ui.writing import reference


def source_of(explanation: str, **query: str) -> str:
    """What the caption under an explanation says on the Decode page."""
    test = AppTest.from_file("../app.py", default_timeout=30)
    test.query_params.update(query)
    test.session_state["explain-decode-open"] = True
    test.session_state["explain-decode"] = explanation
    test.run()
    assert not test.exception
    return next(one.value for one in test.caption if one.value.startswith("Source: "))


def test_sources_are_links_that_keep_the_scenario() -> None:
    source = source_of("kv_read", b="77", chip="h100-sxm")
    targets = re.findall(r"\[(F\d+\.\d+)\]\((\S+)\)", source)
    assert [number for number, _ in targets] == ["F3.1", "F3.7"]
    for number, target in targets:
        address = urlsplit(target)
        assert address.path == "about"
        assert address.fragment.startswith(number.lower().replace(".", "-"))
        kept = {key: value for key, [value] in parse_qs(address.query).items()}
        assert kept == {"b": "77", "chip": "h100-sxm", reference.KEY: "3. Decode step"}
    assert "Austin et al. 2025, How To Scale Your Model, part 7" in source


@pytest.mark.parametrize("title", ["0. Conventions", "3. Decode step"])
def test_about_shows_the_section_that_the_address_names(title: str) -> None:
    shown = words(opened("about", **{reference.KEY: title}))
    assert reference.sections()[title] in shown
    assert reference.sections()[reference.LITERATURE] in shown


def test_a_section_that_is_none_is_not_shown() -> None:
    shown = words(opened("about", **{reference.KEY: "13. Luck"}))
    assert "Luck" not in shown
    assert next(iter(reference.sections().values())) in shown


def test_every_cited_formula_has_a_place() -> None:
    cited = {n for one in EXPLANATIONS.values() for n in re.findall(r"F\d+\.\d+", one.source)}
    assert cited <= set(reference.places())
