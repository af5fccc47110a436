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
from calc.scenario import Scenario, class_of
from calc.words import say

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Own:
    """A measured step beside what it should have taken (F12.3); nan is not known.

    Parameters
    ----------
    seconds, bound, expected : float
        The step as it was measured, at the bound, and as engines take it, which is that of the
        operators where the chip has no class [s].
    fidelity : str
        That of what is expected: ``calibrated`` or ``operators``.
    mbu, mfu : float
        What it uses of memory's and of the chips' speed [share].
    bandwidth_efficiency : float
        Share of the memory bandwidth that would explain it, all else as expected; nan if none
        would.
    kernel_time : float
        Time of each kernel that would, all else as expected [s]; nan if it would be negative.
    """

    seconds: float
    bound: float
    expected: float
    fidelity: str
    mbu: float
    mfu: float
    bandwidth_efficiency: float
    kernel_time: float

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
    classed = class_of(s.chip, "calibrated", s.engine)
    s = known.least(replace(s, fidelity="calibrated" if classed else "operators"))
    scaled = float(textbook.total) / seconds
    bare = float(decode.step_time(replace(s, kernel_time=0.0)).total)
    each = (seconds - bare) / (s.model.kernels * float(Layout.of(s).rounds))
    return Own(
        seconds,
        float(textbook.total),
        float(decode.step_time(s).total),
        s.fidelity,
        float(metrics.mbu(s, textbook)) * scaled,
        float(metrics.mfu(s, textbook)) * scaled,
        _share(decode.step_time(replace(s, bandwidth_efficiency=1.0)), seconds),
        each if each >= 0 else math.nan,
    )


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
