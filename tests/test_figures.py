"""Figures are built unvalidated for speed; here every one is validated and its data read back."""

from __future__ import annotations

import base64
import json
import math
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scenarios import scenario

from calc import (
    Scenario,
    decode,
    known,
    memory,
    packing,
    precision,
    prefill,
    quantization,
    roofline,
    sharding,
    speculative,
)
from pages.ui.capacity import figures as capacity_figures
from pages.ui.capacity import solver
from pages.ui.charts import kit, rooflines, sweeps
from pages.ui.cost import figures as cost_figures
from pages.ui.cost import reader as cost_reader
from pages.ui.cost.view import CostView
from pages.ui.decode import figures as decode_figures
from pages.ui.decode import operator_figures, utilisation
from pages.ui.decode import words as decode_words
from pages.ui.decode.view import DecodeView
from pages.ui.prefill import figures as prefill_figures
from pages.ui.prefill import words as prefill_words
from pages.ui.quantization import figures as quantization_figures
from pages.ui.sharding import figures as sharding_figures
from pages.ui.speculative import words as speculation_words
from presets import formats

SCENARIOS = {
    "default": scenario(),
    "experts": scenario("deepseek-v3", "h100-sxm", w="fp8", kv="fp8", c="fp8"),
    "does not fit": scenario("deepseek-v3", n_chips=1),
    "unknown rate": scenario(chip="rtx-5090"),
    "batch one": scenario("qwen3-0.6b", batch=1, context=1),
    "largest": scenario(batch=65536, context=1 << 24),
    "kept back": scenario(usable_memory=0.9),
    "operators": scenario(fidelity="operators", step_overhead=1e-3, overlap=0.5),
    "spread experts": scenario(
        "deepseek-v3", "h200", w="fp8", c="fp8", n_chips=32, batch=256, fidelity="operators",
        attention_dp=32, expert_parallel=32, routing_skew=0.3,
    ),
    "unknown link": scenario(chip="inferentia2", n_chips=12, fidelity="operators"),
}  # fmt: skip


def drawn(s: Scenario, log: bool) -> tuple[kit.Chart, kit.Chart]:
    step, largest = decode.step_time(s), int(memory.max_batch(s))
    crossing = roofline.compute_bound_batch(s)
    sweep = decode.batch_sweep(decode.sweep_end(s, largest, crossing), [largest, s.batch])
    textbook = replace(s, fidelity="bound") if s.fidelity != "bound" else None
    return (
        decode_figures.step_time(
            decode.step_time(s, batch=sweep),
            step,
            bound=decode.step_time(textbook, batch=sweep) if textbook else None,
            compute_bound_from=crossing,
            max_batch=largest,
            log=log,
        ),
        decode_figures.frontier(
            decode.frontier(s, sweep),
            step,
            memory.ledger(s),
            bound=decode.frontier(textbook, sweep) if textbook else None,
            max_batch=largest,
            log=log,
        ),
    )


def valid(figure: kit.Chart) -> None:
    """Plotly raises on any unknown or impossible property; arrays sent read back the same."""
    figure.figure()
    sent = json.loads(figure.to_json())
    for given, read in zip(figure.data, sent["data"], strict=True):
        for axis in "xyz":
            values = given.get(axis)
            if isinstance(values, np.ndarray) and values.dtype == float:
                bytes_sent = base64.b64decode(read[axis]["bdata"])
                assert_array_equal(np.frombuffer(bytes_sent).reshape(values.shape), values)


@pytest.mark.parametrize("log", [True, False])
@pytest.mark.parametrize("name", SCENARIOS)
def test_figures_are_valid_plotly(name: str, log: bool) -> None:
    for figure in drawn(SCENARIOS[name], log):
        valid(figure)


@pytest.mark.parametrize("name", SCENARIOS)
def test_figures_of_the_other_pages_are_valid_plotly(name: str) -> None:
    s = SCENARIOS[name]
    fine = sharding.with_links(s)
    figures_drawn = [
        operator_figures.operators(decode.step_time(fine)),
        prefill_figures.against_prompt(s, float(prefill.prompt_time(s).total)),
        prefill_figures.against_chunk(s, prefill.largest_chunk(s), prefill.free_tokens(s)),
        prefill_figures.against_prefix(s),
        *(
            rooflines.shown(s, work, work.by_name()).chart
            for work in (decode.step_time(fine).work, prefill.by_operator(s))
        ),
        sharding_figures.against_width(fine, float(decode.step_time(fine).total)),
        sharding_figures.matmul(fine),
        sharding_figures.two_axes(fine),
    ]
    then = precision.switched(s, "weight_format", formats["int4"])
    batch = decode.batch_sweep(512)
    affine = quantization.apply(quantization.sample("outliers"), 4, granularity=32)
    figures_drawn += [
        capacity_figures.resident(memory.ledger(s), s.n_chips),
        capacity_figures.against_context(s, int(memory.max_batch(s)), 120.0),
        cost_figures.frontier(s, batch, int(memory.max_batch(s)), money=True),
        cost_figures.frontier(s, batch, int(memory.max_batch(s)), money=False),
        quantization_figures.step_lines(
            decode.step_time(s, batch=batch), decode.step_time(then, batch=batch), "weights"
        ),
        quantization_figures.frontiers(
            decode.frontier(s, batch), decode.frontier(then, batch), "weights"
        ),
        utilisation.shown(DecodeView(s, {})).chart,
        cost_reader.speed(CostView(s, {})).chart,
        quantization_figures.tensor(affine),
        quantization_figures.error(affine),
    ]
    if s.model.routed_params:
        traffic = sweeps.expert_traffic(s, decode.batch_sweep(512))
        figures_drawn.append(operator_figures.expert_traffic(*traffic))
    for figure in figures_drawn:
        valid(figure)


