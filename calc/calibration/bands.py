"""How far a calibrated time may be off: its band, or why there is none."""

from __future__ import annotations

from dataclasses import dataclass

from calc.engine import THIN, EngineClass
from calc.layout import Layout
from calc.scenario import Scenario
from calc.words import say

# Beyond, engines were measured 30 % slower and more than predicted.
LARGEST_BATCH = 256


@dataclass(frozen=True)
class Range:
    """What a predicted time is multiplied by for the ends of its band.

    Parameters
    ----------
    low, high : float
        10th and 90th percentile of measured over predicted.
    rows, sources : int
        Measurements that say so.
    thin : bool
        Whether they are few, or of another phase.
    """

    low: float
    high: float
    rows: int
    sources: int
    thin: bool


def decode_phase(scenario: Scenario) -> str:
    """The phase of a scenario's decode step, in the terms of `engine.PHASES`."""
    if scenario.batch > 1:
        return "batched"
    return "single" if float(Layout.of(scenario).stage) == 1 else "sharded"


def band(scenario: Scenario, phase: str | None = None) -> Range | None:
    """The band of a phase, by default of the scenario's decode step; None where none is known.

    A class without rows of a decode phase takes the band of known batches, which decode for most of
    their time, and calls it thin. `no_band` says why there is none.
    """
    if no_band(scenario, phase):
        return None
    found = scenario.engine_class
    assert found is not None
    asked = phase or decode_phase(scenario)
    used = _used(found, asked)
    one = found.bands[used]
    return Range(one.low, one.high, one.rows, one.sources, found.status == THIN or used != asked)


def no_band(scenario: Scenario, phase: str | None = None) -> str:
    """Why a calibrated time has no band; empty where it has one, or is not calibrated."""
    s, asked = scenario, phase or decode_phase(scenario)
    if s.fidelity != "calibrated":
        return ""
    if s.engine_class is None:
        return no_class(s) or say("A calibration of one's own has no band without a class.")
    if asked == "prompt":
        return say("How long a prompt takes alone was measured too differently for a band.")
    if asked != "throughput" and s.batch > LARGEST_BATCH:
        return say(
            "Beyond a batch of {largest} engines are 30 % slower than this or more: no band.",
            largest=LARGEST_BATCH,
        )
    if _used(s.engine_class, asked) not in s.engine_class.bands:
        return say(
            "Too few sources measured this on {chips} for a band.", chips=s.engine_class.name
        )
    return ""


def basis(scenario: Scenario) -> str:
    """What calibrated times go by, in words; empty where they are not calibrated."""
    s = scenario
    if s.own:
        return say(
            "your calibration of {rows:,} rows, off by {error:.0%} on them",
            rows=s.own.rows,
            error=s.own.error,
        )
    return s.engine_class.name if s.engine_class else ""


def no_class(scenario: Scenario) -> str:
    """Why calibrated times of a scenario are those of its operators; empty where they are not."""
    s = scenario
    if s.fidelity != "calibrated" or s.engine_class or s.own:
        return ""
    found = s.chip.engine_class(s.engine)
    if found:
        return say(
            "{chip} was measured with engines of the past only ({note}): operators are shown.",
            chip=s.chip.name,
            note=found.note,
        )
    return say(
        "Nobody published enough of this engine on {chip}: operators are shown.", chip=s.chip.name
    )


def _used(found: EngineClass, phase: str) -> str:
    """The phase whose band is taken."""
    decoding = phase in ("single", "sharded", "batched")
    return "known_batch" if decoding and not _decodes(found) else phase


def _decodes(found: EngineClass) -> bool:
    return any(phase in found.bands for phase in ("single", "sharded", "batched"))
