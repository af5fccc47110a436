"""Requests from a table: a CSV of arrival [s], prompt and output [token].

The text is a stranger's: reading it raises nothing but `ServingError`, in one sentence that names
the column and the line.
"""

from __future__ import annotations

import csv
import io
import math

import numpy as np

from calc.serving.errors import ServingError
from calc.serving.lengths import LONGEST
from calc.serving.traffic import Traffic
from calc.words import say

COLUMNS = ("arrival", "prompt", "output")
MOST_ROWS = 50_000
MOST_CHARACTERS = 4_000_000
# Unix time in seconds, and far beyond.
LATEST = 1e11


def read(text: str) -> Traffic:
    """Traffic from a CSV with the columns ``arrival``, ``prompt`` and ``output`` in any order.

    Rows out of order are sorted and times moved so that the first is 0; both are said in the
    traffic's notices, as are rows beyond the limit, which are left out.

    Raises
    ------
    ServingError
        If a column is missing, or a value is no number or out of its range.

    Examples
    --------
    >>> traffic = read("arrival,prompt,output\\n0,100,20\\n1.5,300,10")
    >>> traffic.prompt.tolist(), traffic.rate
    ([100, 300], 0.6666666666666666)
    """
    notices = []
    if len(text) > MOST_CHARACTERS:
        text = text[:MOST_CHARACTERS].rpartition("\n")[0]
        notices.append(
            say(
                "The trace is longer than {most:,} characters: the rest is left out.",
                most=MOST_CHARACTERS,
            )
        )
    values, cut = _values(text.removeprefix("\ufeff"))
    if cut:
        notices.append(
            say(
                "The trace has more than {most:,} rows: the first {most:,} are used.",
                most=MOST_ROWS,
            )
        )
    table = np.array(values)
    arrival = table[:, 0]
    if (np.diff(arrival) < 0).any():
        table = table[np.argsort(arrival, kind="stable")]
        notices.append(say("The trace is not in order of arrival: it was sorted."))
    if table[0, 0] > 0:
        notices.append(
            say("The first request comes at {first:g} s: time starts there.", first=table[0, 0])
        )
    arrival = table[:, 0] - table[0, 0]
    span = float(arrival[-1])
    rate = (len(table) - 1) / span if span > 0 else math.inf
    lengths = table[:, 1:].astype(np.int64)
    return Traffic(
        arrival, lengths[:, 0], lengths[:, 1], rate, np.arange(len(table)), notices=tuple(notices)
    )


def _values(text: str) -> tuple[list[list[float]], bool]:
    """Numbers of every row, and whether rows were left out."""
    rows = csv.reader(io.StringIO(text))
    values: list[list[float]] = []
    try:
        header = [name.strip().lower() for name in next(rows, [])]
        missing = [name for name in COLUMNS if name not in header]
        if missing:
            raise ServingError(
                say(
                    "The trace has no column {columns}; its first line must name arrival, prompt "
                    "and output.",
                    columns=say(" or ").join(missing),
                )
            )
        at = [header.index(name) for name in COLUMNS]
        for row in rows:
            if not any(cell.strip() for cell in row):
                continue
            if len(values) == MOST_ROWS:
                return values, True
            line = rows.line_num
            values.append([_number(row, at[k], COLUMNS[k], line) for k in range(len(COLUMNS))])
    except csv.Error as error:
        raise ServingError(
            say("Line {line:,} of the trace is no CSV.", line=rows.line_num)
        ) from error
    if not values:
        raise ServingError(say("The trace has no row below its first line."))
    return values, False


def _number(row: list[str], at: int, column: str, line: int) -> float:
    text = row[at].strip() if at < len(row) else ""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if math.isnan(value):
        raise ServingError(
            say(
                "Line {line:,} of the trace has no number in column {column}.",
                line=line,
                column=column,
            )
        )
    low, high = (0.0, LATEST) if column == "arrival" else (1, LONGEST)
    if not low <= value <= high:
        raise ServingError(
            say(
                "Line {line:,} of the trace has {value:g} in column {column}, outside {low:g} to "
                "{high:,.0f}.",
                line=line,
                value=value,
                column=column,
                low=low,
                high=high,
            )
        )
    if column != "arrival" and value % 1:
        raise ServingError(
            say(
                "Line {line:,} of the trace has {value:g} in column {column}, not whole.",
                line=line,
                value=value,
                column=column,
            )
        )
    return value
