"""Expressions as spreadsheets write them: the same tree that a page evaluates and prints."""

from __future__ import annotations

import math
import re
from collections.abc import Callable

from calc.explain.expression import (
    Difference,
    Expression,
    Floor,
    Maximum,
    Minimum,
    Number,
    Power,
    Product,
    Quotient,
    Sum,
    Symbol,
    Total,
    name_plain,
)

_SIGNS: dict[type[Expression], str] = {
    Sum: "+", Total: "+", Difference: "-", Product: "*", Quotient: "/", Power: "^",
}  # fmt: skip
_FUNCTIONS: dict[type[Expression], str] = {Maximum: "MAX", Minimum: "MIN"}


def formula(expression: Expression, cell: Callable[[Symbol], str]) -> str | None:
    """An expression as a spreadsheet's formula, without its ``=``.

    Parameters
    ----------
    expression : Expression
        What is written.
    cell : callable
        The name of the cell that holds a symbol.

    Returns
    -------
    str or None
        None for what is searched for rather than computed, and for what is not finite.

    Examples
    --------
    >>> b, t = Symbol("B", 32, "", ""), Symbol("T", 0.5, "s", "")
    >>> formula((b + 1) / (t * 2), lambda symbol: symbol.name)
    '((B+1)/(T*2))'
    """
    if isinstance(expression, Symbol):
        return cell(expression) if math.isfinite(expression.value) else None
    if isinstance(expression, Number):
        return f"{expression.value:.17g}" if math.isfinite(expression.value) else None
    parts = [formula(part, cell) for part in getattr(expression, "parts", ())]
    written = [part for part in parts if part is not None]
    if not parts or len(written) < len(parts):
        return None
    if isinstance(expression, Floor):
        return f"MAX(0,FLOOR({written[0]},1))"
    for kind, name in _FUNCTIONS.items():
        if isinstance(expression, kind):
            return f"{name}({','.join(written)})"
    sign = _SIGNS.get(type(expression))
    return f"({sign.join(written)})" if sign else None


def name(symbol: str) -> str:
    """A LaTeX symbol as the name of a cell: no cell's address, and nothing but letters and digits.

    >>> name(r"\\kappa_S"), name("C"), name("Q_{12}"), name(r"P_\\mathrm{read}(B^*)")
    ('kappa_S', 'C_', 'Q_12', 'P_read_B_')
    """
    spelled = re.sub(r"\\(alpha|beta|eta|kappa|varphi)", r"\1", symbol)
    words = re.sub(r"\W+", "_", name_plain(spelled))
    return f"{words}_" if re.fullmatch(r"[A-Za-z]{1,3}\d*", words) else words
