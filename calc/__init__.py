"""Inference Ledger's calculation core: bytes moved, FLOPs done, which of the two takes the time.

Pure functions on numbers and numpy arrays, in SI units: bytes, seconds, FLOP, FLOP/s, bytes/s,
USD per hour. One multiply-add is 2 FLOP; peak rates are dense.
"""

from calc import (
    attention,
    candidates,
    capacity,
    cost,
    decode,
    explain,
    feedforward,
    hf_config,
    layout,
    levers,
    link,
    memory,
    metrics,
    network,
    operators,
    packing,
    paging,
    prefill,
    quantization,
    roofline,
    sampling,
    serving,
    sharding,
    speculative,
    state_space,
    variants,
)
from calc.chip import Chip, Price
from calc.formats import NumberFormat
from calc.model import Block, Model
from calc.scenario import Scenario, ScenarioError

__all__ = [
    "Block",
    "Chip",
    "Model",
    "NumberFormat",
    "Price",
    "Scenario",
    "ScenarioError",
    "attention",
    "candidates",
    "capacity",
    "cost",
    "decode",
    "explain",
    "feedforward",
    "hf_config",
    "layout",
    "levers",
    "link",
    "memory",
    "metrics",
    "network",
    "operators",
    "packing",
    "paging",
    "prefill",
    "quantization",
    "roofline",
    "sampling",
    "serving",
    "sharding",
    "speculative",
    "state_space",
    "variants",
]
