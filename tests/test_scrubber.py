"""Families of views: what a scrubber's frames hold is what the page would draw."""

from __future__ import annotations

import base64
import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scenarios import scenario

from calc import Scenario, decode, memory
from pages.ui.charts import scrubber
from pages.ui.decode import view as decode_view


def page(s: Scenario) -> tuple[scrubber.View, scrubber.Scrub, scrubber.Scrub]:
    """What Decode shows, and its two scrubbers."""
    largest = int(memory.max_batch(s))
    marks = decode_view.Landmarks.of(s, log=True)
    grid = decode_view.batches(s, largest, marks)
    sweep = decode_view.Sweep.over(s, grid)
    return (
        decode_view.view(s, decode.step_time(s), sweep, largest, marks),
        decode_view.by_batch(s, sweep, largest, marks),
        decode_view.by_context(s, grid, marks),
    )


def numbers(value: Any) -> Any:
    if isinstance(value, dict):
        return np.frombuffer(base64.b64decode(value["bdata"]), value["dtype"].replace("f", "<f"))
    return np.array(value, dtype=float)


@pytest.mark.parametrize("fidelity", ["bound", "operators"])
def test_a_frame_holds_what_the_page_would_draw(fidelity: str) -> None:
    _, by_batch, _ = page(scenario(fidelity=fidelity))
    family = json.loads(scrubber.encoded(list(by_batch.family())))
    for batch in (1, 32, 64, 128):
        frame = family["frames"][list(by_batch.stops).index(batch)]
        drawn, *_ = page(scenario(fidelity=fidelity, batch=batch))
        assert frame["metrics"] == list(drawn.metrics)
        for name, chart in drawn.charts.items():
            assert len(frame["charts"][name]["data"]) == len(chart.data)
            for moved, trace in zip(frame["charts"][name]["data"], chart.data, strict=True):
                for part in ("x", "y"):
                    if part in moved:
                        np.testing.assert_allclose(
                            numbers(moved[part]), np.asarray(trace[part], dtype=float), rtol=1e-6
                        )


def test_what_stays_is_left_out() -> None:
    view, by_batch, by_context = page(scenario())
    names = [trace.get("name") for trace in view.charts["step-time"].data]
    for scrub, moving in ((by_batch, {None}), (by_context, {None, "step", "KV read"})):
        family = json.loads(scrubber.encoded(list(scrub.family())))
        for frame in family["frames"]:
            data = frame["charts"]["step-time"]["data"]
            assert {name for name, trace in zip(names, data, strict=True) if trace} == moving


def test_ranges_hold_every_frame() -> None:
    s = scenario()
    _, _, by_context = page(s)
    views = list(by_context.family())
    ranges = json.loads(scrubber.encoded(views))["ranges"]["step-time"]
    for view in views:
        for axis in ("xaxis", "yaxis"):
            low, high = view.charts["step-time"].layout[axis]["range"]
            assert ranges[f"{axis}.range"][0] <= low
            assert ranges[f"{axis}.range"][1] >= high


def test_stops_are_the_sliders_and_the_present() -> None:
    _, by_batch, _ = page(replace(scenario(), batch=37))
    assert {1, 32, 37, 40} <= {*by_batch.stops}
    assert list(by_batch.stops) == sorted(by_batch.stops)
