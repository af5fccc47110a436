"""Plain rows, as a table or a file has them, as measurements."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from calc.errors import LedgerError
from calc.fields import Catalogues, Option, Quantity, Rows
from calc.measured.row import Row, RowError
from calc.scenario import FIELDS, build
from calc.words import inside, say

Plain = Mapping[str, Any]

# What a scenario cannot be without, and no default stands for.
NEEDED = (
    "model", "chip", "n_chips", "weight_format", "kv_format", "compute_format", "batch", "context",
)  # fmt: skip
# Means over a run: the scenario has the nearest whole.
MEANS = ("batch", "context", "prompt", "output")
_NUMBERS = ("seconds", "decode_steps", "prompts", "together")
_TEXTS = ("kind", "id", "source", "reference", "date", "engine_name", "engine_version")


@dataclass(frozen=True)
class Left:
    """A row that is not used, by its name, and why."""

    name: str
    reason: str


@dataclass(frozen=True)
class Reading:
    """Rows of a table or a file: those that are used, and those that are not."""

    rows: tuple[Row, ...]
    left: tuple[Left, ...]


def mapped(plain: Plain, catalogues: Catalogues, given: Plain | None = None) -> Row:
    """A measurement of a plain row.

    Parameters
    ----------
    plain : mapping of str to str or float
        Values by the name of `Row`'s and `Scenario`'s fields, in the units of links; an empty one
        says nothing. `seconds` is in s. `batch` and `context` need not be whole.
    catalogues : mapping
        Models, chips and formats by id.
    given : mapping, optional
        Values of a scenario for what the row does not say.

    Raises
    ------
    RowError
        If something is missing, unknown or no number.
    """
    said = {name: value for name, value in plain.items() if value not in ("", None)}
    means = {name: _number(name, said[name]) for name in ("batch", "context") if name in said}
    values = dict(given or {})
    for name in FIELDS:
        if name in said:
            values[name] = _value(name, said[name], catalogues)
    for name in NEEDED:
        if name not in values:
            raise RowError(say("it says no {field}", field=inside(FIELDS[name].label)))
    if "seconds" not in said:
        raise RowError(say("it says no time"))
    try:
        scenario = build(values, catalogues)
    except LedgerError as error:
        raise RowError(str(error)) from error
    numbers: dict[str, Any] = {name: _number(name, said[name]) for name in _NUMBERS if name in said}
    texts: dict[str, Any] = {name: str(said[name]) for name in _TEXTS if name in said}
    return Row(
        scenario=scenario,
        batch=means.get("batch", float(scenario.batch)),
        context=means.get("context", float(scenario.context)),
        ride_along=_yes(said.get("ride_along", False)),
        **({"kind": "decode"} | texts),
        **numbers,
    )


def reading(plains: Iterable[Plain], catalogues: Catalogues, given: Plain | None = None) -> Reading:
    """All rows of a table that can be used, and why the others cannot."""
    rows, left = [], []
    for number, plain in enumerate(plains, 1):
        try:
            rows.append(mapped(plain, catalogues, given))
        except RowError as error:
            left.append(Left(str(plain.get("id") or number), str(error)))
    return Reading(tuple(rows), tuple(left))


def _number(name: str, value: Any) -> float:
    try:
        found = float(value)
    except (TypeError, ValueError, OverflowError):
        found = math.nan
    if not math.isfinite(found) or isinstance(value, bool):
        raise RowError(say("{name} {value} is not a number", name=name, value=_short(value)))
    return found


def _yes(value: Any) -> bool:
    return str(value).strip().lower() in ("1", "true", "yes")


def _value(name: str, value: Any, catalogues: Catalogues) -> Any:
    """A value of a scenario's field, as links carry it."""
    field = FIELDS[name]
    if isinstance(field, Quantity):
        number = _number(name, value)
        if name in MEANS and number > 0:
            number = max(round(number), 1)
        problem = field.problem(number)
        if problem:
            raise RowError(say("{field} {value} is {problem}", field=inside(field.label),
                               value=_short(value), problem=problem))  # fmt: skip
        return number
    # No field of a scenario has rows.
    assert not isinstance(field, Rows)
    known = field.options if isinstance(field, Option) else field.ids(catalogues)
    if value not in known:
        raise RowError(say("{field} {value} is not known", field=inside(field.label),
                           value=_short(value)))  # fmt: skip
    return value


def _short(value: Any) -> str:
    """What a stranger wrote, no longer than a sentence can take."""
    text = str(value)
    return text if len(text) <= 40 else f"{text[:39]}…"
