"""The sidebar's controls: what the browser sends late, and what somebody types."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
import streamlit as st
from pages_app import PAGES, metrics, opened, tour
from streamlit.testing.v1 import AppTest

from calc import link, pins
from calc.pins import Pin
from pages.ui.frame import switches
from pages.ui.frame.presentation import FIELDS
from pages.ui.frame.sidebar import UNSEEN


def test_options_that_streamlit_does_not_list_are_still_there() -> None:
    """One that is gone raises here; a server would say nothing."""
    assert st.get_option("runner.postScriptGC") is False
    assert st.get_option("global.minCachedMessageSize") > 1e9


def box(test: AppTest) -> Any:
    """The box for the exact batch."""
    return test.number_input(key="b-exact")


def shown(test: AppTest) -> tuple[Any, int, str]:
    """The slider, the box beside it and the metric."""
    assert not test.exception
    return test.select_slider(key="b").value, int(box(test).value), metrics(test)["Step time"]


def test_a_box_that_comes_late_does_not_take_the_slider_back() -> None:
    test = opened()
    late = box(test).value
    test.select_slider(key="b").set_value(40).run()
    test.select_slider(key="b").set_value(48)
    box(test).set_value(late).run()
    assert shown(test) == (48, 48, "10.2 ms")
    # With another control's message too.
    box(test).set_value(late)
    test.select_slider(key="n").set_value(32).run()
    assert shown(test) == (48, 48, "5.10 ms")


@pytest.mark.parametrize("typed", [1, 32, 37, 40, 65536])
def test_what_is_typed_counts_also_where_the_box_has_been_before(typed: int) -> None:
    test = opened()
    for stop in (40, 48):
        test.select_slider(key="b").set_value(stop).run()
    box(test).set_value(float(typed)).run()
    assert shown(test)[:2] == (typed, typed)


def test_an_emptied_box_changes_nothing() -> None:
    test = opened()
    box(test).set_value(None).run()
    assert shown(test) == (32, 32, "8.57 ms")


def test_the_limits_can_be_reached() -> None:
    for end in (1, 65536):
        test = opened(b=str(end))
        assert shown(test)[:2] == (end, end)
        assert box(test).max < 65537 + UNSEEN


def test_no_control_is_read_before_it_is_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    """After a restart a session begins with what the browser's controls hold.

    It learns of each as it is drawn; what the link holds, switches within pages in one key, is read
    there until then. Names that begin with an underscore are the app's own notes.
    """
    early = set()

    def noted(state: Mapping[str, Any], key: str, default: Any = None) -> Any:
        if key in state:
            return state[key]
        early.add(key)
        return default

    monkeypatch.setattr(type(st.session_state), "get", noted, raising=False)
    for page, test in tour(f="operators", pins=pins.write([Pin("half", "n=8")])):
        drawn = {key for key in early if key in test.session_state and not key.startswith("_")}
        assert "lang" in drawn
        held = {switch.key for other in PAGES.values() for switch in other.switched}
        assert drawn <= {*link.keys(FIELDS), switches.KEY, *held}, page.name
