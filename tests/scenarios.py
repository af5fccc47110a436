"""Scenarios that many tests start from."""

from __future__ import annotations

from typing import Any

from calc import Model, Scenario
from presets import chips, formats, models


def scenario(
    model: str | Model = "llama-3-70b",
    chip: str = "tpu-v5e",
    *,
    w: str = "int8",
    kv: str = "int8",
    c: str = "bf16",
    n_chips: int = 16,
    batch: int = 32,
    context: int = 8192,
    **more: Any,
) -> Scenario:
    """The default scenario of the app, with what a test changes."""
    return Scenario(
        model=model if isinstance(model, Model) else models[model],
        chip=chips[chip],
        n_chips=n_chips,
        weight_format=formats[w],
        kv_format=formats[kv],
        compute_format=formats[c],
        batch=batch,
        context=context,
        **more,
    )


# Published examples count 70e9 parameters and 160 KiB of 8-bit cache per token.
NOMINAL_70B = Model.from_totals(70e9, 163_840)
STATED_30B = Model.from_totals(30e9, 100e3)
