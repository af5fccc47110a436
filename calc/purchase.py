"""What an hour of a chip costs, by how it is bought, and a price list of one's own."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace

from calc.chip import PLAUSIBLE, Chip, Price
from calc.errors import LedgerError
from calc.words import marked, say

# How chips are paid for.
OWNED = "owned"
TERMS: Mapping[str, str] = {
    "demand": marked("on demand"),
    "reserved": marked("reserved"),
    "spot": marked("spot"),
    OWNED: marked("owned"),
}
# Those that are paid less than the price on demand.
DISCOUNTED = ("reserved", "spot")
HOURS_PER_YEAR = 8760.0
_WATTS_PER_KILOWATT = 1000.0


def owned(
    capital: float,
    watts: float,
    years: float,
    in_use: float,
    surroundings: float,
    energy_price: float,
    pue: float,
) -> float:
    """What an hour in use of a chip of one's own costs [USD/hour].

    .. math:: \\frac{C (1 + a)}{8760\\,y\\,u} + \\frac{P_W\\,\\mathrm{PUE}\\,p_E}{1000}

    Parameters
    ----------
    capital : float
        Paid for the chip [USD].
    watts : float
        Its power [W].
    years, in_use : float
        How long it is used, and for what share of that time.
    surroundings : float
        What host and network cost, as a share of the chips.
    energy_price : float
        Of electricity [USD/kWh].
    pue : float
        Power of the building over that of its machines.

    References
    ----------
    F13.6.

    Examples
    --------
    >>> round(owned(26280, 1000, 3, 0.5, 0.0, 0.1, 1.5), 3)
    2.15
    """
    hours = HOURS_PER_YEAR * years * in_use
    energy = watts * pue * energy_price / _WATTS_PER_KILOWATT
    return capital * (1 + surroundings) / hours + energy


class PriceListError(LedgerError):
    """A price list that cannot be used, and in which line."""


@dataclass(frozen=True)
class Listed:
    """What a price list says of a chip.

    `usd_per_hour` of a rented and `capital` of a bought one [USD/hour, USD], `power` where it is
    stated [W]; nan where it says nothing.
    """

    usd_per_hour: float = math.nan
    capital: float = math.nan
    power: float = math.nan

    def on(self, chip: Chip) -> Chip:
        """The chip at this price; what was printed elsewhere stays beside it."""
        power = chip.power if math.isnan(self.power) else self.power
        others = (*([chip.price] if chip.price else []), *chip.other_prices)
        rented = math.isfinite(self.usd_per_hour)
        price = Price(self.usd_per_hour, say("your price list")) if rented else None
        return replace(chip, price=price, capital=self.capital, other_prices=others, power=power)


LONGEST = 2000
_LINE = re.compile(
    r"(?P<chip>\S.*?)[\s:=]+(?P<own>own\s+)?\$?(?P<usd>\d{1,9}(\.\d{1,6})?)"
    r"(\s+(?P<watts>\d{1,6})\s*W)?",
    re.ASCII | re.IGNORECASE,
)


def read(text: str) -> dict[str, Listed]:
    """What a price list says, by chip as it is written.

    A chip a line, or behind a comma or semicolon: ``h100-sxm 2.49`` in USD an hour, ``b200 own
    40000`` bought for so many USD, either followed by its power, ``1000 W``.

    Raises
    ------
    PriceListError
        If a line says nothing of the kind, or no plausible price.

    Examples
    --------
    >>> read("h100-sxm 2.49; B200 own 40000 1000 W")["B200"].capital
    40000.0
    """
    found = {}
    for number, line in _lines(text):
        given = _LINE.fullmatch(line)
        if not given:
            raise PriceListError(
                say("line {n} is not a chip and its price, as in {like}", n=number,
                    like="h100-sxm 2.49")
            )  # fmt: skip
        usd, watts = float(given["usd"]), float(given["watts"] or math.nan)
        low, high = PLAUSIBLE["capital" if given["own"] else "price"]
        if not low <= usd <= high:
            raise PriceListError(
                say("the price in line {n} is outside {low:g} to {high:g}", n=number, low=low,
                    high=high)
            )  # fmt: skip
        found[given["chip"]] = (
            Listed(capital=usd, power=watts) if given["own"] else Listed(usd, power=watts)
        )
    return found


def noted(text: str, chip: Chip, listed: Listed) -> str:
    """A price list with one chip more, or with another price of it."""
    what = listed.usd_per_hour if math.isfinite(listed.usd_per_hour) else listed.capital
    own = "" if what == listed.usd_per_hour else "own "
    power = f" {listed.power:.0f} W" if math.isfinite(listed.power) else ""
    return "\n".join([*([text] if text else []), f"{chip.id} {own}{what:.10g}{power}"])


def _lines(text: str) -> list[tuple[int, str]]:
    parts = [part.strip() for part in re.split(r"[\n,;]", text)]
    return [(number, part) for number, part in enumerate(parts, start=1) if part]


def priced(chips: Mapping[str, Chip], text: str) -> dict[str, Chip]:
    """Chips at the prices of a list, which calls them by id or by name.

    Raises
    ------
    PriceListError
        If the list cannot be read, or a line calls no chip.
    """
    called = {_slug(name): id for id, chip in chips.items() for name in (chip.name, id)}
    found = dict(chips)
    for number, (name, listed) in enumerate(read(text).items(), start=1):
        id = called.get(_slug(name))
        if id is None:
            raise PriceListError(say("entry {n} names no chip that is known here", n=number))
        found[id] = listed.on(chips[id])
    return found


def _slug(name: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")
