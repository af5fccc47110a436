"""What a reader may set: numbers, picks from a catalogue, fixed answers, and rows of numbers.

A dataclass of settings defines each once, in one line: the attribute, and as its metadata how
links, controls and checks know it. `schema` reads those lines, so that nothing is said twice.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from calc.words import say

Catalogues = Mapping[str, Mapping[str, Any]]


@dataclass(frozen=True)
class Quantity:
    """A numeric field: its default, range and unit.

    `key` is the parameter in a link, `name` the attribute, which `schema` fills in. Links and
    controls carry the value in `unit`; `scale` of it is one SI unit's worth in the settings. `step`
    is that of a slider. One with a `table` is None until somebody sets it: then the table of engine
    classes says it where one is asked, and the default elsewhere.
    """

    key: str
    label: str
    unit: str
    default: float
    low: float
    high: float
    help: str
    whole: bool = True
    scale: float = 1.0
    step: float = 0.01
    table: bool = False
    name: str = ""

    @property
    def absent(self) -> float | None:
        """What stands for a key that is not written."""
        return None if self.table else self.default

    def problem(self, value: Any) -> str | None:
        """Why `value`, in the field's unit, cannot be used, or None when it can."""
        if value is None and self.table:
            return None
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            return say("not a number")
        if not math.isfinite(value):
            return say("not a finite number")
        if self.whole and value != int(value):
            return say("not a whole number")
        if not self.low <= value <= self.high:
            return say("outside {low:,} to {high:,}", low=self.low, high=self.high)
        return None

    def cast(self, value: float) -> float:
        """The value as the type the field has."""
        return int(value) if self.whole else float(value)

    def resolve(self, value: Any, catalogues: Catalogues) -> Any:
        """A value in the field's unit as the settings hold it, in SI units."""
        if value is None:
            return None
        return self.cast(value) if self.scale == 1 else value * self.scale

    def plain(self, value: Any) -> Any:
        """A value in SI units in the field's unit, the reverse of `resolve`."""
        if self.scale == 1 or value is None:
            return value
        # Rounded, so that what was scaled up reads back as it was.
        return self.cast(float(f"{value / self.scale:.12g}"))

    def fault(self, value: Any) -> str | None:
        """Why the settings cannot hold `value`, in SI units, or None when they can."""
        if self.scale != 1 and isinstance(value, (int, float)) and math.isfinite(value):
            value = self.plain(value)
        return self.problem(value)


@dataclass(frozen=True)
class Choice:
    """A field picked from a catalogue of presets.

    `use` narrows formats to those offered for weights, kv or compute; `none` is the id that stands
    for picking nothing. `key` and `name` are as in `Quantity`.
    """

    key: str
    label: str
    default: str
    help: str
    catalogue: str
    use: str | None = None
    none: str | None = None
    name: str = ""

    @property
    def absent(self) -> str:
        """What stands for a key that is not written."""
        return self.default

    def ids(self, catalogues: Catalogues) -> list[str]:
        """Ids that may be chosen, in catalogue order."""
        nothing = [] if self.none is None else [self.none]
        return nothing + [
            id
            for id, item in catalogues[self.catalogue].items()
            if self.use is None or self.use in item.uses
        ]

    def resolve(self, value: str, catalogues: Catalogues) -> Any:
        """The object that an id stands for, None for picking nothing."""
        return None if value == self.none else catalogues[self.catalogue][value]

    def plain(self, value: Any) -> str | None:
        """The id of an object, the reverse of `resolve`."""
        id: str | None = self.none if value is None else value.id
        return id

    def fault(self, value: Any) -> str | None:
        """None: a custom object is as good as one from a catalogue."""
        return None


@dataclass(frozen=True)
class Option:
    """A field with a few fixed answers; `key` and `name` are as in `Quantity`."""

    key: str
    label: str
    default: str
    help: str
    options: Sequence[str]
    name: str = ""

    @property
    def absent(self) -> str:
        """What stands for a key that is not written."""
        return self.default

    def resolve(self, value: str, catalogues: Catalogues) -> str:
        """The answer itself."""
        return value

    def plain(self, value: str) -> str:
        """The answer itself."""
        return value

    def fault(self, value: Any) -> str | None:
        """Why `value` cannot be used, or None when it can."""
        return None if value in self.options else f"not one of {', '.join(self.options)}"


