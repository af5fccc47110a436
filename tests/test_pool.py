"""An engine's pool of pages against start-up lines of real engines."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scenarios import scenario
from strategies import ANY

from calc import Block, Model, NumberFormat, Scenario, attention, feedforward, memory, paging, pool
from calc.checkpoint import EMBEDDING, HEAD, ROUTED, Checkpoint
from presets import chips, formats, models

GIB = 2.0**30
BF16 = formats["bf16"]


@dataclass(frozen=True)
class Run:
    """One start-up of vLLM 0.19 on H100s; sizes in GiB per chip, of requests of 8,192 tokens."""

    name: str
    model: str
    weights: float
    activations: float
    beside: float
    cache: float
    tokens: int
    concurrency: float
    stored: str = "bf16"
    kv: str = "bf16"
    tp: int = 1
    pp: int = 1
    share: float = 0.95

    @property
    def checkpoint(self) -> NumberFormat | Checkpoint:
        """FP8-dynamic and w4a16 leave head and embedding, gpt-oss all but its experts in bf16."""
        narrow = formats[self.stored]
        if self.stored == "mxfp4":
            return Checkpoint.of_parts(BF16, {ROUTED: narrow})
        if self.stored in ("fp8", "int4-g128"):
            return Checkpoint.of_parts(narrow, {HEAD: BF16, EMBEDDING: BF16})
        return narrow

    @property
    def scenario(self) -> Scenario:
        """With the engine's own memory as the log has it."""
        return replace(
            scenario(
                self.model,
                "h100-sxm",
                kv=self.kv,
                c="fp32" if self.stored == "fp32" else "bf16",
                n_chips=self.tp * self.pp,
                batch=1,
                usable_memory=self.share,
                pipeline=self.pp,
                runtime_memory=(self.activations + self.beside) * GIB,
            ),
            weight_format=self.checkpoint,
        )


# Memory logs of the llm-d planner, issues 194 and 205, vLLM 0.19, token budget 8192, blocks of 16.
# fmt: off
RUNS = (
    Run("DSV2-Lite", "deepseek-v2-lite", 29.43, 1.93, 0.26, 43.61, 1505552, 183.78),
    Run("L3.3-70B fp8", "llama-3.3-70b", 33.88, 1.96, 2.1, 37.28, 244304, 29.82, "fp8", tp=2),
    Run("gemma-2-27b", "gemma-2-27b", 50.72, 3.66, 0.26, 20.59, 58672, 7.16),
    Run("gemma-3-27b", "gemma-3-27b", 51.45, 3.99, 0.26, 19.53, 36560, 4.46),
    Run("gemma-3-4b", "gemma-3-4b", 8.58, 3.89, 0.25, 62.51, 468144, 57.05),
    Run("L3.1-8B", "llama-3.1-8b", 14.99, 1.89, 0.25, 58.11, 476016, 58.11),
    Run("L3.1-8B fp8", "llama-3.1-8b", 8.49, 1.89, 0.25, 64.61, 529248, 64.61, "fp8"),
    Run("L3.1-8B fp32", "llama-3.1-8b", 29.98, 2.21, 0.25, 42.8, 175296, 21.4, "fp32", "fp32"),
    Run("L3.1-8B w4a16", "llama-3.1-8b", 5.38, 1.89, 0.25, 67.71, 554704, 67.71, "int4-g128"),
    Run("L3.1-8B pp2", "llama-3.1-8b", 7.51, 2.01, 0.07, 66.54, 1075312, 131.26, pp=2),
    Run("L3.1-8B tp2", "llama-3.1-8b", 7.51, 1.89, 2.07, 63.76, 1044688, 127.53, tp=2),
    Run("L3.1-8B tp4", "llama-3.1-8b", 3.77, 1.89, 2.13, 67.44, 2209792, 269.75, tp=4),
    Run("L4 Scout", "llama-4-scout", 53.12, 3.19, 2.17, 16.75, 365968, 44.68, tp=4),
    Run("phi-4", "phi-4", 27.39, 1.52, 0.25, 46.08, 241568, 29.49),
    Run("qwen2.5-72b", "qwen2.5-72b", 67.8, 2.29, 2.09, 3.04, 19920, 2.43, tp=2),
    Run("qwen2.5-7b", "qwen2.5-7b", 14.25, 2.21, 0.24, 58.53, 1096000, 133.79),
    Run("qwen2.5-7b tp2", "qwen2.5-7b", 7.12, 2.21, 2.06, 63.84, 2390592, 291.82, tp=2),
    Run("qwen2.5-7b kv fp8", "qwen2.5-7b", 14.25, 2.21, 0.24, 58.53, 2192000, 267.58, kv="fp8"),
    Run("gpt-oss-20b", "gpt-oss-20b", 7.01, 2.87, 2.07, 59.32, 2591776, 316.07, "mxfp4", tp=2,
        share=0.9),
    Run("qwen3-8b", "qwen3-8b", 15.27, 2.21, 0.25, 57.5, 418688, 51.11),
)
# fmt: on
each_run = pytest.mark.parametrize("run", RUNS, ids=lambda run: run.name)


