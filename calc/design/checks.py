"""What of a model does not split, does not fit a kernel, or is unlike its width, in sentences."""

from __future__ import annotations

from collections.abc import Iterator

from calc import layout
from calc.attention import GroupedQuery, Latent
from calc.design.edits import Path
from calc.model import Block, Model
from calc.scenario import Scenario
from calc.words import say

# FlashAttention takes heads of whole eights up to this width (as vLLM's and SGLang's backends ask);
# FlashMLA one latent only.
_WIDEST_HEAD = 256
_EIGHTH = 8
_FLASH_MLA = (512, 64)


def notes(scenario: Scenario) -> list[tuple[Path, str]]:
    """What to know beside fields of the scenario's model, by their paths; none of it is refused.

    Splits are looked at for the scenario's own tensor-parallel width.
    """
    tp = layout.widths(scenario)[0]
    found: list[tuple[Path, str]] = []
    for i, block in enumerate(scenario.model.blocks):
        at = f"blocks[{i}]"
        found += [(f"{at}.attention.{key}", said) for key, said in _attention(block, tp)]
        found += [(f"{at}.feedforward.{key}", said)
                  for key, said in _feedforward(block, scenario.model, tp)]  # fmt: skip
        found += [(f"{at}.attention.{key}", said) for key, said in _heads(block, scenario.model)]
    return found


def _attention(block: Block, tp: int) -> Iterator[tuple[str, str]]:
    """Heads that a tensor-parallel width does not divide, and copies of those that are fewer."""
    split = block.attention.split
    if split.query_elements and split.query_heads % tp:
        yield (
            "heads",
            say("{n:,} heads do not split over {tp:,} chips.", n=split.query_heads, tp=tp),
        )
    kv = split.cache_heads
    if not split.query_elements or kv < 2:
        return
    if kv % tp and tp % kv:
        yield "kv_heads", say("{n:,} KV heads do not split over {tp:,} chips.", n=kv, tp=tp)
    elif kv < tp:
        yield (
            "kv_heads",
            say(
                "Over {tp:,} chips engines keep {copies:,} copies of each KV head; fidelity bound "
                "counts one.",
                tp=tp,
                copies=tp // kv,
            ),
        )


def _feedforward(block: Block, model: Model, tp: int) -> Iterator[tuple[str, str]]:
    """Columns that a tensor-parallel width does not divide."""
    for part in block.feedforward.parts(model.d_model):
        if part.columns % tp:
            key = "expert_width" if part.routed else "width"
            yield key, say("{n:,} columns do not split over {tp:,} chips.", n=part.columns, tp=tp)


def _heads(block: Block, model: Model) -> Iterator[tuple[str, str]]:
    """Heads that are not as wide together as the model, and what kernels do not take."""
    core = block.attention.core
    if isinstance(core, Latent) and (core.kv_rank, core.rope_dim) != _FLASH_MLA:
        yield "kv_rank", say(
            "FlashMLA takes a latent of {rank} + {rope} only.", rank=_FLASH_MLA[0],
            rope=_FLASH_MLA[1],
        )  # fmt: skip
    if not isinstance(core, GroupedQuery):
        return
    together = core.heads * core.head_dim
    if together != core.inputs * model.d_model:
        yield "head_dim", say(
            "{heads:,} × {width:,} is {together:,}; the model is {d:,} wide.",
            heads=core.heads, width=core.head_dim, together=together, d=model.d_model,
        )  # fmt: skip
    if core.head_dim % _EIGHTH or core.head_dim > _WIDEST_HEAD:
        yield (
            "head_dim",
            say("FlashAttention takes widths in eights up to {most}.", most=_WIDEST_HEAD),
        )
