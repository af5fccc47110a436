"""Reads what was measured of drafts; a report must say of what, on what, and who says so."""

from __future__ import annotations

import math
from collections.abc import Mapping

from calc.drafts import KINDS, Report
from calc.speculative import LONGEST_DRAFT, SpeculationError, accepted_in_turn
from presets.loader import Reader, cite

_MOST_SPEEDUP, _MOST_BATCH = 20.0, 65536


def read_report(id: str, reader: Reader, sources: Mapping[str, str]) -> Report:
    """One report.

    Raises
    ------
    PresetError
        If a key is missing, a figure cannot be, or it says nothing of the draft.
    """
    kind = reader.take("kind", str)
    if kind not in KINDS:
        raise reader.error("kind", f"{kind} is not one of {', '.join(KINDS)}")
    length = reader.whole("n_draft", 1, LONGEST_DRAFT, 0)
    figures = {
        "speedup": reader.number("speedup", 0.1, _MOST_SPEEDUP, math.nan),
        "loses_from": reader.number("loses_from", 1, _MOST_BATCH, math.nan),
        "cost_ratio": reader.number("cost_ratio", 0, 2, math.nan),
    }
    tokens = _tokens(reader, length)
    if all(math.isnan(one) for one in (tokens, *figures.values())):
        raise reader.error("", "says neither tokens, speed-up, cost nor a batch that loses")
    report = Report(
        kind=kind,
        method=reader.take("method", str),
        target=reader.take("target", str, ""),
        work=reader.take("work", str, ""),
        hardware=reader.take("hardware", str, ""),
        n_draft=length,
        tokens=tokens,
        batch=reader.whole("batch", 1, _MOST_BATCH, 1),
        sources=cite(reader, sources),
        note=reader.take("note", str, ""),
        **{name: float(value) for name, value in figures.items()},
    )
    reader.done()
    return report


def _tokens(reader: Reader, length: int) -> float:
    """Tokens a check, as they are, or as acceptances by position that add up to them."""
    most = 1 + (length or LONGEST_DRAFT)
    tokens = reader.number("tokens", 1, most, math.nan)
    shares = reader.take("positions", list, None)
    if shares is None:
        return float(tokens)
    if not math.isnan(tokens):
        raise reader.error("positions", "and tokens say the same: one of them is enough")
    if len(shares) != length or not all(isinstance(one, (int, float)) for one in shares):
        raise reader.error("positions", "is not one number for each of n_draft")
    try:
        accepted_in_turn(shares)
    except SpeculationError as error:
        raise reader.error("positions", str(error)) from error
    return float(1 + sum(shares))
