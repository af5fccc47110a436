"""Figures that a part begins with when somebody picks its kind, from those of the part before."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, get_type_hints

from calc import sparse_attention, state_space, variants
from calc.attention import Attention, GroupedQuery
from calc.design.kinds import AROUND
from calc.feedforward import (
    Dense,
    FeedForward,
    Linear,
    LowRank,
    MixtureOfExperts,
)

HEAD_DIM = 128

# Limits to what an attention sees of its cache, by key: a window or chunk in tokens, the indexer
# of DeepSeek-V3.2, that of MiniMax-M3.
LIMITS: Mapping[str, Any] = {
    "window": 4096,
    "chunk": 8192,
    "sparse": {"top_k": 2048, "index_heads": 64, "index_dim": 128},
    "sparse-blocks": {"blocks": 16, "block": 128, "index_heads": 4, "index_dim": 128},
}


def heads_of(layer: Attention, d_model: int) -> GroupedQuery:
    """Heads like a layer's; where it has none, as many of 128 as the model is wide."""
    layout = layer.core
    if layout is not None and layout.multi_head is not None:
        if isinstance(layout, GroupedQuery):
            return layout
        twin = layout.multi_head
        groups = next(n for n in (8, 4, 2, 1) if twin.heads % n == 0)
        width = twin.value_dim or twin.head_dim
        return GroupedQuery(twin.heads, groups, width)
    heads = layer.split.query_heads or max(1, d_model // HEAD_DIM)
    groups = next(n for n in (8, 4, 2, 1) if heads % n == 0)
    return GroupedQuery(heads, groups, HEAD_DIM)


_STARTS: Mapping[str, Callable[[GroupedQuery, int], Attention]] = {
    "grouped-query": lambda own, d: own,
    "latent": lambda own, d: replace(variants.DEEPSEEK_LATENT, heads=own.heads),
    # DeepSeek-V4's.
    "compressed": lambda own, d: sparse_attention.Compressed(
        own.heads, 512, 64, 1024, 8, 1024, 128, 4, 512, 64, 128
    ),
    # Qwen3-Next has half as many key heads, Kimi Linear and Lightning as many as the model.
    "gated-delta": lambda own, d: state_space.GatedDeltaNet(
        max(1, own.heads // 2), 2 * max(1, own.heads // 2), HEAD_DIM, HEAD_DIM, 4
    ),
    "kimi-delta": lambda own, d: state_space.KimiDelta(own.heads, own.head_dim, 4),
    "mamba": lambda own, d: state_space.Mamba(2 * d, 16, -(-d // 16), 4),
    "mamba-2": lambda own, d: state_space.Mamba2(max(1, 2 * d // 64), 64, 128, 1, 4),
    "lightning": lambda own, d: state_space.Lightning(own.heads, own.head_dim),
    "short-convolution": lambda own, d: state_space.ShortConvolution(d, 3),
}
# Kinds that a block may be given.
ATTENTION_KINDS = tuple(_STARTS)
FEEDFORWARD_KINDS = ("dense", "mixture-of-experts", "linear", "low-rank")


def attention(kind: str, own: GroupedQuery, d_model: int) -> Attention:
    """A layer of a kind with heads like those given in a model of this width."""
    return _STARTS[kind](own, max(1, d_model))


def feedforward(kind: str, own: FeedForward, d_model: int) -> FeedForward:
    """A layer of a kind that is as wide, for one token, as the one before."""
    parts = [part for part in own.parts(max(1, d_model)) if part.columns]
    width = sum(part.top_k * part.columns for part in parts) or 4 * max(1, d_model)
    experts = next((part for part in parts if part.routed), None)
    match kind:
        case "dense":
            return Dense(width)
        case "mixture-of-experts":
            if experts:
                return MixtureOfExperts(experts.experts, experts.top_k, experts.columns)
            # As many multiplied parameters in two experts of eight.
            return MixtureOfExperts(8, 2, max(1, width // 2))
        case "linear":
            return Linear()
    return LowRank(64)


def goes_around(key: str, layer: Attention) -> bool:
    """Whether a kind may stand around a layer."""
    return isinstance(layer, get_type_hints(AROUND[key])["inner"])
