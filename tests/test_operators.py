"""Fidelity ``operators``: golden figures, limits, and how it stands to the bound.

Sources as in test_golden.
"""

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

from calc import Model, Scenario, decode, layout, memory, roofline, sharding
from calc.attention import SlidingWindow
from calc.checkpoint import ROUTED
from calc.chip import Fabric
from calc.layout import Layout
from calc.network import Network, torus_shape
from calc.scenario import KV_SHARDINGS
from presets import chips, models


def exact(**more: Any) -> Scenario:
    return scenario(fidelity="operators", **more)


def test_layers_add_up_to_the_weights_read() -> None:
    for model in models.values():
        s = scenario(model, n_chips=1, batch=7, fidelity="operators")
        moved = sum(o.moved for o in decode.step_time(s).work.operators if not o.cache)
        assert_allclose(moved, model.bytes_read(7, s.stored))


@pytest.mark.parametrize("model", models)
def test_one_chip_without_attention_flops_is_the_bound(model: str) -> None:
    """Links and overheads off: within 3 % for dense models; experts may only be slower or equal."""
    for batch in (1, 64, 4096):
        s = scenario(model, "h100-sxm", n_chips=1, batch=batch, context=8192)
        fine = decode.step_time(replace(s, fidelity="operators"))
        without = fine.total - sum(
            np.maximum(o.compute - o.read, 0) for o in fine.work.operators if o.cache
        )
        bound = decode.step_time(s).total
        assert without >= bound * (1 - 1e-9)
        if not s.model.routed_params:
            assert_allclose(without, bound, rtol=0.03)


def test_redundant_experts_fill_and_are_read_as_experts() -> None:
    """DeepSeek's decoding unit: 256 experts and 32 copies on 144 chips, two of a layer on each."""
    s = scenario(
        "deepseek-v3", "h100-sxm", w="fp8", n_chips=144, batch=144 * 128, fidelity="operators",
        attention_dp=144, expert_parallel=144,
    )  # fmt: skip
    copied = replace(s, redundant_experts=32)
    assert "256 experts do not split 144 ways." in layout.problems(s)
    assert not layout.problems(copied)
    expert = 3 * 7168 * 2048 * s.stored.of(ROUTED).bytes
    held = float(Layout.of(copied).weights_per_chip(copied) - Layout.of(s).weights_per_chip(s))
    assert_allclose(held, 58 * 32 / 144 * expert)

    def read(one: Scenario, batch: int) -> float:
        moved = [
            o.moved for o in decode.step_time(one, batch=batch).work.operators if o.name == ROUTED
        ]
        return float(sum(moved))

    # Large batches hit all: two experts of a layer on each chip. Of a single token each choice is
    # a copy of its own.
    assert_allclose(read(copied, 144 * 128), 58 * 2 * expert, rtol=1e-6)
    assert_allclose(read(copied, 144 * 128) / read(s, 144 * 128), 288 / 256, rtol=1e-6)
    assert read(s, 144) < read(copied, 144) < read(s, 144) * 288 / 256
    # Where experts are not spread there are no copies, which is said.
    whole = replace(copied, expert_parallel=1)
    assert decode.step_time(whole).total == decode.step_time(replace(s, expert_parallel=1)).total
    assert "Experts that are not spread have no redundant copies." in layout.problems(whole)


@given(scenarios(operators=True))
def test_operators_are_never_faster_than_the_bound_of_dense_models(s: Scenario) -> None:
    even = replace(s, overlap=1.0, link_overlap=0.0)
    if not s.model.routed_params and not math.isnan(float(decode.step_time(even).total)):
        bound = decode.step_time(replace(s, fidelity="bound"))
        assert decode.step_time(even).total >= bound.total * (1 - 1e-9)


@given(scenarios(operators=True))
def test_charged_terms_add_up(s: Scenario) -> None:
    step = decode.step_time(s)
    assert_allclose(sum(step.charged().values()), step.total)


