"""Fidelity calibrated: what it adds to the operators, and whose constants it takes."""

from __future__ import annotations

from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from numpy.testing import assert_allclose, assert_array_equal
from scenarios import scenario
from strategies import scenarios

from calc import Scenario, attention, decode, feedforward, link, prefill
from calc.engine import Constants
from calc.scenario import PLAIN, build
from pages.ui.frame.link import PRESETS
from presets import PresetError, chips, models
from presets.engines import read_engine
from presets.loader import read_sources, read_tables

CALIBRATED = scenario(fidelity="calibrated")
ROOT = Path(__file__).parents[1] / "presets"
NAMES = [one.name for one in fields(Constants)]


def own(**changed: float) -> dict[str, Any]:
    """Constants that a scenario sets itself: those that leave the operators alone, and changes."""
    return {name: getattr(PLAIN, name) for name in NAMES} | changed


@given(scenarios(operators=True))
def test_a_step_takes_no_less_than_its_operators_and_they_no_less_than_the_bound(
    s: Scenario,
) -> None:
    s = replace(s, routing_skew=0.0)
    unset: dict[str, Any] = dict.fromkeys(NAMES)
    calibrated = float(decode.step_time(replace(s, fidelity="calibrated", **unset)).total)
    operators = float(decode.step_time(replace(s, fidelity="operators", **unset)).total)
    bound = float(decode.step_time(replace(s, fidelity="bound")).total)
    if not np.isnan(operators):
        assert calibrated >= operators * (1 - 1e-9)
        assert operators >= bound * (1 - 1e-9)


@given(scenarios(operators=True))
def test_with_nothing_lost_it_is_the_operators_exactly(s: Scenario) -> None:
    calibrated = replace(s, fidelity="calibrated", **own())
    operators = replace(s, fidelity="operators", **own())
    for time in (decode.step_time, prefill.prompt_time):
        assert_array_equal(time(calibrated).total, time(operators).total)


def test_what_a_scenario_sets_goes_before_the_table() -> None:
    assert CALIBRATED.engine_class is not None
    assert CALIBRATED.engine_class.id == "tpu"
    assert CALIBRATED.constants == CALIBRATED.engine_class.constants
    for name in ("bandwidth_efficiency", "compute_efficiency", "mfu", "link_efficiency"):
        changed: dict[str, Any] = {name: 1.0}
        assert getattr(replace(CALIBRATED, **changed).constants, name) == 1.0
    by_layer = replace(CALIBRATED, layer_overhead=1e-5).constants
    assert (by_layer.layer_overhead, by_layer.kernel_time) == (1e-5, 0.0)
    assert replace(CALIBRATED, layer_overhead=1e-5, kernel_time=2e-6).constants.kernel_time == 2e-6
    # Written at today's default, it is the user's all the same; absent, it is the table's.
    values = link.parse({"f": ["calibrated"], "eb": ["1"]}, PRESETS)[0]
    assert build(values, PRESETS).constants.bandwidth_efficiency == 1.0
    assert link.query_string(values).endswith("f=calibrated&eb=1")
    emptied = link.parse({"f": ["calibrated"], "eb": [""]}, PRESETS)
    assert build(emptied[0], PRESETS).constants == CALIBRATED.constants
    assert emptied[1] == []


@pytest.mark.parametrize("fidelity", ["bound", "operators"])
def test_an_absent_key_means_what_it_did_at_the_other_fidelities(fidelity: str) -> None:
    assert scenario(fidelity=fidelity, engine="llama.cpp").constants == PLAIN
    assert own() == {
        "bandwidth_efficiency": 1.0, "compute_efficiency": 1.0, "link_efficiency": 1.0,
        "mfu": 0.4, "kernel_time": 0.0, "reduce_latency": 0.0, "layer_overhead": 0.0,
    }  # fmt: skip


