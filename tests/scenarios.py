"""Scenarios and traffic that many tests start from."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from calc import Model, Scenario, memory, serving
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
    memory: float = 0,
    **more: Any,
) -> Scenario:
    """The default scenario of the app, with what a test changes.

    `memory` of a chip is for published examples that count another than the device shows [byte].
    """
    preset = chips[chip]
    return Scenario(
        model=model if isinstance(model, Model) else models[model],
        chip=replace(preset, memory=memory) if memory else preset,
        n_chips=n_chips,
        weight_format=formats[w],
        kv_format=formats[kv],
        compute_format=formats[c],
        batch=batch,
        context=context,
        **more,
    )


def with_room(s: Scenario, blocks: int) -> Scenario:
    """A scenario whose memory holds its weights and so many blocks of cache."""
    block = float(memory.kv_per_sequence(s, s.kv_block) - memory.kv_per_sequence(s, 0))
    held = memory.weights(s) + (blocks + 0.5) * block
    return replace(s, chip=replace(s.chip, memory=held / s.n_chips))


def constant(requests: int, arrivals: Any, prompt: int, output: int, **more: Any) -> Any:
    """Traffic of constant lengths."""
    return serving.generate(
        requests, arrivals, serving.Constant(prompt), serving.Constant(output), **more
    )


# Published examples count 70e9 parameters and 160 KiB of 8-bit cache per token.
NOMINAL_70B = Model.from_totals(70e9, 163_840)
STATED_30B = Model.from_totals(30e9, 100e3)
FINE = scenario(fidelity="operators")
SPREAD = scenario(
    "deepseek-v3", "gb200-nvl72", n_chips=72, w="fp8", c="fp8", fidelity="operators",
    attention_dp=72, expert_parallel=72,
)  # fmt: skip
