"""Mixtures of experts with keys and values for each KV head, and Qwen, which is dense or sparse."""

from __future__ import annotations

from dataclasses import replace

from calc.attention import Attention, Chunked, GroupedQuery, SlidingWindow
from calc.feedforward import Dense, FeedForward
from calc.hf_families.windows import exaone_attentions
from calc.hf_keys import MOST_LAYERS, ConfigError, Keys
from calc.hf_parts import (
    FULL,
    Stack,
    by_type,
    dense,
    dense_first,
    depth,
    experts,
    fold,
    grouped,
    in_window,
    must_divide,
    of_type,
    strange_entry,
    window_size,
)
from calc.sparse_attention import SparseBlocks
from calc.words import say


def mixtral(k: Keys) -> Stack:
    return fold([(in_window(k, grouped(k)), experts(k, shared=0))] * depth(k), 2)


def qwen(k: Keys) -> Stack:
    layers = depth(k)
    old = k.family.startswith("qwen2")
    attention = grouped(
        k,
        default_dim=None if old or k.family == "qwen3_moe" else 128,
        qkv_bias=old and k.flag("qkv_bias", default=True),
        qk_norm=not old,
    )
    attentions: list[Attention] = [attention] * layers
    if k.flag("use_sliding_window", default=False):
        full = k.whole("max_window_layers", default=layers, low=0)
        local = SlidingWindow(attention, window_size(k))
        attentions = by_type(k, layers, attention) or [
            attention if i < full else local for i in range(layers)
        ]
    return fold(zip(attentions, qwen_feedforward(k, layers), strict=True), 2)


def qwen_feedforward(k: Keys, layers: int) -> list[FeedForward]:
    """Dense or sparse by ``decoder_sparse_step`` and ``mlp_only_layers``."""
    if not k.has("num_experts"):
        if k.has("moe_intermediate_size") and k.has("num_experts_per_tok"):
            raise k.missing("num_experts")
        return [dense(k)] * layers
    shared = 0
    if k.family not in ("qwen3_moe", "qwen3_vl_moe_text"):
        shared = k.whole("shared_expert_intermediate_size", default=0, low=0)
    sparse = experts(k, shared=shared, shared_gate=shared > 0)
    step = k.whole("decoder_sparse_step", default=1, high=MOST_LAYERS)
    plain = k.chosen("mlp_only_layers") or set()
    chosen = [i not in plain and (i + 1) % step == 0 for i in range(layers)]
    instead = sparse if all(chosen) else dense(k)
    return [sparse if one else instead for one in chosen]


def granite_moe(k: Keys) -> Stack:
    bias = k.flag("attention_bias", default=False)
    attention = grouped(k, qkv_bias=bias, output_bias=bias)
    shared = k.whole("shared_intermediate_size") if k.family == "granitemoeshared" else 0
    return fold([(attention, experts(k, shared=shared))] * depth(k), 2)


def phimoe(k: Keys) -> Stack:
    bias = k.flag("attention_bias", default=False)
    attention = in_window(k, grouped(k, qkv_bias=bias, output_bias=bias))
    layers = [(attention, experts(k, shared=0))] * depth(k)
    return fold(layers, 4, final_norms=2, head_bias=k.flag("lm_head_bias", default=False))


def olmoe(k: Keys) -> Stack:
    bias = k.flag("attention_bias", default=False)
    attention = grouped(k, qkv_bias=bias, output_bias=bias, qk_norm=True, norm_each_head=True)
    return fold([(attention, experts(k, shared=0))] * depth(k), 2)


def glm4_moe(k: Keys) -> Stack:
    attention = grouped(
        k,
        qkv_bias=k.flag("attention_bias", default=False),
        qk_norm=k.flag("use_qk_norm", default=False),
    )
    feedforwards = dense_first(k, depth(k), experts(k, router_bias=True), first=1)
    return fold([(attention, f) for f in feedforwards], 2)


def dots1(k: Keys) -> Stack:
    layers, bias = depth(k), k.flag("attention_bias", default=False)
    attention = grouped(k, qkv_bias=bias, output_bias=bias, qk_norm=True)
    attentions = by_type(k, layers, attention)
    if attentions is None:
        full = k.whole("max_window_layers", default=62, low=0)
        attentions = [attention] * layers
        if full < layers and k.has("sliding_window"):
            local = SlidingWindow(attention, window_size(k))
            attentions[full:] = [local] * (layers - full)
    feedforwards = dense_first(k, layers, experts(k, router_bias=True))
    return fold(zip(attentions, feedforwards, strict=True), 2)


def exaone_moe(k: Keys) -> Stack:
    feedforwards = dense_first(k, depth(k), experts(k, router_bias=True), first=1)
    return fold(zip(exaone_attentions(k), feedforwards, strict=True), 2)


