"""What pulling one lever would do to a scenario."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeVar

from calc import memory
from calc.aims import Aim, Outcome, outcome
from calc.fields import Quantity
from calc.formats import NumberFormat
from calc.layout import with_chips
from calc.scenario import FIELDS, Scenario
from calc.words import marked, say

Formats = Mapping[str, NumberFormat]


@dataclass(frozen=True)
class Lever:
    """One change to a scenario, and what came of it.

    `label` is in the reader's language. `outcome` is None where the lever cannot be pulled, and
    `why_not` says why.
    """

    id: str
    label: str
    before: Outcome
    outcome: Outcome | None
    why_not: str = ""

    def gain(self, aim: Aim) -> float:
        """What it gains, see `Aim.gain`; nan where it cannot be pulled."""
        if self.outcome is None:
            return math.nan
        return aim.gain(aim.value(self.outcome), aim.value(self.before))


# A changed scenario with the words for what was changed to; why there is none; or None where the
# lever has no meaning.
Pulled = tuple[Scenario, str] | str | None
Change = Callable[[Scenario, Formats], Pulled]


def _high(name: str) -> float:
    field = FIELDS[name]
    assert isinstance(field, Quantity)
    return field.high


# Narrower ones are for models that would not load at all.
_LEAST_BITS = 3


def _half_as_wide(s: Scenario, bits: float, use: str, formats: Formats) -> NumberFormat | None:
    """The format on offer nearest to half the bytes, of equals one that the chip computes in."""
    half = bits / 2
    offered = [
        f
        for f in formats.values()
        if use in f.uses and f.bits >= _LEAST_BITS and abs(f.bits - half) <= 0.1 * half
    ]
    return min(offered, key=lambda f: (abs(f.bits - half), not s.chip.publishes(f)), default=None)


def _bits(s: Scenario, name: str) -> float:
    """Bits of an element, of weights on average."""
    return s.weight_bits if name == "weight_format" else float(getattr(s, name).bits)


def _halve_bytes(s: Scenario, formats: Formats, *, name: str, use: str) -> Pulled:
    found = _half_as_wide(s, _bits(s, name), use, formats)
    if found is None:
        return say("no format of half the bytes")
    changed: dict[str, Any] = {name: found}
    return replace(s, **changed), found.id


def _halve_context(s: Scenario, _: Formats) -> Pulled:
    if s.context == 1:
        return say("already 1 token")
    return replace(s, context=s.context // 2), f"{s.context // 2:,}"


def _chips(s: Scenario, n: int) -> Pulled:
    changed = with_chips(s, n)
    if changed is None:
        return say("the layout does not divide {n:,} chips", n=n)
    return changed, f"{n:,}"


def _double_chips(s: Scenario, _: Formats) -> Pulled:
    if 2 * s.n_chips > _high("n_chips"):
        return say("largest count")
    return _chips(s, 2 * s.n_chips)


def _halve_chips(s: Scenario, _: Formats) -> Pulled:
    if s.n_chips == 1:
        return say("already 1 chip")
    return _chips(s, s.n_chips // 2)


def _batch(s: Scenario, batch: int) -> Pulled:
    return replace(s, batch=batch), f"{batch:,}"


def _double_batch(s: Scenario, _: Formats) -> Pulled:
    return (
        _batch(s, 2 * s.batch)
        if 2 * s.batch <= _high("batch")
        else say("already the largest batch")
    )


def _halve_batch(s: Scenario, _: Formats) -> Pulled:
    return _batch(s, s.batch // 2) if s.batch > 1 else say("already 1 sequence")


def _fill_memory(s: Scenario, _: Formats) -> Pulled:
    if memory.any_batch(s):
        return say("any batch fits")
    largest = int(min(int(memory.max_batch(s)), _high("batch")))
    if not largest:
        return say("not one sequence fits")
    return _batch(s, largest) if largest != s.batch else say("already the largest")


def _eight_bit_compute(s: Scenario, formats: Formats) -> Pulled:
    """Int8 where the chip publishes a rate for it, else fp8."""
    if s.compute_format.bits <= 8:
        return say("compute is already {format}", format=s.compute_format.id)
    for id in ("int8", "fp8"):
        if s.chip.publishes(formats[id]):
            return replace(s, compute_format=formats[id]), id
    return say("no 8-bit rate published")


def _hide_communication(s: Scenario, _: Formats) -> Pulled:
    if s.fidelity == "bound" or s.n_chips == 1:
        return None
    return (replace(s, link_overlap=1.0), "") if s.link_overlap < 1 else say("already hidden")


def _share_kv(s: Scenario, _: Formats) -> Pulled:
    """A split by batch where chips hold copies of whole KV heads."""
    if s.fidelity == "bound" or s.kv_sharding != "replicated" or memory.no_cache(s):
        return None
    changed = replace(s, kv_sharding="batch")
    copies = float(memory.kv_per_sequence(s)) / float(memory.kv_per_sequence(changed))
    return (changed, "") if copies > 1.001 else None


def _host(s: Scenario, _: Formats) -> Pulled:
    """All weights to the chips, or, where they do not hold them, what may go to the host."""
    if s.host_share:
        return replace(s, host_share=0.0), say("none")
    return None if memory.weights_fit(s) else (replace(s, host_share=1.0), say("all that may"))


LEVERS: Mapping[str, tuple[str, Change]] = {
    "halve_weights": (
        marked("Halve weight bytes"),
        partial(_halve_bytes, name="weight_format", use="weights"),
    ),
    "halve_kv": (marked("Halve KV bytes"), partial(_halve_bytes, name="kv_format", use="kv")),
    "halve_context": (marked("Halve context"), _halve_context),
    "double_chips": (marked("Double chips"), _double_chips),
    "halve_chips": (marked("Halve chips"), _halve_chips),
    "double_batch": (marked("Double batch"), _double_batch),
    "halve_batch": (marked("Halve batch"), _halve_batch),
    "fill_memory": (marked("Largest batch that fits"), _fill_memory),
    "eight_bit_compute": (marked("8-bit compute"), _eight_bit_compute),
    "host_weights": (marked("Weights in host memory"), _host),
    "hide_communication": (marked("Hide communication"), _hide_communication),
    "share_kv": (marked("Split KV copies by batch"), _share_kv),
}


def pull_all(scenario: Scenario, formats: Formats) -> list[Lever]:
    """Every lever that has a meaning here, pulled on its own.

    Parameters
    ----------
    scenario : Scenario
        Where to start.
    formats : mapping of str to NumberFormat
        Formats by id, for the levers that switch to another one.
    """
    before, levers = outcome(scenario), []
    for id, (name, change) in LEVERS.items():
        label, pulled = say(name), change(scenario, formats)
        if isinstance(pulled, str):
            levers.append(Lever(id, label, before, None, pulled))
        elif pulled is not None:
            changed, to = pulled
            if to:
                label = say("{lever} ({to})", lever=label, to=to)
            levers.append(Lever(id, label, before, outcome(changed)))
    return levers


L = TypeVar("L", bound=Lever)


def ranked(levers: Iterable[L], aim: Aim) -> list[L]:
    """Levers by what they gain for an aim, most first.

    Those after which the batch does not fit stand after those after which it does, then those whose
    gain is unknown, and last those that cannot be pulled.
    """

    def rank(lever: Lever) -> tuple[bool, bool, bool, float]:
        gain, after = lever.gain(aim), lever.outcome
        unknown = math.isnan(gain)
        # What differs by rounding only stays in its order.
        return (
            after is None,
            unknown,
            after is not None and not after.fits,
            0.0 if unknown else -round(gain, 9),
        )

    return sorted(levers, key=rank)
