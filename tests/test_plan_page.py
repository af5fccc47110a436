"""The Plan page: its answer, a row that becomes the scenario, launch commands, simulated plans."""

from __future__ import annotations

import json
import re
from urllib.parse import unquote

import pytest
from pages_app import notes, opened, words
from streamlit.proto.WidgetStates_pb2 import WidgetStates
from streamlit.testing.v1 import AppTest

CHAT = {"model": "qwen3-32b", "p": "1000", "g": "100", "qps": "5", "tl": "2", "tt": "40",
        "len": "constant", "on": "amd", "u": "0.9"}  # fmt: skip


@pytest.fixture(scope="module")
def page() -> AppTest:
    """The page with a small question, its tabs closed but the first."""
    return opened("plan", **CHAT)


def test_the_answer_names_hardware_layout_and_price(page: AppTest) -> None:
    said = words(page)
    assert "Cheapest within 2.00 s and 40.0 ms (mean) for 5.00 requests/s" in said
    assert "× MI300X**" in said and "an hour**" in said
    assert {metric.label for metric in page.metric} >= {"USD per hour", "TPOT", "TTFT"}


def test_requests_longer_than_a_model_s_context_are_planned_and_said() -> None:
    """As the textbook scenario's are: 8,192 in, 512 out."""
    test = opened("plan")
    assert "published for 8,192 tokens of context; these are 8,704" in notes(test)
    assert "USD per hour" in {metric.label for metric in test.metric}


def test_a_row_becomes_the_scenario_and_the_service() -> None:
    test = opened("plan", **CHAT, chip="h100-sxm", usd="2.2")
    row = test.dataframe[0].value.iloc[0]
    states: WidgetStates = test._tree.get_widget_states()
    state = states.widgets.add()
    state.id = test.dataframe[0].proto.id
    state.string_value = json.dumps({"selection": {"rows": [0], "columns": [], "cells": []}})
    test._run(states)
    assert not test.exception
    assert test.selectbox(key="chip").value == "mi300x"
    # What was typed is the other chip's price.
    assert (test.session_state["pl"], test.session_state["usd"]) == ("h100-sxm 2.2", 0)
    assert test.select_slider(key="b").value == row["Batch"]
    assert test.query_params["slots"] == str(int(row["Slots"]))
    assert test.query_params["w"] == "pub"
    links = {link.proto.label for link in test.get("page_link")}
    assert links >= {"Verify by simulation", "Open on Decode"}
    test.button(key="plan-pin").click().run()
    assert "chip=mi300x" in unquote(test.session_state["pins"])


def test_limits_that_nothing_keeps_are_not_relaxed() -> None:
    test = opened("plan", **{**CHAT, "tt": "1", "f": "operators"})
    said = words(test)
    assert "**No chip answers within 1.00 ms a token**: the least is" in said
    assert "would be kept from $" in said
    (table,) = (one.value for one in test.markdown if "Limit kept" in one.value)
    assert re.search(r"\[TPOT [\d.]+ ms\]\(\S*[?&]tt=\d", table)


def test_chips_and_formats_are_chosen_from_lists() -> None:
    test = opened("plan", **{**CHAT, "on": "mi300x,h100-sxm,nonsense", "fmt": "fp8.fp8.fp8"})
    assert "Chips compared (on) in the link is partly not known here" in words(test)
    chips = test.multiselect(key="on-chosen")
    assert chips.value == ["mi300x", "h100-sxm"]
    assert "AMD" in chips.options
    assert any(name.endswith(", no price published") for name in chips.options)
    assert "not modelled" in notes(test) and "fp8" in words(test)
    chips.set_value(["amd"]).run()
    assert test.session_state["on"] == "amd"
    test.multiselect(key="on-chosen").set_value([]).run()
    assert test.session_state["on"] == "all"


def test_each_tab_opens() -> None:
    wanted = {
        "This plan": "Decode step", "Every chip": "MI325X", "By size": "",
        "Two pools": "Two pools of MI3", "Users": "users** who pause 0",
        "Sensitivity": "| Arrival rate | $",
        "Launch command": "vllm serve Qwen/Qwen3-32B",
        "Simulated": "Poisson arrivals at 6.00/s", "Formulas": "Whole replicas for the rate",
        "Against an API": "No price of an API is known here for this model.",
    }  # fmt: skip
    test = opened("plan", **CHAT)
    for tab, told in wanted.items():
        test.session_state["plan-tabs"] = tab
        test.run()
        assert not test.exception
        assert told in words(test) + notes(test) + "".join(code.value for code in test.code)
    test.session_state["plan-tabs"] = "Launch command"
    test.run()
    test.text_area(key="plan-pasted").set_value("vllm serve Qwen/Qwen3-32B -tp 4 --seed 1").run()
    assert "Read as vLLM: model, tp. Sets nothing here: seed." in words(test)
    test.button(key="plan-use-pasted").click().run()
    assert (test.session_state["n"], test.session_state["ty"]) == (4, 4)
    assert (test.text_area(key="plan-pasted").value or "").startswith("vllm serve")


def test_classes_have_limits_of_their_own() -> None:
    test = opened("plan", **CHAT, cls="chat_0.7_1000_200_1_40*documents_0.3_12000_600_6_80")
    said = words(test)
    assert "1.00 s and 40.0 ms of chat, 6.00 s and 80.0 ms of documents (mean)" in said
    assert "| chat | 70 % | 1,000 |" in said
    assert "TPOT of limit (%)" in test.dataframe[0].value.columns
    test.session_state["plan-tabs"] = "Simulated"
    assert not test.run().exception
    table = test.table[0].value
    assert [name.split(": ")[-1] for name in table["Plan"]][:2] == ["chat", "documents"]


def test_what_cannot_be_asked_is_said_in_a_sentence() -> None:
    said = words(opened("plan", **{**CHAT, "on": "sidebar", "chip": "t4"}))
    assert said.startswith("**No plan**: no price is published.")
    said = words(opened("plan", **{**CHAT, "buy": "owned"}))
    assert said.startswith("**No plan**: no chip that keeps the limits has a purchase price.")
    said = words(opened("plan", **{**CHAT, "model": "deepseek-v3", "on": "sidebar", "chip": "t4"}))
    assert "No chip that is compared can serve this model" in said