def afmoe(k: Keys) -> Stack:
    layers, bias = depth(k), k.flag("attention_bias", default=False)
    attention = grouped(
        k, default_dim=128, qkv_bias=bias, output_bias=bias, qk_norm=True, output_gate=True
    )
    attentions = by_type(k, layers, attention)
    if attentions is None:
        step = k.whole("global_attn_every_n_layers", default=4)
        local = SlidingWindow(attention, window_size(k, default=1024))
        attentions = [local if (i + 1) % step else attention for i in range(layers)]
    feedforwards = dense_first(k, layers, experts(k, router_bias=True), first=1)
    return fold(zip(attentions, feedforwards, strict=True), 4)


def ernie(k: Keys) -> Stack:
    """Dense, or experts from one layer to another at an interval; biases everywhere or nowhere."""
    layers, bias = depth(k), k.flag("use_bias", default=False)
    moe = k.family == "ernie4_5_moe"
    attention = grouped(k, default_dim=None if moe else 128, qkv_bias=bias, output_bias=bias)
    if not moe:
        return fold([(attention, dense(k, bias=bias))] * layers, 2)
    each = k.single("moe_intermediate_size")
    shared = each * k.whole("num_shared_experts", default=0, low=0)
    sparse = experts(
        k,
        count=k.single("num_experts"),
        top_k=k.single("num_experts_per_tok"),
        each=each,
        shared=shared,
        router_bias=True,
        shared_bias=bias and shared > 0,
    )
    start = k.single("moe_layer_start_index", default=1, low=0)
    end = k.single("moe_layer_end_index", default=-1, low=-1)
    step = k.single("moe_layer_interval", default=1)
    last = layers - 1 if end == -1 else end
    chosen = [start <= i <= last and (i + 1) % step == 0 for i in range(layers)]
    plain = sparse if all(chosen) else dense(k, bias=bias)
    return fold([(attention, sparse if one else plain) for one in chosen], 2, head_bias=bias)


def hunyuan_moe(k: Keys) -> Stack:
    """One shared expert, as wide as each of the others."""
    layers, bias = depth(k), k.flag("attention_bias", default=False)
    k.refuse("use_cla", "use_mla", "use_mixed_mlp_moe")
    attention = grouped(k, qkv_bias=bias, output_bias=bias, qk_norm=True)
    counts, chosen = k.each("num_experts", layers), k.each("num_experts_per_tok", layers)
    each = k.whole("intermediate_size")
    return fold(
        [
            (attention, experts(k, count=count, top_k=top_k, each=each, shared=each))
            for count, top_k in zip(counts, chosen, strict=True)
        ],
        2,
    )


def bailing_moe(k: Keys) -> Stack:
    attention = grouped(
        k,
        qkv_bias=k.flag("use_qkv_bias", default=False),
        output_bias=k.flag("use_bias", default=False),
        qk_norm=k.flag("use_qk_norm", default=False),
    )
    shared = k.whole("num_shared_experts", default=0, low=0)
    if shared:
        shared *= k.whole(
            "moe_shared_expert_intermediate_size", default=k.whole("moe_intermediate_size")
        )
    bias = k.flag("moe_router_enable_expert_bias", default=False)
    sparse = experts(k, shared=shared, router_bias=bias)
    return fold([(attention, f) for f in dense_first(k, depth(k), sparse)], 2)


def gpt_oss(k: Keys) -> Stack:
    layers = depth(k)
    bias = k.flag("attention_bias", default=True)
    attention = grouped(k, qkv_bias=bias, output_bias=bias, sinks=True)
    attentions = by_type(k, layers, attention)
    if attentions is None:
        local = SlidingWindow(attention, window_size(k, default=128))
        k.assume("layer_types", say("sliding and full in turn"))
        attentions = [(local, attention)[i % 2] for i in range(layers)]
    feedforward = experts(k, shared=0, router_bias=True, expert_bias=True)
    return fold([(a, feedforward) for a in attentions], 2)


def llama4(k: Keys) -> Stack:
    layers, attention = depth(k), grouped(k)
    attentions = by_type(k, layers, attention)
    if attentions is None:
        local = Chunked(attention, k.whole("attention_chunk_size", default=8192))
        interval = k.whole("no_rope_layer_interval", default=4)
        attentions = [attention if (i + 1) % interval == 0 else local for i in range(layers)]
    each = k.whole("intermediate_size")
    sparse = experts(k, shared=each)
    step = k.whole("interleave_moe_layer_step", default=1, high=MOST_LAYERS)
    plain = dense(k, "intermediate_size_mlp") if step > 1 else Dense(each)
    feedforwards = [sparse if (i + 1) % step == 0 else plain for i in range(layers)]
    return fold(zip(attentions, feedforwards, strict=True), 2)


