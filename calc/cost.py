"""What tokens cost."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from calc.decode import StepTime
from calc.scenario import Scenario

SECONDS_PER_HOUR = 3600.0


def per_million_tokens(scenario: Scenario, step: StepTime) -> NDArray[np.float64]:
    """Price of a million generated tokens with the chips always busy [USD]; nan without a price.

    .. math:: \\frac{p}{3600 \\cdot \\text{tokens per second per chip}} \\cdot 10^6

    References
    ----------
    formulas.md F8.12.
    """
    price = scenario.chip.price.usd_per_hour if scenario.chip.price else math.nan
    return np.asarray(price / SECONDS_PER_HOUR / step.throughput_per_chip * 1e6)
