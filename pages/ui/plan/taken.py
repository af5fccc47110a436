"""A plan as the scenario and the service of the sidebar."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from calc import purchase, scenario
from calc.fields import Quantity
from calc.plan import Candidate
from calc.purchase import Listed
from calc.serving import prefill_pool
from calc.serving.asked import FIELDS
from pages.ui.frame import link, taking

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
        **(prefill_pool.settings(one.prefill.scenario, one.scenario) if one.prefill else {}),
        **({"budget": one.budget} if one.budget else {}),
    }
    kept = {name: _within(name, value) for name, value in served.items()}
    return {**{name: replica[name] for name in _REPLICA}, **kept}


def clipped(one: Candidate) -> bool:
    """Whether Serving takes fewer replicas than a plan has."""
    held = settings(one)["replicas"]
    return bool(held < one.replicas + (one.prefill.replicas if one.prefill else 0))


def take(one: Candidate) -> None:
    """Make a plan the scenario and the service.

    What was typed of the sidebar's chip is noted in the price list where another takes its place.
    """
    values = link.widget_values()
    typed = {name: values[name] for name in ("price", "capital", "power") if values[name]}
    before = link.catalogues()["chips"].get(values["chip"])
    changed = dict(settings(one))
    if typed and before and before.id != one.scenario.chip.id:
        paid = before.price.usd_per_hour if before.price else math.nan
        listed = Listed(
            typed.get("price", paid), typed.get("capital", before.capital),
            typed.get("power", math.nan),
        )  # fmt: skip
        changed |= dict.fromkeys(typed, 0.0)
        if math.isfinite(listed.usd_per_hour) or math.isfinite(listed.capital):
            changed["prices"] = purchase.noted(values["prices"], before, listed)
    taking.use(changed)


def _within(name: str, value: Any) -> Any:
    """A value of the service as near as its field allows."""
    field = _SERVED[name]
    return min(value, int(field.high)) if isinstance(field, Quantity) else value


def held(values: Mapping[str, Any], one: Candidate) -> bool:
    """Whether the sidebar holds a plan."""
    return all(values[name] == value for name, value in settings(one).items())
