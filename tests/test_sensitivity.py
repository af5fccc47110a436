"""The sensitivities obey scaling laws, and the tornado draws them."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scenarios import FINE, SPREAD, scenario
from strategies import ANY, scenarios

from calc import Scenario, aims, decode
from calc.aims import AIMS
from calc.sensitivity import Sensitivities, sensitivities
from pages.ui.decode import lever_figures
from presets import chips


def felt(s: Scenario, aim: str = "step_time") -> dict[str, tuple[float, float]]:
    """Logarithms of the ratios by what is halved and doubled."""
    found = sensitivities(s, AIMS[aim])
    return dict(zip(found.labels, zip(*found.log_ratios, strict=True), strict=True))


MEMORY_BOUND = (scenario(), scenario(batch=8), scenario("gpt-oss-120b", "h100-sxm"))


@pytest.mark.parametrize("s", MEMORY_BOUND)
def test_bandwidth_halves_and_doubles_a_memory_bound_step(s: Scenario) -> None:
    found = felt(s)
    assert_allclose(found["Memory bandwidth"], (math.log(2), -math.log(2)))
    assert_allclose(found["FLOP rate"], (0, 0), atol=1e-12)
    # Both kinds of bytes together are all that is read.
    read = decode.step_time(s)
    share = float(read.weight_read / read.total)
    assert_allclose(np.exp(found["Weight bytes"]), (1 - share / 2, 1 + share), rtol=1e-9)
    assert_allclose(np.exp(found["KV bytes"]), ((1 + share) / 2, 2 - share), rtol=1e-9)


@given(scenarios())
def test_scaling_laws_of_the_bound(s: Scenario) -> None:
    even = replace(s, n_chips=2 * s.n_chips)
    found = felt(even)
    assert_allclose(found["Chips"], (math.log(2), -math.log(2)))
    assert_allclose(found["Memory size"], (0, 0))
    assert_allclose(felt(even, "throughput_per_chip")["Chips"], (0, 0), atol=1e-9)
    # The step is a time: twice of all rates halve it, so no knob does more than that.
    for label, ratios in found.items():
        # But for experts, of which a batch reads more, never less than in proportion.
        assert np.nanmax(np.abs(ratios)) <= math.log(2) + 1e-9 or label in ("Batch", "Context")
    holds = felt(even, "max_batch")
    assert_allclose([holds[name] for name in ("Memory bandwidth", "FLOP rate")], [(0, 0), (0, 0)])


@given(ANY)
def test_throughput_and_price_move_against_each_other_and_with_the_step(s: Scenario) -> None:
    step, made, price = (felt(s, aim) for aim in list(AIMS)[:3])
    for label in step.keys() - {"Batch", "Chips"}:
        assert_allclose(made[label], -np.array(step[label]), atol=1e-9)
    if s.chip.price:
        for label, ratios in made.items():
            assert_allclose(price[label], -np.array(ratios), atol=1e-9)


@given(ANY, st.sampled_from(list(AIMS)))
def test_the_furthest_reaching_stands_first(s: Scenario, aim: str) -> None:
    found = sensitivities(s, AIMS[aim])
    assert found.now == AIMS[aim].value(aims.outcome(s)) or math.isnan(found.now)
    assert len(found.labels) == len(found.halved) == len(found.doubled)
    assert (np.diff(np.minimum(found.reach, 1e9)) <= 1e-8).all()


def test_what_hangs_on_links_is_asked_where_there_are_some() -> None:
    links = {"Link bandwidth", "Hop latency"}
    assert not felt(scenario()).keys() & links
    assert felt(FINE).keys() >= links
    assert not felt(replace(FINE, n_chips=1)).keys() & links
    assert "Overheads" not in felt(FINE)
    slow = felt(replace(FINE, step_overhead=1e-2, layer_overhead=1e-6))["Overheads"]
    assert slow[0] < 0 < slow[1]
    assert "Network per chip" in felt(scenario(chip="h100-sxm", fidelity="operators"))


def test_halves_and_doubles_that_no_scenario_has_are_unknown() -> None:
    assert math.isnan(felt(scenario(batch=1))["Batch"][0])
    assert math.isnan(felt(scenario(n_chips=16384))["Chips"][1])
    assert math.isnan(felt(SPREAD)["Chips"][0])
    odd = sensitivities(scenario(batch=33), AIMS["step_time"])
    half = odd.halved[odd.labels.index("Batch")]
    assert half == float(decode.step_time(scenario(), batch=16).total)


@pytest.mark.parametrize("aim", AIMS)
@pytest.mark.parametrize(
    "s",
    [scenario(), FINE, SPREAD, scenario(n_chips=8, context=3000, batch=1),
     replace(FINE, kv_sharding="batch", batch=3), scenario(n_chips=6)],
)  # fmt: skip
def test_the_tornado_draws_what_was_found(s: Scenario, aim: str) -> None:
    found = sensitivities(s, AIMS[aim])
    if not (found.reach > 0).any():
        assert math.isnan(found.now)
        return
    drawn = lever_figures.tornado(found).figure()
    low, high = drawn.layout.xaxis.range
    assert drawn.layout.yaxis.categoryarray
    for bars, values in zip(drawn.data, found.log_ratios, strict=True):
        known = dict(zip(found.labels, values, strict=True))
        for name, end in zip(bars.y, bars.x, strict=True):
            assert end == pytest.approx(np.clip(known[name], low, high))
            assert low <= end <= high
    assert any(tick == 0 for tick in drawn.layout.xaxis.tickvals)
    assert drawn.data[0].marker.pattern.shape == "/"
    assert "halved" in lever_figures.described(found)


def test_bars_that_go_the_same_way_share_a_row() -> None:
    values = np.array([2.0, 0.5]), np.array([4.0, 2.0])
    found = Sensitivities(AIMS["step_time"], 1.0, ("Batch", "Chips"), *values)
    halved, doubled = lever_figures.tornado(found).data
    assert halved["offset"][0] + halved["width"][0] <= doubled["offset"][0]
    assert halved["offset"][1] == doubled["offset"][1]


def test_a_fall_to_nothing_is_drawn_to_the_edge() -> None:
    values = np.array([0.0, 5.0]), np.array([30.0, 20.0])
    found = Sensitivities(AIMS["max_batch"], 10.0, ("Chips", "Context"), *values)
    drawn = lever_figures.tornado(found)
    assert drawn.data[0]["x"][0] == drawn.layout["xaxis"]["range"][0]
    assert drawn.data[0]["text"][0] == "−100\u00a0%"


@pytest.mark.parametrize("chip", chips)
def test_sensitivities_of_every_chip(chip: str) -> None:
    for fidelity in ("bound", "operators"):
        s = scenario(chip=chip, fidelity=fidelity)
        for aim in AIMS.values():
            assert lever_figures.described(sensitivities(s, aim))
