"""Prefill and sharding: figures that must come out, limits, bad widths."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scenarios import NOMINAL_70B, scenario
from strategies import scenarios

from calc import (
    Scenario,
    attention,
    candidates,
    decode,
    layout,
    memory,
    prefill,
    roofline,
    sharding,
)
from calc.attention import GroupedQuery
from calc.feedforward import Dense
from calc.layout import Layout
from calc.model import Block, Model
from calc.operators import Chunk
from calc.scenario import FIDELITIES
from presets import chips, models


def test_prompt_of_the_ledger() -> None:
    """HTSYM part 8: 8,192 tokens of 70e9 nominal on 16 v5e at 40 %: 0.91 s; 0.98 with attention."""
    linear = float(prefill.prompt_time(scenario(NOMINAL_70B)).total)
    assert_allclose(linear, 0.91, rtol=1e-3)
    scores = models["llama-3-70b"].prefill_attention_flops(8192) / (16 * 1.97e14 * 0.4)
    assert_allclose(linear + scores, 0.98, rtol=1e-3)
    assert_allclose(scores / linear, 0.0767, rtol=2e-3)  # derived_l3_prefill_attn


def test_flops_of_a_layer() -> None:
    """F5.1: 4 T d² + 3 T d F + 2 T² d multiply-adds."""
    d, width, tokens = 8192, 28672, 8192
    block = Block(1, GroupedQuery(64, 64, 128), Dense(width))
    [layer] = prefill.layer_flops(Model("m", "m", d, 1, True, (block,)), tokens)
    macs = (layer.projections + layer.feedforward + layer.unmasked) / 2
    assert_allclose(macs, 9_070_970_929_152)
    assert_allclose(layer.attention / layer.unmasked, 0.5, rtol=1e-3)
    assert layer.as_multi_head == layer.projections


def test_grouped_queries_shrink_projections_only() -> None:
    [layer] = prefill.layer_flops(models["llama-3-70b"], 8192)
    assert layer.as_multi_head > layer.projections
    [many] = prefill.layer_flops(
        replace(
            models["llama-3-70b"],
            blocks=(Block(80, GroupedQuery(64, 64, 128), Dense(28672)),),
        ),
        8192,
    )
    assert many.attention == layer.attention


def test_absorbed_attention_costs_more_in_a_prompt() -> None:
    """F5.1: (576 + 512) / (192 + 128) = 3.4."""
    for layer in prefill.layer_flops(models["deepseek-v3"], 4096):
        assert_allclose(layer.absorbed / layer.attention, 3.4)


@pytest.mark.parametrize("tokens", [1, 500, 4096, 100_000])
@pytest.mark.parametrize("model", models)
def test_without_a_mask_there_are_no_fewer_pairs(model: str, tokens: int) -> None:
    for layer in prefill.layer_flops(models[model], tokens):
        assert layer.unmasked >= layer.attention * (1 - 1e-12)


def test_an_indexer_scores_pairs_alike_in_every_form() -> None:
    """DeepSeek-V3.2 by hand: 64 heads of 128 score all pairs, 2,048 tokens are attended to."""
    n, near = 8192, 2048
    seen = near * (near + 1) / 2 + (n - near) * near
    index, index_every = (2 * 64 * 128 * pairs for pairs in (n * (n + 1) / 2, n * n))
    written, absorbed = 2 * 128 * (128 + 64 + 128), 2 * 128 * (2 * 512 + 64)
    for layer in prefill.layer_flops(models["deepseek-v3.2"], n):
        assert_allclose(layer.attention, seen * written + index)
        assert_allclose(layer.unmasked, n * near * written + index_every)
        assert_allclose(layer.absorbed, seen * absorbed + index)


# F3.4: context where attention takes as many FLOPs as all weights, in decoding.
@pytest.mark.parametrize(
    ("model", "tokens"),
    [("deepseek-v3", 4311), ("llama-3-70b", 53027), ("llama-3-8b", 28.63e3),
     ("llama-3.1-405b", 97.8e3)],
)  # fmt: skip
def test_attention_overtakes(model: str, tokens: float) -> None:
    assert_allclose(prefill.decode_attention_overtakes(models[model]), tokens, rtol=1e-3)


def test_training_flops_of_deepseek_v3() -> None:
    """DeepSeek-V3 report, ds_v3_train_gflops: 250 GFLOP a token at 4k, three times forward."""
    model = models["deepseek-v3"]
    forward = 2 * model.active_params + float(model.prefill_attention_flops(4096)) / 4096
    assert_allclose(3 * forward / 1e9, 250, rtol=5e-3)


def test_servers() -> None:
    """F8.8: 3 : 1 at batch 32 with the step of batch 43, 4 : 1 at 43."""
    assert_allclose(prefill.servers_ratio(0.91, 32, 0.019, 512), 2.993, rtol=1e-3)
    assert_allclose(prefill.servers_ratio(0.91, 43, 0.019, 512), 4.02, rtol=1e-3)


def test_free_tokens_and_chunks() -> None:
    """F5.3: 295 − 64 = 231 on H100 in bf16; 61,440 read again."""
    s = scenario(chip="h100-sxm", w="bf16", kv="bf16", n_chips=8, batch=64, mfu=1.0)
    assert math.floor(prefill.free_tokens(s)) == 231
    assert prefill.reread_tokens(8192, 512) == 61_440 == 7.5 * 8192
    assert prefill.free_tokens(replace(s, batch=1000)) == 0
    # At a lower MFU a token's FLOPs take longer, and fewer hide.
    assert_allclose(prefill.free_tokens(replace(s, mfu=0.4)), 0.4 * prefill.free_tokens(s))


def test_transfer() -> None:
    """F8.9: 2.68 GB at 50 GB/s is 54 ms."""
    s = scenario(kv="bf16")
    assert_allclose(prefill.transfer_time(s), 0.0537, rtol=1e-3)
    assert_allclose(prefill.transfer_time(s, 16), 0.0537 / 16, rtol=1e-3)
    assert prefill.exposed_transfer(s, 1.0) == 0
    assert_allclose(prefill.exposed_transfer(s, 0.01), 0.0537 - 0.01 * 79 / 80, rtol=1e-3)


@given(scenarios() | scenarios(operators=True), st.integers(1, 4096))
def test_chunks(s: Scenario, wanted: int) -> None:
    s = replace(s, tpot_target=wanted * 1e-3)
    assume(not math.isnan(float(decode.step_time(s).total)))
    largest = prefill.largest_chunk(s)
    assert 0 <= largest <= s.prompt
    total = prefill.chunked_step(s, [largest, largest + 1]).total
    if largest:
        assert total[0] <= s.tpot_target
    if not 0 < largest < s.prompt:
        return
    assert total[1] > s.tpot_target


@given(scenarios() | scenarios(operators=True))
def test_a_chunk_of_nothing_is_a_decode_step(s: Scenario) -> None:
    assert_allclose(prefill.chunked_step(s, 0).total, decode.step_time(s).total)


@given(scenarios() | scenarios(operators=True))
def test_prompts_take_longer_the_longer_and_less_the_more_is_cached(s: Scenario) -> None:
    length = np.array([1, 10, 1000, 100_000])
    assume(not math.isnan(float(prefill.prompt_time(s).total)))
    assert (np.diff(prefill.prompt_time(s, length, 0).total) >= 0).all()
    known = prefill.block_hit(s, np.array([0, s.prompt // 2, s.prompt - 1]))
    assert (np.diff(prefill.prompt_time(s, known=known).total) <= 0).all()
    assert (known % s.kv_block == 0).all()
    assert (known < s.prompt).all()


@given(scenarios() | scenarios(operators=True))
def test_chunks_cover_the_attention_of_a_prompt(s: Scenario) -> None:
    whole = float(s.model.prefill_attention_flops(s.prompt))
    cut = np.linspace(0, s.prompt, 5).round()
    parts = np.diff(s.model.prefill_attention_flops(cut))
    assert_allclose(parts.sum(), whole)


def test_long_prompts_in_small_chunks_are_sampled_not_enumerated() -> None:
    s = scenario(prompt=4_000_000, chunk=1)
    read = prefill.chunked(s)
    assert read.steps == 4_000_000
    some = prefill.chunked(replace(s, chunk=4_000_000 // prefill.MOST_CHUNKS + 1))
    assert read.time > some.time > 0


def test_one_product_on_4_by_8() -> None:
    """F11.1: Llama-3-70B, batch 64, bf16: 11.65, 17.9 and 4.77 µs."""
    one = sharding.matmul(scenario(w="bf16", n_chips=32, batch=64))
    assert_allclose(1e6 * one.link, 11.65, rtol=1e-3)
    assert_allclose(1e6 * one.hbm, 17.90, rtol=1e-3)
    assert_allclose(1e6 * one.math, 4.77, rtol=1e-3)


def test_a_layer_is_the_sum_of_its_products() -> None:
    """Llama-3-70B: (2 · 64 + 2 · 8) · 128 · 8192 of attention and three of 8192 × 28672 an MLP."""
    s = scenario(fidelity="operators")
    layer = sharding.layer(s, decode.step_time(s))
    params = 144 * 128 * 8192 + 3 * 8192 * 28672 + 2 * 8192
    assert_allclose(layer.hbm, params / (16 * 8.2e11))
    assert_allclose(layer.math, 2 * 32 * params / (16 * 1.97e14))
    assert_allclose(layer.link, 24e-6)


def test_limits() -> None:
    """F11.2, F5.4: 64 and 56 ways; 26 on two rings, 13 on two lines."""
    assert sharding.hbm_limit(16384, 32, 8) == 64
    assert sharding.hbm_limit(28672, 64, 8) == 56
    found = {limit.label: limit for limit in sharding.limits(scenario(w="bf16", batch=64))}
    assert_allclose(found["2 axes, wraparound"].compute, 26.2, rtol=1e-3)
    assert_allclose(found["2 axes, no wraparound"].compute, 13.1, rtol=2e-3)
    # With 9.11 for the ratio of bandwidths, 49.
    assert_allclose(found["1 axis, wraparound"].hbm, 49.17, rtol=1e-3)
    assert sharding.current_limits(scenario(n_chips=1)).hbm == math.inf


def test_messages() -> None:
    """F11.3: latency-bound below 360 kB on 8 v5e; 16 × 8192 in int8 is 131 kB."""
    s = scenario(n_chips=8, batch=16, c="int8")
    assert_allclose(sharding.latency_bound_below(8, s.chip.link_one_way, s.hop_latency), 360e3)
    # On 2 × 4 the longest way is 4 hops and two links come in: 4 µs · 90 GB/s · 8 / 7.
    assert_allclose(sharding.waits_below(s), 411.4e3, rtol=1e-3)
    assert sharding.message(s) == 131_072


def test_two_axes() -> None:
    """F11.4: beyond 72 chips at F = 4 D, beyond 16 where each message has all links."""
    assert sharding.two_axis_crossover(1024, 4096) == 72
    assert sharding.two_axis_crossover(1024, 4096, uniform=True) == 16
    one, both = sharding.split_times(scenario(), np.array([62.0, 63.0, 64.0]))
    # 18 · 28672 / 8192 = 63.
    assert both[0] > one[0]
    assert_allclose(both[1], one[1])
    assert both[2] < one[2]


def test_legal_widths() -> None:
    found = sharding.legal_widths(scenario(w="int4-g128", n_chips=48))
    assert found[32] == []
    assert "64 query heads do not split 48 ways." in found[48]
    assert any(fault.startswith("Groups of 128") for fault in found[48])
    assert sharding.legal_widths(scenario("gpt-oss-120b", n_chips=128))[128]


def test_products_of_experts_read_all_that_are_hit() -> None:
    """81.7 of 128 experts of gpt-oss-120b at batch 32, of which a token passes 4 (F3.5)."""
    s = scenario("gpt-oss-120b", w="bf16")
    assert sharding.mlp_columns(s.model) == 4 * 2880
    assert_allclose(sharding.columns_read(s), 81.7 * 2880, rtol=1e-3)
    dense = scenario()
    assert sharding.columns_read(dense) == sharding.mlp_columns(dense.model) == 28672


def test_products_are_of_the_group() -> None:
    """Four groups of four chips: each multiplies a quarter of the batch."""
    one = sharding.matmul(scenario(fidelity="operators", attention_dp=4))
    all_ = sharding.matmul(scenario(), 4)
    assert_allclose(one.math, all_.math / 4)
    assert_allclose(one.link, all_.link / 4)


def test_groups_read_prompts_at_the_same_time() -> None:
    s = scenario(fidelity="operators", attention_dp=2, pipeline=2)
    assert prefill.concurrency(s) == 4
    assert_allclose(prefill.prompt_rate(s, 2.0), 2.0)
    assert prefill.concurrency(scenario(attention_dp=2)) == 1


def test_micro_batches_do_not_divide_a_prompt() -> None:
    s = scenario(fidelity="operators", pipeline=4)
    assert_allclose(
        prefill.prompt_time(replace(s, micro_batches=8)).total, prefill.prompt_time(s).total
    )


def test_chunks_are_no_faster_than_the_whole_prompt() -> None:
    for fidelity in FIDELITIES:
        s = scenario(fidelity=fidelity)
        whole = float(prefill.prompt_time(s).total)
        assert prefill.chunked(replace(s, chunk=8192)).time > whole
        assert prefill.chunked(s).time > whole


def test_unknown_stays_unknown() -> None:
    s = scenario(chip="t4")
    assert math.isnan(prefill.free_tokens(s))
    assert math.isnan(prefill.largest_chunk(s))


def test_ledger_of_a_chip() -> None:
    held = sharding.per_chip(scenario())
    assert held.weight_copies == 0
    assert_allclose(held.kv_cache, 2 * 32 * 8192 * 163_840 / 16)
    assert_allclose(held.kv_copies, held.kv_cache / 2)
    groups = sharding.per_chip(
        scenario("deepseek-v3", "h200", n_chips=16, attention_dp=16, expert_parallel=16)
    )
    v3 = models["deepseek-v3"]
    assert_allclose(groups.expert_weights, v3.held_routed / 16)
    assert_allclose(groups.weight_copies, (v3.held_params - v3.held_routed) * 15 / 16)


def test_layouts_are_legal_and_the_best_is_the_fastest_that_fits() -> None:
    s = scenario("deepseek-v3", "h200", w="fp8", c="fp8", kv="bf16", n_chips=32, batch=256)
    rows = candidates.layouts(s)
    assert all(row.tp * row.dp * row.pp == 32 for row in rows)
    assert not any(layout.illegal(s.model, row.tp, row.dp, row.ep, row.pp) for row in rows)
    [best] = [row for row in rows if row.best]
    assert best == rows[0]
    assert best.total == min(row.total for row in rows if row.fits)
    for row in rows[:5]:
        one = replace(
            s, fidelity="operators", tensor_parallel=row.tp, attention_dp=row.dp,
            expert_parallel=row.ep, pipeline=row.pp, kv_sharding=row.kv_sharding,
        )  # fmt: skip
        assert_allclose(decode.step_time(one).total, row.total)
        assert batch_fits(one) == row.fits


def batch_fits(s: Scenario) -> bool:
    """Whether the batch fits by the memory module."""
    return s.batch <= int(memory.max_batch(s))


@pytest.mark.parametrize("chip", chips)
@pytest.mark.parametrize("n_chips", [1, 3, 8, 4096])
def test_sharding_says_something_for_every_chip(chip: str, n_chips: int) -> None:
    s = scenario(chip=chip, n_chips=n_chips)
    assert candidates.layouts(s) or n_chips in (3, 4096)
    assert sharding.limits(s)
    assert sharding.legal_widths(s)
    assert float(Layout.of(s).chips) == n_chips


def test_the_critical_batch_of_a_prompt_is_that_of_decoding() -> None:
    s = scenario(prompt=1)
    assert roofline.compute_bound_batch(s) == pytest.approx(120.12, rel=1e-3)
    step = prefill.prompt_time(replace(s, mfu=1.0), 1, 0)
    assert_allclose(step.total, decode.step_time(s, batch=1, context=1).total, rtol=1e-3)


def test_no_attention_no_share() -> None:
    assert prefill.attention_share(scenario(NOMINAL_70B)) == 0
    assert prefill.attention_overtakes(NOMINAL_70B) == math.inf
    assert attention.NO_ATTENTION.prefill_flops(100) == 0


@pytest.mark.parametrize("fidelity", ["bound", "operators"])
def test_the_mean_chunk_is_the_mean_of_the_chunks_of_a_prompt(fidelity: str) -> None:
    """By F5.3; for attention without windows it is exact, and one call times many layouts."""
    s = scenario(fidelity=fidelity, prompt=4096)
    each = prefill.chunked_step(s, 512, np.arange(0, 4096, 512)).total
    mean = prefill.mixed_step(s, Chunk.mean(np.array(512.0), 4096))
    assert float(mean.total) == pytest.approx(float(each.mean()), rel=1e-3)
    many = prefill.mixed_step(
        s, Chunk.mean(np.array([256.0, 512.0]), 4096), [[8.0], [32.0]], s.context,
        Layout.of_widths(np.array([[[8]], [[16]]])),
    )  # fmt: skip
    assert many.total.shape == (2, 2, 2)
    assert many.total[1, 1, 1] == pytest.approx(float(mean.total), rel=1e-12)
