"""One model's head layout under other kinds of attention, for comparing what each would cache."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from calc.attention import (
    NO_ATTENTION,
    Attention,
    GroupedQuery,
    Latent,
    Limited,
    PerToken,
    SharedCache,
    SlidingWindow,
)
from calc.feedforward import NO_FEEDFORWARD
from calc.model import Block, Model
from calc.sparse_attention import SparseTopK
from calc.words import say

# Widths of DeepSeek-V2 and V3, for models that have no latent of their own.
DEEPSEEK_LATENT = Latent(128, 1536, 512, 128, 64, 128)


def core(attention: Attention) -> GroupedQuery | Latent | None:
    """The attention inside windows, chunks, sharing and indexers; None for constant states."""
    while isinstance(attention, (Limited, SharedCache, SparseTopK)):
        attention = attention.inner
    return attention if isinstance(attention, (GroupedQuery, Latent)) else None


def head_layout(model: Model) -> GroupedQuery | Latent | None:
    """The first attention of a model that has heads; None for models without any."""
    return next((found for block in model.blocks if (found := core(block.attention))), None)


def of_heads(layout: GroupedQuery | Latent) -> Mapping[str, PerToken]:
    """A head layout as multi-head, grouped-query, multi-query and latent attention.

    Keys and values keep their widths. Groups are the model's own, else of 8 heads; the latent is
    the model's own, else DeepSeek's.
    """
    if isinstance(layout, Latent):
        key, value, own_latent = layout.nope_dim + layout.rope_dim, layout.value_dim, layout
        groups = max(1, layout.heads // 8)
    else:
        key, value = layout.head_dim, layout.value_dim or layout.head_dim
        own_latent = replace(DEEPSEEK_LATENT, heads=layout.heads)
        own = layout.kv_heads if 1 < layout.kv_heads < layout.heads else layout.heads // 8
        groups = max(1, own)
    many = GroupedQuery(layout.heads, layout.heads, key, value)
    while layout.heads % groups:
        groups -= 1
    return {
        "MHA": many,
        say("GQA, {groups} KV heads", groups=groups): replace(many, kv_heads=groups),
        "MQA": replace(many, kv_heads=1),
        say("MLA, {rank} + {rope}", rank=own_latent.kv_rank, rope=own_latent.rope_dim): own_latent,
    }


def caching_layers(model: Model) -> int:
    """Layers that attend, whatever they keep; constant states are not counted."""
    return sum(block.count for block in model.blocks if core(block.attention)) or 1


def stacked(
    model: Model, attention: PerToken, *, window: int = 0, full_every: int = 6, sharing: int = 1
) -> Model:
    """A model with one attention in all layers that have heads; constant states stay as they are.

    Parameters
    ----------
    model : Model
        Whose feed-forward parts, width and number of attention layers to keep.
    attention : PerToken
        What every one of them attends with.
    window : int
        Tokens that all of them but each `full_every`-th see; 0 for no windows [token].
    sharing : int
        Layers to one cache: of so many, the first keeps it and the others read it.
    """
    layers = caching_layers(model)
    full = layers if not window else layers // full_every
    parts = [
        replace(block, attention=NO_ATTENTION) if core(block.attention) else block
        for block in model.blocks
    ]
    for count, kind in ((full, attention), (layers - full, SlidingWindow(attention, window or 1))):
        owners = -(-count // sharing)
        parts += [
            Block(owners, kind, NO_FEEDFORWARD, norms=0),
            Block(count - owners, SharedCache(kind), NO_FEEDFORWARD, norms=0),
        ]
    return replace(model, blocks=tuple(block for block in parts if block.count))


def compare(
    model: Model, *, window: int = 0, full_every: int = 6, sharing: int = 1
) -> dict[str, Model]:
    """The model as it is, and its head layout under each kind; only itself if it has no heads."""
    variants = {say("as published"): model}
    layout = head_layout(model)
    if layout is not None:
        for label, attention in of_heads(layout).items():
            variants[label] = stacked(
                model, attention, window=window, full_every=full_every, sharing=sharing
            )
    return variants