@each_run
def test_with_the_weights_of_the_log_the_pool_is_the_logs(run: Run) -> None:
    ours = pool.of(run.scenario, 8192)
    ours = replace(ours, cache=ours.budget - ours.own - run.weights * GIB)
    # The second stage of a pipeline prints another cache than the first, which sets the pool.
    if run.pp == 1:
        assert ours.cache / GIB == pytest.approx(run.cache, rel=0.01)
        assert ours.tokens == pytest.approx(run.tokens, rel=0.005)
    assert ours.concurrency == pytest.approx(run.concurrency, rel=0.005)


@each_run
def test_what_is_counted_is_what_the_log_loads(run: Run) -> None:
    """Weights, rotary tables and padding; of Scout a tower is missing, 1.6 GiB over four chips."""
    ours = pool.of(run.scenario, 8192)
    counted = (ours.weights + ours.loaded) / GIB
    assert counted == pytest.approx(run.weights, rel=0.01)
    assert run.weights - counted == pytest.approx(0.44 if run.name == "L4 Scout" else 0, abs=0.16)


def test_cache_and_concurrency_follow_but_where_little_memory_is_left() -> None:
    def beyond(figure: Callable[[Run, pool.Pool], float]) -> dict[str, float]:
        off = {run.name: figure(run, pool.of(run.scenario, 8192)) - 1 for run in RUNS}
        return {name: round(100 * one, 1) for name, one in off.items() if abs(one) > 0.015}

    # 0.06 GiB of weights of a cache of 3, and Scout's tower of 16.8.
    little = {"L4 Scout": 2.6, "qwen2.5-72b": 2.2}
    assert beyond(lambda run, ours: ours.concurrency / run.concurrency) == little
    assert beyond(lambda run, ours: ours.cache / GIB / run.cache) == little


def test_one_h100_loads_gpt_oss_120b_as_its_engine_says() -> None:
    s = scenario("gpt-oss-120b", "h100-sxm", n_chips=1)
    ours = pool.of(replace(s, weight_format=None), 8192)
    assert ours.weights / GIB == pytest.approx(60.8, abs=0.1)
    assert (ours.weights + ours.loaded) / GIB == pytest.approx(65.97, rel=0.002)


@each_run
def test_the_estimate_of_own_memory_holds_its_spread(run: Run) -> None:
    low, high = pool.SPREAD
    taken = (run.activations + run.beside) * GIB
    assert low <= taken / pool.own_memory(run.scenario).total <= high


@pytest.mark.parametrize(
    ("id", "promised", "steady"),
    [("gemma-3-27b", 4.46, 20.05), ("gemma-3-4b", 57.05, 236.9), ("gemma-2-27b", 7.16, 9.55),
     ("gpt-oss-20b", 316.07, 642)],
)  # fmt: skip
def test_windows_set_the_engine_and_steady_decoding_apart(
    id: str, promised: float, steady: float
) -> None:
    run = next(run for run in RUNS if run.model == id)
    s = run.scenario
    of_log = replace(pool.of(s, 8192), cache=run.cache * GIB)
    assert of_log.concurrency == pytest.approx(promised, rel=0.005)
    # The published pair leaves tower and tables out, and takes gpt-oss for MXFP4 throughout.
    whole = formats[run.stored]
    bare = pool.of(replace(s, model=replace(s.model, resident=()), weight_format=whole), 8192)
    bare = replace(bare, cache=bare.cache + bare.loaded)
    assert bare.steady == pytest.approx(steady, rel=0.01)


