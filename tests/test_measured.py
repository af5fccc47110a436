"""Measurements: what of them can be used, and what each fidelity says of them."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scenarios import FINE, scenario

from calc import decode, metrics, prefill
from calc.engine import PHASES
from calc.measured import (
    KINDS,
    Agreement,
    Row,
    RowError,
    explained,
    mapped,
    near,
    parts,
    predicted,
    predictions,
    reading,
)
from presets import chips, formats, measured, models

CATALOGUES = {"models": models, "chips": chips, "formats": formats}
PLAIN = {
    "model": "llama-3-70b", "chip": "h100-sxm", "n_chips": "4", "weight_format": "fp8",
    "kv_format": "fp8", "compute_format": "fp8", "batch": "16", "context": "2048",
    "seconds": "0.02",
}  # fmt: skip
# Public rows as an independent implementation predicts them at MFU 1, 1 µs a hop and one format of
# all weights [s]: bound, operators.
PREDICTED = {
    "M0001": (0.00650796, 0.00650822),  # one A100
    "M0076": (0.0422677, None),  # a pipeline of two RTX 4090, whose links are not published
    "M0210": (0.0220185, 0.0220232),  # a pipeline of four A100
    "M0233": (0.106515, 0.106515),  # Apple publishes no rate in bf16
    "M0345": (6.75031, 6.7505),  # a static batch, its prompts read together
    "M0455": (0.0232706, 0.0240785),  # the largest batch of experts, prompts beside it
    "M0531": (0.0458843, 0.107346),
    "M0702": (0.000761923, 0.00124662),  # 12 chips of unpublished links
    "M0823": (0.0214211, 0.0314937),  # attention in eight groups, experts spread
    "M1031": (0.0177277, 0.0187141),  # eight TPU v5e
    "M1203": (0.00173241, 0.00224181),  # latent attention on four B200
    "M1288": (0.00524103, 0.00524111),
    "M1464": (0.00106818, 0.0010682),
}


def row(**more: object) -> Row:
    return Row(scenario=FINE, kind="decode", seconds=0.02, batch=32, context=8192, **more)  # type: ignore[arg-type]


def test_public_rows_are_used_or_say_why_not() -> None:
    table = measured.table()
    assert (len(table.rows), table.left) == (1240, ())
    for one in table.rows:
        assert one.source and one.reference and one.id and one.engine_name and one.kind in KINDS
    assert len({one.id for one in table.rows}) == len(table.rows)
    assert {one.engine_name for one in table.rows} == {*measured.ENGINES}
    assert {str(one.year) for one in table.rows} - {"None"} == {*measured.YEARS}
    assert {one.phase for one in table.rows} == {*PHASES}


def test_predictions_are_those_of_an_independent_implementation() -> None:
    rows = {one.id: one for one in measured.rows()}
    for id, (bound, operators) in PREDICTED.items():
        assert predicted(rows[id], "bound") == pytest.approx(bound, rel=3e-3), id
        if operators is not None:
            assert predicted(rows[id], "operators") == pytest.approx(operators, rel=3e-3), id


def test_a_step_is_that_of_the_scenario_at_its_mean_batch_and_context() -> None:
    ideal = replace(FINE, mfu=1.0)
    whole = float(decode.step_time(ideal, 32, 8192).total)
    assert predicted(row(), "operators") == pytest.approx(whole)
    assert predicted(row(decode_steps=128), "operators") == pytest.approx(128 * whole)
    between = Row(scenario=FINE, kind="decode", seconds=0.02, batch=31.5, context=8000.5)
    assert predicted(between, "bound") < predicted(row(), "bound")


@settings(max_examples=40)
@given(
    fidelity=st.sampled_from(["bound", "operators"]),
    prompt=st.integers(1, 50_000),
    number=st.integers(1, 512),
    shared=st.sampled_from([("llama-3-70b", 1, 1), ("deepseek-v3", 8, 8), ("mixtral-8x7b", 1, 2)]),
)
def test_prompts_together_cost_no_more_than_apart_and_beside_no_more_than_alone(
    fidelity: str, prompt: int, number: int, shared: tuple[str, int, int]
) -> None:
    model, groups, experts = shared
    s = scenario(model, "h100-sxm", n_chips=8, prompt=prompt, attention_dp=groups,
                 expert_parallel=experts)  # fmt: skip

    def timed(**more: object) -> float:
        only = {"decode_steps": 0.0, "prompts": 1.0} | more
        return predicted(replace(row(**only), scenario=s), fidelity)

    ideal = replace(s, mfu=1.0, fidelity=fidelity)
    alone = float(prefill.prompt_time(ideal, known=0).total)
    assert timed() == pytest.approx(alone)
    assert alone <= timed(together=float(number)) * (1 + 1e-9) <= number * alone * (1 + 2e-9)
    assert timed(ride_along=True) <= alone * (1 + 1e-9)
    assert timed(ride_along=True, prompts=0.5) == pytest.approx(timed(ride_along=True) / 2)


def test_parts_add_up_to_what_is_predicted() -> None:
    one = row(decode_steps=100, prompts=1.0, together=32.0)
    found = parts(one, "operators")
    assert [part.times for part in found] == [100, 1]
    total = sum(float(part.times[0]) * float(part.step.total[0]) for part in found)
    assert predicted(one, "operators") == pytest.approx(total)


@pytest.mark.parametrize("fidelity", ["bound", "operators"])
def test_many_rows_are_predicted_as_each_alone(fidelity: str) -> None:
    rows = measured.rows()
    found = predictions(rows, fidelity)
    assert (found > 0).all()
    few = slice(None, None, 40)
    assert found[few] == pytest.approx([predicted(one, fidelity) for one in rows[few]], rel=1e-12)


@pytest.mark.parametrize("seconds", [0.0, -1.0, math.nan, math.inf])
def test_a_time_that_is_none_is_refused(seconds: float) -> None:
    with pytest.raises(RowError, match="is not a time"):
        replace(row(), seconds=seconds)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"seconds": "nan"}, "seconds nan is not a number"),
        ({"seconds": ""}, "it says no time"),
        ({"seconds": "-0.02"}, "-0.02 s is not a time"),
        ({"chip": "<b>abacus</b>"}, "chip <b>abacus</b> is not known"),
        ({"model": "", "chip": ""}, "it says no model"),
        ({"kind": "lunch"}, "lunch is none of decode, static, max, prefill"),
        ({"batch": "0"}, "batch 0 is outside 1 to 65,536"),
        ({"n_chips": "1.5"}, "chips 1.5 is not a whole number"),
        ({"context": "long"}, "context long is not a number"),
        ({"decode_steps": "0"}, "neither a decode step nor a prompt was timed"),
    ],
)
def test_a_row_that_cannot_be_used_says_why_and_the_rest_is_used(
    change: dict[str, str], reason: str
) -> None:
    found = reading([PLAIN, PLAIN | change | {"id": "odd"}, PLAIN], CATALOGUES)
    assert len(found.rows) == 2
    assert [(left.name, left.reason) for left in found.left] == [("odd", reason)]


def test_what_a_row_does_not_say_is_taken_from_what_is_given() -> None:
    said = {"batch": "10.7", "context": "437.5", "seconds": "0.01"}
    one = mapped(said, CATALOGUES, PLAIN | {"n_chips": 4, "batch": 1, "context": 1})
    assert (one.scenario.chip.id, one.scenario.n_chips) == ("h100-sxm", 4)
    assert (one.batch, one.context) == (10.7, 437.5)
    assert (one.scenario.batch, one.scenario.context) == (11, 438)
    assert one.throughput_per_chip == pytest.approx(267.5)
    assert one.year is None and replace(one, date="2025-02").year == 2025


def test_agreement_is_of_the_error_and_of_measured_over_predicted() -> None:
    rows = [replace(row(), seconds=seconds, source=str(i)) for i, seconds in enumerate((1, 2, 4))]
    found = Agreement.of(rows, np.array([1.0, 1.0, 1.0]))
    assert (found.rows, found.sources, found.middle) == (3, 3, 2)
    assert found.median == pytest.approx(0.5) and found.worst == pytest.approx(0.7)
    assert found.low == pytest.approx(1.2) and found.high == pytest.approx(3.6)
    assert math.isnan(Agreement.of([], np.array([])).median)
    # What has no prediction does not count.
    partly = Agreement.of(rows, np.array([np.nan, 1.0, 1.0]))
    assert (partly.rows, partly.sources, partly.middle) == (2, 2, 3)


@settings(max_examples=30)
@given(slower=st.floats(1.0, 20.0), chip=st.sampled_from(["h100-sxm", "trainium3"]))
def test_either_constant_explains_a_step_that_is_longer(slower: float, chip: str) -> None:
    s = scenario("llama-3-8b", chip, n_chips=1, batch=8, context=4000)
    bare = replace(s, fidelity="calibrated", kernel_time=0.0)
    seconds = slower * float(decode.step_time(bare).total)
    own = explained(s, seconds)
    assert own.fidelity == ("calibrated" if chip == "h100-sxm" else "operators")
    of = replace(s, fidelity=own.fidelity)
    assert own.expected == pytest.approx(float(decode.step_time(of).total))
    bound = decode.step_time(s)
    assert own.times_bound == pytest.approx(seconds / float(bound.total))
    assert own.mbu == pytest.approx(float(metrics.mbu(s, bound)) / own.times_bound)
    assert own.mfu == pytest.approx(float(metrics.mfu(s, bound)) / own.times_bound)
    if own.kernel_time <= 5e-4:
        waiting = replace(of, kernel_time=own.kernel_time)
        assert float(decode.step_time(waiting).total) == pytest.approx(seconds)
    if own.bandwidth_efficiency >= 0.1:
        kept = replace(of, bandwidth_efficiency=own.bandwidth_efficiency)
        assert float(decode.step_time(kept).total) == pytest.approx(seconds)


def test_a_step_below_the_bound_has_no_constant() -> None:
    own = explained(FINE, 1e-3)
    assert own.times_bound < 1
    assert math.isnan(own.kernel_time) and math.isnan(own.bandwidth_efficiency)
    with pytest.raises(RowError):
        explained(FINE, math.nan)


def test_near_a_scenario_are_steps_of_its_model_on_its_chip_or_its_class() -> None:
    rows = measured.rows()
    same = near(rows, scenario("llama-3.3-70b", "h200"))
    assert same and {one.kind for one in same} == {"decode"}
    assert {(one.scenario.model.id, one.scenario.chip.id) for one in same} == {
        ("llama-3.3-70b", "h200")
    }
    # Nobody published one of it, but others did on chips of the class.
    family = near(rows, scenario("deepseek-v3", "h100-sxm"))
    assert {one.scenario.chip.id for one in family} == {"b200", "h200", "h800"}
    assert near(rows, scenario("smollm3-3b", "tpu-v5e")) == []
