"""Inference Ledger's calculation core: bytes moved, FLOPs done, which of the two takes the time.

A `Scenario` is a model on chips at a precision under a workload; each module answers a question
about it. `decode` times a step, `prefill` a prompt, `speculative` a round with a draft, `serving` a
queue of requests. `memory`, `capacity` and `paging` say what fits, `roofline` from what batch on it
is compute-bound, `sharding` how wide it may be, `quantization` how exact, `cost` what it costs.
`levers` and `sensitivity` say what to change, and `explain` has the formula behind each number.

Units are SI: bytes, seconds, FLOP, FLOP/s, bytes/s, and USD per hour. One multiply-add is 2 FLOP;
peak rates are dense. Batch and context take numpy arrays and broadcast. What no source publishes is
nan, and so is what needs it; `known.least` gives bounds. What cannot be used raises a `LedgerError`
that says why.

>>> from calc import Scenario, decode
>>> from presets import chips, formats, models
>>> scenario = Scenario(
...     model=models["llama-3-70b"], chip=chips["tpu-v5e"], n_chips=16,
...     weight_format=formats["int8"], kv_format=formats["int8"], compute_format=formats["bf16"],
...     batch=32, context=8192,
... )
>>> step = decode.step_time(scenario)
>>> f"{step.total:.5f} s, of which {step.kv_read:.5f} s read the KV cache"
'0.00857 s, of which 0.00327 s read the KV cache'

``docs/surface.md`` lists what may be relied on.
"""

from calc import (
    answer,
    attention,
    calibration,
    capacity,
    checkpoint,
    compare,
    cost,
    decode,
    drafts,
    engine_log,
    explain,
    feedforward,
    hf_config,
    host,
    layout,
    levers,
    link,
    loaded,
    measured,
    memory,
    metrics,
    packing,
    paging,
    plan,
    pool,
    prefill,
    purchase,
    quantization,
    reader,
    ring,
    roofline,
    sampling,
    sensitivity,
    serving,
    sharding,
    sparse_attention,
    speculative,
    state_space,
    techniques,
    variants,
    votes,
)
from calc.chip import Chip, Price
from calc.errors import LedgerError
from calc.formats import NumberFormat
from calc.model import Block, Model
from calc.scenario import Scenario, ScenarioError

__all__ = [
    "Block",
    "Chip",
    "LedgerError",
    "Model",
    "NumberFormat",
    "Price",
    "Scenario",
    "ScenarioError",
    "answer",
    "attention",
    "calibration",
    "capacity",
    "checkpoint",
    "compare",
    "cost",
    "decode",
    "drafts",
    "engine_log",
    "explain",
    "feedforward",
    "hf_config",
    "host",
    "layout",
    "levers",
    "link",
    "loaded",
    "measured",
    "memory",
    "metrics",
    "packing",
    "paging",
    "plan",
    "pool",
    "prefill",
    "purchase",
    "quantization",
    "reader",
    "ring",
    "roofline",
    "sampling",
    "sensitivity",
    "serving",
    "sharding",
    "sparse_attention",
    "speculative",
    "state_space",
    "techniques",
    "variants",
    "votes",
]