def test_two_h100_hold_qwen_72b_as_its_engine_says() -> None:
    s = replace(
        scenario("qwen2.5-72b", "h100-sxm", w="bf16", kv="bf16", n_chips=2, batch=2),
        usable_memory=0.95, runtime_memory=4.7e9, fidelity="operators",
    )  # fmt: skip
    assert memory.min_chips(s) == 2
    assert pool.of(s, 8192).concurrency == pytest.approx(2.43, rel=0.035)


def test_one_rtx_3090_holds_llama_3_8b_as_its_engine_says() -> None:
    # vllm issue 10517: of 23.58 GiB × 0.9, weights 14.99, peak 17.06 GiB, cache 3.81: 1,952 blocks.
    own = 23.58 * 0.9 - 14.9888 - 3.81
    s = scenario(
        "llama-3-8b", "rtx-3090", w="bf16", kv="bf16", n_chips=1, batch=1,
        usable_memory=0.9, runtime_memory=own * GIB, memory=23.58 * GIB,
    )  # fmt: skip
    ours = replace(pool.of(s, 20000), cache=3.81 * GIB)
    assert ours.blocks == pytest.approx(1952, abs=2)
    assert ours.concurrency == pytest.approx(1.56, abs=0.005)
    assert pool.of(s, 20000).concurrency == pytest.approx(1.56, rel=0.015)


def test_qwen3_235b_on_four_h200_leaves_what_its_engine_says() -> None:
    s = scenario("qwen3-235b-a22b", "h200", w="bf16", kv="bf16", n_chips=4, usable_memory=0.9,
                 runtime_memory=8.4 * GIB)  # fmt: skip
    assert pool.of(s, 32768).tokens == pytest.approx(178880, rel=0.02)
    # An outlier of the estimate, which says so.
    assert pool.WORST * pool.own_memory(s).total >= 8.4 * GIB


def test_gpt_oss_120b_takes_more_than_is_estimated() -> None:
    # At default settings on one H100 vLLM stops at −2.14 GiB, with 65.97 GiB of weights loaded.
    s = scenario("gpt-oss-120b", "h100-sxm", w="bf16", n_chips=1, usable_memory=0.9)
    own = 0.9 * s.chip.memory - 65.97 * GIB + 2.14 * GIB
    assert 2 * pool.own_memory(s).total < own <= pool.WORST * pool.own_memory(s).total


def gemma_4_31b() -> Model:
    """The layers that set its cache; the rest is of no concern here."""
    near = attention.SlidingWindow(attention.GroupedQuery(32, 16, 256), 1024)
    far = attention.GroupedQuery(32, 4, 512)
    dense = feedforward.Dense(21504)
    blocks = (Block(50, near, dense), Block(10, far, dense))
    return Model("gemma-4-31b", "Gemma 4 31B", 5376, 262144, True, blocks)


def test_pages_are_equal_where_heads_are_not() -> None:
    s = scenario(gemma_4_31b(), "h100-sxm", w="bf16", kv="bf16", n_chips=2, batch=1)
    s = replace(s, n_chips=1)
    ours = replace(pool.of(s, 262144), cache=64.68 * GIB)
    # Global layers keep half the bytes of a token: their blocks are twice as long.
    assert (ours.pages.block, ours.pages.groups, ours.pages.held) == (16, 6, 8192 + 5 * 577)
    assert ours.concurrency == pytest.approx(2.39, abs=0.005)
    assert ours.tokens_of_longest == pytest.approx(626949, rel=0.001)


