"""The charts of the Cost page."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from calc import Scenario, cost, decode
from calc.explain import bands
from calc.words import marked, say
from pages.ui.charts import kit, lines
from pages.ui.writing import palette, text

Array = NDArray[np.float64]

_USD = palette.Look(marked("fits in memory"), palette.INK)
_BEYOND = palette.Look(marked("does not fit"), palette.INK, "dot")


def _around(
    latency: Array, values: Array, edges: tuple[Array, Array] | None, *, money: bool
) -> lines.Around | None:
    """The curve with steps as short and as long as they usually are: prices go with them."""
    if edges is None:
        return None
    low, high = ((latency * edge, values * edge if money else values / edge) for edge in edges)
    return low, high


def frontier(scenario: Scenario, batch: Array, largest: int, *, money: bool) -> kit.Chart:
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
        say(_USD.label): (np.where(fits, values, np.nan), _USD),
        say(_BEYOND.label): (np.where(beyond, values, np.nan), _BEYOND),
    }
    return lines.chart(
        latency,
        shown,
        x_title=say("Time per output token (ms)"),
        y_title=say("USD per million output tokens") if money else say("Token/s per chip"),
        unit=say("USD") if money else say("token/s per chip"),
        now=(
            1e3 * float(own.total),
            here,
            text.usd(here) if money else text.rate(here),
        ),
        around=_around(latency, values, bands.edges(scenario, batch), money=money),
        decades=3.0,
    )
