"""A figure that nobody published leaves bounds, and leaves what does not need it."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from computed import computed
from numpy.testing import assert_allclose
from scenarios import scenario

from calc import Scenario, decode, known, roofline
from calc.explain import EXPLANATIONS, bounds
from pages.ui.decode.view import DecodeView, by_batch
from presets import chips, formats

UNKNOWN = {
    "rate": scenario(chip="t4", n_chips=8),
    "rate, by operator": scenario(chip="t4", n_chips=8, fidelity="operators"),
    "link": scenario(chip="inferentia2", n_chips=12, fidelity="operators"),
    "one send": scenario(chip="rtx-4090", n_chips=2, pipeline=2, fidelity="operators"),
    "all of both": scenario(chip="m5-max", n_chips=4, fidelity="operators"),
}  # fmt: skip


@pytest.mark.parametrize("stated", UNKNOWN.values(), ids=UNKNOWN)
def test_every_value_of_the_least_is_its_explanation_s(stated: Scenario) -> None:
    least = known.least(stated)
    assert known.bounded(least) and not known.bounded(stated)
    assert known.stated(least) == stated
    assert known.unknown(least) == known.unknown(stated)
    assert known.least(least) == least
    shown = computed(least)
    for id, entry in EXPLANATIONS.items():
        sense, formula = bounds.written(id, entry, least)
        if sense:
            assert_allclose(formula.value, shown[id], rtol=1e-9, err_msg=id)
            assert math.isnan(entry.build(stated).value)
    assert bounds.written("step_time", EXPLANATIONS["step_time"], least)[0] == bounds.LEAST
    assert bounds.written("throughput", EXPLANATIONS["throughput"], least)[0] == bounds.MOST
    assert bounds.written("max_batch", EXPLANATIONS["max_batch"], least)[0] == ""


@pytest.mark.parametrize("stated", UNKNOWN.values(), ids=UNKNOWN)
def test_any_figures_take_at_least_as_long(stated: Scenario) -> None:
    floor = float(decode.step_time(known.least(stated)).total)
    assert 0 < floor < math.inf
    for rate, link in ((1e12, 1e9), (1e15, 1e12)):
        chip = replace(
            stated.chip,
            unpublished=rate,
            link_one_way=link if math.isnan(stated.chip.link_one_way) else stated.chip.link_one_way,
            link_two_way=link if math.isnan(stated.chip.link_two_way) else stated.chip.link_two_way,
        )
        assert float(decode.step_time(replace(stated, chip=chip)).total) >= floor * (1 - 1e-12)


def test_what_is_published_is_left_alone() -> None:
    for s in (scenario(), scenario(chip="t4", n_chips=8, c="fp16"), scenario(chip="inferentia2")):
        assert known.least(s) is s
        assert not known.unknown(s)


def test_a_memory_without_bandwidth_leaves_the_time_to_compute() -> None:
    chip = replace(chips["tpu-v5e"], bandwidth=math.nan)
    s = replace(scenario(batch=256), chip=chip)
    least = known.least(s)
    assert known.unknown(s).bandwidth
    assert math.isnan(float(decode.step_time(s).total))
    assert_allclose(
        decode.step_time(least).total, decode.step_time(scenario(batch=256)).linear_compute
    )
    assert math.isnan(roofline.compute_bound_batch(least))
    assert math.isnan(roofline.ridge_point(least.chip, least.compute_format))


def test_without_bandwidth_and_rate_nothing_bounds_a_step() -> None:
    s = scenario(chip="mi308x", n_chips=8)
    assert known.unknown(s).all
    assert known.least(s) is s


def test_a_format_with_a_rate_is_offered() -> None:
    offered = known.offered(scenario(chip="t4"), formats)
    assert offered is not None and offered.id == "fp16"
    assert known.offered(scenario(chip="m5"), formats) is None


def test_a_chip_without_an_8_bit_rate_offers_none_in_its_least() -> None:
    least = known.least(scenario(chip="v100-32-sxm2"))
    assert least.chip.peak(formats["fp8"]) == math.inf
    assert not least.chip.publishes(formats["fp8"])


def test_the_least_of_a_least_scenario_is_itself() -> None:
    """A page moves from one to the next while somebody scrubs, and says "at least" all the way."""
    least = known.least(scenario(chip="t4", n_chips=8))
    again = known.least(replace(least, batch=3))
    assert again.chip is least.chip
    assert known.bounded(again)
    frames = by_batch(DecodeView(scenario(chip="t4", n_chips=8), {})).family()
    assert all(frame.metrics[0].startswith("≥ ") for frame in frames)