def test_mistral_small_keeps_the_bytes_of_a_token_that_its_engine_says() -> None:
    # The llm-d planner's table of vLLM 0.11: 28.20 GiB, 184,832 tokens, 11.55 × at 16,000.
    s = scenario("mistral-small-24b", "h100-sxm", w="bf16", kv="bf16", n_chips=1, batch=1)
    ours = replace(pool.of(s, 16000), cache=28.20 * GIB)
    assert ours.tokens == pytest.approx(184832, rel=0.001)
    assert ours.concurrency == pytest.approx(11.55, rel=0.001)


def test_a_state_takes_one_page_and_lengthens_the_blocks() -> None:
    s = scenario("qwen3-next-80b-a3b", "h100-sxm", w="fp8", kv="bf16", n_chips=2, batch=1)
    cut = pool.pages(s, 65536)
    assert (cut.groups, cut.layers) == (4, 12)
    assert cut.block % s.kv_block == 0 and cut.block > s.kv_block
    assert cut.held == -(-65536 // cut.block) + 3


def test_without_equal_pages_there_is_a_reason_and_no_pool() -> None:
    bare = scenario(Model.from_totals(1e9, 0), "h100-sxm")
    compressed = scenario("deepseek-v4-flash", "h100-sxm")
    assert (pool.reason(bare), pool.reason(compressed)) == ("none", "unequal")
    for s in (bare, compressed):
        with pytest.raises(ValueError, match="no pool"):
            pool.of(s, 8192)


PAGED = sorted(id for id in models if not pool.reason(scenario(id)))


@given(
    id=st.sampled_from(PAGED),
    n=st.sampled_from((1, 2, 4, 8, 16)),
    longest=st.integers(1, 10**6),
    chunk=st.integers(1, 16384),
    block=st.sampled_from((1, 16, 64, 256)),
)
def test_an_engine_promises_no_more_than_steady_decoding_holds(
    id: str, n: int, longest: int, chunk: int, block: int
) -> None:
    s = scenario(id, "h200", n_chips=n, kv_block=block, fidelity="operators")
    ours = pool.of(s, longest, chunk)
    assert 0 <= ours.concurrency <= ours.steady * (1 + 1e-9)
    assert ours.pages.held * ours.pages.bytes >= ours.each * (1 - 1e-9)
    wider = pool.of(s, longest, 2 * chunk)
    assert wider.concurrency <= ours.concurrency
    assert ours.blocks * ours.pages.bytes <= max(0.0, ours.cache)


def test_every_chip_that_published_models_start_on_has_memory_for_an_estimate() -> None:
    for chip in chips.values():
        s = replace(scenario(n_chips=1), chip=chip)
        assert 0 < pool.own_memory(s).total < 64e9
    small = replace(scenario(n_chips=1), chip=chips["rtx-3090"])
    assert (pool.slots_by_default(small), pool.slots_by_default(scenario("phi-4", "h100-sxm"))) == (
        256,
        1024,
    )


def test_chunked_layers_hold_a_chunk_and_what_is_being_read() -> None:
    layer = attention.Chunked(attention.GroupedQuery(8, 8, 128), 8192)
    assert layer.blocks_held(131072, 4096, 16) == (8192 + 4096) // 16
    assert layer.blocks_held(8192, 4096, 16) == 512
    assert paging.window_blocks(128, 131072, 8192, 16) == 521


@given(ANY)
def test_steady_decoding_holds_what_memory_holds(s: Scenario) -> None:
    """One meaning on one screen, but for what the engine loads and activations of each sequence."""
    if pool.reason(s) or not memory.weights_fit(s):
        return
    ours = pool.of(s, s.context)
    ours = replace(ours, cache=ours.cache + ours.loaded)
    most = memory.capacity(s) - memory.weights(s)
    assert ours.steady * ours.replicas == pytest.approx(most / float(memory.kv_per_sequence(s)))
    if s.fidelity == "bound":
        assert abs(math.floor(ours.steady * ours.replicas) - int(memory.max_batch(s))) <= 1


def test_the_default_scenario_says_149_twice() -> None:
    assert math.floor(pool.of(scenario(), 8192).steady) == int(memory.max_batch(scenario())) == 149
