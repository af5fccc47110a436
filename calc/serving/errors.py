"""What a simulation refuses, in words."""

from __future__ import annotations


class ServingError(ValueError):
    """Traffic, a policy or a deployment that cannot be simulated; the message says what and why."""


def positive(what: str, value: float, unit: str = "") -> None:
    """Refuse a figure that is not a finite number above 0."""
    if not 0 < value < float("inf"):
        raise ServingError(
            f"{what} is {value:g}{unit and ' ' + unit}; it must be above 0 and finite."
        )


def whole(what: str, value: float, least: int, most: int) -> None:
    """Refuse a figure that is not a whole number within a range."""
    if not (least <= value <= most and value % 1 == 0):
        raise ServingError(
            f"{what} is {value:g}; it must be a whole number, {least:,} to {most:,}."
        )
