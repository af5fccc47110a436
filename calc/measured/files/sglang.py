"""Results of ``sglang.bench_serving``: a line of JSON for each run."""

from __future__ import annotations

from typing import Any

from calc.measured.files.records import Form, Record, at
from calc.measured.files.vllm import flat, refuse_drafts
from calc.measured.mapping import Plain


def _row(record: Record, given: Plain) -> dict[str, Any]:
    refuse_drafts(record, "accept_length")
    tp = at(record, "server_info", "tp_size")
    stages = at(record, "server_info", "pp_size") or 1
    said: dict[str, Any] = {}
    if isinstance(tp, int) and isinstance(stages, int):
        said = {"tensor_parallel": tp, "pipeline": stages, "n_chips": tp * stages}
    return flat(record) | said | {
        "engine_name": "SGLang",
        "model_name": at(record, "server_info", "model_path"),
    }  # fmt: skip


FORM = Form(
    "sglang.bench_serving",
    lambda record: "mean_tpot_ms" in record and "model_id" not in record and (
        "random_input_len" in record or "total_output_tokens_retokenized" in record
    ),
    _row,
)  # fmt: skip
