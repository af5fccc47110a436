"""The charts of the Prefill page."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from calc import Scenario, prefill
from calc.words import say
from pages.ui.charts import kit, lines
from pages.ui.writing import palette, text

Array = NDArray[np.float64]

_LOOKS = palette.QUANTITIES


def against_prompt(scenario: Scenario, total: float) -> kit.Chart:
    """Time of a prompt and its terms against its length, log-log."""
    length = _lengths(scenario.prompt)
    terms = prefill.terms(scenario, length)
    shown: dict[str, lines.Line] = {
        say("prompt"): (prefill.prompt_time(scenario, length, _known(scenario, length)).total,
                   lines.TOTAL),
        say("linear FLOPs"): (terms.linear_compute, _LOOKS["linear_compute"]),
        say("attention FLOPs"): (terms.attention_compute, _LOOKS["attention_compute"]),
        say("weights and cache"): (terms.read, _LOOKS["weight_read"]),
    }  # fmt: skip
    if terms.communication.any():
        shown[say("communication")] = (terms.communication, _LOOKS["communication"])
    if scenario.fidelity != "bound":
        textbook = replace(scenario, fidelity="bound")
        bound = prefill.prompt_time(textbook, length, _known(scenario, length)).total
        shown[say("bound")] = (bound, lines.BOUND)
    overtakes = prefill.attention_overtakes(scenario.model)
    rules = [("x", overtakes, say("mostly attention from {n}", n=text.round_count(overtakes)))]
    return lines.chart(
        length,
        shown,
        x_title=say("Prompt (tokens, k = 1,024)"),
        y_title=say("Time to read the prompt (s)"),
        unit="s",
        now=(scenario.prompt, total, text.si(total, "s")),
        rules=rules if overtakes < length[-1] else (),
        x_ticks=_token_ticks(length),
    )


def _lengths(prompt: int) -> Array:
    """From 128 tokens to well past the prompt, and to 128k at least."""
    far = 2.0 ** np.ceil(np.log2(max(4 * prompt, 131072)))
    return np.unique(np.append(np.geomspace(min(128, prompt), far, 81), float(prompt)))


def _known(scenario: Scenario, length: Array) -> Array:
    return np.asarray(np.minimum(prefill.block_hit(scenario), length - 1))


def _token_ticks(length: Array) -> dict[float, str]:
    """Powers of four."""
    marks = [4.0**i for i in range(14) if length[0] <= 4.0**i <= length[-1]]
    return {m: f"{m / 1024:,.0f}k" if m >= 1024 else f"{m:,.0f}" for m in marks}


def against_chunk(scenario: Scenario, largest: float, free: float) -> kit.Chart:
    """Time per token of the decoding batch against the prompt tokens that a step takes along."""
    size = np.unique(np.round(np.geomspace(1, max(scenario.prompt, 2), 90)))
    step = prefill.chunked_step(scenario, size)
    own = min(scenario.chunk, scenario.prompt)
    here = float(prefill.chunked_step(scenario, own).total)
    marks = [("y", 1e3 * scenario.tpot_target, say("wanted"))]
    if 1 < free < size[-1]:
        marks.append(("x", free, say("free up to {n:,}", n=math.floor(free))))
    if 1 < largest < size[-1]:
        marks.append(("x", largest, say("TPOT held up to {n:,}", n=math.floor(largest))))
    shown: dict[str, lines.Line] = {
        say("step with a chunk"): (1e3 * step.total, lines.TOTAL),
        say("linear FLOPs"): (1e3 * step.linear_compute, _LOOKS["linear_compute"]),
        say("attention FLOPs"): (1e3 * step.attention_compute, _LOOKS["attention_compute"]),
        say("weight read"): (1e3 * step.weight_read, _LOOKS["weight_read"]),
        say("KV read"): (1e3 * step.kv_read, _LOOKS["kv_read"]),
    }
    if scenario.fidelity != "bound":
        bound = prefill.chunked_step(replace(scenario, fidelity="bound"), size).total
        shown[say("bound")] = (1e3 * bound, lines.BOUND)
    return lines.chart(
        size,
        shown,
        x_title=say("Prompt tokens in one decode step"),
        y_title=say("Time per output token meanwhile (ms)"),
        unit="ms",
        now=(own, 1e3 * here, text.si(here, "s")),
        rules=marks,
        decades=3.2,
    )


def against_prefix(scenario: Scenario) -> kit.Chart:
    """Time left of a prompt against how much of it is cached."""
    prefix = np.unique(np.round(np.linspace(0, scenario.prompt - 1, 257)))
    whole = float(prefill.prompt_time(scenario, known=0).total)
    left = prefill.prompt_time(scenario, known=prefill.block_hit(scenario, prefix)).total
    here = float(prefill.prompt_time(scenario).total)
    figure = lines.chart(
        np.maximum(prefix, 1.0),
        {say("time left"): (100 * left / whole, lines.TOTAL)},
        x_title=say("Prefix cached (tokens)"),
        y_title=say("Time left of the prompt (%)"),
        unit="%",
        now=(max(scenario.prefix_hit, 1), 100 * here / whole, f"{100 * here / whole:.3g} %"),
        log_y=False,
    )
    axis = {
        "type": "linear", "range": [0, scenario.prompt], "nticks": 7, "automargin": False,
        "title": figure.layout["xaxis"]["title"],
    }  # fmt: skip
    return kit.figure(figure.data, {**figure.layout, "xaxis": axis})
