"""Families of attention as a ladder: what each rung would make of a model."""

from __future__ import annotations

from dataclasses import dataclass, replace

from calc import variants
from calc.attention import Attention, GroupedQuery, PerToken, SlidingWindow
from calc.design import starts, table
from calc.design.reading import Table
from calc.model import Block, Model
from calc.words import say

WINDOW = 4096
FULL_EVERY = 6  # Gemma 3 has a full layer among six
STATE_EVERY = 4  # Qwen3-Next attends in one layer of four


@dataclass(frozen=True)
class Rung:
    """A way to attend, and the model's table with it; `label` is said."""

    id: str
    label: str
    content: Table


def attention(content: Table) -> list[Rung]:
    """The model with its heads as MHA, GQA, MQA, MLA, in windows, and as linear states.

    Layers that attend take the rung's attention; feed-forward parts and layers with a state of
    their own stay. Without heads there are no rungs.
    """
    model = table.read(content)
    layout = variants.head_layout(model)
    if layout is None:
        return []
    kinds = {label: _like(layout, kind) for label, kind in variants.of_heads(layout).items()}
    rungs = [
        Rung(id, label, _of(model, _every(model, kind)))
        for id, (label, kind) in zip(("mha", "gqa", "mqa", "mla"), kinds.items(), strict=True)
    ]
    own = layout if isinstance(layout, GroupedQuery) else list(kinds.values())[1]
    windowed = _apart(model, SlidingWindow(own, WINDOW), own, FULL_EVERY)
    state = starts.attention("gated-delta", starts.heads_of(layout, model.d_model), model.d_model)
    return [
        *rungs,
        Rung(
            "window",
            say("window {n:,}, one full layer in {k}", n=WINDOW, k=FULL_EVERY),
            _of(model, windowed),
        ),
        Rung(
            "linear",
            say("linear state, one full layer in {k}", k=STATE_EVERY),
            _of(model, _apart(model, state, own, STATE_EVERY)),
        ),
    ]


def _like(layout: PerToken, kind: PerToken) -> PerToken:
    """A kind with the norms, biases and gates of a layout of the same family."""
    if isinstance(layout, GroupedQuery) and isinstance(kind, GroupedQuery):
        return replace(layout, kv_heads=kind.kv_heads)
    return kind


def _of(model: Model, blocks: list[Block]) -> Table:
    return table.written(replace(model, blocks=tuple(blocks)))


def _every(model: Model, kind: PerToken) -> list[Block]:
    """One attention in every layer that has heads; equal blocks become one."""
    return _joined(
        [
            replace(block, attention=kind) if block.attention.multi_head else block
            for block in model.blocks
        ]
    )


def _apart(model: Model, most: Attention, full: PerToken, every: int) -> list[Block]:
    """One attention in most layers that have heads, and another in every so-many-th."""
    blocks: list[Block] = []
    for block in _every(model, full):
        few = block.count // every if block.attention == full else 0
        if not few:
            blocks.append(block)
            continue
        alone = replace(block, weight_sets=0)
        blocks.append(replace(alone, count=block.count - few, attention=most))
        blocks.append(replace(alone, count=few))
    return blocks


def _joined(blocks: list[Block]) -> list[Block]:
    """Blocks that differ in nothing but their counts, as one."""
    found: list[Block] = []
    for block in blocks:
        alike = [i for i, one in enumerate(found) if replace(one, count=block.count) == block]
        if alike and not block.weight_sets:
            found[alike[0]] = replace(block, count=found[alike[0]].count + block.count)
        else:
            found.append(block)
    return found
