"""The charts of the Cost page."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from calc import Scenario, cost, decode
from pages.ui import figures, lines, palette, text

Array = NDArray[np.float64]

_USD = palette.Quantity("fits in memory", palette.INK)
_BEYOND = palette.Quantity("does not fit", palette.INK, "dot")


def frontier(scenario: Scenario, batch: Array, largest: int, *, money: bool) -> figures.Chart:
    """Price of a million tokens, or token/s per chip, against time per token as batch grows."""
    step = decode.step_time(scenario, batch=batch)
    own = decode.step_time(scenario)
    values = cost.per_million_tokens(scenario, step) if money else step.throughput_per_chip
    here = float(cost.per_million_tokens(scenario, own) if money else own.throughput_per_chip)
    fits = batch <= largest
    beyond = ~fits
    beyond[:-1] |= ~fits[1:]
    latency = 1e3 * step.total
    shown: dict[str, lines.Line] = {
        "fits in memory": (np.where(fits, values, np.nan), _USD),
        "does not fit": (np.where(beyond, values, np.nan), _BEYOND),
    }
    return lines.chart(
        latency,
        shown,
        x_title="Time per output token (ms)",
        y_title="USD per million output tokens" if money else "Token/s per chip",
        unit="USD" if money else "token/s per chip",
        now=(
            1e3 * float(own.total),
            here,
            text.usd(here) if money else text.rate(here),
        ),
        decades=3.0,
    )
