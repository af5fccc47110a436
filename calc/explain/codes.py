"""Explanations of one value on a grid of codes."""

from __future__ import annotations

from calc.explain.entry import Explanation
from calc.explain.expression import Expression, Symbol
from calc.quantization import Quantized
from calc.words import marked

_UNIT = marked("units of the tensor")


def restored(one: Quantized) -> tuple[Explanation, Expression]:
    """What a value comes back as, from its code."""
    grid = one.grid
    step = Symbol("s", grid.scale.item(), _UNIT, marked("scale of the calibrated range"))
    code = Symbol(
        "q", one.codes.item(), "codes", marked("code of the value, the last code beyond the range")
    )
    zero = Symbol("z", grid.zero_point.item(), "codes", marked("code that stands for 0"))
    entry = Explanation(
        marked("Reconstructed value"), r"x_\mathrm{back}", _UNIT, "F9.1",
        marked("Codes end at the calibrated range: a value beyond it is reconstructed as the "
               "end."),
        lambda _: step * (code - zero),
    )  # fmt: skip
    return entry, step * (code - zero)
