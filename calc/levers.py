"""What pulling one lever would do to a scenario."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from calc import cost, decode, memory
from calc.formats import NumberFormat
from calc.scenario import FIELDS, Quantity, Scenario
from calc.words import marked, say


@dataclass(frozen=True)
class Outcome:
    """The figures a reviewer compares: seconds, token/s, sequences, USD."""

    step_time: float
    throughput_per_chip: float
    max_batch: int
    usd_per_million_tokens: float
    fits: bool


@dataclass(frozen=True)
class Lever:
    """One change to a scenario, and what came of it; `why_not` says why it cannot be pulled."""

    label: str
    outcome: Outcome | None
    why_not: str = ""


def outcome(scenario: Scenario) -> Outcome:
    """The compared figures of one scenario."""
    step, largest = decode.step_time(scenario), int(memory.max_batch(scenario))
    return Outcome(
        float(step.total),
        float(step.throughput_per_chip),
        largest,
        float(cost.per_million_tokens(scenario, step)),
        scenario.batch <= largest,
    )


def _halve_weights(s: Scenario, _: Mapping[str, NumberFormat]) -> Scenario:
    return replace(s, weight_format=s.weight_format.halved())


def _halve_kv(s: Scenario, _: Mapping[str, NumberFormat]) -> Scenario:
    return replace(s, kv_format=s.kv_format.halved())


def _halve_context(s: Scenario, _: Mapping[str, NumberFormat]) -> Scenario | str:
    return replace(s, context=s.context // 2) if s.context > 1 else say("already 1 token")


def _double_chips(s: Scenario, _: Mapping[str, NumberFormat]) -> Scenario | str:
    chips = FIELDS["n_chips"]
    assert isinstance(chips, Quantity)
    return (
        replace(s, n_chips=2 * s.n_chips) if 2 * s.n_chips <= chips.high else say("largest count")
    )


def _double_batch(s: Scenario, _: Mapping[str, NumberFormat]) -> Scenario | str:
    batch = FIELDS["batch"]
    assert isinstance(batch, Quantity)
    return replace(s, batch=2 * s.batch) if 2 * s.batch <= batch.high else say("largest batch")


def _eight_bit_compute(s: Scenario, formats: Mapping[str, NumberFormat]) -> Scenario | str:
    """Int8 where the chip publishes a rate for it, else fp8."""
    if s.compute_format.bits <= 8:
        return say("compute is already {format}", format=s.compute_format.id)
    for id in ("int8", "fp8"):
        if s.chip.peak(formats[id]) > 0:
            return replace(s, compute_format=formats[id])
    return say("no 8-bit rate published")


Change = Callable[[Scenario, Mapping[str, NumberFormat]], Scenario | str]

LEVERS: Mapping[str, Change] = {
    marked("Halve weight bytes"): _halve_weights,
    marked("Halve KV bytes"): _halve_kv,
    marked("Halve context"): _halve_context,
    marked("Double chips"): _double_chips,
    marked("Double batch"): _double_batch,
    marked("8-bit compute"): _eight_bit_compute,
}


def pull_all(scenario: Scenario, formats: Mapping[str, NumberFormat]) -> list[Lever]:
    """Every lever pulled on its own.

    Parameters
    ----------
    scenario : Scenario
        Where to start.
    formats : mapping of str to NumberFormat
        Formats by id, for the levers that switch to another one.
    """
    pulled = []
    for name, change in LEVERS.items():
        label, changed = say(name), change(scenario, formats)
        if isinstance(changed, str):
            pulled.append(Lever(label, None, changed))
        else:
            written = changed.compute_format
            if written is not scenario.compute_format:
                label = say("{lever} ({format})", lever=label, format=written.id)
            pulled.append(Lever(label, outcome(changed)))
    return pulled
