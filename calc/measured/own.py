"""One's own step time, and what it says of the machine that it was measured on."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from calc import decode, known, metrics
from calc.decode import StepTime
from calc.layout import Layout
from calc.measured.row import RowError
from calc.scenario import Scenario
from calc.words import say

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Own:
    """A measured step beside what it should have taken (F12.3); nan is not known.

    Parameters
    ----------
    seconds, bound, operators : float
        The step as it was measured, and at both fidelities with nothing lost in kernels [s].
    mbu, mfu : float
        What it uses of memory's and of the chips' speed [share].
    bandwidth_efficiency : float
        Share of the memory bandwidth that would explain it alone; nan if no share would.
    layer_overhead : float
        Time lost in each layer that would explain it alone [s]; nan if it is no longer than the
        operators' time.
    """

    seconds: float
    bound: float
    operators: float
    mbu: float
    mfu: float
    bandwidth_efficiency: float
    layer_overhead: float

    @property
    def times_bound(self) -> float:
        """The measured step over the bound."""
        return self.seconds / self.bound


LEAST_SHARE = 0.01


def explained(scenario: Scenario, seconds: float) -> Own:
    """What a measured step says.

    Raises
    ------
    RowError
        If it is no time.

    References
    ----------
    F12.3.
    """
    if not (math.isfinite(seconds) and seconds > 0):
        raise RowError(say("{seconds} s is not a time", seconds=seconds))
    s = known.least(scenario)
    textbook = decode.step_time(replace(s, fidelity="bound"))
    # All else that a scenario loses stays: one constant explains the rest.
    fine = replace(s, fidelity="operators", bandwidth_efficiency=1.0, layer_overhead=0.0)
    step = decode.step_time(fine)
    least = float(step.total)
    scaled = float(textbook.total) / seconds
    lost = seconds - least
    return Own(
        seconds,
        float(textbook.total),
        least,
        float(metrics.mbu(s, textbook)) * scaled,
        float(metrics.mfu(s, textbook)) * scaled,
        _share(step, seconds),
        lost / _layers(fine) if lost >= 0 else math.nan,
    )


def _layers(fine: Scenario) -> float:
    """How many layers a step passes, once for each of its rounds."""
    return fine.model.layers * float(Layout.of(fine).rounds)


def _share(step: StepTime, seconds: float) -> float:
    """The share of the bandwidth at which a step takes so long; nan if there is none."""

    def total(shares: Array) -> Array:
        slower = tuple(
            replace(one, bandwidth=one.bandwidth * shares) for one in step.work.operators
        )
        return replace(step, work=replace(step.work, operators=slower)).total

    slowest, fastest = total(np.array([LEAST_SHARE, 1.0]))
    if not fastest <= seconds <= slowest:
        return math.nan
    low, high = LEAST_SHARE, 1.0
    for _ in range(4):
        shares = np.geomspace(low, high, 65)
        # Times fall as the share grows: the first that is short enough.
        at = int(np.clip(np.searchsorted(-total(shares), -seconds), 1, 64))
        low, high = shares[at - 1], shares[at]
    return float(high)
