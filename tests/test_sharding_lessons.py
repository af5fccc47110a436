"""What Sharding teaches beside layouts: gathered weights, and the bubble of a pipeline.

Sources: HTSYM = How To Scale Your Model (Austin et al. 2025), parts 5 and 7; GPipe = Huang et al.
2018; OURS = arithmetic shown.
"""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from pages_app import prepared, words
from scenarios import NOMINAL_70B, scenario

from calc import decode, layout, sharding
from pages.ui.sharding import gathering
from pages.ui.sharding.page import PAGE
from presets import models


def test_fsdp_in_a_decode_step() -> None:
    """HTSYM: 69.5 GB over 90 and 180 GB/s, 772 and 386 ms, against a weight read of 5.30 ms."""
    s = scenario(fidelity="operators")
    assert_allclose(sharding.gathered(s), 69.5e9, rtol=1e-3)
    assert_allclose(sharding.gather_time(s), 0.772, rtol=1e-3)
    assert_allclose(sharding.gathered(s) / sharding.limits(s)[-1].bandwidth, 0.386, rtol=1e-3)
    assert_allclose(decode.step_time(s).weight_read, 5.30e-3, rtol=1e-3)
    assert sharding.gather_time(s, 1) == 0


def test_tokens_behind_which_the_gather_hides() -> None:
    """OURS: 2 m P / (16 · 197 TFLOP/s) = P / 90 GB/s, m = 17,511."""
    assert_allclose(sharding.gather_hidden_from(scenario(NOMINAL_70B)), 17511, rtol=1e-4)


@pytest.mark.parametrize("model", models)
def test_all_experts_are_gathered(model: str) -> None:
    s = scenario(model)
    assert_allclose(sharding.gathered(s), s.model.bytes_read(1e9, s.stored), rtol=1e-6)


def test_bubble() -> None:
    """GPipe: 4 stages and 8 micro-batches work 8/11 of the time."""
    assert_allclose(layout.pipeline_utilisation(4, 8), 0.727, rtol=1e-3)


@given(st.floats(0.01, 0.99), st.integers(1, 64))
def test_so_many_micro_batches_are_enough_and_one_fewer_is_not(share: float, stages: int) -> None:
    number = layout.micro_batches_for(share, stages)
    if number:
        assert layout.pipeline_utilisation(stages, number) >= share - 1e-9
    if number > 1:
        assert layout.pipeline_utilisation(stages, number - 1) < share + 1e-9


def test_the_tabs_and_the_slides() -> None:
    test = prepared("sharding", x="sharding_fsdp").run()
    assert not test.exception
    said = words(test)
    assert "FSDP would gather 69.5 GB of weights in every step: **772 ms**" in said
    assert "in 5.30 ms; the gather takes 146 × as long" in said
    assert "| 2 axes, wraparound | 180 GB/s | 386 ms | 72.9 × |" in said
    test.session_state["sharding-tabs"] = "Pipeline bubble"
    said = words(test.run())
    assert "With 8 micro-batches each of 4 stages works for **72.7 %** of a pass" in said
    assert "90 % takes 27 micro-batches." in said
    for s in (scenario(), scenario(n_chips=1), scenario(chip="inferentia2"), scenario(pipeline=4)):
        view = PAGE.slide(s)
        for exhibit in PAGE.exhibits[1:]:
            assert exhibit.sentence(view)
            shown = exhibit.shown(view)
            if shown:
                shown.chart.figure()
    assert math.isnan(float(sharding.gather_time(scenario(chip="inferentia2"))))
    # Neither rate nor bandwidth is published.
    nothing = PAGE.slide(scenario(chip="mi308x", c="int8", n_chips=8))
    assert "reads its weights" not in gathering.sentence(nothing)
    # Nor is it where a missing rate is taken as unlimited, and all else with it.
    bounded = PAGE.slide(scenario(chip="m3-max", n_chips=8))
    assert gathering.sentence(bounded) == "The time to gather the weights is not known here."
