"""Figures that must come out, each with where it is printed.

Sources: HTSYM = How To Scale Your Model (Austin et al. 2025); F3.1 and the like = docs/method.md,
whose formula gives the figure; CARD = the published checkpoint; OURS = arithmetic shown.
"""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scenarios import NOMINAL_70B, STATED_30B, scenario

from calc import Model, decode, memory, paging, roofline, variants
from calc.attention import GroupedQuery, Latent, SlidingWindow
from calc.feedforward import Dense, expected_distinct_experts
from calc.model import Block
from presets import chips, formats, models

# Total parameters, exact. All CARD, but Gemma 3 (text model) and GLM (no MTP): OURS from configs.
TOTAL_PARAMS = {
    "llama-2-7b": 6_738_415_616,
    "llama-2-13b": 13_015_864_320,
    "llama-2-70b": 68_976_648_192,
    "llama-3-8b": 8_030_261_248,
    "llama-3-70b": 70_553_706_496,
    "llama-3.1-405b": 405_853_388_800,
    "mistral-7b": 7_241_732_096,
    "mixtral-8x7b": 46_702_792_704,
    "mixtral-8x22b": 140_620_634_112,
    "qwen2.5-7b": 7_615_616_512,
    "qwen2.5-32b": 32_763_876_352,
    "qwen2.5-72b": 72_706_203_648,
    "qwen3-0.6b": 596_049_920,
    "qwen3-8b": 8_190_735_360,
    "qwen3-32b": 32_762_123_264,
    "qwen3-30b-a3b": 30_532_122_624,
    "qwen3-235b-a22b": 235_093_634_560,
    "gemma-2-9b": 9_241_705_984,
    "gemma-2-27b": 27_227_128_320,
    "gemma-3-1b": 999_885_952,
    "gemma-3-4b": 3_880_263_168,
    "gemma-3-27b": 27_009_346_304,
    "deepseek-v2-lite": 15_706_484_224,
    "deepseek-v2": 235_741_434_880,
    "deepseek-v3": 671_026_419_200,
    "kimi-k2": 1_026_408_232_448,
    "gpt-oss-20b": 20_914_757_184,
    "gpt-oss-120b": 116_829_156_672,
    "glm-4.5": 352_797_829_024,
    "glm-4.5-air": 106_852_251_264,
}


@pytest.mark.parametrize(("id", "total"), TOTAL_PARAMS.items())
def test_total_params_are_exact(id: str, total: int) -> None:
    assert models[id].total_params == total


# Active parameters as published, with the convention that matches (True: input embedding counted).
ACTIVE_PARAMS = [
    ("deepseek-v2-lite", 2.4e9, 0.025, False),
    ("deepseek-v2", 21e9, 0.025, False),
    ("deepseek-v3", 37e9, 0.025, False),
    ("gpt-oss-20b", 3.61e9, 0.002, False),
    ("gpt-oss-120b", 5.13e9, 0.002, False),
    ("kimi-k2", 32e9, 0.015, False),
    ("mixtral-8x7b", 12.9e9, 0.003, True),
    ("qwen3-30b-a3b", 3.3e9, 0.02, True),
    ("qwen3-235b-a22b", 22e9, 0.01, True),
]


@pytest.mark.parametrize(("id", "published", "tolerance", "embedding"), ACTIVE_PARAMS)
def test_active_params_match_the_cards(
    id: str, published: float, tolerance: float, embedding: bool
) -> None:
    model = models[id]
    active = model.active_params_with_embedding if embedding else model.active_params
    assert_allclose(active, published, rtol=tolerance)


KV_BYTES_PER_TOKEN = [
    ("llama-2-13b", "bf16", 819_200),  # HTSYM part 7
    ("llama-3-70b", "bf16", 327_680),  # F2.1
    ("llama-3-70b", "int8", 163_840),  # HTSYM part 8
    ("llama-3-8b", "bf16", 131_072),  # vLLM page 65,536 B for 16 tokens of one layer × 32
    ("deepseek-v3", "bf16", 70_272),  # F2.2
]


