"""The text of a file as records: JSON, one or many in a row, or a table with a header."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from calc.measured.mapping import Plain
from calc.measured.row import RowError
from calc.words import say

Record = Mapping[str, Any]

LARGEST_TEXT = 16_000_000
MOST_RECORDS = 20_000
_NEVER = 1e99


@dataclass(frozen=True)
class Form:
    """A form of result file.

    Parameters
    ----------
    name : str
        What writes it.
    recognises : callable
        Whether a record is of this form.
    row : callable
        The plain row of a record, given the plain values of a scenario. `model_name`,
        `chip_name`, `weights_name` and `cache_name` in it are as the file has them. Raises
        `RowError`.
    parts : callable
        The records of single runs within a record.
    """

    name: str
    recognises: Callable[[Record], bool]
    row: Callable[[Record, Plain], dict[str, Any]]
    parts: Callable[[Record], Iterable[Record]] = lambda record: [record]


def records(text: str) -> list[Record]:
    """Everything in a text that may be a record; empty if it is neither JSON nor a table."""
    start = text.lstrip("\ufeff \t\r\n")
    found = _json(start) if start[:1] in ("{", "[") else _table(start)
    return found[:MOST_RECORDS]


def _json(text: str) -> list[Record]:
    decoder, found, at = json.JSONDecoder(), [], 0
    while at < len(text):
        try:
            value, end = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            return []
        found += value if isinstance(value, list) else [value]
        at = end
        while at < len(text) and text[at] in " \t\r\n,":
            at += 1
    return [one for one in found if isinstance(one, dict)]


def _table(text: str) -> list[Record]:
    head = text.split("\n", 1)[0]
    delimiter = max(",;\t", key=head.count)
    try:
        rows = list(csv.DictReader(io.StringIO(text), delimiter=delimiter, skipinitialspace=True))
    except csv.Error:
        return []
    # Cells beyond the header have no name.
    return [
        {str(name).strip(): value for name, value in row.items() if isinstance(value, str)}
        for row in rows
    ]


def at(record: Any, *path: str | int) -> Any:
    """What stands at a path of keys and places, or None."""
    for step in path:
        if isinstance(record, Mapping):
            record = record.get(step)
        elif isinstance(record, list) and isinstance(step, int) and step < len(record):
            record = record[step]
        else:
            return None
    return record


def number(record: Any, *path: str | int) -> float | None:
    """A number at a path, None where there is none; what cannot be one is refused."""
    value = at(record, *path)
    if value is None or value == "":
        return None
    try:
        found = float(value)
    except (TypeError, ValueError, OverflowError):
        found = _NEVER
    if isinstance(value, bool) or not abs(found) < _NEVER:
        name = next((str(step) for step in reversed(path) if isinstance(step, str)), "")
        raise RowError(say("{name} is not a number", name=name))
    return found


def needed(record: Any, *path: str | int) -> float:
    """A positive number at a path."""
    found = number(record, *path)
    name = next((str(step) for step in reversed(path) if isinstance(step, str)), "")
    if found is None:
        raise RowError(say("{name} is missing", name=name))
    if not found > 0:
        raise RowError(say("{name} {value:g} is not positive", name=name, value=found))
    return found


def served(tpot: float, rate: float, prompt: float, output: float) -> dict[str, Any]:
    """A plain row of continuous batching.

    Parameters
    ----------
    tpot : float
        Mean time of a token after the first [s].
    rate : float
        Tokens generated per second over all requests [token/s].
    prompt, output : float
        Mean lengths [token].

    Notes
    -----
    By Little's law `rate` times `tpot` sequences decode at a time (F8.3). While one of them makes a
    token, the others' prompts take their turn, one in `output` steps each.
    """
    batch = max(rate * tpot, 1.0)
    return {
        "kind": "decode",
        "seconds": tpot,
        "batch": batch,
        "context": prompt + output / 2,
        "prompt": prompt,
        "output": output,
        "prompts": (batch - 1) / output,
        "ride_along": True,
    }
