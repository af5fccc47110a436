"""What tables say where a figure is a bound, and where there is no largest batch."""

from __future__ import annotations

import pytest
from pages_app import metrics, opened, prepared, words
from scenarios import scenario
from streamlit.testing.v1 import AppTest

from calc import capacity
from presets import chips

UNRATED = {"chip": "t4", "n": "16"}
NOTHING = '{"model_type":"totals","total_params":30e9,"kv_elements_per_token":0}'


def drawn(page: str, tab: str = "", **query: str) -> AppTest:
    """A page with one of its tabs open."""
    test = prepared(page, **query)
    if tab:
        test.session_state[f"{page}-tabs"] = tab
    test.run()
    assert not test.exception
    return test


def cells(test: AppTest) -> str:
    """All that tables of a page hold."""
    shown = [element.value.to_string() for kind in (test.table, test.dataframe) for element in kind]
    return "\n".join([*shown, words(test)])


def test_costs_and_latencies_are_bounds() -> None:
    said = words(drawn("cost", **UNRATED))
    for row in ("TTFT | ≥ ", "TPOT | ≥ ", "E2E, gaps | ≥ ", "MBU | ≤ ", "Token per joule | ≤ ",
                "MFU | not published"):  # fmt: skip
        assert f"| {row}" in said
    assert "≥" not in words(drawn("cost"))


def test_a_prompt_s_times_are_bounds() -> None:
    assert "| Time | ≥ " in words(drawn("prefill", "Prefix cache", px="4096", **UNRATED))
    said = words(drawn("prefill", "Separate prefill servers", **UNRATED))
    assert "| Requests per second of one decode replica | ≤ " in said
    assert "| Prefill replicas per decode replica | not published |" in said


def test_slices_and_layouts_are_bounds() -> None:
    row = drawn("capacity", "Smallest topologies", **UNRATED).table[0].value.iloc[0]
    assert row["Step"].startswith("≥ ") and row["Request/s per chip"].startswith("≤ ")
    layouts = drawn("sharding", "Layouts", **UNRATED).dataframe[0].value
    assert "Step, at least (ms)" in layouts and "Step (ms)" not in layouts


def test_every_chip_has_a_time_or_a_bound_of_one() -> None:
    found = capacity.fits(scenario(), chips)
    bounds = [one for one in found if one.bounded]
    assert {"t4", "m3-ultra"} <= {one.chip.id for one in bounds}
    assert all(one.step_time > 0 for one in bounds)
    table = drawn("capacity", "Every chip").dataframe[0].value
    assert set(table["Time and price"]) == {"", "at least"}


@pytest.mark.parametrize(
    ("page", "tab"),
    [("decode", ""), ("kv_cache", ""), ("capacity", "Smallest topologies"),
     ("capacity", "Every chip"), ("sharding", "Layouts")],
)  # fmt: skip
def test_without_a_cache_there_is_no_largest_batch(page: str, tab: str) -> None:
    told = cells(drawn(page, tab, model="custom", cfg=NOTHING))
    assert "any" in told
    assert "65536" not in told and "65,536" not in told


def test_a_format_with_a_rate_is_one_click_away() -> None:
    test = opened("decode", **UNRATED)
    assert metrics(test)["Step time"].startswith("≥ ")
    test.button(key="offered-format").click().run()
    assert test.query_params["c"] == "fp16"
    assert not metrics(test)["Step time"].startswith("≥ ")
    assert "offered-format" not in [button.key for button in test.button]
