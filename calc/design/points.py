"""Many models at once: one model whose figures are arrays, and measures of it that are arrays.

The core's formulas are arithmetic, so they broadcast. Where one asks a figure a question, as
whether experts are routed, points may answer differently: they are then parted by their answer.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from calc.design import edits, table
from calc.design.kinds import KEYS
from calc.design.reading import Table
from calc.errors import LedgerError
from calc.model import Model
from calc.scenario import Scenario

Array = NDArray[np.float64]


class PartedError(LedgerError):
    """Points answered a question differently; `answers` has theirs."""

    def __init__(self, answers: NDArray[Any]) -> None:
        super().__init__("points differ")
        self.answers = answers


class _Points(np.ndarray[Any, np.dtype[Any]]):
    """A figure of many models, which answers a question for all of them or for none."""

    def __bool__(self) -> bool:
        truth = np.asarray(self, dtype=bool)
        if truth.all():
            return True
        if not truth.any():
            return False
        raise PartedError(truth)

    # Arrays declare that they have none; those of this module answer as one number would.
    def __hash__(self) -> int:  # type: ignore[override]
        """What is known by number is looked up apart for each, as by points of one figure."""
        numbers = np.asarray(self)
        same = np.all(numbers == numbers.flat[0])
        raise PartedError(np.arange(numbers.size) if same else numbers)


def measured(
    scenario: Scenario,
    content: Table,
    figures: Mapping[tuple[edits.Path, ...], ArrayLike],
    measure: Callable[[Scenario], Any],
) -> Array:
    """A measure of the scenario with each of many models.

    Parameters
    ----------
    scenario : Scenario
        In which models are measured.
    content : Table
        The model that they are variations of.
    figures : mapping
        Paths to the values that stand there; arrays broadcast against each other.
    measure : callable
        Of a scenario, see `calc.design.measures`.

    Returns
    -------
    array
        Of the figures' shape; nan where figures do not go together.
    """
    arrays = np.broadcast_arrays(*(np.asarray(one, dtype=float) for one in figures.values()))
    shape = arrays[0].shape
    spread = {
        path: np.ravel(one) for paths, one in zip(figures, arrays, strict=True) for path in paths
    }
    found = np.full(arrays[0].size, np.nan)
    valid = _go_together(content, spread)
    if valid.any():
        chosen = {path: values[valid] for path, values in spread.items()}
        absent = {path for path in chosen if edits.taken(content, path) is None}
        base = edits.put(content, {path: int(chosen[path][0]) for path in absent})
        found[valid] = _parted(scenario, table.read(base), chosen, measure)
    return found.reshape(shape)


def _go_together(content: Table, spread: Mapping[edits.Path, Array]) -> NDArray[np.bool_]:
    """Points whose figures obey the rules of their layers."""
    valid = np.ones(next(iter(spread.values())).size, dtype=bool)
    for layer in dict.fromkeys(path.rpartition(".")[0] for path in spread):
        for names, fits, _ in table.RULES:
            values = [
                spread.get(f"{layer}.{name}", edits.taken(content, f"{layer}.{name}"))
                for name in names
            ]
            if all(value is not None for value in values):
                valid &= np.asarray(fits(*values), dtype=bool)
    return valid


def _parted(
    scenario: Scenario,
    model: Model,
    spread: Mapping[edits.Path, Array],
    measure: Callable[[Scenario], Any],
) -> Array:
    """The measure of all points together, or in parts where they differ."""
    size = next(iter(spread.values())).size
    try:
        placed = model
        for path, values in spread.items():
            same = (values == values[0]).all()
            placed = _placed(
                placed, edits.steps(path), int(values[0]) if same else values.view(_Points)
            )
        return np.broadcast_to(np.asarray(measure(replace(scenario, model=placed))), (size,))
    except PartedError as parted:
        answers = np.broadcast_to(parted.answers, (size,))
    found = np.empty(size)
    for answer in np.unique(answers):
        part = answers == answer
        chosen = {path: values[part] for path, values in spread.items()}
        found[part] = _parted(scenario, model, chosen, measure)
    return found


def _placed(thing: Any, way: list[str | int], values: Any) -> Any:
    """A model, block or layer with an array for the figure at the end of a way."""
    step, *rest = way
    if isinstance(thing, tuple):
        i = int(step)
        return (*thing[:i], _placed(thing[i], rest, values), *thing[i + 1 :])
    key = KEYS.get(type(thing))
    if key is not None:
        if step != key:
            return _with(thing, "inner", _placed(thing.inner, way, values))
        own = rest[0] if rest else next(f.name for f in fields(thing) if f.name != "inner")
        return _with(thing, str(own), values)
    if step == "beside" and hasattr(thing, "second"):
        return _with(thing, "second", _placed(thing.second, rest, values))
    if hasattr(thing, "second"):
        return _with(thing, "first", _placed(thing.first, way, values))
    return _with(thing, str(step), _placed(getattr(thing, str(step)), rest, values) if rest
                 else values)  # fmt: skip


def _with(thing: Any, name: str, value: Any) -> Any:
    """A frozen thing with another value, whose own checks are for single figures."""
    other = object.__new__(type(thing))
    for field in fields(thing):
        object.__setattr__(other, field.name, getattr(thing, field.name))
    object.__setattr__(other, name, value)
    return other
