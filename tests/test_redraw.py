"""What is drawn again when a control moves, and when all is."""

from __future__ import annotations

from typing import Any

import pytest
from pages_app import PAGES, asked, expected, metrics, opened
from streamlit.testing.v1 import AppTest

from pages.ui.frame import groups, redraw, sight


@pytest.fixture(autouse=True)
def by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(redraw, "BY_NAME", True)


def pieces(test: AppTest) -> set[str]:
    """What the last run has drawn: the harness keeps nothing else after a run of pieces."""
    assert not test.exception
    drawn = {"all": bool(test.selectbox), redraw.BODY: bool(test.title)}
    components = [one.proto.component_name for one in test.get("bidi_component")]
    drawn[sight.BELOW] = "ledger_sight" in components
    drawn["box"] = any(one.key == "b-exact" for one in test.number_input)
    return {name for name, there in drawn.items() if there}


EVERYTHING = {"all", "box", redraw.BODY, sight.BELOW}


def test_a_move_of_a_slider_draws_what_shows_it_and_nothing_else() -> None:
    test = opened("cost", lang="zh")
    assert pieces(test) == EVERYTHING
    test.select_slider(key="b").set_value(48).run()
    assert pieces(test) == {"box", redraw.BODY}
    # In the language of the reader, and of the scenario of now.
    price = next(iter(expected(PAGES["cost"], asked(b="48")).values()))
    assert price in metrics(test).values()
    assert not test.title[0].value.isascii()
    assert test.number_input(key="b-exact").value == pytest.approx(48)


def test_what_is_in_sight_below_the_fold_is_drawn_too() -> None:
    test = opened("cost")
    # As the browser tells it.
    test.session_state["_fold_near"] = True
    test.selectbox(key="c").set_value("int8").run()
    assert pieces(test) == {redraw.BODY, sight.BELOW}


def test_what_else_came_with_a_move_draws_all() -> None:
    test = opened()
    for key, value, context in (("f", "operators", 4096), ("b-exact", 33.0, 8192)):
        test.select_slider(key="s").set_value(context)
        other: Any = test.get_by_key(key)
        other.set_value(value)
        test.run()
        assert pieces(test) == EVERYTHING
        assert test.select_slider(key="s").value == context


def test_what_a_page_sets_is_seen_in_the_sidebar() -> None:
    test = opened()
    test.button(key="example-0").click().run()
    assert pieces(test) == EVERYTHING
    assert test.selectbox(key="chip").value == "h100-sxm"
    # A tab and a scale are in the link, which is drawn with the sidebar.
    scale: Any = test.get_by_key("decode-scale")
    scale.set_value("linear").run()
    assert pieces(test) == EVERYTHING
    assert "scale" in str(test.text_area(key="x").value)


def test_a_prompt_that_takes_the_context_along_draws_all() -> None:
    test = opened("prefill")
    test.select_slider(key="p").set_value(4096).run()
    assert test.select_slider(key="s").value != 8192
    assert pieces(test) >= {"all", redraw.BODY}


def test_fields_that_others_go_by_are_known() -> None:
    assert {"fidelity", "terms", "policy", "prefix", "model", "chip"} <= groups.SHAPING
    assert not {"batch", "context", "n_chips", "kv_format", "compute_format"} & groups.SHAPING
