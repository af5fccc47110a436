"""Decoders with latent attention: DeepSeek, Kimi, GLM-5 and others."""

from __future__ import annotations

from dataclasses import replace

from calc.feedforward import HyperConnections, StreamsJoined
from calc.hf_keys import MOST_LAYERS, ConfigError, Keys
from calc.hf_parts import (
    Stack,
    beside,
    dense,
    dense_first,
    depth,
    experts,
    fold,
    grouped,
    latent,
    query_heads,
    strange_entry,
    width,
    window_size,
)
from calc.model import Block
from calc.sparse_attention import Compressed, SparseTopK
from calc.state_space import KimiDelta
from calc.words import say


def deepseek(k: Keys) -> Stack:
    """The first DeepSeek-MoE attends in groups, V2 and all after it with a latent."""
    attention = grouped(k) if k.family == "deepseek" else latent(k)
    newer = k.family in ("deepseek_v3", "kimi_k2")
    method = k.text("topk_method", default="noaux_tc" if newer else "")
    feedforwards = dense_first(k, depth(k), experts(k, router_bias=method == "noaux_tc"))
    return fold([(attention, f) for f in feedforwards], 2)


def glm4_moe_lite(k: Keys) -> Stack:
    feedforwards = dense_first(k, depth(k), experts(k, router_bias=True), first=1)
    return fold([(latent(k), f) for f in feedforwards], 2)


