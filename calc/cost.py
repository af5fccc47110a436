"""What tokens and requests cost, in dollars and in joules, with every chip always busy."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from calc import decode, known, purchase
from calc.chip import Chip
from calc.decode import StepTime
from calc.formats import NumberFormat
from calc.scenario import Scenario

Array = NDArray[np.float64]

SECONDS_PER_HOUR = 3600.0


def price(scenario: Scenario, chip: Chip | None = None) -> float:
    """Price of an hour of one chip, by the scenario's terms [USD/hour]; nan if there is none.

    What is typed is of the scenario's chip. A rented one takes that or the preset's price, and
    the discount where terms have one; an owned one what it was bought for. One without a price of
    an hour is owned where its purchase price is known.

    Parameters
    ----------
    scenario : Scenario
        The terms.
    chip : Chip, optional
        Another chip than its own.

    References
    ----------
    F13.6.
    """
    s, of = scenario, chip or scenario.chip
    if is_owned(s, of):
        return purchase.owned(
            capital(s, of), power(s, of), s.years, s.in_use, s.surroundings, s.energy_price, s.pue
        )
    hour = rent(s, of)
    return hour * (1 - s.discount) if s.terms in purchase.DISCOUNTED else hour


def replica_price(scenario: Scenario) -> float:
    """Price of an hour of all chips of a replica [USD/hour]; nan if there is none."""
    return scenario.n_chips * price(scenario)


def rent(scenario: Scenario, chip: Chip | None = None) -> float:
    """Price of an hour of one chip on demand [USD/hour]; nan if there is none."""
    s, of = scenario, chip or scenario.chip
    typed = s.price if of.id == s.chip.id else 0.0
    return typed or (of.price.usd_per_hour if of.price else math.nan)


def is_owned(scenario: Scenario, chip: Chip | None = None) -> bool:
    """Whether a chip is owned: by the terms, or since only its purchase price is known."""
    return scenario.terms == purchase.OWNED or (
        math.isnan(rent(scenario, chip)) and not math.isnan(capital(scenario, chip))
    )


def capital(scenario: Scenario, chip: Chip | None = None) -> float:
    """What was paid for one chip [USD]: the typed or the listed price; nan if there is none."""
    s, of = scenario, chip or scenario.chip
    return (s.capital if of.id == s.chip.id else 0.0) or of.capital


def power(scenario: Scenario, chip: Chip | None = None) -> float:
    """Power of one chip [W]: the scenario's own or the preset's; nan if there is none."""
    s, of = scenario, chip or scenario.chip
    return (s.power if of.id == s.chip.id else 0.0) or of.power


def per_million(price: float, tokens_per_second: ArrayLike) -> Array:
    """Price of a million tokens [USD].

    .. math:: \\frac{p}{3600\\,X}\\,10^6

    Parameters
    ----------
    price : float
        Of whatever makes the tokens [USD/hour].
    tokens_per_second : array_like
        What it makes [token/s].

    References
    ----------
    F8.12.

    Examples
    --------
    >>> round(float(per_million(2.0, 100.0)), 3)
    5.556
    """
    made = np.asarray(tokens_per_second, dtype=float)
    return np.asarray(price / SECONDS_PER_HOUR / made * 1e6)


def per_million_tokens(scenario: Scenario, step: StepTime) -> Array:
    """Price of a million generated tokens [USD]; nan without a price."""
    return per_million(price(scenario), step.throughput_per_chip)


def batch_saving(scenario: Scenario, longest: float) -> float:
    """Price of a token decoded alone over that in the largest batch within a time per token.

    The price of the chips cancels. 1 where no larger batch is within it, nan where times are
    unknown.

    Parameters
    ----------
    scenario : Scenario
        Its batch does not matter; nor does whether memory holds the batch that is found.
    longest : float
        Longest decode step [s].

    References
    ----------
    F8.12.
    """
    low, high = 1.0, 65536.0
    alone = decode.step_time(scenario, batch=1.0).total
    for _ in range(2):
        batch = np.unique(np.round(np.geomspace(low, high, 300)))
        within = decode.step_time(scenario, batch=batch).total <= longest
        if not within[0]:
            return math.nan if math.isnan(float(alone)) else 1.0
        last = int(np.flatnonzero(within)[-1])
        low, high = batch[last], batch[min(last + 1, len(batch) - 1)]
    largest = decode.step_time(scenario, batch=low)
    return float(alone * low / largest.total)


def per_million_input_tokens(
    scenario: Scenario, prompts_per_second: float, hour: float | None = None
) -> float:
    """Price of a million prompt tokens on a replica that does nothing else [USD].

    `hour` is the price of the replica where it is not the scenario's [USD/hour].
    """
    paid = replica_price(scenario) if hour is None else hour
    return float(per_million(paid, scenario.prompt * prompts_per_second))


def per_thousand_requests(
    price: float, output: float, tokens_per_second: float, prompts_per_second: float = math.inf
) -> float:
    """Price of a thousand requests, decoding and prefill on machines of one price [USD].

    Parameters
    ----------
    price : float
        Of one machine of either kind [USD/hour].
    output : float
        Tokens that a request generates [token].
    tokens_per_second, prompts_per_second : float
        What a decoding machine and a prefill machine do.

    References
    ----------
    F8.12.

    Examples
    --------
    >>> round(per_thousand_requests(2.0, 200, 100.0, 100 / 60), 3)
    1.444
    """
    seconds = output / tokens_per_second + 1 / prompts_per_second
    return 1000 * seconds * price / SECONDS_PER_HOUR


def requests(scenario: Scenario, step: StepTime, prompts_per_second: float) -> float:
    """Price of a thousand of the scenario's requests on its own replica [USD]."""
    s, made = scenario, float(step.throughput)
    return per_thousand_requests(replica_price(s), s.output, made, prompts_per_second)


def flops_per_usd(chip_price: float, chip: Chip, compute_format: NumberFormat) -> float:
    """FLOPs at the dense peak that a dollar buys [FLOP/USD] (F8.12).

    >>> v5e = Chip("v5e", "", "", 16e9, 8.2e11, {"bf16": 1.97e14})
    >>> f"{flops_per_usd(1.2, v5e, NumberFormat('bf16', '', 16, 'bf16')):.2e}"
    '5.91e+17'
    """
    return SECONDS_PER_HOUR * known.figure(chip.peak(compute_format)) / chip_price


def tokens_per_joule(scenario: Scenario, step: StepTime) -> Array:
    """Tokens that a joule makes at the chips' power [token/J]; nan if none is published (F8.13)."""
    return np.asarray(step.throughput_per_chip / power(scenario))


def kilowatt_hours_per_year(watts: float) -> float:
    """Energy of a year at constant power [kWh].

    >>> kilowatt_hours_per_year(800)
    7008.0
    """
    return watts * 8760 / 1000
