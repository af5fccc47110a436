"""Public measurements on the charts of the Decode page."""

from __future__ import annotations

import json

import pytest
from pages_app import asked, notes, opened
from test_figures import valid

from pages.ui.charts import marks
from pages.ui.decode.view import MEASURED, DecodeView, by_batch


@pytest.mark.parametrize("scale", ["logarithmic", "linear"])
def test_measurements_are_drawn_where_they_were_made(scale: str) -> None:
    s = asked(model="llama-3.3-70b", chip="h200", n="8", w="fp8", f="operators")
    view = DecodeView(s, {MEASURED: True, "decode-scale": scale})
    step, frontier = view.step_chart(), view.frontier_chart()
    rows = view.measured
    for chart in (step, frontier):
        valid(chart)
        assert "measured" in json.dumps(chart.layout["shapes"])
        low, high = chart.layout["yaxis"]["range"]
        points = chart.data[-1]["y"]
        ends = (10**low, 10**high) if scale == "logarithmic" else (low, high)
        assert ends[0] <= points.min() and points.max() <= ends[1]
    assert list(step.data[-1]["x"]) == [row.batch for row in rows]
    assert list(step.data[-1]["y"]) == pytest.approx([1e3 * row.seconds for row in rows])
    assert list(frontier.data[-1]["y"]) == pytest.approx(
        [row.batch / row.seconds / row.scenario.n_chips for row in rows]
    )
    assert step.data[-1]["text"][0].startswith(rows[0].id)
    # They stay where they are while the batch is scrubbed.
    frame = next(iter(by_batch(view).family()))
    assert list(frame.charts["step-time"].data[-1]["y"]) == list(step.data[-1]["y"])


def test_a_chart_without_measurements_stays_as_it_is() -> None:
    view = DecodeView(asked(), {})
    chart = view.step_chart()
    assert marks.on(chart, (), (), ()) is chart
    assert view.measured == ()


def test_the_switch_says_what_is_drawn() -> None:
    test = opened(model="deepseek-v3", chip="b200", n="8")
    assert "public measurements" not in notes(test)
    test.toggle(key=MEASURED).set_value(True).run()
    assert not test.exception
    assert "◇: 33 public measurements of this model on B200 SXM" in notes(test)
    test.selectbox(key="model").set_value("smollm3-3b").run()
    assert "Nobody published a step of this model" in notes(test)
