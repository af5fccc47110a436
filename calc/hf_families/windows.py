"""Dense decoders that mix full attention with sliding windows."""

from __future__ import annotations

from dataclasses import replace

from calc.attention import Attention, GroupedQuery, SharedCache, SlidingWindow
from calc.feedforward import AltUp, Dense, FeedForward, Linear, LowRank, PerLayerInputs
from calc.hf_keys import Keys
from calc.hf_parts import (
    FULL,
    WINDOW,
    Stack,
    beside,
    by_type,
    dense,
    depth,
    every,
    experts,
    fold,
    grouped,
    must_divide,
    of_type,
    per_layer,
    query_heads,
    window_size,
    windowed,
)
from calc.words import say


def gemma(k: Keys) -> Stack:
    bias = k.flag("attention_bias", default=False)
    attention = grouped(k, default_dim=256, qkv_bias=bias, output_bias=bias)
    return fold([(attention, dense(k))] * depth(k), 2)


def gemma2(k: Keys) -> Stack:
    attention = grouped(k, default_dim=256)
    attentions = by_type(k, depth(k), attention) or every(k, depth(k), attention, 2)
    return fold([(a, dense(k)) for a in attentions], 4)


def vaultgemma(k: Keys) -> Stack:
    attentions = windowed(k, grouped(k, default_dim=256), 2)
    return fold([(a, dense(k)) for a in attentions], 2)


def gemma3(k: Keys) -> Stack:
    heads = query_heads(k, default=8)
    kv_heads = k.whole("num_key_value_heads", default=4)
    must_divide(k, "num_key_value_heads", kv_heads, heads)
    attention = GroupedQuery(heads, kv_heads, k.whole("head_dim", default=256), qk_norm=True)
    attentions = by_type(k, depth(k), attention)
    if attentions is None:
        pattern = k.whole("sliding_window_pattern", default=6)
        attentions = every(k, depth(k), attention, pattern)
    return fold([(a, dense(k)) for a in attentions], 4)


def gemma3n(k: Keys) -> Stack:
    """Several residual streams, an input for each layer, and late layers that share caches."""
    layers, attention = depth(k), grouped(k, default_dim=256, qk_norm=True)
    streams = k.whole("altup_num_inputs", default=4, high=64)
    rank = k.whole("laurel_rank", default=64)
    thin, table = _per_layer_inputs(k, layers)
    attentions = by_type(k, layers, attention)
    if attentions is None:
        k.assume("layer_types", say("every fifth full"))
        local = SlidingWindow(attention, window_size(k))
        attentions = [local if (i + 1) % 5 else attention for i in range(layers)]
    attentions = _sharing(k, attentions, default=15)
    if SharedCache in map(type, attentions):
        k.note(
            say("key and value weights of layers that share a cache are not counted, though "
                "published files carry them unused")
        )  # fmt: skip
    around = (AltUp(streams), LowRank(rank, norm=True), LowRank(thin, norm=True))
    widths = k.each("intermediate_size", layers)
    return fold(
        [(a, beside(Dense(f), *around)) for a, f in zip(attentions, widths, strict=True)],
        4,
        lookup=table,
        outside=beside(PerLayerInputs(thin, layers), Linear(2 * (streams - 1))),
    )


def gemma4(k: Keys) -> Stack:
    """Wider heads in full layers, and one saved number a layer.

    Small ones have an input for each layer and late layers that share caches, large ones experts.
    """
    layers, local = depth(k), grouped(k, default_dim=256, qk_norm=True)
    types = k.listed("layer_types", layers)
    if types is None:
        k.assume("layer_types", say("every sixth full"))
        types = [WINDOW if (i + 1) % 6 else FULL for i in range(layers)]
    attentions = _gemma4_attentions(k, types, local)
    attentions = _sharing(k, attentions, default=0)
    plain = Dense(k.whole("intermediate_size"), scalars=1)
    double = k.flag("use_double_wide_mlp", default=False)
    parts: list[FeedForward] = []
    norms, around = 4, {}
    if k.flag("enable_moe_block", default=False):
        parts.append(experts(k, shared=0, router_scale=True))
        norms += 3
    thin, table = _per_layer_inputs(k, layers)
    if thin:
        parts.append(LowRank(thin, norm=True))
        around = {"lookup": table, "outside": PerLayerInputs(thin, layers)}
    found = []
    for attention in attentions:
        wide = double and isinstance(attention, SharedCache)
        own = replace(plain, width=2 * plain.width) if wide else plain
        found.append((attention, beside(own, *parts)))
    return fold(found, norms, **around)


