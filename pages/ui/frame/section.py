"""Sections of a report, which pages offer and the report sets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from calc import link
from calc.fields import Field, Quantity
from calc.fields import Rows as Listed
from calc.words import marked, say
from pages.ui.charts import kit
from pages.ui.writing import text

Rows = Sequence[Sequence[str]]


@dataclass(frozen=True)
class Table:
    """A heading and rows of Markdown."""

    head: Sequence[str]
    rows: Rows

    @staticmethod
    def escaped(columns: Mapping[str, Sequence[str]]) -> dict[str, list[str]]:
        """Columns of plain text as Markdown, in which more than 99 % is no quotation."""
        return {head: [text.plain(cell) for cell in cells] for head, cells in columns.items()}

    @classmethod
    def turned(cls, columns: Mapping[str, Sequence[str]]) -> Table:
        """From columns of plain text."""
        rows = [[text.plain(cell) for cell in row] for row in zip(*columns.values(), strict=True)]
        return cls([text.plain(name) for name in columns], rows)


@dataclass(frozen=True)
class Item:
    """One line to fix: what is known of it, as Markdown, and what is to be filled in."""

    title: str
    known: str
    blanks: tuple[str, ...]


@dataclass(frozen=True)
class Section:
    """A part of a report; texts are Markdown.

    `code` is set as it is, `alt` says what the chart shows, `blanks` are lines to fill in.
    """

    title: str
    paragraphs: Sequence[str] = ()
    table: Table | None = None
    code: str = ""
    chart: kit.Chart | None = None
    alt: str = ""
    blanks: Sequence[Item] = ()


# What 0 stands for, where it is no number.
_OF_NOTHING = {
    "tensor_parallel": marked("all that the other widths leave"),
    "micro_batches": marked("one for each stage"),
    "price": marked("the preset's"),
    "power": marked("the preset's"),
    "top_k": marked("all"),
}


def setting(field: Field, value: object) -> str:
    """A value as links have it, or what its absence and a 0 that is no number stand for."""
    if value == 0 and field.name in _OF_NOTHING:
        return say(_OF_NOTHING[field.name])
    nothing = say("none") if isinstance(field, Listed) else say("by the table")
    return link.dump_value(field, value) or nothing


def settings(fields: Sequence[Field], values: Mapping[str, object]) -> Table:
    """Fields with their values as links have them, in bold where they are not the default."""
    head = [say("Setting"), say("Value"), say("Unit"), say("In links")]
    rows = []
    for one in fields:
        value = setting(one, values[one.name])
        written = f"**{text.plain(value)}**" if values[one.name] != one.absent else value
        unit = say(one.unit) if isinstance(one, Quantity) else ""
        rows.append([text.plain(say(one.label)), written, text.plain(unit), f"`{one.key}`"])
    return Table(head, rows)
