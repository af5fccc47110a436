"""A plan as the scenario and the service of the sidebar."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from calc import scenario
from calc.fields import Quantity
from calc.plan import Candidate
from calc.serving.asked import FIELDS

# What of a replica goes into the sidebar.
_REPLICA = (
    "chip", "n_chips", "weight_format", "kv_format", "compute_format", "tensor_parallel",
    "attention_dp", "expert_parallel", "pipeline", "micro_batches", "batch",
)  # fmt: skip
_SERVED = {field.name: field for field in FIELDS}


def settings(one: Candidate) -> Mapping[str, Any]:
    """Plain values, by field name, that make a plan the scenario and the service."""
    replica = scenario.values_of(one.scenario)
    reading = one.prefill.replicas if one.prefill else 0
    served = {
        "policy": one.arrangement,
        "replicas": one.replicas + reading,
        "slots": one.slots,
        **({"prefill_replicas": reading} if reading else {}),
        **({"budget": one.budget} if one.budget else {}),
    }
    kept = {name: _within(name, value) for name, value in served.items()}
    return {**{name: replica[name] for name in _REPLICA}, **kept}


def _within(name: str, value: Any) -> Any:
    """A value of the service as near as its field allows."""
    field = _SERVED[name]
    return min(value, int(field.high)) if isinstance(field, Quantity) else value


def held(values: Mapping[str, Any], one: Candidate) -> bool:
    """Whether the sidebar holds a plan."""
    return all(values[name] == value for name, value in settings(one).items())
