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

COLUMNS = ("arrival", "prompt", "output")
MOST_ROWS = 50_000
MOST_CHARACTERS = 4_000_000
LATEST = 1e9


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
            f"The trace is longer than {MOST_CHARACTERS:,} characters: the rest is left out."
        )
    values, cut = _values(text.removeprefix("\ufeff"))
    if cut:
        notices.append(
            f"The trace has more than {MOST_ROWS:,} rows: the first {MOST_ROWS:,} are used."
        )
    table = np.array(values)
    arrival = table[:, 0]
    if (np.diff(arrival) < 0).any():
        table = table[np.argsort(arrival, kind="stable")]
        notices.append("The trace is not in order of arrival: it was sorted.")
    if table[0, 0] > 0:
        notices.append(f"The first request comes at {table[0, 0]:g} s: time starts there.")
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
                f"The trace has no column {' or '.join(missing)}; "
                "its first line must name arrival, prompt and output."
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
        raise ServingError(f"Line {rows.line_num:,} of the trace is no CSV.") from error
    if not values:
        raise ServingError("The trace has no row below its first line.")
    return values, False


def _number(row: list[str], at: int, column: str, line: int) -> float:
    text = row[at].strip() if at < len(row) else ""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if math.isnan(value):
        raise ServingError(f"Line {line:,} of the trace has no number in column {column}.")
    low, high = (0.0, LATEST) if column == "arrival" else (1, LONGEST)
    if not low <= value <= high:
        raise ServingError(
            f"Line {line:,} of the trace has {value:g} in column {column}, "
            f"outside {low:g} to {high:,.0f}."
        )
    if column != "arrival" and value % 1:
        raise ServingError(
            f"Line {line:,} of the trace has {value:g} in column {column}, not whole."
        )
    return value