@pytest.mark.parametrize(("id", "kv", "expected"), KV_BYTES_PER_TOKEN)
def test_kv_bytes_per_token(id: str, kv: str, expected: int) -> None:
    assert models[id].kv_bytes_per_token(formats[kv]) == expected


# bf16 gigabytes per sequence at 8k, 32k and 128k (OURS, from layers × heads × tokens).
KV_GB_PER_SEQUENCE = {
    "llama-3-8b": (1.074, 4.295, 17.18),
    "llama-3-70b": (2.684, 10.74, 42.95),
    "llama-3.1-405b": (4.228, 16.91, 67.65),
    "qwen3-235b-a22b": (1.577, 6.308, 25.23),
    "glm-4.5": (3.087, 12.35, 49.39),
    "gpt-oss-120b": (0.307, 1.213, 4.837),
    "gemma-2-27b": (2.315, 6.946, 25.47),
    "gemma-3-27b": (1.107, 3.121, 11.17),
    "mistral-7b": (0.537, 0.537, 0.537),
    "deepseek-v3": (0.576, 2.303, 9.211),
    "kimi-k2": (0.576, 2.303, 9.211),
    "llama-4-scout": (1.611, 2.819, 7.650),
    "qwen3-next-80b-a3b": (0.201 + 0.0773, 0.805 + 0.0773, 3.221 + 0.0773),
}


@pytest.mark.parametrize(("id", "gigabytes"), KV_GB_PER_SEQUENCE.items())
def test_kv_per_sequence(id: str, gigabytes: tuple[float, float, float]) -> None:
    held = models[id].kv_bytes(np.array([8192, 32768, 131072]), formats["bf16"])
    assert_allclose(held / 1e9, gigabytes, rtol=2e-3)


def test_gpt_oss_holds_exactly_this_at_128k() -> None:
    # 18 full layers and 18 with a window of 128, 2,048 B a layer and token.
    assert models["gpt-oss-120b"].kv_bytes(131072, formats["bf16"]) == 4_836_556_800


# chip, weights, compute: HTSYM part 7 and F4.1; H200 and int4 OURS.
CRITICAL_BATCH = [
    ("tpu-v5e", "bf16", "bf16", 240),
    ("tpu-v5e", "int8", "bf16", 120),
    ("tpu-v5e", "int8", "int8", 240),
    ("tpu-v5e", "int4", "bf16", 60),
    ("h100-sxm", "bf16", "bf16", 295),
    ("h100-sxm", "int8", "bf16", 148),
    ("h100-sxm", "fp8", "fp8", 295),
    ("h200", "bf16", "bf16", 206),
    ("h100-sxm", "int4-g128", "bf16", 76),
]


@pytest.mark.parametrize(("chip", "w", "c", "expected"), CRITICAL_BATCH)
def test_critical_batch(chip: str, w: str, c: str, expected: float) -> None:
    found = roofline.critical_batch(chips[chip], formats[w], formats[c])
    assert_allclose(found, expected, rtol=3e-3)


def test_ridge_points() -> None:
    # OURS: 989e12 / 3.35e12 and twice that at fp8.
    assert_allclose(roofline.ridge_point(chips["h100-sxm"], formats["bf16"]), 295, rtol=2e-3)
    assert_allclose(roofline.ridge_point(chips["h100-sxm"], formats["fp8"]), 590.7, rtol=1e-3)


def step_ms(n_chips: int) -> float:
    return float(decode.step_time(scenario(n_chips=n_chips)).total) * 1e3


