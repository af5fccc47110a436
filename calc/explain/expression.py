"""Arithmetic that remembers how it was written.

An expression has a value, prints as LaTeX or as plain text with its symbols, and prints again with
the numbers in their place. Explanations are built from it, so that the formula on screen is the one
evaluated.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Sequence
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


# Significant digits of numbers in plain text, unless more are wanted.
DIGITS = 6


def number_plain(value: float, digits: int = DIGITS) -> str:
    """A number as plain text that calculators and programs read.

    >>> number_plain(8.2e11), number_plain(163840), number_plain(1 / 3, 3)
    ('8.2e11', '163840', '0.333')
    """
    if math.isnan(value):
        return say("not published")
    if math.isinf(value):
        return "∞"
    if value == int(value) and abs(value) < 1e6:
        return str(int(value))
    mantissa, _, exponent = f"{value:.{digits}g}".partition("e")
    return f"{mantissa}e{int(exponent)}" if exponent else mantissa


_GREEK = {
    r"\alpha": "α", r"\beta": "β", r"\eta": "η", r"\kappa": "κ", r"\varphi": "φ",
}  # fmt: skip


def name_plain(name: str) -> str:
    r"""A LaTeX symbol as plain text.

    >>> name_plain(r"\kappa_S"), name_plain(r"P_\mathrm{read}(B^*)"), name_plain(r"Q_{12}")
    ('κ_S', 'P_read(B*)', 'Q_12')
    """
    words = re.sub(
        r"\\(?:mathrm|text)\{([^}]*)\}", lambda found: re.sub(r"\W", "_", found[1]), name
    )
    for command, letter in _GREEK.items():
        words = words.replace(command, letter)
    return re.sub(r"[\\{}^]|,(?! )", "", words)


# What binds how tightly.
_SUM, _PRODUCT, _POWER, _ATOM = range(4)


class Expression:
    """Something with a value that can be written down."""

    value: float
    binds: int = _ATOM

    def latex(self, numbers: bool = False) -> str:
        """The expression as LaTeX, with symbols or with `numbers` in their place."""
        raise NotImplementedError

    def plain(self, numbers: bool = False, digits: int = DIGITS) -> str:
        """The expression as plain text; numbers have so many significant digits."""
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

    def plain(self, numbers: bool = False, digits: int = DIGITS) -> str:
        return number_plain(self.value, digits) if numbers else name_plain(self.name)

    def symbols(self) -> Iterator[Symbol]:
        yield self


@dataclass(frozen=True, eq=False)
class Number(Expression):
    """A constant of the formula itself."""

    value: float

    def latex(self, numbers: bool = False) -> str:
        return number_latex(self.value)

    def plain(self, numbers: bool = False, digits: int = DIGITS) -> str:
        return number_plain(self.value, digits)

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

    binds = _SUM

    def __init__(self, left: Expression, right: Expression) -> None:
        self.parts = (left, right)
        self.value = left.value + right.value

    def latex(self, numbers: bool = False) -> str:
        return " + ".join(part.latex(numbers) for part in self.parts)

    def plain(self, numbers: bool = False, digits: int = DIGITS) -> str:
        return _plain_sum(self.parts, numbers, digits)


class Difference(_Combined):
    """left − right"""

    binds = _SUM

    def __init__(self, left: Expression, right: Expression) -> None:
        self.parts = (left, right)
        self.value = left.value - right.value

    def latex(self, numbers: bool = False) -> str:
        left, right = self.parts
        return f"{left.latex(numbers)} - {_factor(right, numbers)}"

    def plain(self, numbers: bool = False, digits: int = DIGITS) -> str:
        left, right = self.parts
        return f"{left.plain(numbers, digits)} - {_plain(right, _PRODUCT, numbers, digits)}"


class Product(_Combined):
    """left · right"""

    binds = _PRODUCT

    def __init__(self, left: Expression, right: Expression) -> None:
        self.parts = (left, right)
        self.value = left.value * right.value

    def latex(self, numbers: bool = False) -> str:
        left, right = self.parts
        dot = r" \cdot " if numbers else r"\,"
        return f"{_factor(left, numbers)}{dot}{_factor(right, numbers)}"

    def plain(self, numbers: bool = False, digits: int = DIGITS) -> str:
        return "·".join(_plain(part, _PRODUCT, numbers, digits) for part in self.parts)


class Quotient(_Combined):
    """above / below"""

    binds = _PRODUCT

    def __init__(self, above: Expression, below: Expression) -> None:
        self.parts = (above, below)
        self.value = above.value / below.value if below.value else math.nan

    def latex(self, numbers: bool = False) -> str:
        above, below = self.parts
        return rf"\frac{{{above.latex(numbers)}}}{{{below.latex(numbers)}}}"

    def plain(self, numbers: bool = False, digits: int = DIGITS) -> str:
        above, below = self.parts
        over = _plain(above, _PRODUCT, numbers, digits)
        return f"{over}/{_plain(below, _POWER, numbers, digits)}"


class Power(_Combined):
    """base to an exponent"""

    binds = _POWER

    def __init__(self, base: Expression, exponent: Expression) -> None:
        self.parts = (base, exponent)
        self.value = base.value**exponent.value

    def latex(self, numbers: bool = False) -> str:
        base, exponent = self.parts
        raised = base.latex(numbers)
        if base.binds < _ATOM or "^" in raised or raised.startswith("-"):
            raised = rf"\left({raised}\right)"
        return f"{raised}^{{{exponent.latex(numbers)}}}"

    def plain(self, numbers: bool = False, digits: int = DIGITS) -> str:
        return "^".join(_plain(part, _ATOM, numbers, digits) for part in self.parts)


class Applied(_Combined):
    """A named function of its arguments, such as max or floor."""

    def __init__(
        self,
        function: Callable[..., float],
        name: str,
        opening: str,
        closing: str,
        *arguments: Expression,
    ) -> None:
        self.parts = arguments
        self.name, self.opening, self.closing = name, opening, closing
        values = [argument.value for argument in arguments]
        self.value = math.nan if any(map(math.isnan, values)) else float(function(*values))

    def latex(self, numbers: bool = False) -> str:
        inner = r",\; ".join(part.latex(numbers) for part in self.parts)
        return rf"\left{self.opening}{inner}\right{self.closing}"

    def plain(self, numbers: bool = False, digits: int = DIGITS) -> str:
        return f"{self.name}({', '.join(part.plain(numbers, digits) for part in self.parts)})"


class Maximum(Applied):
    """The larger of its arguments."""

    def __init__(self, *arguments: Expression) -> None:
        super().__init__(max, "max", "(", ")", *arguments)

    def latex(self, numbers: bool = False) -> str:
        return r"\max" + super().latex(numbers)


class Minimum(Applied):
    """The smaller of its arguments."""

    def __init__(self, *arguments: Expression) -> None:
        super().__init__(min, "min", "(", ")", *arguments)

    def latex(self, numbers: bool = False) -> str:
        return r"\min" + super().latex(numbers)


class Floor(Applied):
    """The whole number below; 0 for what is negative, and written so."""

    def __init__(self, argument: Expression) -> None:
        super().__init__(
            lambda value: max(0, math.floor(value)), "floor", r"\lfloor", r"\rfloor", argument
        )
        self.cut = argument.value < 0

    def latex(self, numbers: bool = False) -> str:
        whole = super().latex(numbers)
        return rf"\max\left(0,\; {whole}\right)" if self.cut else whole

    def plain(self, numbers: bool = False, digits: int = DIGITS) -> str:
        whole = super().plain(numbers, digits)
        return f"max(0, {whole})" if self.cut else whole


# So many terms still read well on one line.
_ONE_LINE = 3


class Ceiling(Applied):
    """The whole number above."""

    def __init__(self, argument: Expression) -> None:
        super().__init__(math.ceil, "ceil", r"\lceil ", r"\rceil ", argument)


class Total(_Combined):
    """The sum of several terms, one below another where they are many."""

    binds = _SUM

    def __init__(self, *terms: Expression) -> None:
        self.parts = terms
        self.value = reduce(Sum, terms).value

    def latex(self, numbers: bool = False) -> str:
        written = [part.latex(numbers) for part in self.parts]
        if len(written) <= _ONE_LINE:
            return " + ".join(written)
        rows = r" \\ &+ ".join(written)
        return rf"\begin{{aligned}} & {rows} \end{{aligned}}"

    def plain(self, numbers: bool = False, digits: int = DIGITS) -> str:
        return _plain_sum(self.parts, numbers, digits)


def total(terms: list[Expression]) -> Expression:
    """The sum of several expressions."""
    return Total(*terms) if len(terms) > 1 else terms[0]


def _factor(part: Expression, numbers: bool) -> str:
    text = part.latex(numbers)
    return rf"\left({text}\right)" if part.binds == _SUM or text.startswith("-") else text


def _plain(part: Expression, binds: int, numbers: bool, digits: int) -> str:
    """Part of an operation, in brackets if it binds less tightly."""
    text = part.plain(numbers, digits)
    return f"({text})" if part.binds < binds or text.startswith("-") else text


def _plain_sum(parts: Sequence[Expression], numbers: bool, digits: int) -> str:
    first, *rest = parts
    after = [_plain(part, _SUM, numbers, digits) for part in rest]
    return " + ".join([first.plain(numbers, digits), *after])
