"""Explanations of one sequence's cache, apart from any layout, and of how attention reads it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

from calc import decode, host
from calc.explain import resident
from calc.explain.entry import (
    BOOK,
    POPE,
    Explanation,
    attention_sequence,
    bandwidth,
    kv_sequence,
    rate,
    weight_bytes,
)
from calc.explain.expression import Expression, Symbol, total
from calc.scenario import Scenario
from calc.words import marked, say


def _per_token(s: Scenario) -> Expression:
    terms: list[Expression] = []
    for i, block in enumerate(s.model.blocks, 1):
        kind = f"_{{{i}}}" if len(s.model.blocks) > 1 else ""
        layers = Symbol(f"L{kind}", block.count, "layers", marked("equal layers of one kind"))
        each = Symbol(
            rf"\kappa{kind}",
            block.attention.kv_bytes_per_token(s.kv_format),
            "byte/token",
            say(
                "cache of one token in one such layer ({attention})",
                attention=block.attention.label,
            ),
        )
        terms.append(layers * each)
    return total(terms)


def _per_sequence(s: Scenario) -> Expression:
    return resident.kv_by_block(replace(s, fidelity="bound"))


def _equal_reads(s: Scenario) -> Expression:
    there = decode.kv_equals_weights_batch(s)
    if math.isinf(there):
        return Symbol(r"B_\mathrm{eq}", there, "sequences", marked("none: nothing is cached"))
    read = Symbol(
        r"P_\mathrm{read}(B_\mathrm{eq})",
        float(host.chip_params_read(s, there)),
        "parameters",
        marked("parameters streamed by a step of the batch sought; all that are active, if dense"),
    )
    return read * weight_bytes(s, there) / kv_sequence(s)


def _intensity(s: Scenario) -> Expression:
    return attention_sequence(s) / kv_sequence(s)


def _ridge(s: Scenario) -> Expression:
    return rate(s) / bandwidth(s)


EXPLANATIONS: Mapping[str, Explanation] = {
    "kv_per_token": Explanation(
        marked("Per token"), "K_1", "byte/token",
        f"F2.1–F2.12; {POPE}",
        marked("What one more token adds before any window is full; constant states add nothing."),
        _per_token,
        marked("KV cache per token"),
    ),
    "kv_alone": Explanation(
        marked("Per sequence"), "K", "byte", f"F2.1–F2.12; {POPE}",
        marked("The cache of one sequence at this context, each part held once."), _per_sequence,
        marked("KV cache per sequence without copies"),
    ),
    "sequences_that_fit": Explanation(
        marked("Sequences that fit"), r"B_\mathrm{max}", "sequences",
        f"F6.2; {BOOK}, part 8",
        marked("Whole sequences whose cache fits in what the weights leave free."),
        resident.largest_batch,
    ),
    "equal_reads": Explanation(
        marked("KV = weight read"), r"B_\mathrm{eq}", "sequences", "F3.5, F2.1",
        marked(
            "The batch whose step reads as many bytes of cache as of weights: beyond it a larger "
            "batch shares little."
        ), _equal_reads,
        marked("Batch of equal reads"),
    ),
    "attention_intensity": Explanation(
        marked("Attention intensity"), "I", "FLOP/byte", f"F3.3; {BOOK}, part 4",
        marked("FLOPs of scores and values for each byte of cache that is read."), _intensity,
    ),
    "ridge_point": Explanation(
        marked("Ridge point"), "R", "FLOP/byte", "F0.1; Williams et al. 2009",
        marked("FLOPs that a chip can do while it reads one byte."), _ridge,
    ),
}  # fmt: skip
