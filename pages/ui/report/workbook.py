"""The scenario as a spreadsheet with live formulas: change an input there, and figures follow.

Every figure is printed from the expression that pages evaluate. A symbol that is itself a figure
refers to its cell; the others are inputs, each a cell with a name.
"""

from __future__ import annotations

import io
import math
from collections.abc import Mapping
from functools import partial

import xlsxwriter

from calc import Scenario
from calc.explain import EXPLANATIONS, bounds, cells
from calc.explain.expression import Expression, Symbol
from calc.words import say
from pages.ui.writing import tables

_SIGNS = {bounds.LEAST: "≥", bounds.MOST: "≤", "": "="}


# Symbols for what another figure's symbol says as a quotient.
_ALSO = {"r": "throughput_per_chip"}


class Sheet:
    """What the workbook holds: inputs by the names of their cells, and figures by their ids.

    A symbol has one name for each value: where explanations mean different things by one letter,
    large or small, the later is numbered.
    """

    def __init__(self, scenario: Scenario) -> None:
        self.inputs: dict[str, Symbol] = {}
        self._named: dict[str, Symbol] = {}
        self.figures: dict[str, tuple[str, Expression]] = {
            id: bounds.written(id, entry, scenario) for id, entry in EXPLANATIONS.items()
        }
        self.cells = {id: f"fig_{id}" for id in self.figures}
        self._of = {
            EXPLANATIONS[id].symbol: id
            for id, (_, expression) in self.figures.items()
            if math.isfinite(expression.value)
        } | _ALSO
        self.formulas: Mapping[str, str | None] = {
            id: cells.formula(expression, partial(self._cell, within=id))
            for id, (_, expression) in self.figures.items()
        }

    def _cell(self, symbol: Symbol, within: str) -> str:
        found = self._of.get(symbol.name)
        if found and found != within and self.figures[found][1].value == symbol.value:
            return self.cells[found]
        name, count = cells.name(symbol.name), 1
        # To a spreadsheet P and p are one name.
        while (before := self._named.get(name.casefold())) and (
            before.name != symbol.name or before.value != symbol.value
        ):
            count += 1
            name = f"{cells.name(symbol.name)}_{count}"
        self._named.setdefault(name.casefold(), symbol)
        self.inputs.setdefault(name, symbol)
        return name


def xlsx(scenario: Scenario) -> bytes:
    """The workbook."""
    sheet, kept = Sheet(scenario), io.BytesIO()
    texts = {"strings_to_formulas": False, "strings_to_urls": False}
    book = xlsxwriter.Workbook(kept, {"in_memory": True, **texts})
    # A spreadsheet computes once it is open; what it shows until then is what pages show.
    bold, given = book.add_format({"bold": True}), book.add_format({"bg_color": "#fff4d6"})
    _inputs(book, sheet, bold, given)
    _figures(book, scenario, sheet, bold)
    book.close()
    return kept.getvalue()


def _inputs(book: xlsxwriter.Workbook, sheet: Sheet, bold: object, given: object) -> None:
    page = book.add_worksheet("Inputs")
    page.write_row(0, 0, [say("Name"), say("Value"), say("Unit"), say("Meaning")], bold)
    for row, (name, symbol) in enumerate(sheet.inputs.items(), 1):
        page.write_string(row, 0, name)
        page.write_number(row, 1, symbol.value, given)
        page.write_string(row, 2, say(symbol.unit))
        page.write_string(row, 3, say(symbol.meaning))
        book.define_name(name, f"=Inputs!$B${row + 1}")
    page.set_column(0, 2, 18)
    page.set_column(3, 3, 90)


def _figures(book: xlsxwriter.Workbook, scenario: Scenario, sheet: Sheet, bold: object) -> None:
    page = book.add_worksheet("Figures")
    page.write_string(0, 0, tables.told(scenario), bold)
    heads = [say("Figure"), "", say("Value"), say("Unit"), say("Source"), say("Meaning")]
    page.write_row(2, 0, heads, bold)
    for row, (id, (sense, expression)) in enumerate(sheet.figures.items(), 3):
        entry, value = EXPLANATIONS[id], expression.value
        page.write_string(row, 0, say(entry.title))
        page.write_string(row, 1, _SIGNS[sense])
        written = sheet.formulas[id]
        if not math.isfinite(value):
            page.write_string(row, 2, say("not published") if math.isnan(value) else "∞")
        elif written is None:
            # Searched for, not computed: a number.
            page.write_number(row, 2, value)
        else:
            page.write_formula(row, 2, f"={written}", None, value)
        page.write_string(row, 3, say(entry.unit))
        page.write_string(row, 4, entry.source)
        page.write_string(row, 5, say(entry.reading))
        book.define_name(sheet.cells[id], f"=Figures!$C${row + 1}")
    page.set_column(0, 0, 32)
    page.set_column(1, 1, 3)
    page.set_column(2, 3, 16)
    page.set_column(4, 4, 30)
    page.set_column(5, 5, 100)
    page.activate()
