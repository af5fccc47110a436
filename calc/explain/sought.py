"""Expressions that are looked for: where something is largest, and up to where it stays within."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence

from calc.explain.expression import (
    DIGITS,
    Expression,
    Symbol,
    name_plain,
    number_latex,
    number_plain,
)


class Best(Expression):
    """The number among several at which an expression is largest, the least of equals.

    Parameters
    ----------
    name : str
        LaTeX symbol of the number.
    among : sequence of int
        What is tried, in order.
    of : callable
        The expression at a number. With symbols it is written once; with numbers, its value at
        each.
    """

    # So many values to a row.
    _ROW = 6

    def __init__(self, name: str, among: Sequence[int], of: Callable[[int], Expression]) -> None:
        tried = {number: of(number) for number in among}
        known = [number for number, one in tried.items() if not math.isnan(one.value)]
        best = max(known, key=lambda number: tried[number].value) if known else among[0]
        self.name, self.values = name, {number: one.value for number, one in tried.items()}
        self.value = float(best) if known else math.nan
        self.there = tried[best]

    def symbols(self) -> Iterator[Symbol]:
        """Those of the expression at the number found."""
        yield from self.there.symbols()

    def latex(self, numbers: bool = False) -> str:
        first, *_, last = self.values
        if not numbers:
            bounds = rf"{first} \le {self.name} \le {last}"
            return rf"\operatorname*{{arg\,max}}_{{{bounds}}}\; {self.there.latex()}"
        cells = [rf"{at}{{:}}\,{number_latex(value)}" for at, value in self.values.items()]
        rows = [r",\; ".join(cells[i : i + self._ROW]) for i in range(0, len(cells), self._ROW)]
        inner = r", \\ &".join(rows)
        return r"\operatorname{arg\,max}\left\{\begin{aligned} &" + inner + r"\end{aligned}\right\}"

    def plain(self, numbers: bool = False, digits: int = DIGITS) -> str:
        first, *_, last = self.values
        if not numbers:
            return f"argmax({self.there.plain()} for {name_plain(self.name)} = {first} … {last})"
        cells = (f"{at}: {number_plain(value, digits)}" for at, value in self.values.items())
        return f"argmax{{{', '.join(cells)}}}"


class Edge(Expression):
    """The number up to which one side stays within another, or from which it does; 0 if nowhere.

    Parameters
    ----------
    name : str
        LaTeX symbol of the number.
    tried : sequence of int
        The numbers around the edge, in order; the others were tried before.
    sides : callable
        Both sides at a number, the first to stay within the second.
    last : bool
        Whether the last number before the sides part is sought, and not the first that fits.
    """

    def __init__(
        self,
        name: str,
        tried: Sequence[int],
        sides: Callable[[int], tuple[Expression, Expression]],
        *,
        last: bool,
    ) -> None:
        self.name, self.last = name, last
        self.tried = [(number, *sides(number)) for number in tried]
        holds = [left.value <= right.value for _, left, right in self.tried]
        edge = holds.index(not last) if (not last) in holds else len(holds)
        at = edge - 1 if last else edge
        _, *self.there = self.tried[min(max(at, 0), len(holds) - 1)]
        values = [side.value for _, *both in self.tried for side in both]
        self.value = float(tried[at]) if 0 <= at < len(holds) else 0.0
        if any(map(math.isnan, values)):
            self.value = math.nan

    def symbols(self) -> Iterator[Symbol]:
        """Those of both sides at the number found."""
        for side in self.there:
            yield from side.symbols()

    def latex(self, numbers: bool = False) -> str:
        name = r"\max" if self.last else r"\min"
        if not numbers:
            left, right = (side.latex() for side in self.there)
            return rf"{name}\left\{{{self.name} : {left} \le {right}\right\}}"
        rows = r" \\ ".join(
            f"{number}: & {left.latex(True)} {_within(left, right, True)} {right.latex(True)}"
            for number, left, right in self.tried
        )
        return rf"{name}\left\{{\begin{{aligned}} {rows} \end{{aligned}}\right\}}"

    def plain(self, numbers: bool = False, digits: int = DIGITS) -> str:
        name = "last" if self.last else "first"
        if not numbers:
            left, right = (side.plain() for side in self.there)
            return f"{name}({name_plain(self.name)}: {left} ≤ {right})"
        cells = (
            f"{number}: {left.plain(True, digits)} {_within(left, right)} "
            f"{right.plain(True, digits)}"
            for number, left, right in self.tried
        )
        return f"{name}{{{', '.join(cells)}}}"


def _within(left: Expression, right: Expression, latex: bool = False) -> str:
    """The sign between two sides, as it is."""
    if left.value <= right.value:
        return r"\le" if latex else "≤"
    return r"\nleq" if latex else "≰"
