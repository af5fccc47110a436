"""Results of ``llama-bench -o json``, ``jsonl`` or ``csv``: a record for each test."""

from __future__ import annotations

import re
from typing import Any

from calc.measured.files.records import Form, Record, at, needed, number
from calc.measured.mapping import Plain
from calc.measured.row import RowError
from calc.words import say

_CACHE = {"f16": "fp16", "bf16": "bf16", "q8_0": "kv-q8-0", "q5_1": "kv-q5-1", "q5_0": "kv-q5-0",
          "q4_1": "kv-q4-1", "q4_0": "kv-q4-0", "iq4_nl": "kv-iq4-nl"}  # fmt: skip
_WEIGHTS = {"all F32": "fp32", "F16": "fp16", "BF16": "bf16", "MXFP4 MoE": "mxfp4"}
_SIZES = {"Small": "s", "Medium": "m", "Large": "l"}


def _weights(model_type: str) -> str | None:
    """The format that a model's type ends in, as in ``llama 8B Q4_K - Medium``."""
    for ending, id in _WEIGHTS.items():
        if model_type.endswith(ending):
            return id
    found = re.search(r"(I?Q\d_\w+)(?: - (Small|Medium|Large))?$", model_type)
    if not found:
        return None
    name = found[1].lower().replace("_", "-")
    return f"{name}-{_SIZES[found[2]]}" if found[2] else name


def _row(record: Record, given: Plain) -> dict[str, Any]:
    prompt, output = number(record, "n_prompt") or 0, number(record, "n_gen") or 0
    depth, rate = number(record, "n_depth") or 0, needed(record, "avg_ts")
    if prompt and depth:
        raise RowError(say("its prompt follows others"))
    said = _machine(record) | {"batch": 1, "prompt": prompt or None, "output": output or None}
    if output and prompt:
        # Tokens of both, and the time of the whole test.
        return said | {
            "kind": "static",
            "seconds": needed(record, "avg_ns") * 1e-9,
            "context": prompt + output / 2,
            "decode_steps": output,
            "prompts": 1,
        }
    if output:
        return said | {"kind": "decode", "seconds": 1 / rate, "context": depth + output / 2}
    return said | {
        "kind": "prefill",
        "seconds": prompt / rate,
        "context": max(prompt / 2, 1),
        "decode_steps": 0,
        "prompts": 1,
    }


def _machine(record: Record) -> dict[str, Any]:
    """What ran it: a card or several that share the layers, and the formats."""
    cards = [one.strip() for one in str(at(record, "gpu_info") or "").split(",") if one.strip()]
    said: dict[str, Any] = {
        "engine": "llama.cpp",
        "engine_name": "llama.cpp",
        "engine_version": str(at(record, "build_number") or ""),
        "model_name": at(record, "model_filename") or at(record, "model_type"),
        "weights_name": _weights(str(at(record, "model_type") or "")),
        "cache_name": _CACHE.get(str(at(record, "type_k"))),
    }
    if cards:
        one = len(set(cards)) == 1
        said["chip_name"] = cards[0] if one else ", ".join(cards)
        said["n_chips"] = len(cards)
        said["pipeline"] = len(cards) if at(record, "split_mode") == "layer" else 1
    return said


FORM = Form("llama-bench -o json", lambda record: "avg_ts" in record and "n_gen" in record, _row)
