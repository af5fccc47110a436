"""What a reader should know of a layout: what it asks for in vain, what it copies."""

from __future__ import annotations

from calc import Scenario, layout, memory
from calc.words import say
from pages.ui.writing import text


def caveats(scenario: Scenario) -> list[str]:
    """What a layout asks for in vain, what it copies, and what a narrow format takes along."""
    s = scenario
    if s.fidelity == "bound":
        return []
    found = layout.problems(s)
    copies = cache_copies(s)
    if copies:
        found.append(copies)
    if s.compute_format.bits < 16 and s.attention_format is None:
        id = text.plain(s.compute_format.id)
        found.append(
            say(
                "Attention is timed at the {format} rate and activations travel in {format}; many "
                "kernels score in bf16 (Attention compute).",
                format=id,
            )
        )
    return found


def cache_copies(scenario: Scenario) -> str:
    """What copies a layout keeps of a sequence's cache; empty if none."""
    s = scenario
    alone = float(s.model.kv_bytes(s.context, s.kv_format))
    kept = float(memory.kv_per_sequence(s))
    if kept <= 1.001 * alone:
        return ""
    return say(
        "TP exceeds the KV heads, so the cache is stored {factor} times: a sequence takes {size}.",
        size=text.si(kept, "B"),
        factor=text.round_count(kept / alone).removesuffix(".00").removesuffix(".0"),
    )
