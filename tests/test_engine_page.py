"""The engine's view on Capacity, in Streamlit's own harness."""

from __future__ import annotations

import pytest
from pages_app import APP, metrics, opened, words
from streamlit.testing.v1 import AppTest
from test_engine_log import SAID, VLLM_19

from calc import engine_log

H100 = {"chip": "h100-sxm", "n": "1", "w": "bf16", "kv": "bf16", "u": "0.95", "b": "1"}


def shown(log: str = "", **query: str) -> AppTest:
    """Capacity with the tab open, and lines pasted."""
    test = AppTest.from_file(APP, default_timeout=30)
    for key, value in {**H100, **query}.items():
        test.query_params[key] = value
    test.switch_page("pages/capacity.py")
    test.session_state["capacity-tabs"] = "Engine's view"
    test.session_state["eng-log"] = log
    test.run()
    assert not test.exception
    return test


def cells(test: AppTest) -> dict[str, list[str]]:
    """Rows of all tables by their first cell."""
    return {row[0]: row[1:] for table in test.table for row in table.value.values.tolist()}


def test_both_limits_are_named() -> None:
    # The log's 51.45 GiB of weights are 51.38 by count, rotary tables among them.
    rows = cells(shown(model="gemma-3-27b", rt="4.6"))
    assert rows["engine's maximum concurrency"][0] == "4.46"
    assert rows["steady state"][0] == "18.97"
    assert rows["Weights"] == ["51.10 GiB"]
    assert rows["Blocks that a request may hold"] == ["3,590"]


def test_steady_decoding_is_what_the_card_says() -> None:
    test = shown(chip="tpu-v5e", n="16", w="int8", kv="int8", u="1")
    assert metrics(test)["Largest batch"] == "149"
    assert cells(test)["steady state"][0].startswith("149.")


def test_controls_move_the_pool() -> None:
    test = shown(model="gemma-3-27b", rt="4.6")
    test.number_input(key="eng-chunk").set_value(1024)
    test.number_input(key="eng-len").set_value(131072).run()
    assert "Requests of 131,072 tokens" in test.table[0].value.columns
    # Of 131,072 tokens: 8,192 blocks, and 6 groups of 129.
    assert cells(test)["Blocks that a request may hold"] == ["8,966"]


def test_the_estimate_is_taken_into_the_link_only_when_asked() -> None:
    test = shown(model="llama-3.1-8b")
    assert "rt" not in test.query_params
    assert cells(test)["The engine itself"] == ["0.00 GiB"]
    test.button(key="eng-own").click().run()
    assert test.query_params["rt"] == "2.3"
    assert cells(test)["engine's maximum concurrency"][0] == "58.10"


def test_a_log_is_set_beside_ours_with_what_explains_it() -> None:
    test = shown(VLLM_19, model="llama-3.1-8b")
    assert cells(test)["Left for the cache"] == ["60.24 GiB", "58.12 GiB", "−4\u00a0%"]
    assert "−2.01 GiB by what the engine takes itself" in words(test)
    test.button(key="eng-log-own").click().run()
    assert cells(test)["Left for the cache"][:2] == ["58.19 GiB", "58.12 GiB"]


def test_the_wrong_model_is_noticed() -> None:
    assert "A longest request takes" in words(shown(VLLM_19, model="qwen2.5-7b"))


@pytest.mark.parametrize("text", [said[0] for said in SAID.values()], ids=list(SAID))
@pytest.mark.parametrize("model", ["gemma-3-27b", "deepseek-v4-flash"])
def test_every_log_is_understood_on_the_page(text: str, model: str) -> None:
    test = shown(text, model=model)
    assert any("Understood: " in caption.value for caption in test.caption)


def test_what_is_no_log_is_said_in_a_sentence() -> None:
    test = shown("<b>nothing</b> of *interest*")
    assert [warning.value for warning in test.warning] == [
        "No start-up line of vLLM, SGLang, TensorRT-LLM or llama.cpp is in it, such as "
        "“GPU KV cache size\\: … tokens”."
    ]


def test_nothing_from_a_log_is_markup() -> None:
    test = shown("<script>x</script> [a](b) # GPU blocks: 100, **bold**")
    assert "script" not in words(test)
    assert any("script" in code.value for code in test.code)


def test_an_engine_that_does_not_start_is_said() -> None:
    test = shown(model="gpt-oss-120b", w="bf16")
    assert "**The engine does not start**" in words(test)


def test_the_kv_page_says_what_an_engine_promises() -> None:
    test = AppTest.from_file(APP, default_timeout=30)
    test.switch_page("pages/kv_cache.py")
    test.session_state["kv_cache-tabs"] = "Paging"
    test.run()
    assert not test.exception
    assert "an engine promises **" in words(test)


def test_figures_have_names() -> None:
    assert set(engine_log.BYTES) <= set(engine_log.FIGURES)
    assert opened("capacity", model="deepseek-v4-flash")
