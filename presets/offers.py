"""Prices of APIs from their file."""

from __future__ import annotations

from datetime import date

from calc.plan import Offer
from presets.loader import Reader

_MOST_USD = 1000.0


def read_offer(id: str, reader: Reader) -> Offer:
    """One price list of one provider for one model.

    Raises
    ------
    PresetError
        If a figure is missing or cannot be.
    """
    read = reader.take("read", str)
    try:
        date.fromisoformat(read)
    except ValueError:
        raise reader.error("read", "is not a day such as 2026-11-30") from None
    found = Offer(
        reader.take("model", str),
        reader.take("provider", str),
        float(reader.number("usd_in", 0.0, _MOST_USD)),
        float(reader.number("usd_out", 0.0, _MOST_USD)),
        read,
        reader.take("source", str),
    )
    reader.done()
    return found