def test_default_step_time() -> None:
    # F3.1: about 8.6 ms on 16 chips, twice that on 8.
    assert 8.5 < step_ms(16) < 8.7
    assert_allclose(step_ms(8), 2 * step_ms(16))
    sixteen, eight = (decode.step_time(scenario(n_chips=n)) for n in (16, 8))
    assert_allclose(eight.throughput_per_chip, sixteen.throughput_per_chip, rtol=0.01)


def test_nominal_70b_on_8_chips() -> None:
    # HTSYM part 8: 113 GB in about 17 ms, 1,860 token/s, 230 a chip.
    step = decode.step_time(scenario(NOMINAL_70B, n_chips=8))
    assert_allclose(step.total, 17.2e-3, rtol=3e-3)
    assert_allclose(step.throughput, 1860, rtol=3e-3)
    assert_allclose(step.throughput_per_chip, 230, rtol=0.015)


def test_stated_30b() -> None:
    # HTSYM part 7: 2.5 ms at batch 4; 16 + 4.9 = 21 ms at batch 256.
    small, large = (decode.step_time(scenario(STATED_30B, batch=b)) for b in (4, 256))
    assert_allclose(small.total, 2.5e-3, rtol=0.02)
    assert_allclose(large.kv_read, 15.97e-3, rtol=2e-3)
    assert_allclose(large.linear_compute, 4.87e-3, rtol=2e-3)
    assert_allclose(large.total, 21e-3, rtol=0.01)
    assert_allclose(large.total / small.total, 8, rtol=0.06)


# HTSYM part 7, LLaMA-2-13B on 8 v5e with 26 GB of weights and
# 6.7 GB a sequence, which is 8,178 tokens.
THIRTEEN_B = Model.from_totals(13e9, 409_600)
LLAMA_2_13B = [(1, 4.98e-3), (8, 12.13e-3), (16, 20.3e-3), (32, 36.65e-3)]


@pytest.mark.parametrize(("batch", "seconds"), LLAMA_2_13B)
def test_llama_2_13b_steps(batch: int, seconds: float) -> None:
    found = decode.step_time(
        scenario(THIRTEEN_B, w="bf16", kv="bf16", n_chips=8, batch=batch, context=8178)
    )
    assert_allclose(found.total, seconds, rtol=2e-3)


def test_experts_read_against_all_of_them() -> None:
    # OURS from E(1-(1-k/E)^B): 18.3, 4.1, 1.55, 1.02 times fewer bytes than reading everything.
    model = models["deepseek-v3"]
    everything = model.total_params - model.embedding_params
    ratio = everything / model.params_read(np.array([1, 8, 32, 128]))
    assert_allclose(ratio, [18.3, 4.1, 1.55, 1.02], rtol=5e-3)


def test_expected_distinct_experts() -> None:
    hit = expected_distinct_experts(256, 8, np.array([1, 8, 32, 64, 128]))
    assert_allclose(hit, [8, 57.4, 163.3, 222.4, 251.6], rtol=1e-3)
    assert_allclose(
        expected_distinct_experts(128, 4, np.array([32, 128])), [81.7, 125.8], rtol=1e-3
    )


def test_experts_put_off_the_compute_bound_batch() -> None:
    # OURS, once all experts are read: the critical batch × P_read / P_active, 18.3 for DeepSeek-V3.
    s = scenario("deepseek-v3", w="bf16", kv="bf16")
    dense = roofline.critical_batch(s.chip, s.stored, s.compute_format)
    assert_allclose(roofline.compute_bound_batch(s) / dense, 18.3, rtol=2e-3)
    assert_allclose(roofline.compute_bound_batch(scenario()), 120.1, rtol=1e-3)


# F6.2, 70e9 parameters at 8k: 43 sequences on the smallest slice, 138 on twice as many chips.
FIT = [("bf16", "bf16", 16), ("int8", "int8", 8), ("int4", "int4", 4)]


