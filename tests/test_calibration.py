"""What calibrated times are worth: fits on measurements, and the bands they have."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scenarios import scenario

from calc import Scenario, decode, link
from calc.calibration import (
    CalibrationError,
    band,
    basis,
    errors,
    fit,
    fit_class,
    left_out,
    no_band,
    no_class,
    predict,
)
from calc.calibration.classes import TELLING
from calc.engine import EngineClass
from calc.measured import Agreement, Row, predictions
from calc.scenario import build, values_of
from pages.ui.frame.link import PRESETS
from presets import chips, measured

ROWS = [row for row in measured.rows() if row.scenario.chip.engines]
CLASSES = {one.id: one for chip in chips.values() for one in chip.engines.values()}


def class_of(row: Row) -> EngineClass | None:
    return row.scenario.chip.engine_class(row.scenario.engine)


def of(id: str) -> list[Row]:
    return [row for row in ROWS if (one := class_of(row)) and one.id == id]


def test_constants_tried_on_rows_are_what_the_product_predicts() -> None:
    for id in ("nvidia-hbm/server", "nvidia-gddr", "tpu"):
        rows = of(id)[::7]
        here = predict(rows, CLASSES[id].constants)
        assert_allclose(here, predictions(rows, "calibrated"), rtol=1e-9)


# Median and p90 error [%] without a row's own source, of an independent implementation; the spread
# of what the same rows give here (measured over predicted).
UNSEEN = {
    ("nvidia-gddr", "single"): (120, 7, 19, 0.89, 1.20),
    ("gaudi", "known_batch"): (37, 14, 34, 0.76, 1.25),
    ("tpu", "known_batch"): (14, 16, 36, 0.92, 1.41),
}


@pytest.mark.parametrize(("id", "phase"), UNSEEN)
def test_a_source_that_a_class_has_not_seen(id: str, phase: str) -> None:
    count, half, most, low, high = UNSEEN[id, phase]
    rows = of(id)
    times = left_out(rows, CLASSES[id])
    here = np.array([row.phase == phase for row in rows]) & np.isfinite(times)
    found = Agreement.of([r for r, used in zip(rows, here, strict=True) if used], times[here])
    assert found.rows == count
    assert_allclose([100 * found.median, 100 * found.worst], [half, most], atol=2)
    assert_allclose([found.low, found.high], [low, high], atol=0.05)


def test_decode_on_server_gpus_is_off_as_is_claimed() -> None:
    rows = [row for row in of("nvidia-hbm/server") if row.kind == "decode"]
    found = errors(rows, CLASSES["nvidia-hbm/server"].constants)
    assert (found.rows, found.sources) == (389, 11)
    assert found.median < 0.14
    assert found.worst < 0.41


def test_a_class_s_constants_are_those_its_rows_give() -> None:
    for id, one in CLASSES.items():
        if one.usable and one.sources > 2:
            own = [row for row in of(id) if row.kind in TELLING]
            found = fit_class(own, one)
            for name, (low, high) in one.spread.items():
                assert low * 0.9 <= getattr(found, name) <= high * 1.1 or name == "reduce_latency"


def test_a_fit_finds_the_constants_that_made_its_rows() -> None:
    prior = CLASSES["nvidia-hbm/server"].constants
    true = replace(prior, kernel_time=7e-6, bandwidth_efficiency=0.85)
    rows = of("nvidia-hbm/server")[::9]
    made = [
        replace(row, seconds=float(time))
        for row, time in zip(rows, predict(rows, true), strict=True)
    ]
    found = fit(made, prior)
    assert_allclose(found.constants.kernel_time, 7e-6, rtol=0.05)
    assert_allclose(found.constants.bandwidth_efficiency, 0.85, rtol=0.02)
    assert found.agreement.worst < 0.03
    # One row moves them a part of the way only.
    alone = fit(made[:1], prior).constants
    assert 7e-6 < alone.kernel_time < prior.kernel_time
    with pytest.raises(CalibrationError, match="no row"):
        fit([], prior)


def test_own_rows_bring_the_rest_of_a_system_nearer() -> None:
    system = [row for row in of("nvidia-hbm/server") if row.source.startswith("vLLM blog FP8")]
    slow = [replace(row, seconds=1.4 * row.seconds) for row in system]
    prior = CLASSES["nvidia-hbm/server"].constants
    own = fit(slow[::4], prior).constants
    rest = [row for row in slow if row not in slow[::4]]
    assert errors(rest, own).median < 0.6 * errors(rest, prior).median


def test_a_band_is_that_of_the_phase_and_says_when_it_is_thin() -> None:
    h100 = scenario(chip="h100-sxm", w="fp8", c="fp8", n_chips=8, fidelity="calibrated")
    batched = band(h100)
    assert batched is not None
    assert (batched.low, batched.high, batched.rows, batched.thin) == (0.71, 1.31, 328, False)
    single = band(replace(h100, batch=1, n_chips=1))
    sharded = band(replace(h100, batch=1))
    assert single is not None and sharded is not None
    assert (single.low, single.high, sharded.low, sharded.high) == (0.91, 1.22, 0.78, 1.27)
    textbook = band(scenario(fidelity="calibrated"))
    assert textbook is not None
    assert (textbook.low, textbook.high, textbook.rows, textbook.thin) == (0.92, 1.41, 14, True)


@pytest.mark.parametrize(
    ("changed", "phase", "why"),
    [
        ({"batch": 257}, None, "Beyond a batch of 256"),
        ({}, "prompt", "measured too differently"),
        ({"chip": chips["mi300x"]}, None, "engines of the past only"),
        ({"chip": chips["wse-3"]}, None, "Nobody published enough"),
        ({"engine": "llama.cpp"}, None, "Too few sources"),
        ({"chip": chips["rtx-4090"]}, None, "Too few sources"),
    ],
)
def test_where_nothing_may_be_claimed_there_is_no_band_and_a_reason(
    changed: dict[str, Any], phase: str | None, why: str
) -> None:
    s = replace(scenario(chip="h100-sxm", fidelity="calibrated"), **changed)
    assert band(s, phase) is None
    assert why in no_band(s, phase)
    assert no_band(replace(s, fidelity="operators")) == ""


def test_a_link_carries_a_calibration_of_ones_own() -> None:
    rows = of("nvidia-hbm/server")[:9]
    s = scenario(chip="h100-sxm", n_chips=8, fidelity="calibrated")
    found = fit(rows, s.constants)
    own = found.on(s)
    assert_allclose(own.constants.kernel_time, found.constants.kernel_time)
    assert_allclose(own.constants.bandwidth_efficiency, found.constants.bandwidth_efficiency)
    assert own.constants.mfu == s.constants.mfu
    assert basis(own).startswith("your calibration of 9 rows, off by ")
    assert basis(s) == "NVIDIA data-centre GPUs, server engines"
    query = {key: [value] for key, value in link.dump(link_values(own)).items()}
    read = build(link.parse(query, PRESETS)[0], PRESETS)
    assert_allclose(decode.step_time(read).total, decode.step_time(own).total, rtol=1e-9)
    # What is set by hand goes before it, and it leaves the other fidelities alone.
    assert replace(own, kernel_time=1e-6).constants.kernel_time == 1e-6
    plain = replace(own, fidelity="operators")
    assert plain.constants == replace(s, fidelity="operators").constants
    # It makes a class of its own where there is none.
    alone = replace(own, chip=chips["mi300x"])
    assert alone.constants.kernel_time == own.constants.kernel_time
    assert no_class(alone) == "" and "no band" in no_band(alone)


def link_values(s: Scenario) -> dict[str, object]:
    """All plain values that a link has, those of a scenario among them."""
    return {**link.parse({}, PRESETS)[0], **values_of(s)}