@dataclass(frozen=True)
class Several:
    """A field with any number of answers: named groups, and ids of a catalogue if it has one.

    Links and controls carry a text, ids with commas between; the settings hold a tuple of ids.
    `key` and `name` are as in `Quantity`.
    """

    key: str
    label: str
    default: str
    help: str
    groups: Mapping[str, str]
    catalogue: str = ""
    name: str = ""

    @property
    def absent(self) -> str:
        """What stands for a key that is not written."""
        return self.default

    def ids(self, catalogues: Catalogues) -> list[str]:
        """Ids that may be chosen: groups, then the catalogue in its order."""
        return [*self.groups, *catalogues.get(self.catalogue, ())]

    def resolve(self, value: str, catalogues: Catalogues) -> tuple[str, ...]:
        """The ids in a text, each once."""
        return tuple(dict.fromkeys(value.split(",")))

    def plain(self, value: Sequence[str]) -> str:
        """The text of some ids, the reverse of `resolve`; the default where there are none."""
        return ",".join(value) or self.default

    def fault(self, value: Any) -> str | None:
        """None: an id that is not known stands for nothing."""
        return None


@dataclass(frozen=True)
class Rows:
    """A field with a few things of one kind, at most `most`, each a name and figures.

    Links and controls carry a text, which `read` makes a tuple of and `write` makes of one; what it
    cannot read it raises a ValueError for. `columns` are the figures of each, `named` makes a name
    of what somebody typed, and `more` adds one to a tuple, given the plain values of other fields.
    `key` and `name` are as in `Quantity`.
    """

    key: str
    label: str
    help: str
    columns: tuple[Quantity, ...]
    read: Callable[[str], tuple[Any, ...]]
    write: Callable[[Sequence[Any]], str]
    named: Callable[[str], str]
    more: Callable[[Sequence[Any], Mapping[str, Any]], tuple[Any, ...]]
    most: int
    longest: int
    default: str = ""
    name: str = ""

    @property
    def absent(self) -> str:
        """What stands for a key that is not written."""
        return self.default

    def resolve(self, value: str, catalogues: Catalogues) -> tuple[Any, ...]:
        """What the text lists."""
        return self.read(value)

    def plain(self, value: Sequence[Any]) -> str:
        """The text of what is listed, the reverse of `resolve`."""
        return self.write(value)

    def fault(self, value: Any) -> str | None:
        """None: what is listed has been checked when it was made."""
        return None


Field = Quantity | Choice | Option | Several | Rows
_WRITTEN = "written"


def written(how: Field) -> dict[str, Field]:
    """Metadata of a dataclass field: how links and controls write it."""
    return {_WRITTEN: how}


def optional(how: Field) -> Any:
    """A dataclass field with that metadata, and in SI units the default that it has in links."""
    absent: Any = how.absent
    return dataclasses.field(default=how.resolve(absent, {}), metadata=written(how))


def schema(settings: type[Any]) -> tuple[Field, ...]:
    """The fields of a dataclass as links and controls write them, in the order of the class."""
    found = []
    for one in dataclasses.fields(settings):
        if _WRITTEN not in one.metadata:
            raise TypeError(
                f"{settings.__name__}.{one.name} does not say how links write it: "
                "define it by `optional(...)` or with `metadata=written(...)`"
            )
        found.append(replace(one.metadata[_WRITTEN], name=one.name))
    return tuple(found)


def resolved(
    fields: Sequence[Field], values: Mapping[str, Any], catalogues: Catalogues
) -> dict[str, Any]:
    """What settings hold for plain values by field name; those left out take their defaults."""
    return {
        field.name: field.resolve(values.get(field.name, field.absent), catalogues)
        for field in fields
    }


def described(fields: Sequence[Field]) -> str:
    """The fields as a docstring lists parameters."""
    lines = [f"{one.name} : {_kind(one)}\n        {one.label}. {one.help}" for one in fields]
    return "".join(f"    {line}\n" for line in lines)


# SI units of those that links write in multiples.
_SI = {"µs": "s", "ms": "s", "GB": "byte", "MB": "byte", "GB/s": "byte/s", "TFLOP/s": "FLOP/s"}
_ITEMS = {"models": "Model", "chips": "Chip", "formats": "NumberFormat"}


def _kind(field: Field) -> str:
    """Type, range and SI unit."""
    if isinstance(field, Option):
        return " or ".join(repr(option) for option in field.options)
    if isinstance(field, (Several, Rows)):
        return "tuple of str" if isinstance(field, Several) else "tuple"
    if isinstance(field, Choice):
        item = _ITEMS[field.catalogue]
        return item if field.none is None else f"{item} or None"
    unit = field.unit if field.scale == 1 else _SI[field.unit]
    if field.whole and field.scale == 1:
        span = f"int, {field.low:,} to {field.high:,}"
    else:
        span = f"float, {field.low * field.scale:g} to {field.high * field.scale:g}"
    span = f"{span} [{unit}]" if unit else span
    return f"{span} or None" if field.table else span
