"""Start-up lines are understood whatever stands before them. All lines are made up."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scenarios import scenario

from calc import engine_log, pool

GIB, MIB = 2.0**30, 2.0**20

# Lines stay as long as engines print them.

VLLM_19 = """
(EngineCore pid=71) INFO 03-01 10:00:01 [gpu_model_runner.py:4001] Model loading took 15.1 GiB memory and 9.250000 seconds
(EngineCore pid=71) INFO 03-01 10:00:09 [gpu_worker.py:441] Available KV cache memory: 58.12 GiB
(EngineCore pid=71) INFO 03-01 10:00:09 [kv_cache_utils.py:1316] GPU KV cache size: 476,112 tokens
(EngineCore pid=71) INFO 03-01 10:00:09 [kv_cache_utils.py:1321] Maximum concurrency for 8,192 tokens per request: 58.12x
(EngineCore pid=71) INFO 03-01 10:00:19 [gpu_model_runner.py:5001] Graph capturing finished in 7 secs, took 0.61 GiB
"""  # noqa: E501
VLLM_V0 = """
INFO 11-10 12:00:00 model_runner.py:1077] Loading model weights took 14.9000 GB
INFO 11-10 12:00:02 worker.py:232] Memory profiling results: total_gpu_memory=23.60GiB initial_memory_usage=15.40GiB peak_torch_memory=17.00GiB memory_usage_post_profile=15.50Gib non_torch_memory=0.40GiB kv_cache_size=3.80GiB gpu_memory_utilization=0.90
INFO 11-10 12:00:02 distributed_gpu_executor.py:57] # GPU blocks: 1945, # CPU blocks: 2048
INFO 11-10 12:00:02 distributed_gpu_executor.py:61] Maximum concurrency for 20000 tokens per request: 1.56x
"""  # noqa: E501
VLLM_V0_PARTS = """
INFO 01-20 worker.py:266] Memory profiling takes 4.10 seconds
INFO 01-20 worker.py:266] the current vLLM instance can use total_gpu_memory (79.20GiB) x gpu_memory_utilization (0.90) = 71.28GiB
INFO 01-20 worker.py:266] model weights take 15.00GiB; non_torch_memory takes 0.20GiB; PyTorch activation peak memory takes 1.30GiB; the rest of the memory reserved for KV Cache is 54.78GiB.
"""  # noqa: E501
VLLM_33 = """
INFO 06-01 10:00:00 [worker.py:1] Free memory on device (78.60/79.19 GiB) on startup. Desired GPU memory utilization is (0.92, 72.85 GiB). Actual usage is 15.00 GiB for weight, 1.90 GiB for peak activation, 0.25 GiB for non-torch memory, and 0.4 GiB for CUDAGraph memory.
INFO 06-01 10:00:00 [kv.py:2] GPU KV cache size: 456,704 tokens, Maximum concurrency for 131,072 tokens per request: 3.48x
"""  # noqa: E501
SGLANG = """
[2026-03-01 10:00:00 TP0] Load weight begin. avail mem=78.50 GB
[2026-03-01 10:00:00 TP1] Load weight begin. avail mem=78.50 GB
[2026-03-01 10:00:09 TP0] Load weight end. elapsed=8.10 s, type=ToyForCausalLM, dtype=torch.bfloat16, avail mem=70.90 GB, mem usage=7.60 GB.
[2026-03-01 10:00:09 TP1] Load weight end. elapsed=8.20 s, type=ToyForCausalLM, dtype=torch.bfloat16, avail mem=70.80 GB, mem usage=7.70 GB.
[2026-03-01 10:00:10 TP0] KV Cache is allocated. dtype: torch.bfloat16, #tokens: 900000, K size: 27.40 GB, V size: 27.40 GB
[2026-03-01 10:00:10 TP1] KV Cache is allocated. dtype: torch.bfloat16, #tokens: 900000, K size: 27.40 GB, V size: 27.40 GB
[2026-03-01 10:00:20 TP0] Capture cuda graph end. Time elapsed: 5.10 s. mem usage=0.40 GB. avail mem=14.10 GB.
[2026-03-01 10:00:20 TP0] max_total_num_tokens=900000, chunked_prefill_size=8192, max_prefill_tokens=16384, max_running_requests=2048, context_len=131072, available_gpu_mem=14.10 GB
"""  # noqa: E501
SGLANG_OLD = """
[10:00:00 TP0] Load weight begin. avail mem=78.50 GB
[10:00:09 TP0] Load weight end. type=ToyForCausalLM, dtype=torch.bfloat16, avail mem=63.40 GB
[10:00:10 TP0] KV Cache is allocated. #tokens: 120000, KV size: 7.50 GB
"""
TENSORRT = """
[TensorRT-LLM][INFO] [MemUsageChange] Allocated 1.20 GiB for max tokens in paged KV cache (8192).
[03/01/2026-10:00:00] [TRT-LLM] [I] [RANK 0] Peak memory during memory usage profiling (torch + non-torch): 18.30 GiB, available KV cache memory when calculating max tokens: 54.60 GiB, fraction is set 0.9, kv size is 131072.device total memory 79.19 GiB
[TensorRT-LLM][INFO] Max KV cache blocks per sequence: 256 [window size=8192], tokens per block=32, primary blocks=13977, secondary blocks=0
[TensorRT-LLM][INFO] [MemUsageChange] Allocated 54.60 GiB for max tokens in paged KV cache (447264).
"""  # noqa: E501
TENSORRT_OLD = """
[TensorRT-LLM][INFO] Loaded engine size: 12855 MiB
[TensorRT-LLM][INFO] Allocate 69793218560 bytes for k/v cache.
[TensorRT-LLM][INFO] Using 133120 tokens in paged KV cache.
"""
LLAMA = """
load_tensors: offloaded 33/33 layers to GPU
load_tensors:   CPU_Mapped model buffer size =   281.81 MiB
load_tensors:        CUDA0 model buffer size =  2100.00 MiB
load_tensors:        CUDA1 model buffer size =  2300.00 MiB
llama_context: n_ctx         = 8192
llama_kv_cache:      CUDA0 KV buffer size =   272.00 MiB
llama_kv_cache:      CUDA1 KV buffer size =   272.00 MiB
llama_kv_cache: size =  544.00 MiB (  8192 cells,  16 layers,  1/1 seqs), K (q8_0):  272.00 MiB, V (q8_0):  272.00 MiB
llama_kv_cache: size =   56.00 MiB (  1024 cells,  16 layers,  1/1 seqs), K (q8_0):  28.00 MiB, V (q8_0):  28.00 MiB
llama_context:      CUDA0 compute buffer size =   250.00 MiB
llama_context:      CUDA0 compute buffer size =   300.00 MiB
llama_context:      CUDA1 compute buffer size =   100.00 MiB
llama_context:  CUDA_Host compute buffer size =    24.00 MiB
"""  # noqa: E501
LLAMA_OLD = """
llm_load_tensors:      CUDA0 buffer size =  4095.05 MiB
llama_kv_cache_init:      CUDA0 KV buffer size =   512.00 MiB
llama_new_context_with_model: KV self size  =  512.00 MiB, K (f16):  256.00 MiB, V (f16):  256.00 MiB
llama_new_context_with_model: n_ctx      = 4096
"""  # noqa: E501

SAID = {
    "vllm": (VLLM_19, "vLLM", {
        "weights": 15.1 * GIB, "cache": 58.12 * GIB, "tokens": 476112, "longest": 8192,
        "concurrency": 58.12, "graphs": 0.61 * GIB}),
    "vllm, one line": (VLLM_V0, "vLLM", {
        "weights": 14.9 * GIB, "memory": 23.6 * GIB, "activations": 2.1 * GIB,
        "beside": 0.4 * GIB, "cache": 3.8 * GIB, "share": 0.9, "blocks": 1945,
        "tokens": 31120, "longest": 20000, "concurrency": 1.56}),
    "vllm, parts": (VLLM_V0_PARTS, "vLLM", {
        "memory": 79.2 * GIB, "share": 0.9, "weights": 15 * GIB, "beside": 0.2 * GIB,
        "activations": 1.3 * GIB, "cache": 54.78 * GIB}),
    "vllm, new": (VLLM_33, "vLLM", {
        "memory": 79.19 * GIB, "share": 0.92, "weights": 15 * GIB, "activations": 1.9 * GIB,
        "beside": 0.25 * GIB, "tokens": 456704, "longest": 131072, "concurrency": 3.48}),
    "sglang": (SGLANG, "SGLang", {
        "weights": 7.7 * GIB, "cache": 54.8 * GIB, "tokens": 900000, "graphs": 0.4 * GIB,
        "chunk": 8192, "slots": 2048, "longest": 131072}),
    "sglang, old": (SGLANG_OLD, "SGLang", {
        "weights": 15.1 * GIB, "cache": 7.5 * GIB, "tokens": 120000}),
    "tensorrt": (TENSORRT, "TensorRT-LLM", {
        "cache": 54.6 * GIB, "tokens": 447264, "peak": 18.3 * GIB, "memory": 79.19 * GIB,
        "block": 32, "blocks": 13977}),
    "tensorrt, old": (TENSORRT_OLD, "TensorRT-LLM", {
        "weights": 12855 * MIB, "cache": 69793218560, "tokens": 133120}),
    "llama.cpp": (LLAMA, "llama.cpp", {
        "weights": 2200 * MIB, "host": 281.81 * MIB, "cache": 300 * MIB, "tokens": 8192,
        "activations": 200 * MIB, "longest": 8192}),
    "llama.cpp, old": (LLAMA_OLD, "llama.cpp", {
        "weights": 4095.05 * MIB, "cache": 512 * MIB, "longest": 4096}),
}  # fmt: skip
each_log = pytest.mark.parametrize(("text", "engine", "said"), SAID.values(), ids=SAID)


@each_log
def test_what_is_said_is_read_and_nothing_else(
    text: str, engine: str, said: dict[str, float]
) -> None:
    found = engine_log.read(text)
    assert found.engine == engine
    assert found.figures() == pytest.approx(said)
    assert set(found.found) == set(said)


@each_log
def test_what_stands_around_a_line_does_not_matter(
    text: str, engine: str, said: dict[str, float]
) -> None:
    dressed = "\n".join(
        f"serve-1  | 2026-03-01T10:00:00.123Z \x1b[32m{line}\x1b[0m\r" for line in text.splitlines()
    )
    noise = 'WARNING: nothing of interest\n{"level": "INFO"}\n'
    assert engine_log.read(noise + dressed + noise).figures() == pytest.approx(said)


def test_lines_in_json_are_read() -> None:
    text = '{"time": "10:00", "message": "GPU KV cache size: 1,048,576 tokens"}'
    assert engine_log.read(text).tokens == 2**20


def test_of_several_ranks_the_tightest_counts() -> None:
    text = "\n".join(
        f"(Worker_TP{i} pid={i}) INFO [gpu.py:1] Available KV cache memory: {gib} GiB\n"
        f"(Worker_TP{i} pid={i}) INFO [gpu.py:1] Model loading took {load} GiB and 3.1 seconds"
        for i, (gib, load) in enumerate([(60.25, 7.5), (59.75, 7.75)])
    )
    found = engine_log.read(text)
    assert (found.cache, found.weights) == (59.75 * GIB, 7.75 * GIB)


def test_a_draft_adds_to_weights_and_cache() -> None:
    draft = SGLANG + (
        "[2026-03-01 10:01:00 TP0] Load weight end. avail mem=60.0 GB, mem usage=1.00 GB.\n"
        "[2026-03-01 10:01:00 TP0] KV Cache is allocated. #tokens: 900000, K size: 1.00 GB, "
        "V size: 1.00 GB\n"
    )
    found = engine_log.read(draft)
    assert found.weights == pytest.approx(8.6 * GIB)
    # The other rank printed less, and the tightest counts.
    assert found.cache == pytest.approx(54.8 * GIB)


def test_address_space_is_no_memory() -> None:
    text = "KV Cache VA upper bound. #tokens: 900000, K size: 27.40 GB, V size: 27.40 GB"
    with pytest.raises(engine_log.EngineLogError):
        engine_log.read(text)


@given(st.text(max_size=400))
def test_any_other_text_is_refused_in_one_sentence(text: str) -> None:
    with pytest.raises(engine_log.EngineLogError, match="No start-up line of vLLM"):
        engine_log.read(text)


def test_blocks_alone_are_read_with_what_is_assumed() -> None:
    found = engine_log.read("INFO 01-01 x.py:1] # cuda blocks: 1000, # CPU blocks: 2048")
    assert (found.tokens, found.assumed) == (
        16000,
        ("Blocks of 16 tokens, which the lines do not say.",),
    )


def test_what_explains_the_cache_adds_up() -> None:
    s = replace(
        scenario("llama-3.1-8b", "h100-sxm", w="bf16", kv="bf16", n_chips=1, batch=1),
        usable_memory=0.95,
    )
    log = engine_log.read(VLLM_19)
    ours = pool.of(s, 8192)
    rows = {row.name: row for row in engine_log.beside(ours, log)}
    found = engine_log.causes(ours, log)
    assert sum(found.values()) == pytest.approx(log.cache - ours.cache)
    # Nothing is set aside for the engine here: that explains nearly all of it.
    assert found["own"] == pytest.approx(-2.0 * GIB, rel=0.02)
    assert rows["own"].log == pytest.approx(ours.budget - 73.22 * GIB)
    assert rows["concurrency"].log == 58.12
    assert engine_log.bytes_per_token(log) == pytest.approx(131072, rel=1e-3)


def test_tokens_are_compared_as_the_log_counts_them() -> None:
    s = scenario("gemma-3-27b", "h100-sxm", w="bf16", kv="bf16", n_chips=1, batch=1)
    ours = pool.of(s, 8192)
    line = "GPU KV cache size: {} tokens, Maximum concurrency for 8,192 tokens per request: 4.46x"
    old, new = (engine_log.read(line.format(n)) for n in ("36,560", "36,536"))
    new = replace(new, tokens=4.46 * 8192)
    old = replace(old, tokens=38000.0)
    shown = [
        next(row.ours for row in engine_log.beside(ours, log) if row.name == "tokens")
        for log in (old, new)
    ]
    assert shown == [ours.tokens, ours.tokens_of_longest]
    assert not engine_log.causes(ours, old) and math.isnan(engine_log.bytes_per_token(old))


def test_figures_that_cannot_be_meant_are_passed_over() -> None:
    beyond = "GPU KV cache size: " + 400 * "9" + " tokens"
    with pytest.raises(engine_log.EngineLogError):
        engine_log.read(beyond)
    off = (
        "max_total_num_tokens=9000, chunked_prefill_size=-1, max_running_requests=8, context_len=1"
    )
    assert engine_log.read(off).figures() == {"tokens": 9000, "slots": 8, "longest": 1}
    none = engine_log.read("Maximum concurrency for 8192 tokens per request: 0.00x")
    assert math.isnan(engine_log.bytes_per_request(none))