@given(scenarios(operators=True))
def test_more_overlap_is_never_slower_and_losses_never_faster(s: Scenario) -> None:
    total = decode.step_time(s).total
    better: tuple[dict[str, Any], ...] = (
        {"overlap": 1.0}, {"link_overlap": 1.0}, {"compute_efficiency": 1.0},
        {"bandwidth_efficiency": 1.0}, {"load_imbalance": 1.0}, {"routing_skew": 1.0},
        {"layer_overhead": 0.0},
    )  # fmt: skip
    for change in better:
        assert not decode.step_time(replace(s, **change)).total > total * (1 + 1e-12)


@given(scenarios(operators=True))
def test_largest_batch_fits_and_one_more_does_not(s: Scenario) -> None:
    largest = int(memory.max_batch(s))
    assert largest == 0 or memory.fits(replace(s, batch=min(largest, 65536)))
    if largest < 65536:
        assert not memory.fits(replace(s, batch=largest + 1))


def test_default_scenario_by_hand() -> None:
    """Llama-3-70B on 4 × 4 v5e: each chip holds a whole KV head, and 160 all-reduces wait for hops.

    F3.7: two copies at 16 chips and 8 KV heads; 4 collectives of 6 hops a layer.
    """
    s = exact()
    step = decode.step_time(s)
    assert_allclose(step.kv_read, 2 * decode.step_time(scenario()).kv_read, rtol=2e-4)
    assert_allclose(step.communication, 1.92e-3)
    assert_allclose(sharding.latency_floor(s), 1.92e-3)
    assert_allclose(memory.kv_per_sequence(s), 2 * memory.kv_per_sequence(scenario()))
    assert memory.max_batch(s) == 74


@pytest.mark.parametrize(("batch", "ratio"), [(128, 0.983), (1024, 1.06), (4096, 1.311)])
def test_experts_stream_while_the_rest_computes(batch: int, ratio: float) -> None:
    """F3.2: linears of DeepSeek-V3 fp8 on H100, against reading them all."""
    s = scenario("deepseek-v3", "h100-sxm", w="fp8", c="fp8", n_chips=1, batch=batch)
    fine = decode.step_time(replace(s, fidelity="operators"))
    linears = sum(float(o.time) for o in fine.work.operators if not o.cache)
    whole = max(
        (s.model.total_params - s.model.gathered_params) / s.chip.bandwidth,
        float(decode.step_time(s).linear_compute),
    )
    assert_allclose(linears / whole, ratio, rtol=3e-3)


# F3.3: absorbed MLA of 128 heads in bf16, one and two tokens a step.
@pytest.mark.parametrize(
    ("chip", "tokens", "ratio"),
    [("tpu-v5e", 1, 1.006), ("h100-sxm", 1, 0.8186), ("h100-sxm", 2, 1.637), ("h200", 1, 1.173)],
)
def test_absorbed_mla_against_the_ridge(chip: str, tokens: int, ratio: float) -> None:
    s = exact(model="deepseek-v3", chip=chip, kv="bf16", n_chips=1, batch=1, context=1 << 20)
    attention = [o for o in decode.step_time(s, tokens=tokens).work.operators if o.cache]
    intensity = sum(o.done for o in attention) / sum(o.moved for o in attention)
    assert_allclose(intensity, 241.8 * tokens, rtol=1e-3)
    ridge = roofline.ridge_point(s.chip, s.compute_format)
    assert_allclose(intensity / ridge, ratio, rtol=2e-3)
    assert all(bool(o.compute_bound) == (ratio > 1) for o in attention)


def test_critical_batch_of_experts() -> None:
    """HTSYM part 4: 240 · 16 / 2 on the expert layers; F3.5: 18.3, not 32."""
    s = scenario(w="bf16")
    dense = roofline.critical_batch(s.chip, s.stored, s.compute_format)
    assert round(dense * 16 / 2, -1) == pytest.approx(1920, rel=2e-3)
    v3 = models["deepseek-v3"]
    assert_allclose(float(v3.params_read(1e9)) / v3.active_params, 18.296, rtol=1e-3)


