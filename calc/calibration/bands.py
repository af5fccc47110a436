"""How far a calibrated time may be off: its band, or why there is none."""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import ArrayLike, NDArray

from calc.engine import PHASES, THIN, Constants, EngineClass
from calc.layout import Layout
from calc.scenario import Scenario
from calc.words import say

Array = NDArray[np.float64]

# Beyond, engines were measured 30 % slower and more than predicted.
LARGEST_BATCH = 256
# Those that a decode step is made with.
_OF_STEPS = tuple(one.name for one in fields(Constants) if one.name != "mfu")


@dataclass(frozen=True)
class Range:
    """What a predicted time is multiplied by for the ends of its band.

    Parameters
    ----------
    low, high : float
        10th and 90th percentile of measured over predicted.
    rows, sources : int
        Measurements that say so.
    phase : str
        What they measured, one of `engine.PHASES`.
    thin : bool
        Whether they are few, or of another phase than is asked.
    """

    low: float
    high: float
    rows: int
    sources: int
    phase: str
    thin: bool

    @property
    def basis(self) -> str:
        """What it is, and how many measurements it stands on, in words."""
        told = {"rows": self.rows, "sources": self.sources, "phase": say(PHASES[self.phase])}
        if self.thin:
            return say(
                "Thin data: the usual range holds 8 in 10 of {rows:,} measurements of {sources:,} "
                "sources ({phase}).",
                **told,
            )
        return say(
            "The usual range holds 8 in 10 of {rows:,} measurements of {sources:,} sources "
            "({phase}).",
            **told,
        )


def band(scenario: Scenario, phase: str | None = None) -> Range | None:
    """The band of a phase, by default of the scenario's decode step; None where none is known.

    A class without rows of a decode phase takes the band of known batches, which decode for most of
    their time, and calls it thin. `no_band` says why there is none.
    """
    if scenario.fidelity != "calibrated" or no_band(scenario, phase):
        return None
    return _range(scenario, phase or _own_phase(scenario))


def no_band(scenario: Scenario, phase: str | None = None) -> str:
    """Why a calibrated time has no band; empty where it has one, or is not calibrated."""
    s, asked = scenario, phase or _own_phase(scenario)
    if s.fidelity != "calibrated":
        return ""
    why = _lacking(s, asked)
    if not why and asked != "throughput" and s.batch > LARGEST_BATCH:
        return say(
            "Beyond a batch of {largest} engines are 30 % slower than this or more: no band.",
            largest=LARGEST_BATCH,
        )
    return why


def edges(
    scenario: Scenario, batch: ArrayLike | None = None, chips: ArrayLike | None = None
) -> tuple[Array, Array]:
    """What times of decode steps are multiplied by for both ends of their bands.

    Parameters
    ----------
    scenario : Scenario
        All else about them.
    batch : array_like, optional
        Sequences of each step; the scenario's by default.
    chips : array_like, optional
        Chips of a stage; the scenario's by default.

    Returns
    -------
    low, high : array
        Of the broadcast shape; nan where a step has no band.
    """
    s = scenario
    sequences, shared = np.broadcast_arrays(
        np.asarray(s.batch if batch is None else batch, dtype=float),
        np.asarray(Layout.of(s).stage if chips is None else chips, dtype=float),
    )
    low = high = np.full(sequences.shape, np.nan)
    several, split = sequences > 1, shared > 1
    here = {
        "batched": several & (sequences <= LARGEST_BATCH),
        "sharded": ~several & split,
        "single": ~several & ~split,
    }
    for phase, steps in here.items():
        if s.fidelity == "calibrated" and np.any(steps) and not _lacking(s, phase):
            found = _range(s, phase)
            low, high = np.where(steps, found.low, low), np.where(steps, found.high, high)
    return low, high


def _lacking(s: Scenario, phase: str) -> str:
    """What a band of a phase lacks at any batch; empty where it lacks nothing."""
    if s.engine_class is None:
        return no_class(s) or say("A calibration of one's own has no band without a class.")
    if phase == "prompt":
        return say("How long a prompt takes alone was measured too differently for a band.")
    if any(getattr(s, name) is not None for name in _OF_STEPS):
        return say("Nobody measured with constants set by hand: no band.")
    if _used(s.engine_class, phase) not in s.engine_class.bands:
        return say(
            "Too few sources measured this on {chips} for a band.", chips=s.engine_class.name
        )
    return ""


def _range(s: Scenario, phase: str) -> Range:
    """The band of a phase that lacks nothing."""
    found = s.engine_class
    assert found is not None
    used = _used(found, phase)
    one = found.bands[used]
    thin = found.status == THIN or used != phase
    return Range(one.low, one.high, one.rows, one.sources, used, thin)


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


def _own_phase(s: Scenario) -> str:
    """That of a scenario's decode step."""
    if s.batch > 1:
        return "batched"
    return "sharded" if float(Layout.of(s).stage) > 1 else "single"


def _used(found: EngineClass, phase: str) -> str:
    """The phase whose band is taken."""
    decoding = phase in ("single", "sharded", "batched")
    return "known_batch" if decoding and not _decodes(found) else phase


def _decodes(found: EngineClass) -> bool:
    return any(phase in found.bands for phase in ("single", "sharded", "batched"))
