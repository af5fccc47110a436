"""The sidebar's controls: what the browser sends late, and what somebody types."""

from __future__ import annotations

import json
from typing import Any

import pytest
import streamlit as st
from pages_app import metrics, opened
from streamlit.testing.v1 import AppTest

from calc import hf_config
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


def test_a_picked_model_suggests_its_own_formats_and_what_engines_leave() -> None:
    test = opened()
    test.selectbox(key="model").select("gpt-oss-120b").run()
    assert test.selectbox(key="w").value == "pub"
    assert test.slider(key="u").value == 0.9
    captions = [caption.value for caption in test.caption]
    assert "As published: routed experts mxfp4, the rest bf16" in captions
    assert opened().selectbox(key="w").value == "int8"


def test_a_pick_leaves_what_a_link_holds() -> None:
    test = opened(w="fp8", u="0.8")
    test.selectbox(key="model").select("llama-3-8b").run()
    test.selectbox(key="chip").select("h100-sxm").run()
    assert test.selectbox(key="w").value == "fp8"
    assert test.slider(key="u").value == 0.8


def test_a_refused_configuration_offers_what_it_may_be_read_as() -> None:
    config = {"model_type": "qwen2_new", "hidden_size": 512, "intermediate_size": 1024,
              "num_attention_heads": 8, "num_hidden_layers": 4, "num_key_value_heads": 2,
              "vocab_size": 1000}  # fmt: skip
    test = opened()
    test.session_state["custom-model"] = True
    test.run()
    test.text_area(key="cfg-pasted").set_value(json.dumps(config)).run()
    assert "is not known here; nearest are" in test.warning[0].value
    assert test.text_area(key="cfg-pasted").value == json.dumps(config)
    like = hf_config.parse({**config, "model_type": "llama"})
    assert test.number_input(key="cfg-billions").value == round(like.total_params / 1e9, 3)
    test.button(key="cfg-as-qwen2").click().run()
    assert not test.warning
    assert test.selectbox(key="model").value == "custom"
    read = hf_config.parse({**config, "model_type": "qwen2"})
    assert any(f"{read.total_params:,} parameters" in caption.value for caption in test.caption)
