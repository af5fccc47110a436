"""Constants that explain measured rows (F3.12): least squares on the logarithm of time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from calc.calibration.trial import Trial
from calc.engine import Constants
from calc.errors import LedgerError
from calc.measured import Agreement, Row
from calc.scenario import Scenario
from calc.words import say

Array = NDArray[np.float64]

# How far the constants of one's own engine may be expected from its class's, and how far a single
# time from the best constants, as standard deviations of logarithms.
OWN: Mapping[str, float] = {"kernel_time": 0.5, "bandwidth_efficiency": 0.08}
SCATTER = 0.15
# Fewer rows than this tell little.
FEW_ROWS = 5
# A link carries no larger error [share].
MOST_ERROR = 10.0

# What can be fitted, and between what.
FITTED: Mapping[str, tuple[float, float]] = {
    "kernel_time": (1e-7, 5e-4),
    "bandwidth_efficiency": (0.1, 1.0),
    "mfu": (0.05, 1.0),
}


class CalibrationError(LedgerError):
    """Rows that nothing can be fitted on."""


@dataclass(frozen=True)
class Fit:
    """Constants fitted on rows, and how far they are off on those very rows."""

    constants: Constants
    agreement: Agreement

    def on(self, scenario: Scenario) -> Scenario:
        """The scenario with this calibration, as a link carries it."""
        return replace(
            scenario,
            fidelity="calibrated",
            own_rows=self.agreement.rows,
            own_error=min(self.agreement.median, MOST_ERROR),
            own_bandwidth=self.constants.bandwidth_efficiency,
            own_kernel_time=self.constants.kernel_time,
        )


def fit(rows: Sequence[Row], prior: Constants, expected: Mapping[str, float] = OWN) -> Fit:
    """Constants of one's own engine from its measurements, near those of its class.

    .. math:: \\min_\\theta \\sum_i \\left(\\frac{\\ln(T_i(\\theta) / \\hat T_i)}{\\sigma}\\right)^2
              + \\sum_j \\left(\\frac{\\ln(\\theta_j / \\theta_j^0)}{\\sigma_j}\\right)^2

    Parameters
    ----------
    rows : sequence of Row
        Measurements; below `FEW_ROWS` of them the gain is small.
    prior : Constants
        Those of the class, such as `Scenario.constants` gives.
    expected : mapping of str to float
        What is fitted, and the standard deviation of its logarithm around the prior; infinite to
        leave it to the rows.

    Raises
    ------
    CalibrationError
        If there are no rows.

    References
    ----------
    F3.12.
    """
    if not rows:
        raise CalibrationError(say("no row to fit on"))
    trial = Trial(rows)
    constants = least_squares(trial, prior, expected)
    return Fit(constants, Agreement.of(rows, trial.predict(constants)))


def least_squares(
    trial: Trial, prior: Constants, expected: Mapping[str, float], weights: Array | None = None
) -> Constants:
    """The constants themselves, by Gauss and Newton; `weights` of rows are 1 by default."""
    names = list(expected)
    weight = np.ones(len(trial.measured)) if weights is None else np.sqrt(weights)
    start = np.log([getattr(prior, name) for name in names])
    low, high = np.log([FITTED[name] for name in names]).T
    tight = SCATTER / np.array([expected[name] for name in names])

    def constants(at: Array) -> Constants:
        return replace(prior, **dict(zip(names, np.exp(at).tolist(), strict=True)))

    def residuals(at: Array) -> Array:
        return np.concatenate([weight * trial.log_ratio(constants(at)), tight * (at - start)])

    at, step = np.clip(start, low, high), 1e-4
    now = residuals(at)
    for _ in range(50):
        inward = np.where(at + step > high, -step, step)
        slopes = [residuals(at + d) for d in np.diag(inward)]
        jacobian = np.stack([(s - now) / d for s, d in zip(slopes, inward, strict=True)], axis=1)
        move = -np.linalg.lstsq(jacobian, now, rcond=None)[0]
        if np.abs(move).max() < 1e-5:
            break
        # Shorter until it helps: kinks of a roofline may mislead a long step.
        for _ in range(12):
            tried = np.clip(at + move, low, high)
            then = residuals(tried)
            if then @ then <= now @ now:
                break
            move = move / 2
        else:
            break
        at, now = tried, then
    return constants(at)


def predict(rows: Sequence[Row], constants: Constants) -> Array:
    """How long measured runs should take with such constants [s] (F12.1, F3.12)."""
    return Trial(rows).predict(constants)


def errors(rows: Sequence[Row], constants: Constants) -> Agreement:
    """How far such predictions are off (F12.2)."""
    return Agreement.of(rows, predict(rows, constants))
