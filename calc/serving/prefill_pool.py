"""What replicas that only read prompts are made of, where they are unlike those that decode."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from calc import fields
from calc.chip import Chip
from calc.fields import Catalogues, Choice, Field, Quantity, optional
from calc.scenario import Scenario
from calc.words import marked

ALIKE = "same"


# Keys are part of every link ever shared: add fields, never rename or reuse a key.
# fmt: off
@dataclass(frozen=True, kw_only=True)
class PrefillPool:
    """What a prefill replica is asked to be; what is left out is as those that decode have it."""

    prefill_chip: Chip | None = optional(Choice(
        "pch", marked("Prefill chip"), ALIKE,
        marked("Of replicas that only read prompts, when disaggregated (kv_producer, "
               "disaggregation_mode prefill); same: as those that decode."),
        catalogue="chips", none=ALIKE))
    prefill_chips: int = optional(Quantity(
        "pn", marked("Chips a prefill replica"), "chips", 0, 0, 16384,
        marked("0: as many as one that decodes has.")))
    prefill_tensor_parallel: int = optional(Quantity(
        "pty", marked("Prefill TP"), "chips", 0, 0, 16384,
        marked("Tensor parallel of a prefill replica; 0 takes the chips that its other widths "
               "leave.")))
    prefill_attention_dp: int = optional(Quantity(
        "pdp", marked("Prefill DP"), "groups", 0, 0, 16384,
        marked("Data-parallel groups of a prefill replica; 0: as one that decodes.")))
    prefill_expert_parallel: int = optional(Quantity(
        "pep", marked("Prefill EP"), "chips", 0, 0, 16384,
        marked("Expert parallel of a prefill replica; 0: as one that decodes.")))
    prefill_pipeline: int = optional(Quantity(
        "ppp", marked("Prefill PP"), "stages", 0, 0, 256,
        marked("Pipeline stages of a prefill replica; 0: as one that decodes.")))
# fmt: on


FIELDS: tuple[Field, ...] = fields.schema(PrefillPool)
_ALIKE = PrefillPool()


def reader(
    values: Mapping[str, Any], scenario: Scenario, catalogues: Catalogues
) -> Scenario | None:
    """A prefill replica, of the model and formats of `scenario`, which is one that decodes.

    None where the values ask for no other. What somebody typed of the price and power of the
    scenario's chip is not said of another.
    """
    pool = PrefillPool(**fields.resolved(FIELDS, values, catalogues))
    if pool == _ALIKE:
        return None
    s = scenario
    found = replace(
        s,
        n_chips=pool.prefill_chips or s.n_chips,
        tensor_parallel=pool.prefill_tensor_parallel,
        attention_dp=pool.prefill_attention_dp or s.attention_dp,
        expert_parallel=pool.prefill_expert_parallel or s.expert_parallel,
        pipeline=pool.prefill_pipeline or s.pipeline,
    )
    if pool.prefill_chip is None or pool.prefill_chip.id == s.chip.id:
        return found
    return replace(found, chip=pool.prefill_chip, price=0.0, power=0.0, capital=0.0)


def settings(reader: Scenario, scenario: Scenario) -> dict[str, Any]:
    """Plain values, by field name, that make `reader` of `scenario`.

    Its tensor width is what its chips and other widths leave.
    """
    one, s = reader, scenario
    return {
        "prefill_chip": ALIKE if one.chip.id == s.chip.id else one.chip.id,
        "prefill_chips": _unlike(one.n_chips, s.n_chips),
        "prefill_tensor_parallel": 0,
        "prefill_attention_dp": _unlike(one.attention_dp, s.attention_dp),
        "prefill_expert_parallel": _unlike(one.expert_parallel, s.expert_parallel),
        "prefill_pipeline": _unlike(one.pipeline, s.pipeline),
    }


def _unlike(value: int, usual: int) -> int:
    return value if value != usual else 0