def minicpm3(k: Keys) -> Stack:
    heads = query_heads(k)
    attention = latent(k, value_dim=None if width(k) % heads else width(k) // heads)
    return fold([(attention, dense(k))] * depth(k), 2)


def sparse_latent(k: Keys) -> Stack:
    """Indexers pick what is attended to; layers without one take the picks of the last that has."""
    layers, attention = depth(k), latent(k)
    top_k = k.whole("index_topk")
    own = SparseTopK(attention, top_k, k.whole("index_n_heads"), k.whole("index_head_dim"))
    shared = SparseTopK(attention, top_k, 0, 0)
    feedforwards = dense_first(k, layers, experts(k, router_bias=True))
    chosen = [True] * layers if k.family == "deepseek_v32" else _own_indexer(k, layers)
    return fold(
        [(own if one else shared, f) for one, f in zip(chosen, feedforwards, strict=True)], 2
    )


def _own_indexer(k: Keys, layers: int) -> list[bool]:
    """Layers that have an indexer: listed, as letters, or by a schedule."""
    known = {"full": True, "shared": False, "F": True, "S": False}
    types = k.listed("indexer_types", layers)
    pattern = k.raw("index_topk_pattern") if types is None else None
    if isinstance(pattern, str):
        pattern = list(pattern)
    if isinstance(pattern, list) and len(pattern) >= layers:
        types = pattern[:layers]
    elif pattern is not None:
        raise strange_entry("index_topk_pattern")
    if types is None:
        every, offset = k.whole("index_topk_freq", default=1), 0
        if every > 1:
            offset = k.whole("index_skip_topk_offset", default=2, low=0)
        return [max(i - offset + 1, 0) % every == 0 for i in range(layers)]
    if any(not isinstance(kind, str) or kind not in known for kind in types):
        raise strange_entry("index_topk_pattern" if pattern else "indexer_types")
    return [known[kind] for kind in types]


_RATIOS = {
    "sliding_attention": 0,
    "compressed_sparse_attention": 4,
    "heavily_compressed_attention": 128,
}


def deepseek_v4(k: Keys) -> Stack:
    """Several residual streams, attention to compressed entries, the first experts by hash."""
    layers = depth(k)
    common = {
        "heads": query_heads(k),
        "head_dim": k.whole("head_dim"),
        "rope_dim": k.whole("qk_rope_head_dim"),
        "q_rank": k.whole("q_lora_rank"),
        "output_groups": k.whole("o_groups"),
        "output_rank": k.whole("o_lora_rank"),
        "near": window_size(k),
    }
    indexer = {
        "top_k": k.whole("index_topk"),
        "index_heads": k.whole("index_n_heads"),
        "index_dim": k.whole("index_head_dim"),
    }
    streams = k.whole("hc_mult", default=4, high=64)
    ratios = _ratios(k, layers)
    kinds = {
        # Only the mildly compressed layers are long enough to need an indexer.
        ratio: Compressed(**common, ratio=ratio, **(indexer if 0 < ratio <= 4 else {}))
        for ratio in set(ratios)
    }
    mixtures = {
        bias: beside(experts(k, router_bias=bias), HyperConnections(streams))
        for bias in (False, True)
    }
    scored = _scored(k, layers)
    return fold(
        [(kinds[ratio], mixtures[bias]) for ratio, bias in zip(ratios, scored, strict=True)],
        2,
        outside=StreamsJoined(streams),
    )


def _ratios(k: Keys, layers: int) -> list[int]:
    """Tokens to one compressed entry of each layer, 0 for a window only."""
    ratios = k.listed("compress_ratios", layers, at_least=True)
    if ratios is not None:
        if any(
            isinstance(r, bool) or not isinstance(r, int) or not 0 <= r <= 10**6 for r in ratios
        ):
            raise ConfigError(
                "compress_ratios", say("has an entry that is not a small whole number")
            )
        return ratios
    types = k.listed("layer_types", layers)
    if types is None:
        raise k.missing("compress_ratios")
    rates = k.table("compress_rates") if k.has("compress_rates") else k.within({})
    if any(not isinstance(kind, str) or kind not in _RATIOS for kind in types):
        raise strange_entry("layer_types")
    known = {
        kind: rates.whole(kind, default=_RATIOS[kind]) if _RATIOS[kind] else 0
        for kind in set(types)
    }
    return [known[kind] for kind in types]


def _scored(k: Keys, layers: int) -> list[bool]:
    """Layers whose experts are chosen by score, and so have a correction bias; not by a hash."""
    types = k.listed("mlp_layer_types", layers)
    if types is None:
        hashed = k.whole("num_hash_layers", default=3, low=0, high=MOST_LAYERS)
        return [i >= hashed for i in range(layers)]
    if any(kind not in ("hash_moe", "moe") for kind in types):
        raise strange_entry("mlp_layer_types")
    return [kind == "moe" for kind in types]


def kimi_linear(k: Keys) -> Stack:
    """A delta rule in most layers; K3 also mixes in the outputs of earlier layers."""
    layers = depth(k)
    linear = k.table("linear_attn_config") if k.has("linear_attn_config") else k
    delta = KimiDelta(
        linear.whole("linear_num_heads"),
        linear.whole("linear_head_dim"),
        linear.whole("linear_conv_kernel_dim"),
        linear.flag("use_full_rank_gate", default=False),
    )
    full = latent(k, output_gate=k.flag("mla_use_output_gate", default=False))
    inside = k.whole("routed_expert_hidden_size", default=0, low=0)
    sparse = experts(
        k,
        router_bias=True,
        latent_width=inside,
        latent_norm=inside > 0 and k.flag("latent_moe_use_norm", default=False),
    )
    feedforwards = dense_first(k, layers, sparse, first=1)
    mixed = k.optional("attn_res_block_size")
    return fold(
        [
            (delta if one else full, f)
            for one, f in zip(_delta_layers(k, linear, layers), feedforwards, strict=True)
        ],
        6 if mixed else 2,
        final_norms=3 if mixed else 1,
    )


def _delta_layers(k: Keys, linear: Keys, layers: int) -> list[bool]:
    """Layers with the delta rule: counted from 1, or by ``layer_types``."""
    chosen = linear.chosen("kda_layers")
    if chosen is not None:
        return [i + 1 in chosen for i in range(layers)]
    types = k.listed("layer_types", layers)
    if types is None:
        raise k.missing("kda_layers")
    if any(kind not in ("linear_attention", "full_attention") for kind in types):
        raise strange_entry("layer_types")
    return [kind == "linear_attention" for kind in types]


def longcat_flash(k: Keys) -> Stack:
    """Two attentions and two MLPs a layer, and beside the first of them the experts."""
    layers, attention = depth(k), latent(k)
    plain = dense(k)
    zero = k.whole("zero_expert_num", default=0, low=0)
    if zero:
        k.note(say("each of the chosen experts is taken to have weights; zero experts have none"))
    sparse = experts(k, shared=0, router_bias=True, zero_experts=zero)
    halves = fold([(attention, beside(plain, sparse)), (attention, plain)], 2).blocks
    first, second = (Block(layers, b.attention, b.feedforward, b.norms) for b in halves)
    return Stack((first, replace(second, beside=True)))
