"""One model's head layout under other kinds of attention, for comparing what each would cache."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from calc.attention import (
    Attention,
    GroupedQuery,
    Latent,
    Limited,
    PerToken,
    SharedCache,
    SlidingWindow,
    SparseTopK,
)
from calc.model import Block, Model

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
        f"GQA, {groups} KV heads": replace(many, kv_heads=groups),
        "MQA": replace(many, kv_heads=1),
        f"MLA, {own_latent.kv_rank} + {own_latent.rope_dim}": own_latent,
    }


def stacked(
    model: Model, attention: PerToken, *, window: int = 0, full_every: int = 6, sharing: int = 1
) -> Model:
    """A model with one attention in all layers.

    Parameters
    ----------
    model : Model
        Whose layers, width and feed-forward parts to keep.
    attention : PerToken
        What every layer attends with.
    window : int
        Tokens that all layers but each `full_every`-th see; 0 for no windows [token].
    sharing : int
        Layers to one cache: of so many, the first keeps it and the others read it.
    """
    layers = model.layers
    full = layers if not window else layers // full_every
    parts: list[Block] = []
    feedforward = model.blocks[-1].feedforward
    for count, kind in ((full, attention), (layers - full, SlidingWindow(attention, window or 1))):
        owners = -(-count // sharing)
        parts += [
            Block(owners, kind, feedforward),
            Block(count - owners, SharedCache(kind), feedforward),
        ]
    return replace(model, blocks=tuple(block for block in parts if block.count))


def compare(
    model: Model, *, window: int = 0, full_every: int = 6, sharing: int = 1
) -> dict[str, Model]:
    """The model as it is, and its head layout under each kind; only itself if it has no heads."""
    variants = {"as published": model}
    layout = head_layout(model)
    if layout is not None:
        for label, attention in of_heads(layout).items():
            variants[label] = stacked(
                model, attention, window=window, full_every=full_every, sharing=sharing
            )
    return variants
