"""Tables of the Quantization page."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from calc import Scenario, capacity, known, precision, quantization
from calc.checkpoint import ROUTED
from calc.explain import EXPLANATIONS
from calc.words import marked, say
from pages.ui.writing import tables, text, written
from presets import formats

LABELS = {
    "weight_format": marked("Weights"),
    "kv_format": marked("KV cache"),
    "compute_format": marked("Compute"),
}

# The figures, by the ids of their explanations.
_ROWS: Mapping[str, str] = {
    "weight_read": "weight_read",
    "linear_compute": "linear_compute",
    "kv_read": "kv_read",
    "compute_bound_batch": "critical_batch",
    "max_batch": "max_batch",
    "step_time": "step_time",
    "throughput_per_chip": "throughput_per_chip",
}
EXPLAINED = tuple(_ROWS)


def names(changed: Mapping[str, Scenario]) -> dict[str, str]:
    """Each switched scenario as it is called in charts."""
    return {
        switch: say("{what} in {format}", what=say(LABELS[switch]), format=getattr(then, switch).id)
        for switch, then in changed.items()
    }


def moves(
    scenario: Scenario,
    changed: Mapping[str, Scenario],
    now: precision.Figures,
    then: Mapping[str, precision.Figures],
) -> str:
    """What each switch moves: the figure then with its change, a dash where nothing moves."""
    rows = []
    for id, name in _ROWS.items():
        before = getattr(now, name)
        usual = written.usual(id, before, scenario)
        cells = [text.listed(filter(None, [written.bounded(id, before, scenario), usual]))]
        for switch, moved in then.items():
            after, there = getattr(moved, name), known.least(changed[switch])
            # Between a bound and a figure there is no change.
            same = known.bounded(scenario) == known.bounded(there)
            change = text.change(after, before) if same else ""
            words = written.bounded(id, after, there)
            words = f"{words} ({change})" if change else words
            cells.append(text.plain(words) if precision.differ(after, before) else "–")
        rows.append([say(EXPLANATIONS[id].label), *cells])
    heads = [
        f"{say(LABELS[switch])} → {text.plain(getattr(s, switch).id)}"
        for switch, s in changed.items()
    ]
    return tables.markdown([say("Quantity"), say("Now"), *heads], rows, " rrrr")


def format_bits(scenario: Scenario) -> tables.Table:
    """Bits of every format with its metadata, and what the model weighs in it."""
    model = scenario.model
    rows = [
        [
            item.id,
            item.name,
            f"{item.bits:g}",
            str(item.group) if item.group > 1 else "",
            text.si(model.total_params * item.bytes, "B") if "weights" in item.uses else "",
            text.kibibytes(model.kv_bytes_per_token(item)) if "kv" in item.uses else "",
        ]
        for item in formats.values()
    ]
    head = [say("Format"), say("What it is"), say("Bits, metadata in"), say("Group"),
            say("Weights of this model"), say("KV per token")]  # fmt: skip
    return tables.table(head, rows)


def mixed(scenario: Scenario) -> str:
    """Experts in the weight format, everything else in bf16, as some checkpoints are published."""
    s = scenario
    if not s.model.routed_params:
        return ""
    experts = s.stored.of(ROUTED)
    size = capacity.mixed_weights(s.model, experts, formats["bf16"])
    return say(
        "With the routed experts in {format} and the rest in bf16, as some checkpoints are "
        "published, {model} weighs {size} ({gib:,.1f} GiB).",
        format=text.plain(experts.id),
        model=text.plain(s.model.name),
        size=text.si(size, "B"),
        gib=size / 2**30,
    )


def grid(result: quantization.Quantized, bits: int) -> str:
    """Scale, zero point and errors of a quantized tensor."""
    scale, zero = result.grid.scale, result.grid.zero_point
    per_scale = result.values_per_scale
    cost = float(quantization.effective_bits(bits, per_scale, 16, bits if np.any(zero) else 0))
    rows = [
        [say("Scale"), _span(scale),
         say("{n:,} in all, one to {values:,.0f} values", n=scale.size, values=per_scale)],
        [say("Zero point"), _span(np.asarray(zero, dtype=float)), say("code that stands for 0")],
        [say("Codes"),
         say("{low} to {high}", low=text.tiny(result.grid.q_min), high=result.grid.q_max), ""],
        [say("Largest error"), text.tiny(result.max_error),
         say("bound s/2: {value}", value=text.tiny(_top(result)))],
        [say("Mean square error"), text.tiny(result.mean_square_error),
         say("of uniform noise s²/12: {value}", value=text.tiny(result.uniform_noise))],
        [say("Signal to noise"), text.decibel(result.sqnr),
         say("of uniform noise: {value}", value=text.decibel(result.uniform_sqnr))],
        [say("Bits per value"), f"{cost:.4g}",
         say("with a 16-bit scale, and a zero point where there is")],
    ]  # fmt: skip
    return tables.markdown([say("Quantity"), say("Value"), say("What is meant")], rows, " r ")


def _span(values: np.ndarray) -> str:
    low, high = float(np.min(values)), float(np.max(values))
    if low == high:
        return text.tiny(low)
    return say("{low} to {high}", low=text.tiny(low), high=text.tiny(high))


def _top(result: quantization.Quantized) -> float:
    return float(np.max(result.bound))


def values(result: quantization.Quantized, number: int = 12) -> str:
    """The first values with their codes."""
    columns = [np.ravel(a)[:number] for a in
               (result.values, result.codes, result.reconstructed, result.error)]  # fmt: skip
    rows = [
        [text.tiny(float(x)), text.tiny(int(q)), text.tiny(float(back)), text.tiny(float(wrong))]
        for x, q, back, wrong in zip(*columns, strict=True)
    ]
    head = [say("Value"), say("Code"), say("Reconstructed"), say("Error")]
    return tables.markdown(head, rows, "rrrr")
