"""What a reader asks of a plan: the fields beside those of a scenario and of its traffic."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from calc import cost, fields, prefill
from calc.checkpoint import ROUTED, UNSAID
from calc.chip import Chip, Price
from calc.fields import Catalogues, Field, Option, Quantity, Several, optional
from calc.formats import NumberFormat
from calc.model import Model
from calc.plan.ask import ARRANGEMENTS, MOST_CHIPS, OBJECTIVES, PERCENTILES, Ask, Formats, Space
from calc.scenario import Scenario
from calc.serving.asked import Asked
from calc.words import marked

_HOW: Mapping[str, tuple[str, ...]] = {
    "any": tuple(ARRANGEMENTS),
    "one": ("chunked", "continuous"),
    "two": ("disaggregated",),
}
_VENDORS = {"nvidia": "NVIDIA", "amd": "AMD", "google": "Google"}
_CHIPS: Mapping[str, str] = {
    "all": marked("all chips"), **_VENDORS, "other": marked("other makers"),
    "sidebar": marked("the sidebar's chip"),
}  # fmt: skip
_LEFT_OUT: Mapping[str, str] = {
    "none": marked("none"), **_VENDORS, "other": marked("other makers"),
}  # fmt: skip
# Formats that are tried beside a model as it is published: weights, cache, compute.
_EIGHT = (("fp8", "fp8", "fp8"), ("int8", "int8", "int8"))
_FOUR = (("nvfp4", "fp8", "nvfp4"), ("int4-g128", "fp8", "bf16"))
_TRIPLES = {".".join(triple): triple for triple in (*_EIGHT, *_FOUR)}
_FORMATS: Mapping[str, str] = {
    "published": marked("as published"), "sidebar": marked("as in the sidebar"),
    "eight": marked("published, 8 bit"), "four": marked("published, 8 and 4 bit"),
    **{id: "/".join(dict.fromkeys(triple)) for id, triple in _TRIPLES.items()},
}  # fmt: skip


# Keys are part of every link ever shared: add fields, never rename or reuse a key. A field stands
# in one line here, is read below, and is shown by a group of `pages.ui.frame.groups`.
# fmt: off
@dataclass(frozen=True, kw_only=True)
class Wanted:
    """What is wanted of a plan, in SI units."""

    objective: str = optional(Option(
        "obj", marked("Objective"), "usd",
        marked("What is least: the price, the chips, their power, or the time per token."),
        tuple(OBJECTIVES)))
    percentile: str = optional(Option(
        "pc", marked("Limits hold for"), "mean",
        marked("The mean of all requests, or the slowest of so many."), tuple(PERCENTILES)))
    headroom: float = optional(Quantity(
        "hr", marked("Headroom"), "share", 0.2, 0.0, 5.0,
        marked("By which the arrival rate may grow before a limit breaks."),
        whole=False, step=0.05))
    most_used: float = optional(Quantity(
        "um", marked("Most in use"), "share", 0.9, 0.1, 0.98,
        marked("Of its time that a replica may spend on reading prompts."),
        whole=False, step=0.05))
    most_chips: int = optional(Quantity(
        "most", marked("Chips of a replica"), "chips", MOST_CHIPS, 1, 256,
        marked("At most so many.")))
    arrangement: str = optional(Option(
        "how", marked("Pools"), "any",
        marked("One pool that reads and decodes, two pools, or whichever is better."),
        tuple(_HOW)))
    spare: str = optional(Option(
        "spare", marked("Spare replica"), "off",
        marked("One more in each pool than it takes: the loss of one breaks no limit."),
        ("off", "on")))
    allowed: tuple[str, ...] = optional(Several(
        "fmt", marked("Formats allowed"), "published",
        marked("Of weights, cache and compute. What narrower ones do to quality is not modelled."),
        _FORMATS))
    compared: tuple[str, ...] = optional(Several(
        "on", marked("Chips compared"), "all",
        marked("Chips, or all of a maker. One without a published price is compared by chips, "
               "energy or time only."),
        _CHIPS, "chips"))
    left_out: tuple[str, ...] = optional(Several(
        "no", marked("Chips left out"), "none",
        marked("Of those compared: chips, or all of a maker."), _LEFT_OUT, "chips"))
# fmt: on


FIELDS: tuple[Field, ...] = fields.schema(Wanted)


def ask(values: Mapping[str, Any], scenario: Scenario) -> Ask:
    """The traffic and its limits, those of classes where there are any.

    Fields left out take their defaults.

    Raises
    ------
    PlanError
        If they cannot be.
    """
    wanted, traffic = _wanted(values), Asked(**fields.resolved(_TRAFFIC, values, {}))
    spreads = {"constant": 0.0, "exponential": 1.0}
    others: dict[str, Any] = {
        "rate": traffic.rate,
        "spread": spreads.get(traffic.lengths, traffic.spread),
        "known": float(prefill.block_hit(scenario)),
        "percentile": wanted.percentile,
        "headroom": wanted.headroom,
        "most_used": wanted.most_used,
        "objective": wanted.objective,
        "spare": wanted.spare == "on",
    }
    if traffic.classes:
        return Ask.mixed(traffic.classes, **others)
    return Ask(
        prompt=scenario.prompt,
        output=scenario.output,
        ttft=traffic.ttft_limit,
        tpot=scenario.tpot_target,
        **others,
    )


def space(values: Mapping[str, Any], scenario: Scenario, catalogues: Catalogues) -> Space:
    """Chips and formats to compare, each chip at what it costs on the scenario's terms."""
    wanted, s = _wanted(values), scenario
    chips = list(catalogues["chips"].values())
    if s.chip.stated.id not in catalogues["chips"]:
        chips.append(s.chip.stated)
    return Space(
        tuple(_paid(chip, s) for chip in chips if _compared(chip, wanted, s)),
        _formats(wanted.allowed, s, catalogues["formats"]),
        _HOW[wanted.arrangement],
        wanted.most_chips,
    )


