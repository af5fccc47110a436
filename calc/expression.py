"""Arithmetic that remembers how it was written.

An expression has a value, prints as LaTeX with its symbols, and prints again with the numbers in
their place. Explanations are built from it, so that the formula on screen is the one evaluated.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import reduce

from calc.words import say


def number_latex(value: float) -> str:
    """A number as LaTeX, four significant digits, whole numbers up to six digits in full."""
    if math.isnan(value):
        return r"\text{" + say("not published") + "}"
    if math.isinf(value):
        return r"\infty"
    if value == int(value) and abs(value) < 1e6:
        return str(int(value))
    mantissa, exponent = f"{value:.3e}".split("e")
    power = int(exponent)
    if -3 <= power < 4:
        return f"{value:.4g}"
    shown = mantissa.rstrip("0").rstrip(".")
    return rf"10^{{{power}}}" if shown == "1" else rf"{shown}\times 10^{{{power}}}"


class Expression:
    """Something with a value that can be written down."""

    value: float

    def latex(self, numbers: bool = False) -> str:
        """The expression as LaTeX, with symbols or with `numbers` in their place."""
        raise NotImplementedError

    def symbols(self) -> Iterator[Symbol]:
        """The symbols it is made of, in reading order, repeats included."""
        raise NotImplementedError

    def __add__(self, other: Expression | float) -> Expression:
        return Sum(self, _lift(other))

    def __sub__(self, other: Expression | float) -> Expression:
        return Difference(self, _lift(other))

    def __mul__(self, other: Expression | float) -> Expression:
        return Product(self, _lift(other))

    def __rmul__(self, other: float) -> Expression:
        return Product(_lift(other), self)

    def __truediv__(self, other: Expression | float) -> Expression:
        return Quotient(self, _lift(other))


@dataclass(frozen=True, eq=False)
class Symbol(Expression):
    """A named quantity: LaTeX symbol, value in SI, unit, and what it means."""

    name: str
    value: float
    unit: str
    meaning: str

    def latex(self, numbers: bool = False) -> str:
        return number_latex(self.value) if numbers else self.name

    def symbols(self) -> Iterator[Symbol]:
        yield self


@dataclass(frozen=True, eq=False)
class Number(Expression):
    """A constant of the formula itself."""

    value: float

    def latex(self, numbers: bool = False) -> str:
        return number_latex(self.value)

    def symbols(self) -> Iterator[Symbol]:
        yield from ()


def _lift(term: Expression | float) -> Expression:
    return term if isinstance(term, Expression) else Number(float(term))


class _Combined(Expression):
    """An operation on other expressions."""

    parts: tuple[Expression, ...]

    def symbols(self) -> Iterator[Symbol]:
        for part in self.parts:
            yield from part.symbols()


class Sum(_Combined):
    """left + right"""

    def __init__(self, left: Expression, right: Expression) -> None:
        self.parts = (left, right)
        self.value = left.value + right.value

    def latex(self, numbers: bool = False) -> str:
        return " + ".join(part.latex(numbers) for part in self.parts)


class Difference(_Combined):
    """left − right"""

    def __init__(self, left: Expression, right: Expression) -> None:
        self.parts = (left, right)
        self.value = left.value - right.value

    def latex(self, numbers: bool = False) -> str:
        left, right = self.parts
        return f"{left.latex(numbers)} - {_factor(right, numbers)}"


class Product(_Combined):
    """left · right"""

    def __init__(self, left: Expression, right: Expression) -> None:
        self.parts = (left, right)
        self.value = left.value * right.value

    def latex(self, numbers: bool = False) -> str:
        left, right = self.parts
        dot = r" \cdot " if numbers else r"\,"
        return f"{_factor(left, numbers)}{dot}{_factor(right, numbers)}"


class Quotient(_Combined):
    """above / below"""

    def __init__(self, above: Expression, below: Expression) -> None:
        self.parts = (above, below)
        self.value = above.value / below.value if below.value else math.nan

    def latex(self, numbers: bool = False) -> str:
        above, below = self.parts
        return rf"\frac{{{above.latex(numbers)}}}{{{below.latex(numbers)}}}"


class Applied(_Combined):
    """A named function of its arguments, such as max or floor."""

    def __init__(
        self, function: Callable[..., float], opening: str, closing: str, *arguments: Expression
    ) -> None:
        self.parts = arguments
        self.opening, self.closing = opening, closing
        values = [argument.value for argument in arguments]
        self.value = math.nan if any(map(math.isnan, values)) else float(function(*values))

    def latex(self, numbers: bool = False) -> str:
        inner = r",\; ".join(part.latex(numbers) for part in self.parts)
        return rf"\left{self.opening}{inner}\right{self.closing}"


class Maximum(Applied):
    """The larger of its arguments."""

    def __init__(self, *arguments: Expression) -> None:
        super().__init__(max, "(", ")", *arguments)

    def latex(self, numbers: bool = False) -> str:
        return r"\max" + super().latex(numbers)


class Minimum(Applied):
    """The smaller of its arguments."""

    def __init__(self, *arguments: Expression) -> None:
        super().__init__(min, "(", ")", *arguments)

    def latex(self, numbers: bool = False) -> str:
        return r"\min" + super().latex(numbers)


class Floor(Applied):
    """The whole number below; 0 for what is negative."""

    def __init__(self, argument: Expression) -> None:
        super().__init__(lambda value: max(0, math.floor(value)), r"\lfloor", r"\rfloor", argument)


# So many terms still read well on one line.
_ONE_LINE = 3


class Total(_Combined):
    """The sum of several terms, one below another where they are many."""

    def __init__(self, *terms: Expression) -> None:
        self.parts = terms
        self.value = reduce(Sum, terms).value

    def latex(self, numbers: bool = False) -> str:
        written = [part.latex(numbers) for part in self.parts]
        if len(written) <= _ONE_LINE:
            return " + ".join(written)
        rows = r" \\ &+ ".join(written)
        return rf"\begin{{aligned}}[t] & {rows} \end{{aligned}}"


def total(terms: list[Expression]) -> Expression:
    """The sum of several expressions."""
    return Total(*terms)


def _factor(part: Expression, numbers: bool) -> str:
    text = part.latex(numbers)
    return rf"\left({text}\right)" if isinstance(part, (Sum, Difference, Total)) else text
