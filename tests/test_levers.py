"""Levers keep what they promise and stand in the right order."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from numpy.testing import assert_equal
from pages_app import metrics, opened
from scenarios import FINE, SPREAD, scenario
from strategies import ANY
from streamlit.proto.WidgetStates_pb2 import WidgetStates
from streamlit.testing.v1 import AppTest

from calc import Scenario, aims, decode, known, levers, memory
from calc.aims import AIMS, Aim
from calc.levers import Lever
from calc.link import FIELDS, dump, parse
from calc.scenario import SCHEMA, build, differences, values_of
from pages.ui.decode import levers as lever_view
from pages.ui.frame.link import PRESETS
from presets import chips, formats, models


def pulled(s: Scenario) -> dict[str, Lever]:
    return {lever.id: lever for lever in levers.pull_all(s, formats)}


@given(ANY)
def test_plain_values_build_the_scenario_they_were_read_from(s: Scenario) -> None:
    values = values_of(s)
    assert list(values) == [field.name for field in SCHEMA]
    built = build(values, PRESETS)
    assert values_of(built) == values
    assert build(values_of(built), PRESETS) == built
    written = dump({field.name: field.absent for field in FIELDS} | values_of(built))
    assert parse({k: [v] for k, v in written.items()}, PRESETS)[1] == []


def test_plain_values_are_ids_and_link_units() -> None:
    values = values_of(scenario(hop_latency=2.5e-6, draft=models["llama-3.2-1b"], batch=7))
    assert values["model"] == "llama-3-70b"
    assert values["draft"] == "llama-3.2-1b"
    assert values["attention_format"] == "compute"
    assert (values["hop_latency"], values["scale_out"], values["batch"]) == (2.5, 50, 7)
    assert values_of(build({}, PRESETS)) == {field.name: field.absent for field in SCHEMA}


@given(ANY, ANY)
def test_differences_make_one_scenario_of_another(before: Scenario, after: Scenario) -> None:
    built = build(values_of(before) | differences(before, after), PRESETS)
    assert values_of(built) == values_of(after)
    assert differences(before, before) == {}


@given(ANY)
def test_a_lever_applied_gives_the_outcome_it_promised(s: Scenario) -> None:
    start = build(values_of(s), PRESETS)
    for lever in levers.pull_all(start, formats):
        assert (lever.outcome is None) == bool(lever.why_not)
        if lever.outcome is None:
            continue
        changed = differences(start, lever.outcome.scenario)
        assert changed
        kept = aims.outcome(build(values_of(start) | changed, PRESETS))
        assert kept.scenario == lever.outcome.scenario
        for aim in AIMS.values():
            assert_equal(aim.value(kept), aim.value(lever.outcome))


@given(ANY)
def test_levers_change_what_they_say(s: Scenario) -> None:
    changed = {
        "halve_weights": {"weight_format"}, "halve_kv": {"kv_format"},
        "halve_context": {"context"}, "double_batch": {"batch"}, "halve_batch": {"batch"},
        "fill_memory": {"batch"}, "eight_bit_compute": {"compute_format"},
        "hide_communication": {"link_overlap"}, "share_kv": {"kv_sharding"},
        "double_chips": {"n_chips", "tensor_parallel"},
        "halve_chips": {"n_chips", "tensor_parallel"}, "host_weights": {"host_share"},
    }  # fmt: skip
    for id, lever in pulled(s).items():
        if lever.outcome:
            assert set(differences(s, lever.outcome.scenario)) <= changed[id]


@given(ANY)
def test_ranks_follow_the_gain_and_what_fits(s: Scenario) -> None:
    every = levers.pull_all(s, formats)
    for aim in AIMS.values():
        ranked = levers.ranked(every, aim)
        assert sorted(map(id, ranked)) == sorted(map(id, every))
        groups = [_group(lever, aim) for lever in ranked]
        assert groups == sorted(groups)
        for one, other in pairwise(ranked):
            if _group(one, aim) == _group(other, aim) < 2:
                assert one.gain(aim) >= other.gain(aim) - 1e-8


def _group(lever: Lever, aim: Aim) -> int:
    if lever.outcome is None:
        return 3
    if math.isnan(lever.gain(aim)):
        return 2
    return 0 if lever.outcome.fits else 1


def test_a_gain_is_positive_for_the_better() -> None:
    step, made, cost, batch = AIMS.values()
    assert step.gain(1, 2) == cost.gain(1, 2) == pytest.approx(math.log(2))
    assert made.gain(2, 1) == batch.gain(2, 1) == pytest.approx(math.log(2))
    assert batch.gain(5, 0) == math.inf
    assert batch.gain(0, 5) == -math.inf
    assert batch.gain(0, 0) == 0
    assert math.isnan(cost.gain(math.nan, 1))


def test_levers_of_the_default_scenario() -> None:
    found = pulled(scenario())
    assert found["double_chips"].label == "Double chips (32)"
    assert found["double_chips"].gain(AIMS["step_time"]) == pytest.approx(math.log(2))
    assert found["double_chips"].gain(AIMS["throughput_per_chip"]) == pytest.approx(0)
    assert found["fill_memory"].label == "Largest batch that fits (149)"
    assert found["halve_weights"].label == "Halve weight bytes (int4)"
    # Nothing is sent at the bound, and no cache is copied.
    assert not {"hide_communication", "share_kv"} & set(found)
    assert levers.ranked(found.values(), AIMS["step_time"])[0].id == "double_chips"
    assert levers.ranked(found.values(), AIMS["throughput_per_chip"])[0].id == "fill_memory"


@pytest.mark.parametrize(
    ("chip", "stored", "half"),
    [("tpu-v5e", "bf16", "int8"), ("h100-sxm", "bf16", "fp8"), ("tpu-v5e", "int8", "int4"),
     ("h100-sxm", "fp32", "bf16"), ("h100-sxm", "fp8-block128", "int4"), ("h100-sxm", "int4", "")],
)  # fmt: skip
def test_half_the_bytes_are_a_format_on_offer(chip: str, stored: str, half: str) -> None:
    lever = pulled(scenario(chip=chip, w=stored))["halve_weights"]
    if half:
        assert lever.outcome
        assert lever.outcome.scenario.weight_format is formats[half]
    else:
        assert lever.why_not == "no format of half the bytes"


def test_levers_of_a_layout() -> None:
    found = pulled(FINE)
    hidden, shared = found["hide_communication"].outcome, found["share_kv"].outcome
    step = decode.step_time(FINE)
    assert hidden
    assert hidden.step_time == pytest.approx(float(max(step.busy, step.communication)))
    # Sixteen chips hold eight KV heads twice.
    assert shared
    assert shared.max_batch == pytest.approx(2 * int(memory.max_batch(FINE)), abs=1)
    assert pulled(replace(FINE, n_chips=8)).keys() & {"share_kv"} == set()
    assert pulled(SPREAD)["halve_chips"].why_not == "the layout does not divide 36 chips"
    named = pulled(replace(FINE, tensor_parallel=16))["double_chips"].outcome
    assert named
    assert named.scenario.tensor_parallel == 0


def test_what_cannot_be_pulled_says_why() -> None:
    least = pulled(scenario(n_chips=1, batch=1, context=1, c="int8"))
    assert [least[id].why_not for id in ("halve_chips", "halve_batch", "halve_context")] == [
        "already 1 chip", "already 1 sequence", "already 1 token",
    ]  # fmt: skip
    assert least["fill_memory"].why_not == "not one sequence fits"
    assert least["eight_bit_compute"].why_not == "compute is already int8"
    most = pulled(scenario(n_chips=16384, batch=65536))
    assert [most[id].why_not for id in ("double_chips", "double_batch")] == [
        "largest count", "already the largest batch",
    ]  # fmt: skip
    assert pulled(scenario(batch=149))["fill_memory"].why_not == "already the largest"


def test_what_no_longer_fits_stands_after_what_does() -> None:
    ranked = levers.ranked(pulled(scenario(batch=100)).values(), AIMS["throughput_per_chip"])
    double = next(i for i, lever in enumerate(ranked) if lever.id == "double_batch")
    later, sooner = ranked[double], ranked[double - 1]
    assert later.gain(AIMS["throughput_per_chip"]) > sooner.gain(AIMS["throughput_per_chip"])
    assert all(lever.outcome and lever.outcome.fits for lever in ranked[:double])


def test_the_best_lever_is_said() -> None:
    def told(s: Scenario, aim: str) -> str:
        ranked = levers.ranked(levers.pull_all(s, formats), AIMS[aim])
        return lever_view.best(ranked, AIMS[aim]).replace("\\", "").replace("\u00a0", " ")

    assert told(scenario(), "step_time") == (
        "**Double chips (32)** does most for latency: step time 8.57 ms → 4.29 ms (−50 %)."
    )
    assert told(scenario(), "throughput_per_chip").endswith("token/s per chip 233 → 427 (+83 %).")
    assert "with no lever alone does it fit" in told(scenario(n_chips=2), "step_time")
    unknown = scenario(chip="t4", n_chips=8)
    assert told(unknown, "step_time") == "What a lever would do to step time is not known here."
    assert told(known.least(unknown), "step_time") == (
        "**Double chips (16)** does most for latency: step time 43.9 ms → 22.0 ms (−50 %), "
        "each at least."
    )
    assert "**Double chips (16)** does most for batch" in told(unknown, "max_batch")


def choose(test: AppTest, row: int) -> AppTest:
    """Select a row of the levers table, as the browser reports it."""
    states: WidgetStates = test._tree.get_widget_states()
    state = states.widgets.add()
    state.id = test.dataframe[0].proto.id
    state.string_value = json.dumps({"selection": {"rows": [row], "columns": [], "cells": []}})
    test._run(states)
    assert not test.exception
    return test


def names(test: AppTest) -> list[Any]:
    return list(test.dataframe[0].value["Lever"])


def test_the_table_is_ranked_for_the_aim() -> None:
    test = opened()
    table = test.dataframe[0].value
    assert names(test)[0] == "Double chips (32)"
    assert table["Step (%)"].tolist() == sorted(table["Step (%)"])
    assert (table["Step (%)"][0], table["Step (ms)"][0]) == (-50, pytest.approx(4.286, rel=1e-3))
    assert table["Largest batch"][0] == 350
    assert "Fits" not in table
    test.segmented_control(key="levers-aim").set_value("max_batch").run()
    table = test.dataframe[0].value
    assert table["Batch (%)"].tolist() == sorted(table["Batch (%)"], reverse=True)
    assert "b" not in test.query_params


def test_a_chosen_lever_is_applied_in_the_sidebar() -> None:
    test = choose(opened(), 0)
    assert metrics(test)["Step time"] == "4.29 ms"
    assert test.select_slider(key="n").value == 32
    # The next table has no row ticked, and starts from there.
    assert names(test)[0] == "Double chips (64)"
    test = choose(test, names(test).index("Halve weight bytes (int4)"))
    assert test.selectbox(key="w").value == "int4"
    assert metrics(test)["Step time"] == "2.96 ms"


def test_a_lever_whose_control_is_folded_away_reaches_the_link() -> None:
    test = opened(f="operators")
    test = choose(test, names(test).index("Split KV copies by batch"))
    assert metrics(test)["Step time"] == "10.7 ms"
    assert test.query_params["ks"] == "batch"
    assert test.selectbox(key="ks").value == "batch"


@pytest.mark.parametrize("query", [{"f": "operators"}, {"n": "6", "f": "operators", "ty": "6"}])
def test_every_lever_that_is_shown_can_be_applied(query: dict[str, str]) -> None:
    for row, name in enumerate(names(opened(**query))):
        test = opened(**query)
        promised = test.dataframe[0].value["Step (ms)"][row]
        value, unit = metrics(choose(test, row))["Step time"].split()
        shown = float(value) * {"s": 1e3, "ms": 1.0, "µs": 1e-3}[unit]
        assert shown == pytest.approx(promised, rel=6e-3), name


@pytest.mark.parametrize(
    "query",
    [{"chip": "t4"}, {"chip": "inferentia2", "n": "12", "f": "operators"}, {"n": "1"},
     {"n": "16384", "b": "65536", "s": "16777216"}, {"b": "1", "s": "1", "n": "1"},
     {"chip": "groqchip1", "model": "llama-3-8b", "c": "fp16"}],
)  # fmt: skip
@pytest.mark.parametrize("aim", AIMS)
def test_the_levers_survive_the_limits(query: dict[str, str], aim: str) -> None:
    test = opened(**query)
    test.segmented_control(key="levers-aim").set_value(aim).run()
    assert not test.exception
    assert len(test.metric) == 6


@pytest.mark.parametrize("chip", chips)
def test_levers_of_every_chip(chip: str) -> None:
    for fidelity in ("bound", "operators"):
        s = scenario(chip=chip, fidelity=fidelity)
        for aim in AIMS.values():
            assert lever_view.best(levers.ranked(levers.pull_all(s, formats), aim), aim)
