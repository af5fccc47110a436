"""One model's head layout under other kinds of attention, for comparing what each would cache."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from calc.attention import (
    NO_ATTENTION,
    GroupedQuery,
    Latent,
    PerToken,
    SharedCache,
    SlidingWindow,
)
from calc.feedforward import NO_FEEDFORWARD
from calc.model import Block, Model
from calc.words import say

# Widths of DeepSeek-V2 and V3, for models that have no latent of their own.
DEEPSEEK_LATENT = Latent(128, 1536, 512, 128, 64, 128)


def head_layout(model: Model) -> PerToken | None:
    """The first attention of a model that has heads; None for models without any."""
    cores = (block.attention.core for block in model.blocks if block.attention.multi_head)
    return next((core for core in cores if core), None)


def of_heads(layout: PerToken) -> Mapping[str, PerToken]:
    """A head layout as multi-head, grouped-query, multi-query and latent attention.

    Keys and values keep their widths. Groups are the model's own, else of 8 heads; the latent is
    the model's own, else DeepSeek's. What has no heads has no such layouts.
    """
    twin = layout.multi_head
    if twin is None:
        return {}
    many = GroupedQuery(twin.heads, twin.heads, twin.head_dim, twin.value_dim or twin.head_dim)
    own = layout.split.cache_heads
    groups = own if 1 < own < many.heads else max(1, many.heads // 8)
    while many.heads % groups:
        groups -= 1
    latent = layout.latent or replace(DEEPSEEK_LATENT, heads=many.heads)
    return {
        "MHA": many,
        say("GQA, {groups} KV heads", groups=groups): replace(many, kv_heads=groups),
        "MQA": replace(many, kv_heads=1),
        say("MLA, {rank} + {rope}", rank=latent.kv_rank, rope=latent.rope_dim): latent,
    }


def caching_layers(model: Model) -> int:
    """Layers that attend, whatever they keep; constant states are not counted."""
    return sum(block.count for block in model.blocks if block.attention.multi_head) or 1


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
        replace(block, attention=NO_ATTENTION) if block.attention.multi_head else block
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
