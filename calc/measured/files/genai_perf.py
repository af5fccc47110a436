"""Results of aiperf and genai-perf, as JSON: statistics, each with its unit."""

from __future__ import annotations

from typing import Any

from calc.measured.files.records import Form, Record, at, needed, served
from calc.measured.mapping import Plain
from calc.measured.row import RowError
from calc.words import say

_SECONDS = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0, "sec": 1.0, "nanoseconds": 1e-9,
            "microseconds": 1e-6, "milliseconds": 1e-3, "seconds": 1.0}  # fmt: skip
# Where versions have put the model.
_MODELS = (
    ("input_config", "endpoint", "model_names", 0),
    ("input_config", "model_names", 0),
    ("input_config", "model", 0),
    ("input_config", "model"),
)


def _seconds(record: Record, metric: str) -> float:
    unit = str(at(record, metric, "unit") or "").lower()
    if unit not in _SECONDS:
        raise RowError(say("{name} has no unit of time", name=metric))
    return needed(record, metric, "avg") * _SECONDS[unit]


def _row(record: Record, given: Plain) -> dict[str, Any]:
    row = served(
        # One mean a request, over the tokens after its first.
        _seconds(record, "inter_token_latency"),
        needed(record, "output_token_throughput", "avg"),
        needed(record, "input_sequence_length", "avg"),
        needed(record, "output_sequence_length", "avg"),
    )
    names = (at(record, *path) for path in _MODELS)
    return row | {"model_name": next((name for name in names if isinstance(name, str)), None)}


def _told(record: Record) -> bool:
    return isinstance(at(record, "time_to_first_token"), dict) and "input_config" in record


def _aiperf(record: Record) -> bool:
    return "schema_version" in record or "aiperf_version" in record


AIPERF = Form("aiperf", lambda record: _told(record) and _aiperf(record), _row)
GENAI_PERF = Form("genai-perf", lambda record: _told(record) and not _aiperf(record), _row)
