"""Measurements: what was run and how long it took, and how long it should have taken.

`mapped` makes a measurement of a plain row, `reading` of a whole table; `predicted` says what a
fidelity gives for it, `predictions` for many. `calc.measured.files` reads result files.
"""

from calc.measured.agreement import Agreement, by
from calc.measured.mapping import Left, Plain, Reading, mapped, reading
from calc.measured.near import near
from calc.measured.own import Own, explained
from calc.measured.prediction import Part, parts, predicted, predictions
from calc.measured.row import KINDS, Row, RowError

__all__ = [
    "KINDS", "Agreement", "Left", "Own", "Part", "Plain", "Reading", "Row", "RowError",
    "by", "explained", "mapped", "near", "parts", "predicted", "predictions", "reading",
]  # fmt: skip