@pytest.mark.parametrize(("w", "kv", "n_chips"), FIT)
def test_sequences_that_fit(w: str, kv: str, n_chips: int) -> None:
    smallest = scenario(NOMINAL_70B, w=w, kv=kv, n_chips=n_chips, memory=16e9)
    doubled = scenario(NOMINAL_70B, w=w, kv=kv, n_chips=2 * n_chips, memory=16e9)
    assert memory.max_batch(smallest) == 43
    assert memory.max_batch(doubled) == 138


def test_memory_of_the_worked_example() -> None:
    # HTSYM part 8: 43 GB of cache, 113 GB with the weights, at least 8 chips; 85 for 240 × 32k.
    s = scenario(NOMINAL_70B)
    assert_allclose(memory.kv_cache(s), 43e9, rtol=2e-3)
    assert_allclose(memory.weights(s) + memory.kv_cache(s), 113e9, rtol=1e-3)
    assert memory.min_chips(s) == 8
    large = scenario(NOMINAL_70B, batch=240, context=32768, memory=16e9)
    assert_allclose(memory.chips_needed(large), 85, rtol=3e-3)


def test_reading_all_memory_takes_19_5_ms() -> None:
    # HTSYM part 8: a full v5e chip is read in 16 GB / 8.2e11 B/s.
    s = scenario(NOMINAL_70B, n_chips=8, batch=43)
    assert_allclose(decode.step_time(s).total, 19.5e-3, rtol=0.01)


def test_two_k_context_saturates_at_a_token_per_ms_and_chip() -> None:
    # F3.1: about 1 token/ms per chip at batch 120 and 2k context.
    s = scenario(NOMINAL_70B, context=2048)
    at = decode.frontier(s, np.array([1, 120]))
    assert_allclose(at.throughput_per_chip[1] / 1e3, 0.8, atol=0.25)
    assert_allclose(at.latency[0], 5.4e-3, rtol=0.02)


def books_18b(kv_heads: int) -> Model:
    """The 18.4e9-parameter model of HTSYM part 7, question 1 (tied embedding)."""
    stack = Block(64, GroupedQuery(32, kv_heads, 256), Dense(16384))
    return Model("q1", "Question 1", 4096, 32128, True, (stack,))


def test_question_model_of_the_book() -> None:
    model = books_18b(8)
    assert_allclose(model.total_params, 18.4e9, rtol=3e-3)
    assert model.kv_bytes_per_token(formats["int8"]) == 262_144
    s = scenario(model, context=128_000, memory=16e9)
    assert memory.max_batch(s) == 7
    fewer = scenario(books_18b(1), context=128_000, memory=16e9)
    assert abs(int(memory.max_batch(fewer)) - 56) <= 3  # the book keeps 18.4e9 parameters


def test_latent_cache_against_grouped_queries_and_many_heads() -> None:
    # F2.2: 576 elements, as 2.25 groups of 128; 128 heads of 192 + 128 would be 71 times that.
    layout = variants.head_layout(models["deepseek-v3"])
    assert isinstance(layout, Latent)
    assert layout.kv_elements == 576 == 2.25 * 2 * 128
    many = variants.of_heads(layout)["MHA"]
    assert many.kv_elements == 40_960
    assert_allclose(many.kv_elements / layout.kv_elements, 71, rtol=3e-3)


def test_deepseek_v2_against_67b_at_equal_precision() -> None:
    # OURS: 60 × 576 against 95 × 2 × 8 × 128 elements. The paper's 93.3 % also changes precision.
    v2, old = (
        models[id].kv_bytes_per_token(formats["bf16"]) for id in ("deepseek-v2", "deepseek-67b")
    )
    assert_allclose(1 - v2 / old, 0.8224, rtol=1e-3)


def test_grouping_saves_eight_fold_on_llama_3_70b() -> None:
    compared = variants.compare(models["llama-3-70b"])
    sizes = {name: model.kv_bytes_per_token(formats["bf16"]) for name, model in compared.items()}
    assert sizes["MHA"] == 8 * sizes["as published"] == 8 * sizes["GQA, 8 KV heads"]
    assert sizes["MQA"] * 8 == sizes["as published"]


