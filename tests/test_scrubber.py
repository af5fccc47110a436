"""Families of frames: what a scrubber's frames hold is what the page would draw."""

from __future__ import annotations

import base64
import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scenarios import scenario

from calc import Scenario
from pages.ui.charts import scrubber
from pages.ui.decode.view import DecodeView, by_batch, by_context


def page(s: Scenario) -> tuple[scrubber.Frame, scrubber.Scrub, scrubber.Scrub]:
    """What Decode shows, and its two scrubbers."""
    view = DecodeView(s, {})
    return view.frame(), by_batch(view), by_context(view)


def numbers(value: Any) -> Any:
    if isinstance(value, dict):
        return np.frombuffer(base64.b64decode(value["bdata"]), value["dtype"].replace("f", "<f"))
    return np.array(value, dtype=float)


@pytest.mark.parametrize("fidelity", ["bound", "operators"])
def test_a_frame_holds_what_the_page_would_draw(fidelity: str) -> None:
    _, batches, _ = page(scenario(fidelity=fidelity))
    family = json.loads(scrubber.encoded(list(batches.family())))
    for batch in (1, 32, 64, 128):
        frame = family["frames"][list(batches.stops).index(batch)]
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
    now, batches, contexts = page(scenario())
    names = [trace.get("name") for trace in now.charts["step-time"].data]
    for scrub, moving in ((batches, {None}), (contexts, {None, "step", "KV read"})):
        family = json.loads(scrubber.encoded(list(scrub.family())))
        for frame in family["frames"]:
            data = frame["charts"]["step-time"]["data"]
            assert {name for name, trace in zip(names, data, strict=True) if trace} == moving


def test_ranges_hold_every_frame() -> None:
    s = scenario()
    _, _, contexts = page(s)
    frames = list(contexts.family())
    ranges = json.loads(scrubber.encoded(frames))["ranges"]["step-time"]
    for frame in frames:
        for axis in ("xaxis", "yaxis"):
            low, high = frame.charts["step-time"].layout[axis]["range"]
            assert ranges[f"{axis}.range"][0] <= low
            assert ranges[f"{axis}.range"][1] >= high


def test_stops_are_the_sliders_and_the_present() -> None:
    _, batches, _ = page(replace(scenario(), batch=37))
    assert {1, 32, 37, 40} <= {*batches.stops}
    assert list(batches.stops) == sorted(batches.stops)