def test_expert_dispatch_and_combine() -> None:
    """DeepSeek-V3 report, ds_ep_comm: (1 + 2) B · 32 · 9 · 7,000 over 50 GB/s is 120.96 µs."""
    network = Network(Fabric("switch", 1), math.nan, math.nan, 0.0, 50e9)
    both = network.exchange((1 + 2) * 32 * 9 * 7000, 2**40)
    assert_allclose(both, 120.96e-6)


def test_expert_parallel_by_hand() -> None:
    """Each of 64 chips holds 4 of 256 experts, attends for its own 4 sequences, sends 8 copies."""
    s = scenario(
        "deepseek-v3", "h200", w="fp8", c="fp8", kv="bf16", n_chips=64, batch=256,
        fidelity="operators", attention_dp=64, expert_parallel=64, hop_latency=0.0,
    )  # fmt: skip
    s = replace(s, model=replace(s.model, resident=()))
    step, model = decode.step_time(s), s.model
    per_layer = 4 * (8192 + 1) * 576 * 2
    assert sum(float(o.moved) for o in step.work.operators if o.cache) == 61 * per_layer
    [routed] = [o for o in step.work.operators if o.name == "routed experts"]
    hit = 256 * (1 - (1 - 8 / 256) ** 256)
    assert_allclose(routed.moved, 58 * hit * 3 * 7168 * 2048 / 64)
    assert_allclose(routed.done, 58 * 2 * 256 * 8 * 3 * 7168 * 2048 / 64)
    sent = 4 * 8 * 7168 * (1 + 2) * 58
    # 7/8 of it would leave the node, over each chip's own port; a node that holds several of a
    # token's 8 experts gets it once.
    once = 8 * (1 - (7 / 8) ** 8) / 8
    assert_allclose(step.communication, sent * (1 - 8 / 64) * once / 50e9)
    assert_allclose(
        float(Layout.of(s).weights_per_chip(s)),
        model.total_params - model.routed_params * (1 - 1 / 64),
    )


def test_half_spread_experts_are_sent_to_both_chips_that_share_them() -> None:
    whole = scenario(
        "deepseek-v3", "gb200-nvl72", n_chips=64, batch=1024, fidelity="operators",
        attention_dp=64, expert_parallel=64, hop_latency=0.0,
    )  # fmt: skip
    half = decode.step_time(replace(whole, expert_parallel=32))
    full = decode.step_time(whole)
    assert_allclose(half.communication, 2 * full.communication)
    assert_allclose(half.weight_read, full.weight_read)


def test_all_to_all_on_a_torus() -> None:
    """Half of everything crosses the middle: L / 4 of what a chip sends, over one link of its row.

    A ring of 16 is F3.7's quarter of a gather; 4 × 4 open has four rows of links across.
    """
    ring = Network(Fabric("torus", axes=1, wraps_from=16), 4.5e10, 9e10, 0.0, 1.0)
    gathered = ring.gather(16 * 1e9, 16) / (1 - 1 / 16)
    assert_allclose(ring.exchange(1e9, 16), gathered / 4)
    square = Network(Fabric("torus", axes=2, wraps_from=16), 4.5e10, 9e10, 0.0, 1.0)
    assert_allclose(square.exchange(1e9, 16), 1e9 * 4 / 4 / 4.5e10)


def test_a_lonely_chip_of_a_second_node_binds_all() -> None:
    network = Network(Fabric("switch", 8), 4.5e11, 9e11, 0.0, 5e10)
    # 9 chips are 5 and 4: the four gather five ninths through four ports.
    assert_allclose(network.gather(9e9, 9), 5e9 / (4 * 5e10))


def test_one_sequence_is_on_one_of_the_chips_that_split_by_batch() -> None:
    """F3.8: needs as many sequences as chips that share a head."""
    one = exact(kv_sharding="batch", batch=1)
    copied = exact(kv_sharding="replicated", batch=1)
    assert_allclose(decode.step_time(one).kv_read, decode.step_time(copied).kv_read)
    three = decode.step_time(replace(one, batch=3)).kv_read
    assert_allclose(three, 2 * decode.step_time(one).kv_read)