def test_attention_intensity() -> None:
    # FlashMLA: 241.8 FLOP/B at 128 heads in bf16, 424.6 with the 656-byte cache; GQA has its group.
    v3, kimi = models["deepseek-v3"], models["kimi-k2"]
    assert_allclose(v3.attention_intensity(8192, formats["bf16"]), 241.78, rtol=1e-4)
    assert_allclose(v3.attention_intensity(8192, formats["fp8-mla"]), 424.6, rtol=1e-3)
    assert_allclose(kimi.attention_intensity(8192, formats["bf16"]), 120.9, rtol=1e-3)
    assert_allclose(models["llama-3-70b"].attention_intensity(8192, formats["bf16"]), 8)
    ridge = roofline.ridge_point(chips["tpu-v5e"], formats["bf16"])
    assert_allclose(v3.attention_intensity(8192, formats["bf16"]) / ridge, 1.006, rtol=2e-3)


def test_cache_formats_count_their_scales() -> None:
    # vLLM: 656-byte latent; 2 × 8 heads × 4 B beside 2,048 B; FlashMLA: 512 + 4 × 4 + 64 × 2.
    layout = variants.head_layout(models["deepseek-v3"])
    assert layout is not None
    assert layout.kv_bytes_per_token(formats["fp8-mla"]) == 656
    grouped = GroupedQuery(32, 8, 128)
    assert 16 * grouped.kv_bytes_per_token(formats["bf16"]) == 65_536
    assert 16 * grouped.kv_bytes_per_token(formats["int8-head"]) == 33_792
    assert grouped.kv_bytes_per_token(formats["nvfp4"]) == 8 * 256 * 4.5 / 8


def test_paging() -> None:
    # PagedAttention and vLLM: 98.5 % at block 16 and 500 tokens; 4.9 % for 200 of 4,096 reserved.
    assert_allclose(paging.paged_utilisation(500, 16), 0.985, rtol=1e-3)
    assert_allclose(paging.contiguous_utilisation(200, 4096), 0.0488, rtol=1e-3)
    assert paging.expected_waste(16) == 7.5
    assert paging.window_blocks(128, 131072, 8192, 16) == 521
    assert paging.page_groups(models["gemma-3-27b"]) == (7, 10)


def test_sharing_shrinks_what_is_kept_not_what_is_read() -> None:
    shape = variants.stacked(models["llama-3-70b"], GroupedQuery(64, 8, 128), sharing=2)
    whole = models["llama-3-70b"]
    assert shape.kv_bytes(8192, formats["bf16"]) == whole.kv_bytes(8192, formats["bf16"]) / 2
    assert shape.kv_bytes_read(8192, formats["bf16"]) == whole.kv_bytes_read(8192, formats["bf16"])


def test_prompt_attention() -> None:
    # OURS: causal pairs T(T+1)/2; a window of w sees wT - w(w-1)/2 pairs.
    full = GroupedQuery(64, 8, 128)
    pairs = full.prefill_flops(8192) / full.flops_per_cached_token
    assert pairs == 8192 * 8193 / 2
    seen = SlidingWindow(full, 1024).prefill_flops(8192) / full.flops_per_cached_token
    assert seen == 1024 * 8192 - 1024 * 1023 / 2
    # Attention over linear FLOPs of a causal 8k prompt on Llama 3 70B: 7.7 %.
    model = models["llama-3-70b"]
    linear = 2 * 8192 * 70e9
    assert_allclose(model.prefill_attention_flops(8192) / linear, 0.0767, rtol=2e-3)


def test_cache_read_equals_weight_read() -> None:
    # OURS: 69.5 GB over 1.342 GB.
    assert_allclose(decode.kv_equals_weights_batch(scenario()), 51.8, rtol=1e-3)
