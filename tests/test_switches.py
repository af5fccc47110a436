"""Switches within pages travel in the link, and come back from it."""

from __future__ import annotations

from typing import Any

import pytest
from pages_app import PAGES, opened, prepared
from streamlit.testing.v1 import AppTest

from pages.ui.frame import switches


def control(test: AppTest, key: str) -> Any:
    return test.get_by_key(key)


def test_a_switch_is_in_the_link_and_a_link_sets_it() -> None:
    test = opened()
    control(test, "decode-scale").set_value("linear").run()
    assert test.session_state[switches.KEY] == "scale_linear"
    other = opened(x="scale_linear*aim_max_batch")
    assert control(other, "decode-scale").value == "linear"
    assert control(other, "levers-aim").value == "max_batch"
    # On another page they are kept, and there too a link sets them.
    other.switch_page("pages/kv_cache.py").run()
    assert other.session_state[switches.KEY] == "scale_linear*aim_max_batch"
    other.selectbox(key="kv-window").set_value(1024).run()
    assert other.session_state[switches.KEY] == "scale_linear*aim_max_batch*window_1024"
    other.switch_page("pages/decode.py").run()
    assert control(other, "decode-scale").value == "linear"


@pytest.mark.parametrize("reader", ["en", "zh"])
def test_a_tab_and_a_target_are_in_the_link(reader: str) -> None:
    test = opened("quantization", x="quantization_bits-of-every-format*tow_fp8", lang=reader)
    assert "bits-of-every-format" in test.session_state[switches.KEY]
    assert len(test.table) == 1
    assert any(b.value == "fp8" for b in test.selectbox if str(b.key).startswith("to-weight_"))


@pytest.mark.parametrize("text", ["scale_", "*", "nothing_here", "scale_sideways*window_-1", "_"])
def test_what_cannot_be_read_is_said(text: str) -> None:
    test = prepared(x=text).run()
    assert not test.exception
    assert control(test, "decode-scale").value == "logarithmic"
    assert any("Switches of the pages (x)" in one.value for one in test.markdown)


def test_short_names_are_told_apart() -> None:
    names = [switch.short for page in PAGES.values() for switch in page.switched]
    assert len(names) == len(set(names))
    assert all("_" not in name and "*" not in name for name in names)
