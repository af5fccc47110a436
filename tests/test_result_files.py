"""Result files of benchmarks, in their layouts with made-up numbers."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scenarios import scenario

from calc.measured import files
from calc.scenario import values_of
from presets import chips, formats, models

CATALOGUES = {"models": models, "chips": chips, "formats": formats}
GIVEN = values_of(scenario("llama-3.1-8b", "h100-sxm", n_chips=2, batch=8, prompt=512, output=65))

VLLM = {
    "date": "20260301-101500", "backend": "vllm", "model_id": "acme/Toy-8B",
    "tokenizer_id": "acme/Toy-8B", "request_rate": "inf", "max_concurrency": 16, "duration": 20.0,
    "completed": 64, "total_input_tokens": 65536, "total_output_tokens": 8192,
    "mean_ttft_ms": 210.4, "mean_tpot_ms": 37.5, "median_tpot_ms": 36.0, "mean_itl_ms": 99.0,
}  # fmt: skip
LATENCY = {"avg_latency": 1.3, "latencies": [1.2, 1.4], "percentiles": {"50": 1.3}}
SGLANG = {
    "backend": "sglang", "dataset_name": "random", "request_rate": float("inf"),
    "max_concurrency": None, "random_input_len": 1024, "random_output_len": 128, "duration": 12.0,
    "completed": 96, "total_input_tokens": 98304, "total_output_tokens": 12288,
    "mean_ttft_ms": 88.0, "mean_tpot_ms": 11.0, "mean_itl_ms": 11.0, "concurrency": 11.9,
    "server_info": {"model_path": "meta-llama/Llama-3.3-70B-Instruct", "tp_size": 4},
}  # fmt: skip
BENCH = {
    "build_number": 9001, "gpu_info": "NVIDIA GeForce RTX 4090, NVIDIA GeForce RTX 4090",
    "backends": "CUDA", "model_filename": "m/Meta-Llama-3-8B-Instruct-Q4_K_M.gguf",
    "model_type": "llama 8B Q4_K - Medium", "split_mode": "layer", "type_k": "f16",
    "n_prompt": 512, "n_gen": 0, "n_depth": 0, "avg_ns": 128000000, "avg_ts": 4000.0,
}  # fmt: skip
DECODED = BENCH | {"n_prompt": 0, "n_gen": 128, "n_depth": 4096, "avg_ns": 10**9, "avg_ts": 125.0}


def metric(unit: str, avg: float) -> dict[str, Any]:
    return {"unit": unit, "avg": avg, "p50": avg, "p99": 2 * avg}


PERF = {
    "time_to_first_token": metric("ms", 100.0),
    "inter_token_latency": metric("ms", 20.0),
    "output_token_throughput": metric("tokens/sec", 400.0),
    "input_sequence_length": metric("tokens", 1000.0),
    "output_sequence_length": metric("tokens", 200.0),
    "input_config": {"model_names": ["meta-llama/Llama-3.1-8B-Instruct"]},
}
GUIDE = {
    "args": {"model": "Qwen/Qwen3-32B"},
    "benchmarks": [
        {
            "metrics": {
                name: {"successful": {"mean": mean, "median": mean}, "errored": {"mean": 1e9}}
                for name, mean in {
                    "time_per_output_token_ms": 31.0, "inter_token_latency_ms": itl,
                    "output_tokens_per_second": 500.0, "prompt_token_count": 256.0,
                    "output_token_count": 128.0,
                }.items()
            }
        }
        for itl in (20.0, 25.0)
    ],
}  # fmt: skip


def read(*found: Any) -> files.File:
    return files.read("\n".join(json.dumps(one) for one in found), CATALOGUES, GIVEN, "mine")


def test_serving_totals_become_a_step_at_the_mean_batch() -> None:
    """64 requests in 20 s: 409.6 token/s times 37.5 ms is 15.36 sequences that decode."""
    found = read(VLLM)
    (row,) = found.rows
    assert (found.forms, found.unknown) == (("vllm bench serve",), ("acme/Toy-8B",))
    assert (row.kind, row.seconds, row.year) == ("decode", 0.0375, 2026)
    assert row.batch == pytest.approx(15.36) and row.context == 1024 + 64
    assert row.prompts == pytest.approx(14.36 / 128) and row.ride_along
    assert row.scenario.model.id == "llama-3.1-8b" and row.scenario.n_chips == 2
    assert {"model", "chip", "n_chips", "weight_format"} <= set(found.taken)
    assert "batch" not in found.taken
    assert (row.source, row.engine_name) == ("mine", "vLLM")


def test_a_batch_timed_as_a_whole_takes_its_lengths_from_the_scenario() -> None:
    found = read(LATENCY)
    (row,) = found.rows
    assert (row.kind, row.seconds, row.batch, row.together) == ("static", 1.3, 8, 8)
    assert (row.decode_steps, row.prompts, row.context) == (64, 1, 512 + 32.5)
    assert found.forms == ("vllm bench latency",)


def test_lines_of_runs_are_read_with_what_the_server_says_of_itself() -> None:
    found = read(SGLANG, SGLANG | {"duration": 24.0})
    first, second = found.rows
    assert found.forms == ("sglang.bench_serving",) and not found.unknown
    assert (first.scenario.model.id, first.scenario.n_chips) == ("llama-3.3-70b", 4)
    assert first.batch == pytest.approx(12288 / 12 * 0.011)
    assert second.batch == pytest.approx(first.batch / 2)


def test_single_streams_are_prompts_steps_and_both() -> None:
    both = BENCH | {"n_gen": 64, "avg_ns": 2 * 10**9, "avg_ts": 288.0}
    prompt, step, whole = files.read(json.dumps([BENCH, DECODED, both]), CATALOGUES, GIVEN).rows
    assert (prompt.kind, prompt.seconds, prompt.decode_steps) == ("prefill", 512 / 4000, 0)
    assert (step.kind, step.seconds, step.context) == ("decode", 1 / 125, 4096 + 64)
    assert (whole.kind, whole.seconds, whole.decode_steps) == ("static", 2.0, 64)
    for row in (prompt, step, whole):
        s = row.scenario
        assert (s.model.id, s.chip.id, s.weight_format.id) == ("llama-3-8b", "rtx-4090", "q4-k-m")  # type: ignore[union-attr]
        assert (s.n_chips, s.pipeline, s.kv_format.id) == (2, 2, "fp16")
    table = "avg_ts,n_gen,n_prompt,n_depth\n" + '"125.0","128","0","0"\n'
    assert files.read(table, CATALOGUES, GIVEN).rows[0].seconds == 1 / 125


@pytest.mark.parametrize(
    ("more", "form"),
    [
        ({}, "genai-perf"),
        ({"schema_version": "1.4"}, "aiperf"),
        ({"aiperf_version": "0.13", "inter_token_latency": metric("ns", 2e7)}, "aiperf"),
    ],
)
def test_statistics_are_read_in_their_own_units(more: dict[str, Any], form: str) -> None:
    found = read(PERF | more)
    (row,) = found.rows
    assert found.forms == (form,)
    assert row.seconds == pytest.approx(0.02) and row.batch == pytest.approx(8)
    assert (row.context, row.scenario.model.id) == (1100, "llama-3.1-8b")


def test_each_load_is_a_row_and_the_wait_for_the_first_token_is_left_out() -> None:
    found = read(GUIDE)
    assert [row.seconds for row in found.rows] == [0.02, 0.025]
    assert [row.batch for row in found.rows] == [10, 12.5]
    assert {row.scenario.model.id for row in found.rows} == {"qwen3-32b"}


def test_a_table_of_ones_own_has_names_keys_or_rates() -> None:
    table = (
        "batch;context;ms;n;chip\n1;1000;20;4;h200\n8;1000;25;4;h200\n"
        "8;1000;nan;4;h200\n8;1000;-3;4;h200\n8;1000;0;4;h200\n8;1000;;4;h200\n8;1000;20;4;abacus\n"
    )
    found = files.read(table, CATALOGUES, GIVEN)
    assert [(row.batch, row.seconds) for row in found.rows] == [(1, 0.02), (8, 0.025)]
    assert found.rows[0].scenario.chip.id == "h200" and found.rows[0].scenario.n_chips == 4
    assert [left.name for left in found.left] == ["3", "4", "5", "6", "7"]
    assert [left.reason for left in found.left] == [
        "ms is not a number", "ms -3 is not positive", "ms 0 is not positive", "it says no time",
        "chip abacus is not known",
    ]  # fmt: skip
    rates = files.read("tokens_per_s,batch\n400,8\n", CATALOGUES, GIVEN)
    assert rates.rows[0].seconds == 0.02


DRAFTED = "it was measured with speculative decoding"
NO_UNIT = "inter_token_latency has no unit of time"


@pytest.mark.parametrize(
    ("record", "reason"),
    [
        (VLLM | {"mean_tpot_ms": float("nan")}, "mean_tpot_ms is not a number"),
        (VLLM | {"mean_tpot_ms": 0}, "mean_tpot_ms 0 is not positive"),
        (VLLM | {"completed": 0}, "completed 0 is not positive"),
        (VLLM | {"total_output_tokens": None}, "total_output_tokens is missing"),
        (VLLM | {"spec_decode_acceptance_length": 2.4}, DRAFTED),
        (SGLANG | {"accept_length": 2.4}, DRAFTED),
        (LATENCY | {"avg_latency": -1}, "avg_latency -1 is not positive"),
        (BENCH | {"n_depth": 512}, "its prompt follows others"),
        (DECODED | {"avg_ts": True}, "avg_ts is not a number"),
        (PERF | {"inter_token_latency": metric("furlongs", 20)}, NO_UNIT),
    ],
)
def test_a_run_that_cannot_be_used_says_why_and_the_rest_is_used(
    record: dict[str, Any], reason: str
) -> None:
    found = read(record, VLLM)
    assert [left.reason for left in found.left] == [reason]
    assert len(found.rows) == 1


@pytest.mark.parametrize(
    "text", ["", "{", "[[[", "hello", "a,b\n1,2\n", '{"a": 1}', "[1, 2]", "[" * 100_000, "null"]
)
def test_what_is_none_of_these_is_refused_with_the_forms_that_are_read(text: str) -> None:
    with pytest.raises(files.FileError, match=r"none of what is read: vllm .*, CSV"):
        files.read(text, CATALOGUES, GIVEN)


def test_a_model_is_known_by_the_name_of_its_repository() -> None:
    for id, model in models.items():
        if model.hub:
            assert files.model_named(model.hub, models) == id


junk = st.recursive(
    st.none()
    | st.booleans()
    | st.floats()
    | st.integers(-(10**400), 10**400)
    | st.text(max_size=9),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=3,
)


@given(
    record=st.sampled_from([VLLM, LATENCY, SGLANG, BENCH, PERF, GUIDE, {"ms": 2, "batch": 3}]),
    place=st.integers(0, 20),
    value=junk,
)
def test_whatever_stands_in_a_file_is_a_row_or_a_reason(
    record: dict[str, Any], place: int, value: Any
) -> None:
    key = list(record)[place % len(record)]
    try:
        found = read(record | {key: value})
    except files.FileError:
        return
    assert found.rows or found.left
