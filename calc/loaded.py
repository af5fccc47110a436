"""What engines load beside the weights that are counted: tables, and padding for kernels.

It is the engine's own and no part of `memory`; `pool` takes it off on each chip.
"""

from __future__ import annotations

import math

from calc.checkpoint import ROUTED
from calc.layout import Layout
from calc.scenario import Scenario

_WIDEST = 2.0  # tables are never narrower than 16 bits [byte]
# What kernels for MXFP4 experts round up to: the model's width, and a chip's columns of an expert.
_WIDTH, _COLUMNS = 256, 128


def tables(scenario: Scenario) -> float:
    """Sines and cosines of all positions on one chip, which no chip splits [byte].

    A row of the width of a key head, or of its rotary part, for each position that the model was
    published for, once for each such width.

    References
    ----------
    F6.7.

    Examples
    --------
    Llama 3.1 of any size keeps 32 MiB, Llama 4 Scout with its ten million positions 2.5 GiB:

    >>> from calc import Scenario
    >>> from presets import chips, formats, models
    >>> bf16 = formats["bf16"]
    >>> for id in ("llama-3.1-8b", "llama-4-scout"):
    ...     s = Scenario(models[id], chips["h100-sxm"], 1, bf16, bf16, bf16, 1, 8192)
    ...     print(round(tables(s) / 2**30, 3))
    0.031
    2.5
    """
    s, model = scenario, scenario.model
    if model.positions:
        return 0.0
    cores = (block.attention.core for block in model.blocks)
    widths = {core.rotary_width for core in cores if core is not None}
    rows = model.rotary_rows or model.max_context or 0
    return rows * sum(widths) * max(_WIDEST, s.compute_format.bytes)


def padding(scenario: Scenario) -> float:
    """What kernels add to experts in MXFP4 on one chip, for shapes that they can take [byte].

    References
    ----------
    F6.7.
    """
    s, chosen = scenario, Layout.of(scenario)
    if s.stored.of(ROUTED).id != "mxfp4":
        return 0.0
    split = 1 if float(chosen.ep) > 1 else float(chosen.tp)
    columns = [
        part.columns
        for block in s.model.blocks
        for part in block.feedforward.parts(s.model.d_model)
        if part.routed
    ]
    each = max(columns, default=0) / split
    if not each:
        return 0.0
    return float(chosen.experts_per_chip(s)) * (
        _up(s.model.d_model, _WIDTH) * _up(each, _COLUMNS) - 1
    )


def _up(size: float, to: int) -> float:
    """How many times as much it is once rounded up."""
    return math.ceil(size / to) * to / size


def beside(scenario: Scenario) -> float:
    """All of it on one chip [byte]."""
    return tables(scenario) + padding(scenario)
