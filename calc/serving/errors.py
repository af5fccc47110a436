"""What a simulation refuses, in words."""

from __future__ import annotations

from calc.errors import LedgerError
from calc.words import say


class ServingError(LedgerError):
    """Traffic, a policy or a deployment that cannot be simulated; the message says what and why."""


def positive(what: str, value: float, unit: str = "") -> None:
    """Refuse a figure that is not a finite number above 0; name and unit are marked."""
    if not 0 < value < float("inf"):
        raise ServingError(
            say(
                "{what} is {value}; it must be above 0 and finite.",
                what=say(what),
                value=f"{value:g} {say(unit)}".rstrip(),
            )
        )


def whole(what: str, value: float, least: int, most: int) -> None:
    """Refuse a figure that is not a whole number within a range; its name is marked."""
    if not (least <= value <= most and value % 1 == 0):
        raise ServingError(
            say(
                "{what} is {value:g}; it must be a whole number, {least:,} to {most:,}.",
                what=say(what),
                value=value,
                least=least,
                most=most,
            )
        )
