"""Tables of the Quantization page."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from calc import Scenario, capacity, precision, quantization
from pages.ui import tables, text
from presets import formats

LABELS = {"weight_format": "Weights", "kv_format": "KV cache", "compute_format": "Compute"}

_ROWS: Mapping[str, tuple[str, Callable[[float], str]]] = {
    "weight_read": ("Weight read", lambda v: text.si(v, "s")),
    "linear_compute": ("Linear FLOPs", lambda v: text.si(v, "s")),
    "kv_read": ("KV read", lambda v: text.si(v, "s")),
    "critical_batch": ("Critical batch", lambda v: text.count(v // 1)),
    "max_batch": ("Largest batch", text.count),
    "step_time": ("Step time", lambda v: text.si(v, "s")),
    "throughput_per_chip": ("Token/s per chip", text.rate),
}


def moves(
    changed: Mapping[str, Scenario],
    now: precision.Figures,
    then: Mapping[str, precision.Figures],
) -> str:
    """What each switch moves: the figure then with its change, a dash where nothing moves."""
    rows = []
    for name, (label, shown) in _ROWS.items():
        before = getattr(now, name)
        cells = [shown(before)]
        for moved in then.values():
            after = getattr(moved, name)
            change = text.change(after, before)
            words = f"{shown(after)} ({change})" if change else shown(after)
            cells.append(text.plain(words) if precision.differ(after, before) else "–")
        rows.append([label, *cells])
    heads = [
        f"{LABELS[switch]} → {text.plain(getattr(s, switch).id)}" for switch, s in changed.items()
    ]
    return tables.markdown(["", "Now", *heads], rows, " rrrr")


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
    head = ["Format", "What it is", "Bits, metadata in", "Group", "Weights of this model",
            "KV per token"]  # fmt: skip
    return tables.table(head, rows)


def mixed(scenario: Scenario) -> str:
    """Experts in the weight format, everything else in bf16, as some checkpoints are published."""
    s = scenario
    if not s.model.routed_params:
        return ""
    size = capacity.mixed_weights(s.model, s.weight_format, formats["bf16"])
    return (
        f"With the routed experts in {text.plain(s.weight_format.id)} and the rest in bf16, as "
        f"some checkpoints are published, {text.plain(s.model.name)} weighs "
        f"{text.si(size, 'B')} ({size / 2**30:,.1f} GiB)."
    )


def grid(result: quantization.Quantized, bits: int) -> str:
    """Scale, zero point and errors of a quantized tensor."""
    scale, zero = result.grid.scale, result.grid.zero_point
    per_scale = result.values_per_scale
    cost = float(quantization.effective_bits(bits, per_scale, 16, bits if np.any(zero) else 0))
    rows = [
        ["Scale", _span(scale), f"{scale.size:,} in all, one to {per_scale:,.0f} values"],
        ["Zero point", _span(np.asarray(zero, dtype=float)), "code that stands for 0"],
        ["Codes", f"{text.tiny(result.grid.q_min)} to {result.grid.q_max}", ""],
        ["Largest error", text.tiny(result.max_error), f"bound s/2: {text.tiny(_top(result))}"],
        ["Mean square error", text.tiny(result.mean_square_error),
         f"of uniform noise s²/12: {text.tiny(result.uniform_noise)}"],
        ["Signal to noise", text.decibel(result.sqnr),
         f"of uniform noise: {text.decibel(result.uniform_sqnr)}"],
        ["Bits per value", f"{cost:.4g}", "with a 16-bit scale, and a zero point where there is"],
    ]  # fmt: skip
    return tables.markdown(["", "Value", ""], rows, " r ")


def _span(values: np.ndarray) -> str:
    low, high = float(np.min(values)), float(np.max(values))
    return text.tiny(low) if low == high else f"{text.tiny(low)} to {text.tiny(high)}"


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
    return tables.markdown(["Value", "Code", "Reconstructed", "Error"], rows, "rrrr")
