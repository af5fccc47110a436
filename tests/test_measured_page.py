"""The Measured page: public measurements, and one's own."""

from __future__ import annotations

import numpy as np
import pytest
from pages_app import PAGES, asked, notes, opened, prepared, tour, words
from scenarios import scenario
from streamlit.testing.v1 import AppTest

from calc import decode
from calc.engine import PHASES
from pages.ui.measured import figures, own, tables
from pages.ui.measured.page import _open
from pages.ui.measured.view import MeasuredView
from presets import measured

ROWS = measured.rows()


def view(**query: str) -> MeasuredView:
    choices = {key: value for key, value in query.items() if key[0] == "m" and len(key) == 2}
    return MeasuredView(asked(**query), choices)


def test_the_verdict_is_of_the_shown_fidelity() -> None:
    found = view(f="operators")
    assert found.agreement.rows == len(ROWS) == 1240
    assert words(opened("measured", f="operators")).startswith(
        "1,240 public measurements of 44 sources took **2.15 ×** the operators' time"
    )
    # Nobody beats the bound by more than experts' even routing explains.
    assert view().agreement.low > 1.3


def test_filters_travel_in_the_link_and_leave_what_they_ask_for() -> None:
    test = opened("measured", f="operators", mp="batched", mc="h200")
    assert words(test).startswith("92 public measurements of 3 sources")
    assert test.selectbox(key="mc").value == "h200"
    found = view(mp="batched", mc="h200")
    assert {row.phase for row in found.rows} == {"batched"}
    assert {row.scenario.chip.id for row in found.rows} == {"h200"}
    test.selectbox(key="mp").set_value("prompt").run()
    assert "No measurement is of all that is asked for" in words(test)
    assert not test.exception


@pytest.mark.parametrize("query", [{}, {"f": "calibrated"}, {"me": "Neuron"}, {"mm": "qwen3-8b"}])
def test_every_point_is_drawn_once_and_leads_to_its_row(query: dict[str, str]) -> None:
    found = view(**query)
    for chart in (figures.against_prediction(found), figures.against_batch(found)):
        chart.figure()
        points = [one for one in chart.data if "customdata" in one]
        places = np.concatenate([one["customdata"] for one in points]).astype(int)
        assert sorted(places) == sorted(found.places)
        legends = [one["name"] for one in points]
        assert len(legends) == len({*legends}) <= 9
    chart = figures.against_prediction(found)
    for one in chart.data:
        for place, y, text in zip(
            one.get("customdata", ()), one["y"], one.get("text", ()), strict=False
        ):
            row = ROWS[int(place)]
            assert y == pytest.approx(1e3 * row.seconds) and text.startswith(row.id)


def test_a_clicked_point_gives_its_scenario_to_the_sidebar() -> None:
    place = next(i for i, row in enumerate(ROWS) if row.id == "M1203")
    test = AppTest.from_string(
        f"from pages.ui.measured.page import _open\n_open({float(place)})", default_timeout=60
    ).run()
    assert not test.exception
    state = test.session_state
    assert (state["model"], state["chip"], state["w"], state["n"]) == (
        "deepseek-v3", "b200", "nvfp4", 4,
    )  # fmt: skip
    assert (state["b"], state["s"], state["ty"]) == (4, 1382, 4)
    assert state["_measured_row"] == "M1203"
    for wrong in (-1.0, 1e9):
        _open(wrong)


def test_every_row_of_the_tables_is_of_what_is_shown() -> None:
    found = view(f="calibrated", mk="gaudi")
    sources = tables.by_source(found)
    assert sum(sources["Rows"]) == len(found.rows)
    outside = tables.outside(found)
    ratio = outside["Measured over predicted"]
    assert all(not found.agreement.low <= one <= found.agreement.high for one in ratio)
    assert len(found.outside) == pytest.approx(0.2 * len(found.rows), abs=2)
    assert {*tables.by_phase(found)["What was timed"]} == {PHASES[row.phase] for row in found.rows}


