"""Scaling laws, limits and round trips that hold for every model, chip and workload."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scenarios import scenario
from strategies import scenarios

from calc import Model, Scenario, ScenarioError, aims, decode, levers, memory, roofline
from calc.attention import Chunked, GroupedQuery, PerToken, SlidingWindow
from calc.fields import Quantity
from calc.scenario import FIELDS
from presets import formats, models


@given(scenarios())
def test_twice_the_chips_halve_the_step(s: Scenario) -> None:
    one, two = decode.step_time(s), decode.step_time(replace(s, n_chips=2 * s.n_chips))
    assert_allclose(two.total, one.total / 2)
    assert_allclose(two.throughput_per_chip, one.throughput_per_chip)


@given(scenarios())
def test_charged_terms_add_up_and_never_exceed(s: Scenario) -> None:
    step = decode.step_time(s)
    assert_allclose(sum(step.charged().values()), step.total)
    assert step.total >= step.kv_read + step.weight_read * (1 - 1e-12)
    assert step.total >= step.kv_read + step.linear_compute * (1 - 1e-12)


@given(scenarios() | scenarios(operators=True))
def test_a_sweep_equals_its_points(s: Scenario) -> None:
    batch, context = np.array([[1], [s.batch]]), np.array([[1, 777, s.context]])
    grid = decode.step_time(s, batch=batch, context=context)
    assert grid.total.shape == grid.weight_read.shape == (2, 3)
    for i, b in enumerate(batch[:, 0]):
        for j, c in enumerate(context[0]):
            point = decode.step_time(replace(s, batch=int(b), context=int(c)))
            assert_allclose(grid.total[i, j], point.total)


@given(scenarios())
def test_step_time_grows_with_batch_and_throughput_too(s: Scenario) -> None:
    step = decode.step_time(s, batch=decode.batch_sweep(4096))
    assert (np.diff(step.total) > 0).all()
    assert (np.diff(step.throughput) > -1e-9 * step.throughput[1:]).all()


@given(scenarios())
def test_largest_batch_fits_and_one_more_does_not(s: Scenario) -> None:
    largest = int(memory.max_batch(s))
    room = memory.capacity(s) - memory.weights(s)
    each = float(memory.kv_per_sequence(s))
    assert largest == 0 or largest * each <= room
    assert (largest + 1) * each > room


@given(scenarios())
def test_fewest_chips_hold_it_and_the_next_slice_down_does_not(s: Scenario) -> None:
    fewest = memory.min_chips(s)
    held = memory.weights(s) + float(memory.kv_cache(s))
    each = s.chip.memory * s.usable_memory
    if not fewest:
        most = FIELDS["n_chips"]
        assert isinstance(most, Quantity)
        assert held > 0.99 * most.high * each
        return
    assert held <= fewest * each * (1 + 1e-9)
    smaller = [n for n in range(1, min(fewest, 2048)) if s.chip.legal_count(n) < fewest]
    assert all(held > s.chip.legal_count(n) * each * (1 - 1e-9) for n in smaller[-1:])


@given(scenarios())
def test_ledger_adds_up(s: Scenario) -> None:
    held = memory.ledger(s)
    assert_allclose(held.total, s.n_chips * s.chip.memory)
    assert memory.fits(s) == (held.free >= 0)


@given(scenarios())
def test_compute_bound_batch_is_where_the_lines_cross(s: Scenario) -> None:
    crossing = roofline.compute_bound_batch(s)
    at = decode.step_time(s, batch=crossing)
    assert_allclose(at.linear_compute, at.weight_read, rtol=1e-6)
    around = decode.step_time(s, batch=np.array([0.9, 1.1]) * crossing)
    assert list(around.compute_bound) == [False, True]


@given(st.sampled_from(list(models.values())), st.integers(1, 1 << 20))
def test_kv_is_linear_without_windows_and_never_more(model: Model, context: int) -> None:
    per_token = model.kv_bytes_per_token(formats["bf16"])
    held = float(model.kv_bytes(context, formats["bf16"]))
    if all(isinstance(block.attention, PerToken) for block in model.blocks):
        assert_allclose(held, per_token * context)
    else:
        empty = float(model.kv_bytes(0, formats["bf16"]))
        assert held <= per_token * context + empty + 1e-9 * held


@given(st.integers(1, 10**5), st.integers(0, 10**6))
def test_window_is_constant_once_full(window: int, beyond: int) -> None:
    layer = SlidingWindow(GroupedQuery(8, 8, 64), window)
    full = layer.kv_bytes(window, formats["bf16"])
    assert layer.kv_bytes(window + beyond, formats["bf16"]) == full
    assert layer.kv_bytes(max(window // 2, 1), formats["bf16"]) <= full
    assert layer.flops(window + beyond) == layer.flops(window)


@given(scenarios())
def test_params_read_run_from_active_to_all_streamed(s: Scenario) -> None:
    model = s.model
    assert_allclose(model.params_read(1), model.active_params)
    assert_allclose(model.params_read(1e9), model.total_params - model.gathered_params)


@given(scenarios())
def test_levers_never_raise_and_halving_never_hurts(s: Scenario) -> None:
    now = aims.outcome(s)
    halving = ["halve_weights", "halve_kv"]
    # Just past the edge of a chunk little is cached, and half the context may be a whole one.
    if not any(isinstance(block.attention, Chunked) for block in s.model.blocks):
        halving.append("halve_context")
    for lever in levers.pull_all(s, formats):
        assert (lever.outcome is None) == bool(lever.why_not)
        if lever.outcome and lever.id in halving:
            assert lever.outcome.step_time <= now.step_time
            assert lever.outcome.max_batch >= now.max_batch


BAD_NUMBERS = [0, -1, math.nan, math.inf, 1e30, 2.5, True, "32"]


@pytest.mark.parametrize("field", ["n_chips", "batch", "context"])
@pytest.mark.parametrize("value", BAD_NUMBERS)
def test_a_scenario_refuses_bad_numbers_by_name(field: str, value: Any) -> None:
    with pytest.raises(ScenarioError, match=field):
        replace(scenario(), **{field: value})


def test_a_scenario_refuses_unknown_fidelity() -> None:
    with pytest.raises(ScenarioError, match="fidelity"):
        scenario(fidelity="guess")


def test_unknown_rate_travels_as_nan_and_leaves_the_rest() -> None:
    s = scenario(chip="t4", c="bf16", n_chips=8)
    step = decode.step_time(s)
    assert math.isnan(float(step.total))
    assert math.isnan(roofline.compute_bound_batch(s))
    assert step.weight_read > 0
    assert memory.max_batch(s) > 0


def test_sequences_that_keep_nothing_all_fit() -> None:
    nothing = replace(scenario("llama-3-8b"), model=Model.from_totals(30e9, 0), n_chips=8)
    assert memory.max_batch(nothing) == 65_536
    assert memory.max_batch(replace(nothing, n_chips=1)) == 0