def minimax_m2(k: Keys) -> Stack:
    """Queries and keys are normed over all heads, unless the file says otherwise."""
    layers = depth(k)
    kinds = k.listed("attn_type_list", layers)
    if kinds is None:
        k.assume("attn_type_list", say("full attention in every layer"))
    elif any(kind != 1 for kind in kinds):
        raise ConfigError("attn_type_list", say("has an entry other than 1, full attention"))
    k.refuse("shared_intermediate_size")
    normed = k.flag("use_qk_norm", default=True)
    across = k.text("qk_norm_type", default="per_layer") == "per_layer"
    attention = grouped(k, default_dim=128, qk_norm=normed, norm_each_head=normed and across)
    bias = k.flag("use_routing_bias", default=True)
    return fold([(attention, experts(k, shared=0, router_bias=bias))] * layers, 2)


def minimax_m3(k: Keys) -> Stack:
    """Most layers read only the blocks that an indexer picks for each KV head."""
    layers, attention = depth(k), grouped(k, qk_norm=k.flag("use_qk_norm", default=True))
    own = k.table("sparse_attention_config") if k.has("sparse_attention_config") else k
    picked = SparseBlocks(
        attention,
        blocks=own.whole("index_topk_blocks", default=16),
        block=own.whole("index_block_size", default=128),
        index_heads=own.whole("index_n_heads", default=4),
        index_dim=own.whole("index_head_dim", default=128),
    )
    types = k.listed("layer_types", layers)
    if types is None and own.has("sparse_attention_freq"):
        chosen = own.each("sparse_attention_freq", layers, low=0)
        types = ["minimax_m3_sparse" if one else FULL for one in chosen]
    if types is None:
        k.assume("layer_types", say("full attention in every layer"))
        types = [FULL] * layers
    makers = {FULL: attention, "minimax_m3_sparse": picked}
    if any(not isinstance(kind, str) or kind not in makers for kind in types):
        raise strange_entry("layer_types")
    sparse = experts(
        k,
        shared=k.whole("shared_intermediate_size", default=0, low=0),
        router_bias=k.flag("use_routing_bias", default=True),
    )
    feedforwards = dense_first(k, layers, sparse, "dense_intermediate_size")
    return fold([(makers[kind], f) for kind, f in zip(types, feedforwards, strict=True)], 2)


def mimo(k: Keys) -> Stack:
    """Window layers have heads of their own, and a sink for each of them."""
    layers = depth(k)
    sinks = {
        "": k.flag("add_full_attention_sink_bias", default=False),
        "swa_": k.flag("add_swa_attention_sink_bias", default=True),
    }

    def heads(prefix: str) -> GroupedQuery:
        names = ("num_attention_heads", "num_key_value_heads", "head_dim", "v_head_dim")
        count, kv_heads, width, values = (
            k.whole(prefix + name, *([name] if name.endswith("_dim") else [])) for name in names
        )
        must_divide(k, f"{prefix}num_key_value_heads", kv_heads, count)
        return GroupedQuery(count, kv_heads, width, values, sinks=sinks[prefix])

    pattern = k.listed("hybrid_layer_pattern", layers)
    if pattern is None:
        types = k.listed("layer_types", layers)
        if types is None:
            raise k.missing("hybrid_layer_pattern")
        pattern = [int(kind != FULL) for kind in types]
    if any(kind not in (0, 1) for kind in pattern):
        raise ConfigError("hybrid_layer_pattern", say("has an entry that is neither 0 nor 1"))
    # In files that transformers 5 wrote, sliding_window counts the query as well.
    window = k.whole("sliding_window_size", "sliding_window")
    choice: tuple[Attention, Attention] = (heads(""), SlidingWindow(heads("swa_"), window))
    feedforwards = dense_first(k, layers, experts(k, router_bias=True))
    return fold([(choice[kind], f) for kind, f in zip(pattern, feedforwards, strict=True)], 2)


def step3(k: Keys) -> Stack:
    """A gate for each head; window layers may have more heads."""
    layers, attention = depth(k), grouped(k, qk_norm=True, head_gate=True)
    local = replace(attention, heads=_window_heads(k, attention.heads))
    must_divide(k, "num_key_value_heads", local.kv_heads, local.heads)
    types = k.listed("layer_types", layers, at_least=True)
    if types is None:
        k.assume("layer_types", say("full attention in every layer"))
        types = [FULL] * layers
    attentions = [of_type(k, kind, attention if kind == FULL else local) for kind in types]
    shared = k.whole("share_expert_dim", default=0, low=0)
    bias = k.flag("use_moe_router_bias", default=True)
    feedforwards = dense_first(k, layers, experts(k, shared=shared, router_bias=bias), first=3)
    return fold(zip(attentions, feedforwards, strict=True), 2)


def _window_heads(k: Keys, heads: int) -> int:
    """Query heads of window layers, which files that were cut down do not say."""
    if k.has("attention_other_setting"):
        return k.table("attention_other_setting").whole("num_attention_heads", default=heads)
    return k.whole("num_sliding_attention_heads", default=heads)