def test_a_step_of_ones_own_is_told_beside_the_bound() -> None:
    test = opened("measured")
    test.number_input(key=own.STEP).set_value(20.0).run()
    told = words(test)
    assert "**20.0 ms** a step, 1,600 token/s: **2.33 ×** the bound (8.57 ms)" in told
    assert "MBU 43 %, MFU 7 %" in told
    test.button(key="own-use-kernel").click().run()
    assert "Engines like this one take about 20.0 ms" in words(test)
    assert test.session_state["f"] == "calibrated"
    test.number_input(key=own.STEP).set_value(None)
    test.number_input(key=own.RATE).set_value(1e6).run()
    assert "below the bound" in words(test)
    assert not test.exception


def test_measured_tokens_and_prompts_are_priced() -> None:
    """F8.12: $2 an hour, 100 token/s, 100 prompts a minute, answers of 200 tokens."""
    held = {own.RATE: 100.0, own.PROMPTS: 100.0, own.HOUR: 2.0}
    said = own.priced(MeasuredView(scenario(output=200), held))
    assert "A million output tokens cost **$5.56**." in said
    assert "A thousand requests cost **$1.44**: $1.11 for output, $0.333 for input." in said
    assert "MFU of 64 %" in said
    assert not own.priced(MeasuredView(scenario(), {}))


def test_rows_of_ones_own_are_listed_with_what_was_understood() -> None:
    test = opened("measured")
    test.session_state["own-several-open"] = True
    test.run()
    rows = "batch,context,ms,chip\n1,1024,9.8,h100-sxm\n16,1024,nan,h200\n4,8,-1,h200\n"
    test.text_area(key="own-rows").set_value(rows).run()
    assert not test.exception
    assert "1 of 3 rows used" in notes(test)
    assert "taken from the sidebar: model, chips, weights, KV cache, compute" in notes(test)
    assert "| 2 | ms is not a number |" in words(test)
    assert "| 3 | ms -1 is not positive |" in words(test)
    test.text_area(key="own-rows").set_value("<script>").run()
    assert not test.exception
    assert "none of what is read" in test.warning[0].value
    assert "script" not in test.warning[0].value


def test_no_other_page_reads_the_rows() -> None:
    measured.table.cache_clear()
    for _ in tour([name for name in PAGES if name != "measured"], req="8"):
        pass
    assert measured.table.cache_info().currsize == 0


def test_rows_of_ones_own_become_a_calibration_that_the_link_carries() -> None:
    """Rows that take 1.6 times what the class does: the fit is nearer than the class."""
    batches = (1, 4, 16, 32, 64, 128)
    s = asked(model="llama-3.1-8b", chip="h100-sxm", n="1", w="bf16", kv="bf16", f="calibrated")
    slow = decode.step_time(s, batch=batches, context=1024).total * 1.6e3
    rows = "\n".join(f"{batch},1024,{ms}" for batch, ms in zip(batches, slow, strict=True))
    test = prepared(
        "measured", model="llama-3.1-8b", chip="h100-sxm", n="1", w="bf16", kv="bf16", s="1024"
    )
    test.session_state["own-several-open"] = True
    test.session_state["own-rows"] = f"batch,context,ms\n{rows}"
    test.run()
    assert "Fitted on 6 rows" in words(test) and "the class by 38 % and 38 %" in words(test)
    test.button(key="own-use-fit").click().run()
    assert not test.exception
    state = test.session_state
    assert (state["f"], state["cn"]) == ("calibrated", 6) and state["cx"] < 0.25
    assert test.query_params["cn"] == "6"
    # Engines like this one are now one's own.
    test.number_input(key=own.STEP).set_value(float(slow[3])).run()
    told = words(test)
    own_time = float(told.split("Engines like this one take about ")[1].split(" ms")[0])
    assert own_time == pytest.approx(slow[3], rel=0.2) and own_time > slow[3] / 1.5


def test_few_rows_and_rows_without_a_step_are_said() -> None:
    test = prepared("measured", chip="h200")
    test.session_state["own-several-open"] = True
    test.session_state["own-rows"] = "batch,context,ms\n8,1000,60\n"
    test.run()
    assert "Fitted on 1 row:" in words(test) and "Below 5 rows the gain is small" in words(test)
    test.text_area(key="own-rows").set_value("prompt,context,ms,kind,prompts,decode_steps,batch\n"
                                             "1000,500,60,prefill,1,0,1\n").run()  # fmt: skip
    assert "no row has a decode step" in words(test)
    test.selectbox(key="chip").set_value("wse-3").run()
    assert "nobody published enough" in words(test)
    assert not test.exception