def test_work_is_named_under_its_roofs() -> None:
    work = prefill.by_operator(SCENARIOS["spread experts"])
    shown = rooflines.shown(SCENARIOS["spread experts"], work, work.by_name())
    bubbles = shown.chart.data[-1]
    places = dict(zip(bubbles["customdata"], bubbles["text"], strict=True))
    names = [row.name for row in work.by_name()]
    # What lies at one place has one label, and no two labels one place.
    assert places[names.index("attention")] == "attention"
    assert any("<br>" in label for label in places.values())
    assert "Waiting for memory: output head (2.00 FLOP/B)." in shown.alt
    assert "attention projections, dense MLP, router, shared experts" in shown.alt


def test_a_placement_is_drawn() -> None:
    items = [packing.Item("13B", 13e9, 4), packing.Item("<b>70B</b>", 70e9, 1)]
    pool = [packing.Device("A", 40e9, 1.0, 2), packing.Device("B", 80e9, 3.0, 1)]
    placed = solver.solve(packing.build(items, pool, "most"))
    placement = capacity_figures.placement(placed)
    valid(placement)
    assert placed.served == 5
    assert "<b>70B" not in placement.to_json()


def test_the_bound_stays_in_view() -> None:
    step, frontier = drawn(SCENARIOS["operators"], True)
    bound = next(trace for trace in step.data if trace["name"] == "bound")
    total = next(trace for trace in step.data if trace["name"] == "step")
    assert bound["line"]["dash"] == "dash"
    assert (np.asarray(bound["y"]) < np.asarray(total["y"])).all()
    assert "bound" in shape_labels(step)
    assert "bound" in shape_labels(frontier)


def test_operators_are_placementwith_the_side_that_binds() -> None:
    figure = operator_figures.operators(decode.step_time(SCENARIOS["spread experts"]))
    words = figure.data[-1]["text"]
    assert any("ms, memory" in word for word in words)
    assert len(words) == len(figure.data[-1]["y"])


def test_step_figure_shows_the_computed_step() -> None:
    step, _ = drawn(scenario(), True)
    total = next(trace for trace in step.data if trace["name"] == "step")
    at = int(np.flatnonzero(np.asarray(total["x"]) == 32)[0])
    assert total["y"][at] == pytest.approx(8.571, abs=1e-3)


def shape_labels(figure: kit.Chart) -> str:
    return " ".join(shape.get("label", {}).get("text", "") for shape in figure.layout["shapes"])


def test_regions_are_shaded_and_named() -> None:
    step, _ = drawn(scenario(), True)
    bands = [shape for shape in step.layout["shapes"] if shape["xref"] == "x"]
    assert [band["x0"] for band in bands] == pytest.approx([120.12, 149], abs=0.01)
    assert "compute-bound past 120" in shape_labels(step)
    assert "does not fit past 149" in shape_labels(step)


def test_a_model_that_does_not_fit_is_grey_everywhere_not_gone() -> None:
    step, frontier = drawn(SCENARIOS["does not fit"], True)
    grey = [shape for shape in step.layout["shapes"] if shape["xref"] == "x"][-1]
    assert grey["x0"] == 1
    assert "does not fit at any batch" in shape_labels(step)
    assert len(frontier.data[1]["x"]) > 10


def test_caveats_name_what_the_bound_or_the_market_does_not_hold() -> None:
    def told(s: Scenario) -> str:
        return " ".join(decode_words.caveats(s, decode.step_time(s)))

    assert not told(scenario())
    assert "28 chips are not one slice of TPU v5e" in told(scenario(n_chips=28))
    assert "published for 8,192 tokens" in told(scenario(context=8193))
    assert "the bound, which charges only the read, is too low" in told(
        scenario("kimi-k2", n_chips=4, batch=1)
    )


def test_verdict_in_every_regime() -> None:
    def sentence(s: Scenario) -> str:
        step, largest = decode.step_time(s), int(memory.max_batch(s))
        return decode_words.verdict(s, step, largest, roofline.compute_bound_batch(s))

    assert sentence(scenario()) == (
        "One decode step takes **at least 8.57 ms**, 62 % of it reading weights. Up to batch 120 "
        "the matrix products wait for memory; beyond it, for compute. Memory holds 149 sequences "
        "of this length."
    )
    assert "reading the KV cache" in sentence(scenario(batch=128))
    assert "multiplying in the linear layers" in sentence(scenario(batch=512, context=128))
    assert "it takes 128 × TPU v5e for this batch" in sentence(scenario(batch=1024))
    assert "**The weights alone do not fit** on 1" in sentence(scenario(n_chips=1))
    assert "**at least 45.9 ms**" in sentence(known.least(scenario(chip="m5")))
    fine = scenario(fidelity="operators")
    assert "takes **13.8 ms**, 48 % of it reading the KV cache (textbook bound: 8.57" in sentence(
        fine
    )
    slow = replace(fine, hop_latency=5e-5)
    assert "sending between chips" in sentence(slow)
    assert "multiplying in attention" in sentence(
        scenario("deepseek-v3", "h20", n_chips=16, w="fp8", context=1 << 17, fidelity="operators",
                 attention_dp=16, expert_parallel=16)
    )  # fmt: skip
    alone = known.least(SCENARIOS["unknown link"])
    assert "**at least 13.8 ms**" in sentence(alone)
    assert "**at least " in prefill_words.verdict(alone, prefill.prompt_time(alone))
    unknown = speculative.batch_speedup(SCENARIOS["unknown link"])
    assert "is not known here" in speculation_words.verdict(alone, unknown, 0, math.nan)
    copies = replace(fine, n_chips=8, batch=4096)
    assert "no number of chips holds it in this layout" in sentence(copies)