def test_the_engine_picks_the_class_and_a_history_is_no_class() -> None:
    def of(chip: str, engine: str = "chip") -> str | None:
        found = scenario(chip=chip, fidelity="calibrated", engine=engine).engine_class
        return found.id if found else None

    assert of("h100-sxm") == of("h100-sxm", "server") == "nvidia-hbm/server"
    assert of("h100-sxm", "llama.cpp") == "nvidia-hbm/llama.cpp"
    assert of("rtx-4090") == of("rtx-4090", "llama.cpp") == "nvidia-gddr"
    assert of("tpu-v5e", "llama.cpp") is None
    assert of("mi300x") is of("trainium2") is of("wse-3") is None
    assert chips["mi300x"].engines
    s = scenario(chip="mi300x", n_chips=8, fidelity="calibrated")
    assert_array_equal(
        decode.step_time(s).total, decode.step_time(replace(s, fidelity="operators")).total
    )


def test_an_all_reduce_over_pcie_waits_longer() -> None:
    def latency(chip: str) -> float:
        return scenario(chip=chip, fidelity="calibrated").constants.reduce_latency

    assert latency("h100-sxm") == 5e-6
    assert latency("l40s") == latency("h100-pcie") == pytest.approx(44e-6, rel=0.02)


def test_kernels_are_those_of_the_layers_parts_and_the_head() -> None:
    dense, grouped = feedforward.Dense(14336), attention.GroupedQuery(32, 8, 128)
    assert grouped.kernels + sum(one.kernels for one in dense.parts(4096)) == 5
    assert models["llama-3-70b"].kernels == 80 * 5 + 1
    assert models["mixtral-8x7b"].kernels == 32 * 10 + 1
    assert models["deepseek-v3"].kernels == 3 * 8 + 58 * 15 + 1
    # Behind an indexer as in a plain layer: by the error of the rows there are.
    assert models["deepseek-v3.2"].kernels == 3 * 5 + 58 * 12 + 1
    assert models["llama-4-scout"].kernels == 48 * 12 + 1


def test_a_step_is_its_parts_by_hand() -> None:
    s = scenario(
        "llama-3.3-70b", "h100-sxm", w="fp8", kv="fp8", c="fp8", n_chips=8, batch=32,
        context=4096, fidelity="calibrated",
    )  # fmt: skip
    plain = decode.step_time(replace(s, fidelity="operators"))
    # Every operator of these is bound by its bytes; one all-reduce sends 32 rows of 8192 bytes.
    sent = 2 * 7 / 8 * 32 * 8192 / (0.6 * 450e9)
    expected = float(plain.busy) / 0.82 + 160 * (sent + 5e-6) + 401 * 11.34e-6
    assert not any(one.compute_bound for one in decode.step_time(s).work.operators)
    assert_allclose(decode.step_time(s).total, expected, rtol=0.02)


def test_a_class_that_does_not_say_what_it_rests_on_is_refused(tmp_path: Path) -> None:
    text = (ROOT / "engines.toml").read_text(encoding="utf-8")
    whole = text[: text.index('["nvidia-hbm/llama.cpp"]')]
    sources, file = read_sources(ROOT / "sources.toml"), tmp_path / "engines.toml"

    def refused(changed: str) -> str:
        file.write_text(changed, encoding="utf-8")
        with pytest.raises(PresetError) as error:
            [(id, reader)] = read_tables([file])
            read_engine(id, reader, sources)
        return str(error.value)

    assert "nvidia-hbm/server.rows: is missing" in refused(whole.replace("rows = 453\n", ""))
    assert "server.sources: is missing" in refused(whole.replace("sources = 18\n", ""))
    assert "no spread" in refused(
        whole.replace(", low = 1.074e-05, high = 1.259e-05", "")
        .replace(", low = 0.3369, high = 0.4255", "")
        .replace(", low = 3e-05, high = 4.88e-05", "")
    )
    assert "fitted: lately is not" in refused(whole.replace('"2026-11"', '"lately"'))
    assert "sources: is empty" in refused(whole.replace('["AIC"]', "[]", 1))
    assert "bands.tuesdays: is not one of" in refused(
        whole.replace("bands.single", "bands.tuesdays")
    )
    assert "status: fine is not one of" in refused(whole.replace('"offered"', '"fine"'))
    assert "kernel_time: is missing" in refused(whole.replace("kernel_time", "kernel_times"))
