"""Results of ``vllm bench serve`` and ``vllm bench latency``, as JSON."""

from __future__ import annotations

from typing import Any

from calc.measured.files.records import Form, Record, needed, number, served
from calc.measured.mapping import Plain
from calc.measured.row import RowError
from calc.words import say

# Time per output token, not between chunks: a chunk may hold several tokens.
_TPOT = ("mean_tpot_ms", "median_tpot_ms")


def tpot(record: Record) -> float:
    """Mean time per output token of a flat summary in ms, or its median [s]."""
    return needed(record, next((name for name in _TPOT if name in record), _TPOT[0])) * 1e-3


def flat(record: Record) -> dict[str, Any]:
    """A row of totals over a run, as the serving benchmarks of vLLM and SGLang have them."""
    requests = needed(record, "completed")
    generated = needed(record, "total_output_tokens")
    return served(
        tpot(record),
        generated / needed(record, "duration"),
        needed(record, "total_input_tokens") / requests,
        generated / requests,
    )


def refuse_drafts(record: Record, key: str) -> None:
    """A step that checks drafts is not one of a token for each sequence."""
    if (number(record, key) or 1) > 1.01:
        raise RowError(say("it was measured with speculative decoding"))


def _serve(record: Record, given: Plain) -> dict[str, Any]:
    refuse_drafts(record, "spec_decode_acceptance_length")
    said = {"tensor_parallel": record.get("tensor_parallel_size")}
    if said["tensor_parallel"]:
        said["n_chips"] = said["tensor_parallel"]
    return flat(record) | said | {
        "engine_name": "vLLM",
        "model_name": record.get("model_id"),
        "date": str(record.get("date", ""))[:4],
    }  # fmt: skip


def _latency(record: Record, given: Plain) -> dict[str, Any]:
    """A whole batch, of which the file says the time only."""
    batch, prompt, output = (needed(given, name) for name in ("batch", "prompt", "output"))
    return {
        "kind": "static",
        "seconds": needed(record, "avg_latency"),
        "batch": batch,
        "prompt": prompt,
        "output": output,
        "context": prompt + output / 2,
        # The prompt makes the first token.
        "decode_steps": output - 1,
        "prompts": 1,
        "together": batch,
        "engine_name": "vLLM",
        "model_name": record.get("model_id"),
    }


SERVE = Form(
    "vllm bench serve",
    lambda record: "mean_ttft_ms" in record and ("model_id" in record or "tokenizer_id" in record),
    _serve,
)
LATENCY = Form(
    "vllm bench latency",
    lambda record: "avg_latency" in record and "latencies" in record,
    _latency,
)
