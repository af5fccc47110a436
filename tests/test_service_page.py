"""The Serving page, and closed forms beside the simulation."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from pages_app import opened, seen
from scenarios import scenario
from streamlit.testing.v1 import AppTest

from calc import serving
from pages.ui.frame.pinned import Contender
from pages.ui.frame.presentation import FIELDS
from pages.ui.report import report
from pages.ui.serving import simulations


def page(**query: str) -> AppTest:
    return opened("serving", **query)


def words(at: AppTest) -> str:
    return " ".join(element.value for element in (*at.markdown, *at.caption, *at.warning))


def test_requests_are_answered_and_policies_compared() -> None:
    at = page()
    assert "With continuous batching, **86 %** of 400 requests" in words(at)
    table = at.dataframe[0].value
    assert list(table["Policy"]) == [
        "static", "dynamic", "continuous", "chunked prefill", "disaggregated",
    ]  # fmt: skip
    assert list(table["Rejected"]) == [0] * 5
    # Numbers, so that a column sorts; nothing good has no price.
    times = table["TTFT p99 (s)"]
    assert times[2] == times.min()
    assert np.isnan(table["USD/M in SLO"][0])


def test_the_policy_shown_comes_first_and_the_others_have_their_places(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(simulations, "others", lambda scenario: False)
    at = page(req="40")
    table = at.dataframe[0].value
    assert len(table) == 5
    assert np.isfinite(table["Token/s"]).tolist() == [False, False, True, False, False]
    assert "The other policies are being simulated." in words(at)
    drawn = json.loads(json.loads(at.get("bidi_component")[1].proto.json)["spec"])
    assert [trace["name"] for trace in drawn["data"]] == ["continuous"]
    assert "disaggregated" in str(drawn["layout"]["shapes"])


def test_very_long_simulations_wait_until_they_are_asked_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(simulations, "_LONG", 0)
    monkeypatch.setattr(simulations, "_VERY_LONG", 0)
    at = page(req="40")
    assert list(at.dataframe[0].value["Policy"]) == ["continuous"]
    assert (
        "Long to simulate, and not done yet: static, dynamic, chunked prefill, disaggregated."
        in words(at)
    )
    at.button(key="service-go-on").click().run()
    assert len(at.dataframe[0].value) == 5
    assert "not done yet" not in words(at)


def test_the_same_link_gives_the_same_run() -> None:
    first, second = page(seed="7", qps="1.5"), page(seed="7", qps="1.5")
    assert words(first) == words(second)
    assert words(first) != words(page(seed="8", qps="1.5"))


def test_each_pool_has_its_rows() -> None:
    at = page(pol="disaggregated", req="40", pch="tpu-v6e", pn="8", pty="3", f="operators")
    assert "1 replica of 8 × TPU v6e, TP 8; decode pool\\: 1 replica of 16 × TPU v5e" in words(at)
    assert "Prefill replicas\\: Tensor × data × pipeline is 3 × 1 × 1, not 8 chips" in words(at)
    assert {one.key for one in at.number_input} >= {"pn", "pty", "pdp", "pep", "ppp"}
    chart = json.loads(json.loads(at.get("bidi_component")[0].proto.json)["spec"])
    assert [chart["layout"][axis]["title"]["text"] for axis in ("yaxis", "yaxis2")] == [
        "Request, prefill pool",
        "Request, decode pool",
    ]
    pools: dict[str, set[str]] = {trace["yaxis"]: set() for trace in chart["data"]}
    for trace in chart["data"]:
        pools[trace["yaxis"]].add(trace["name"])
    assert "reading the prompt" in pools["y"] - pools["y2"]
    assert "decoding" in pools["y2"] - pools["y"]
    alike = page(req="40")
    assert "pn" not in {one.key for one in alike.number_input}
    whole = json.loads(json.loads(alike.get("bidi_component")[0].proto.json)["spec"])
    assert "yaxis2" not in whole["layout"]


def test_the_presentation_shows_the_service() -> None:
    at = page(view="present", slide="serving")
    assert "With continuous batching, **86 %** of 400 requests" in words(at)
    assert at.get("bidi_component")
    assert "This cannot be served" in words(page(view="present", slide="serving", n="2"))


@pytest.mark.parametrize(("requests", "said"), [(400, "**86 %** of 400"), (0, "cannot be served")])
def test_the_report_has_the_service(requests: int, said: str) -> None:
    s = scenario()
    values = {field.name: field.absent for field in FIELDS} | {"requests": requests}
    shown = seen(s, values, [Contender("now", s, values)])
    parts = {part.title: part for part in report.sections(s, values, shown)}
    serving_part = parts["Does the service meet its latency targets?"]
    assert said in serving_part.paragraphs[0]
    assert bool(serving_part.chart) is (requests > 0)
    settings = parts["Traffic and service"].table
    assert settings
    assert [row[1] for row in settings.rows if row[3] == "`req`"] == [
        "400" if requests else "**0**"
    ]
    if requests:
        latencies = parts["Latencies, continuous"].table
        assert latencies
        assert latencies.rows[0][0] == "TTFT"


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ({"n": "2"}, "This cannot be served"),
        ({"bon": "64", "slots": "8"}, "do not fit into 8 slots"),
        ({"kvm": "contiguous", "res": "1000"}, "They are longer than the 1,000 tokens reserved"),
        ({"qps": "0"}, "Arrival rate (qps) in the link is outside"),
        ({"rep": "1"}, "batching, **"),
        ({"model": "gemma-3-27b", "pfx": "spare"}, "windows or a constant state"),
    ],
)
def test_what_cannot_be_is_said(query: dict[str, str], said: str) -> None:
    assert said in words(page(**query))


@pytest.mark.parametrize(
    "content",
    [
        "arrival,prompt\n0,1\n",
        "arrival,prompt,output\n-1,10,10\n",
        "arrival,prompt,output\n0,nan,10\n",
        "",
        "arrival,prompt,output\n0,10,<b>\n",
    ],
)
def test_a_bad_trace_is_refused_in_words(content: str) -> None:
    with pytest.raises(serving.ServingError) as refused:
        serving.read_trace(content)
    assert "<b>" not in str(refused.value)


def test_a_short_trace_travels_in_the_link() -> None:
    at = page(trace="arrival,prompt,output\n0,100,20\n1.5,300,10\n")
    assert "2 requests, prompts of 200 and outputs of 15 tokens" in words(at)
    assert "Trace (trace) in the link is not usable" in words(page(trace="arrival\n1\n"))


def test_a_link_names_the_trace_that_it_does_not_carry() -> None:
    assert "was made with the trace day\\_1.csv, which" in words(page(tf="day_1.csv", req="20"))


def test_what_a_trace_was_understood_as_is_said() -> None:
    at = page(trace="arrived_at,num_prefill_tokens,num_decode_tokens\n0,100,20\n1.5,300,10\n")
    at.session_state["serving-tabs"] = "Trace"
    at.run()
    assert not at.exception
    assert "Vidur; columns arrived" in words(at)
    assert "2 requests in 1.5 s" in words(at)


def test_the_steady_part_is_stated() -> None:
    said = words(page(req="200"))
    assert "Rates and prices are of the steady part, from" in said
    assert "this rate cannot be served" in words(page(req="200", qps="40"))


def test_the_load_sweep_runs_to_its_end_and_names_the_knee(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(serving.knees, "FIRST", 100)
    monkeypatch.setattr(serving.knees, "MOST", 200)
    at = page(req="60", p="1024", g="100", qps="4")
    at.session_state["serving-tabs"] = "Load"
    at.run()
    assert not at.exception
    said = words(at)
    assert "The highest rate that this deployment serves with at least 90 % of the" in said
    assert "continuous **" in said
    assert "fewer than 90 %)" in said


@pytest.mark.parametrize(
    ("values", "changes", "tolerance"),
    [
        ({"lengths": "constant"}, {}, 0.01),
        ({"lengths": "constant", "samples": 4}, {"prompt": 2048}, 0.02),
        ({"lengths": "constant", "turns": 5, "prefix": "spare"}, {"prompt": 512}, 0.3),
        ({}, {}, 0.08),
        ({"lengths": "exponential", "rate": 1.5, "memory": "contiguous"}, {"prompt": 2048}, 0.12),
    ],
)
def test_theory_agrees_with_the_simulation(
    values: dict[str, Any], changes: dict[str, Any], tolerance: float
) -> None:
    s = scenario(**changes)
    traffic, setup = serving.requested(values, s), serving.setup(values, s)
    runs = {
        id: serving.simulate(
            s, traffic, one, memory=setup.memory, relief=setup.relief, prefix=setup.prefix
        )
        for id, one in setup.deployments.items()
    }
    pairs = serving.theory.beside(runs, "continuous", setup.memory, 32, independent=True)
    # A wait is dominated by few requests: its own test takes many.
    waits = pairs.pop("wait")
    assert waits.theory > 0
    for id, pair in pairs.items():
        assert pair.run == pytest.approx(pair.theory, rel=tolerance), id


def test_classes_are_answered_apart() -> None:
    classes = "chat_0.7_1000_100_1_50_1*batch_0.3_4000_300_60_200_0_0.3"
    at = page(cls=classes, req="120", qps="3", x="serving_by-class")
    said = words(at)
    assert "within the limits of their class: a goodput of" in said
    assert " gave up." in said
    table = at.table[0].value
    assert table["Class"].tolist() == ["chat", "batch"]
    assert int(table["Gave up"].iloc[1]) > 0
    at.session_state["view"] = "present"
    at.session_state["slide"] = "serving-classes"
    at.run()
    assert not at.exception
    assert "Within the limits of their class: **chat**" in words(at)
