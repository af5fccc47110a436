"""Results of guidellm, as JSON: a benchmark for each load; successful requests count."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from calc.measured.files.records import Form, Record, at, needed, served
from calc.measured.mapping import Plain

# Where versions have put the model; the run's own first.
_MODELS = (
    ("file", "config", "spec", "backend", "model"),
    ("file", "args", "model"),
    ("worker", "backend_model"),
    ("worker", "model"),
)


def _parts(record: Record) -> Iterator[Record]:
    for one in at(record, "benchmarks") or []:
        if isinstance(one, dict):
            yield {**one, "file": {key: record.get(key) for key in ("config", "args")}}


def _mean(record: Record, metric: str) -> float:
    return needed(record, "metrics", metric, "successful", "mean")


def _row(record: Record, given: Plain) -> dict[str, Any]:
    row = served(
        # Not time_per_output_token_ms: that counts the wait for the first token in.
        _mean(record, "inter_token_latency_ms") * 1e-3,
        _mean(record, "output_tokens_per_second"),
        _mean(record, "prompt_token_count"),
        _mean(record, "output_token_count"),
    )
    names = (at(record, *path) for path in _MODELS)
    return row | {"model_name": next((name for name in names if isinstance(name, str)), None)}


FORM = Form(
    "guidellm",
    lambda record: at(record, "benchmarks", 0, "metrics", "inter_token_latency_ms") is not None,
    _row,
    _parts,
)