_TRAFFIC: tuple[Field, ...] = fields.schema(Asked)


def _wanted(values: Mapping[str, Any]) -> Wanted:
    return Wanted(**fields.resolved(FIELDS, values, {}))


def _paid(chip: Chip, s: Scenario) -> Chip:
    """A chip at what an hour of it costs on the scenario's terms."""
    price = cost.price(s, chip)
    paid = None if math.isnan(price) else Price(price, "")
    return replace(chip, price=paid, capital=math.nan, power=cost.power(s, chip))


def _compared(chip: Chip, wanted: Wanted, s: Scenario) -> bool:
    vendor = chip.vendor.lower()
    names = {"all", chip.id, vendor if vendor in _VENDORS else "other"}
    if chip.id == s.chip.id:
        names.add("sidebar")
    return not names.isdisjoint(wanted.compared) and names.isdisjoint(wanted.left_out)


def _formats(
    allowed: Sequence[str], s: Scenario, formats: Mapping[str, NumberFormat]
) -> tuple[Formats, ...]:
    def of(*triples: tuple[str, str, str]) -> list[Formats]:
        return [Formats(*(formats[id] for id in triple)) for triple in triples]

    own = [published(s.model, formats)]
    weights = s.weight_format if isinstance(s.weight_format, NumberFormat) else None
    known = {
        "published": own,
        "sidebar": [Formats(weights, s.kv_format, s.compute_format)],
        "eight": own + of(*_EIGHT),
        "four": own + of(*_EIGHT, *_FOUR),
        **{id: of(triple) for id, triple in _TRIPLES.items()},
    }
    return tuple(dict.fromkeys(one for id in allowed for one in known.get(id, ())))


def published(model: Model, formats: Mapping[str, NumberFormat]) -> Formats:
    """Formats of a model as it is published: nothing narrower than its checkpoint.

    Products are in 8 bit where most of its weights are and the chip has a rate for it, else in
    bf16; the cache is in bf16, as engines have it.
    """
    stored = model.checkpoint or UNSAID
    sizes = model.params_by_part
    main = ROUTED if ROUTED in sizes else max(sizes, key=lambda part: sizes[part])
    kind, bf16 = stored.of(main).id.partition("-")[0], formats["bf16"]
    if kind in ("fp8", "int8"):
        return Formats(None, bf16, formats[kind], bf16)
    return Formats(None, bf16, bf16, formats["fp16"])