def test_skew_lies_between_its_limits() -> None:
    model = models["deepseek-v3"]
    batch = np.array([1, 8, 64, 512, 4096])
    even, some, same = (model.experts_read(batch, skew) for skew in (0.0, 0.5, 1.0))
    assert_allclose(same, 8 / 256)
    assert (same <= some).all()
    assert (some <= even).all()
    assert_allclose([even[0], some[0]], 8 / 256)
    assert_allclose(even[-1], 1, rtol=1e-3)
    # F3.5.
    assert_allclose(256 * even[1:3], [57.4, 222.4], rtol=1e-3)


def test_kv_beyond_its_heads() -> None:
    """16 chips and 8 KV heads: copies double the read, a split does not but exchanges instead."""
    copied, batch, sequence = (
        decode.step_time(exact(kv_sharding=how, batch=256)) for how in KV_SHARDINGS
    )
    assert_allclose(copied.kv_read, 2 * batch.kv_read)
    assert_allclose(batch.kv_read, sequence.kv_read)
    assert "KV exchange" not in copied.work.transfers
    assert all("KV exchange" in step.work.transfers for step in (batch, sequence))


def test_pipeline_reads_each_stage_once_a_micro_batch() -> None:
    """F3.9: stages do not shorten a token's way, and each micro-batch reads weights."""
    flat = exact(chip="h100-sxm", n_chips=8, batch=8, hop_latency=0.0, tensor_parallel=8)
    deep = replace(flat, tensor_parallel=1, pipeline=8)
    one, eight = decode.step_time(flat), decode.step_time(deep)
    assert_allclose(eight.weight_read, 8 * one.weight_read)
    assert_allclose(
        decode.step_time(replace(deep, micro_batches=16)).weight_read, 16 * one.weight_read
    )
    assert_allclose(memory.weights(deep), memory.weights(flat))
    assert_allclose(layout.pipeline_utilisation(4, 8), 0.7272727)


NETWORKS = [
    # HTSYM part 3: a ring of 16 sends both ways, a line of 4 one way, two lines twice that.
    (Fabric("torus", axes=1, wraps_from=16), 16, 9e10, 8),
    (Fabric("torus", axes=1, wraps_from=16), 4, 4.5e10, 3),
    (Fabric("torus", axes=2, wraps_from=16), 16, 9e10, 6),
    (Fabric("torus", axes=2, wraps_from=16), 32, 9e10, 10),
    (Fabric("switch", 8), 8, 4.5e10, 3),
    (Fabric("mesh", 8), 8, 4.5e10, 1),
    (Fabric("mesh", 8), 2, 4.5e10 / 7, 1),
]


@pytest.mark.parametrize(("fabric", "group", "bandwidth", "hops"), NETWORKS)
def test_networks(fabric: Fabric, group: int, bandwidth: float, hops: int) -> None:
    network = Network(fabric, 4.5e10, 9e10, 1e-6, 1e9)
    path = network.path(group)
    assert_allclose((path.bandwidth, path.hops), (bandwidth, hops))
    large = 1e12
    assert_allclose(network.gather(large, group), large * (1 - 1 / group) / bandwidth)
    assert_allclose(network.gather(1, group), hops * 1e-6)
    assert network.reduce(large, group) == 2 * network.gather(large, group)
    assert network.gather(large, 1) == 0


def test_beyond_the_fast_links_the_network_binds() -> None:
    """Two nodes of 8 gather half of everything through 8 ports each."""
    network = Network(Fabric("switch", 8), 4.5e11, 9e11, 0.0, 1e10)
    assert_allclose(network.gather(8e9, 16), 4e9 / (8 * 1e10))
    assert network.gather(8e9, 16) > network.gather(8e9, 8)