def _gemma4_attentions(k: Keys, types: list[object], local: GroupedQuery) -> list[Attention]:
    """Full layers have their own head width and, where keys serve as values, their own KV heads.

    Files that transformers 5 wrote give both by layer instead.
    """
    keys_serve = k.flag("attention_k_eq_v", default=False)
    overrides = per_layer(k, len(types))
    found: list[Attention] = []
    for i, kind in enumerate(types):
        if kind != FULL:
            found.append(of_type(k, kind, local))
            continue
        own, names = (k, ("global_head_dim", "num_global_key_value_heads"))
        if overrides is not None:
            own, names = overrides[i], ("head_dim", "num_key_value_heads")
        kv_heads = local.kv_heads
        if (keys_serve or overrides is not None) and own.optional(names[1]):
            kv_heads = own.whole(names[1])
            must_divide(own, names[1], kv_heads, local.heads)
        width = own.whole(names[0], default=512 if overrides is None else local.head_dim)
        found.append(replace(local, kv_heads=kv_heads, head_dim=width, value_from_key=keys_serve))
    return found


def _per_layer_inputs(k: Keys, layers: int) -> tuple[int, int]:
    """Width of the input for each layer, and the size of the table it is looked up in."""
    thin = k.whole("hidden_size_per_layer_input", default=256, low=0, high=10**6)
    if not thin:
        return 0, 0
    rows = k.whole("vocab_size_per_layer_input", default=262_144, high=10**8)
    return thin, rows * thin * layers


def _sharing(k: Keys, attentions: list[Attention], default: int) -> list[Attention]:
    """The last layers read the cache of the last one of their kind that has its own."""
    layers = len(attentions)
    known = default if default < layers else None
    shared = k.whole("num_kv_shared_layers", default=known, low=0, high=layers)
    owned = layers - shared
    return attentions[:owned] + [SharedCache(attention) for attention in attentions[owned:]]


def ministral(k: Keys) -> Stack:
    layers, attention = depth(k), grouped(k)
    attentions = by_type(k, layers, attention)
    if attentions is None:
        local: Attention = attention
        if "sliding_window" not in k.config or k.has("sliding_window"):
            local = SlidingWindow(attention, window_size(k, default=4096))
        attentions = [local] * layers
    return fold([(a, dense(k)) for a in attentions], 2)


def olmo3(k: Keys) -> Stack:
    bias = k.flag("attention_bias", default=False)
    attention = grouped(k, qkv_bias=bias, output_bias=bias, qk_norm=True, norm_each_head=True)
    return fold([(a, dense(k)) for a in windowed(k, attention, 4)], 2)


def exaone4(k: Keys) -> Stack:
    return fold([(a, dense(k)) for a in exaone_attentions(k)], 2)


def exaone_attentions(k: Keys) -> list[Attention]:
    """Windows by ``layer_types``, or by a pattern that is a number or a text such as LLLG."""
    attention, pattern = grouped(k, qk_norm=True), k.raw("sliding_window_pattern")
    if not isinstance(pattern, str) or k.has("layer_types") or not k.has("sliding_window"):
        return windowed(k, attention, 4)
    if not pattern or set(pattern) - {"L", "G"}:
        raise k.error("sliding_window_pattern", say("has a letter other than L and G"))
    local = SlidingWindow(attention, window_size(k))
    return [local if pattern[i % len(pattern)] == "L" else attention for i in range(depth(k))]


def cohere2(k: Keys) -> Stack:
    """Attention and MLP in parallel behind one norm."""
    bias = k.flag("attention_bias", default=False)
    attention = grouped(k, qkv_bias=bias, output_bias=bias)
    return fold([(a, dense(k)) for a in windowed(k, attention, 4)], 1)
