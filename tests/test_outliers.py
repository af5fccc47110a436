"""Values outside the calibrated range, and outlier channels.

Sources: F9.1 and F9.4 = docs/method.md; OURS = arithmetic shown.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from pages_app import prepared, words
from scenarios import scenario

from calc import decode, memory, outliers, quantization
from calc.explain import codes
from pages.ui.quantization.page import PAGE
from presets import formats


def test_a_value_beyond_the_calibrated_range_is_cut() -> None:
    """F9.1: on the grid of [−1, 1], s = 2/255 and z = 128, 5.0 becomes 127 s = 0.996."""
    one = quantization.beyond(5.0, -1.0, 1.0, 8)
    assert one.grid.zero_point.item() == 128
    assert_allclose(one.reconstructed, 127 * 2 / 255)
    assert_allclose(one.reconstructed, 0.996, rtol=1e-4)
    assert one.max_error > 1000 * one.bound.item()
    assert_allclose(codes.restored(one)[1].value, one.reconstructed.item())


@given(st.floats(-100, 100), st.floats(0.1, 10), st.integers(2, 8))
def test_within_the_grid_the_error_is_half_a_step(value: float, reach: float, bits: int) -> None:
    one = quantization.beyond(value, -reach, reach, bits)
    ends = quantization.beyond([-1e6, 1e6], -reach, reach, bits).reconstructed[0]
    back = one.reconstructed.item()
    assert ends[0] <= back <= ends[1]
    if ends[0] <= value <= ends[1]:
        assert one.max_error <= one.bound.item() * (1 + 1e-9)
    else:
        assert back == (ends[1] if value > 0 else ends[0])


def sqnr(kind: str, bits: int) -> dict[str, float]:
    return {one.name: one.sqnr for one in outliers.methods(kind, bits)}


def test_outlier_channels_spoil_one_scale_and_are_rescued() -> None:
    """OURS: four of 64 channels are 20 times as large; what each method gains of the plain one."""
    assert outliers.outlying(outliers.activations("outliers")).sum() == 4
    found = sqnr("outliers", 8)
    plain = found["one scale for all activations"]
    assert found["one scale for each token"] > plain + 6
    assert found["outlier channels in fp16 (LLM.int8)"] > plain + 15
    assert found["scaled by activations (SmoothQuant)"] > plain + 6
    finer = [found[name] for name in found if name.startswith("one scale for ")][:3]
    assert finer == sorted(finer)
    grouped = found["one scale for each group of 32"]
    assert found["groups, scaled by activations (AWQ)"] > grouped + 2


def test_four_bits_fewer_are_steps_seventeen_times_as_large() -> None:
    """F9.1: 127 / 7 of symmetric codes, 25.2 dB where rounding is all there is."""
    for kind in quantization.SAMPLES:
        few, more = sqnr(kind, 4), sqnr(kind, 8)
        for name in few if kind != "outliers" else list(few)[:4]:
            lost = more[name] - few[name]
            assert lost == pytest.approx(20 * math.log10(127 / 7), abs=4), (kind, name)


def test_without_outliers_nothing_is_kept_wide() -> None:
    found = {one.name: one for one in outliers.methods("normal", 8)}
    wide, plain = (
        found["outlier channels in fp16 (LLM.int8)"], found["one scale for all activations"]
    )  # fmt: skip
    assert (wide.bits, wide.sqnr) == (plain.bits, plain.sqnr)


def test_bits_bytes_and_times() -> None:
    """F9.2: 8 + 16/64 bits; with 4 of 64 channels in 16: 8.734."""
    found = {one.name: one.bits for one in outliers.methods("outliers", 8)}
    assert found["one scale for each channel"] == 8.25
    assert found["one scale for each group of 32"] == 8.5
    assert_allclose(found["outlier channels in fp16 (LLM.int8)"], 8.25 + 7.75 / 16)
    s = scenario()
    assert outliers.weight_bytes(s, 8) == memory.weights(s)
    assert outliers.step_time(s, 8) == decode.step_time(s).total
    half = scenario(w="int4")
    assert formats["int4"].bits == 4
    assert outliers.step_time(s, 4) == decode.step_time(half).total


def test_the_tabs_and_the_slides() -> None:
    test = prepared("quantization", x="quantization_outside-the-range").run()
    assert not test.exception
    said = words(test)
    assert (
        "5 is reconstructed as **0.996**. The error is 4.00; within ±1 it is at most 0.00392"
        in said
    )
    test.session_state["quantization-tabs"] = "Outlier channels"
    said = words(test.run())
    assert not test.exception
    assert "| W8A8 | outlier channels in fp16 (LLM.int8) | " in said
    assert "| 8.73 | 77.0 GB | " in said
    view = PAGE.slide(scenario(chip="t4"))
    for exhibit in PAGE.exhibits[1:]:
        shown = exhibit.shown(view)
        assert shown
        shown.chart.figure()
        assert exhibit.sentence(view)
    assert np.isfinite([one.sqnr for one in outliers.methods("constant", 2)]).all()