@given(st.integers(1, 4096), st.integers(1, 3))
def test_torus_shapes_hold_all_chips(chips: int, axes: int) -> None:
    shape = torus_shape(chips, axes)
    assert math.prod(shape) == chips
    assert list(shape) == sorted(shape)


def test_an_unknown_link_leaves_the_rest_known() -> None:
    step = decode.step_time(exact(chip="inferentia2", model="llama-3-8b", n_chips=4))
    assert math.isnan(float(step.total))
    assert math.isnan(float(step.communication))
    assert step.busy > 0
    assert step.weight_read > 0
    alone = decode.step_time(exact(chip="inferentia2", model="llama-3-8b", n_chips=1))
    assert alone.total == alone.busy


BAD_LAYOUTS = [
    ({"tensor_parallel": 4}, "Tensor × data × pipeline is 4 × 1 × 1, not 16 chips; 16 × 1 × 1"),
    ({"attention_dp": 3}, "Tensor × data × pipeline is all × 3 × 1, not 16 chips; 16 × 1 × 1"),
    ({"expert_parallel": 5}, "Expert parallel 5 does not divide the 16 chips of a stage; 1 is"),
    ({"expert_parallel": 4}, "The model has no routed experts to spread."),
    (
        {"model": "deepseek-v3", "n_chips": 48, "attention_dp": 48, "expert_parallel": 16},
        "2,048 expert columns do not split 3 ways.",
    ),
    ({"n_chips": 6}, "64 query heads do not split 6 ways."),
    ({"n_chips": 256, "pipeline": 128}, "80 layers do not fill 128 stages."),
]


@pytest.mark.parametrize(("widths", "words"), BAD_LAYOUTS)
def test_bad_layouts_are_named_and_timed_anyway(widths: dict[str, Any], words: str) -> None:
    s = exact(**widths)
    assert any(problem.startswith(words) for problem in layout.problems(s))
    assert float(decode.step_time(s).total) > 0
    assert float(Layout.of(s).chips) == s.n_chips


def test_a_good_layout_has_no_problems() -> None:
    assert not layout.problems(exact())
    assert not layout.problems(exact(attention_dp=2, tensor_parallel=4, pipeline=2))


def test_windows_shrink_operators_too() -> None:
    gemma = models["gemma-3-27b"]
    assert any(isinstance(block.attention, SlidingWindow) for block in gemma.blocks)
    short, long = (
        decode.step_time(exact(model=gemma, n_chips=1, context=context)).kv_read
        for context in (1 << 17, 1 << 18)
    )
    assert long < 2 * short


def test_an_operator_has_no_time_without_its_rate() -> None:
    step = decode.step_time(exact(chip="t4", n_chips=1))
    assert math.isnan(float(step.total))
    assert step.kv_read > 0


def test_speculation_follows_the_fidelity() -> None:
    plain, verify = (decode.step_time(exact(n_chips=8), tokens=tokens).total for tokens in (1, 5))
    assert verify > plain


def test_stated_models_have_operators_too() -> None:
    step = decode.step_time(exact(model=Model.from_totals(30e9, 100e3), n_chips=16))
    assert step.total > 0
    assert {o.name for o in step.work.operators} == {"attention", "all weights"}


def test_chips_without_links_work_alone() -> None:
    for chip in chips:
        assert not math.isnan(float(decode.step_time(exact(chip=chip, n_chips=1)).communication))


@pytest.mark.parametrize("sharding", ["batch", "sequence"])
def test_heads_that_chips_cannot_share_evenly_are_shared_by_whole_chips(sharding: str) -> None:
    # Ten KV heads over sixteen chips: six heads have two chips, and wait for two.
    odd = scenario("phi-4", fidelity="operators", kv_sharding=sharding)
    exchanged = decode.step_time(odd).work.transfers["KV exchange"]
    assert 0 < exchanged < decode.step_time(odd).total < math.inf
    twenty = replace(odd, n_chips=20)
    assert exchanged == pytest.approx(
        float(decode.step_time(twenty).work.transfers["KV exchange"]), rel=0.3
    )
