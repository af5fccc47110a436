"""A table of one's own: a column for each field, by its name or its key in a link."""

from __future__ import annotations

from typing import Any

from calc.measured.files.records import Form, Record, needed
from calc.measured.mapping import Plain
from calc.scenario import SCHEMA

# Columns that say how long it took, in s.
TIMES = {"seconds": 1.0, "ms": 1e-3, "tpot_ms": 1e-3, "us": 1e-6}
RATE = "tokens_per_s"
_ALIASES = {"tp": "tensor_parallel", "chips": "n_chips", "weights": "weight_format"} | {
    field.key: field.name for field in SCHEMA
}


def _row(record: Record, given: Plain) -> dict[str, Any]:
    found = {_ALIASES.get(name, name): value for name, value in record.items()}
    for name, scale in TIMES.items():
        if found.get(name):
            found["seconds"] = needed(found, name) * scale
    if found.get(RATE) and not found.get("seconds"):
        batch = needed(found if found.get("batch") else given, "batch")
        found["seconds"] = batch / needed(found, RATE)
    return found


FORM = Form("CSV", lambda record: any(name in record for name in (*TIMES, RATE)), _row)
