"""Formulas printed as plain text, worked out again without the code that printed them."""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Mapping
from typing import Any

# What plain text calls, for Python to evaluate it.
CALLED: Mapping[str, Any] = {
    "max": max,
    "min": min,
    "floor": math.floor,
    "inf": math.inf,
    "argmax": lambda values: max(values, key=values.get),
    "first": lambda tried: next((at for at, holds in tried.items() if holds), 0),
    "last": lambda tried: max(
        [at for i, at in enumerate(tried) if all(list(tried.values())[: i + 1])], default=0
    ),
}
PYTHON = str.maketrans(
    {"·": "*", "^": "**", "∞": "inf", "≤": "<=", "≰": "<=", "{": "({", "}": "})"}
)


OPERATORS: Mapping[type, Any] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul,
    ast.Div: operator.truediv, ast.Pow: operator.pow, ast.USub: operator.neg, ast.LtE: operator.le,
}  # fmt: skip


def evaluated(plain: str) -> float:
    """Plain text with numbers as Python arithmetic, and nothing but arithmetic."""
    return float(_value(ast.parse(plain.translate(PYTHON), mode="eval").body))


def _value(node: ast.expr) -> Any:
    match node:
        case ast.Constant(value):
            return value
        case ast.Name(id):
            return CALLED[id]
        case ast.UnaryOp(sign, operand):
            return OPERATORS[type(sign)](_value(operand))
        case ast.BinOp(left, between, right):
            return OPERATORS[type(between)](_value(left), _value(right))
        case ast.Compare(left, [between], [right]):
            return OPERATORS[type(between)](_value(left), _value(right))
        case ast.Call(function, arguments):
            return _value(function)(*map(_value, arguments))
        case ast.Dict(keys, values):
            return {_value(key): _value(v) for key, v in zip(keys, values, strict=True) if key}
        case _:
            raise AssertionError(f"not arithmetic: {ast.dump(node)}")
