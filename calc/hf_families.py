"""How each ``model_type`` of a Hugging Face configuration becomes layers.

Another architecture is one function here, named in `FAMILIES`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from calc.attention import (
    NO_ATTENTION,
    Attention,
    Chunked,
    GroupedQuery,
    SharedCache,
    SlidingWindow,
)
from calc.feedforward import NO_FEEDFORWARD, Beside, Dense, FeedForward, MixtureOfExperts
from calc.hf_keys import MOST_LAYERS, ConfigError, Keys, no_default
from calc.hf_parts import (
    Blocks,
    Layer,
    by_type,
    dense,
    dense_first,
    depth,
    every,
    experts,
    fold,
    grouped,
    head_dim,
    latent,
    mamba2,
    must_divide,
    of_type,
    width,
    window_size,
)
from calc.sparse_attention import Compressed, SparseTopK
from calc.state_space import GatedDeltaNet, KimiDelta, Lightning, Mamba
from calc.words import say


def llama(k: Keys) -> Blocks:
    bias = k.flag("attention_bias", default=False, quiet=True)
    attention = grouped(k, qkv_bias=bias, output_bias=bias)
    mlp_bias = k.flag("mlp_bias", default=False, quiet=True)
    return fold([(attention, dense(k, bias=mlp_bias))] * depth(k), 2)


def mistral(k: Keys) -> Blocks:
    attention: Attention = grouped(k)
    if "sliding_window" not in k.config:
        k.assume("sliding_window", None)
    elif k.raw("sliding_window") is not None:
        attention = SlidingWindow(grouped(k), window_size(k))
    feedforward: FeedForward = experts(k, shared=0) if k.family == "mixtral" else dense(k)
    return fold([(attention, feedforward)] * depth(k), 2)


def qwen(k: Keys) -> Blocks:
    layers = depth(k)
    old = k.family.startswith("qwen2")
    attention = grouped(k, qkv_bias=old, qk_norm=not old)
    if k.flag("use_sliding_window", default=False, quiet=True):
        full = k.whole("max_window_layers", default=layers, low=0)
        local = SlidingWindow(attention, window_size(k))
        attentions = by_type(k, layers, attention) or [
            attention if i < full else local for i in range(layers)
        ]
    else:
        attentions = [attention] * layers
    return fold(zip(attentions, qwen_feedforward(k, layers), strict=True), 2)


def qwen_feedforward(k: Keys, layers: int) -> list[FeedForward]:
    """Dense or sparse by ``decoder_sparse_step`` and ``mlp_only_layers``."""
    if k.find("num_experts")[1] is None:
        return [dense(k)] * layers
    shared = k.whole("shared_expert_intermediate_size", default=0, low=0)
    sparse = experts(k, shared=shared, shared_gate=shared > 0)
    step = k.whole("decoder_sparse_step", default=1, high=MOST_LAYERS)
    plain = k.raw("mlp_only_layers") or []
    if not isinstance(plain, list):
        raise ConfigError("mlp_only_layers", say("is not a list"))
    return [sparse if i not in plain and (i + 1) % step == 0 else dense(k) for i in range(layers)]


def qwen_hybrid(k: Keys) -> Blocks:
    layers = depth(k)
    attention = grouped(k, qk_norm=True, output_gate=True)
    delta = GatedDeltaNet(
        key_heads=k.whole("linear_num_key_heads"),
        value_heads=k.whole("linear_num_value_heads"),
        key_dim=k.whole("linear_key_head_dim"),
        value_dim=k.whole("linear_value_head_dim"),
        convolution=k.whole("linear_conv_kernel_dim"),
    )
    types = k.listed("layer_types", layers)
    interval = k.whole("full_attention_interval", default=4) if types is None else 1
    attentions: list[Attention] = []
    for i in range(layers):
        kind = types[i] if types else ("linear", "full")[(i + 1) % interval == 0] + "_attention"
        attentions.append(delta if kind == "linear_attention" else of_type(k, kind, attention))
    return fold(zip(attentions, qwen_feedforward(k, layers), strict=True), 2)


def gemma2(k: Keys) -> Blocks:
    layers, attention = depth(k), grouped(k)
    attentions = by_type(k, layers, attention) or every(k, layers, attention, 2)
    return fold([(a, dense(k)) for a in attentions], 4)


def gemma3(k: Keys) -> Blocks:
    layers = depth(k)
    heads = k.whole("num_attention_heads", default=8)
    kv_heads = k.whole("num_key_value_heads", default=4)
    must_divide("num_key_value_heads", kv_heads, heads)
    attention = GroupedQuery(heads, kv_heads, k.whole("head_dim", default=256), qk_norm=True)
    attentions = by_type(k, layers, attention)
    if attentions is None:
        pattern = k.whole("sliding_window_pattern", "_sliding_window_pattern", default=6)
        attentions = every(k, layers, attention, pattern)
    return fold([(a, dense(k)) for a in attentions], 4)


def gemma4(k: Keys) -> Blocks:
    k.refuse("hidden_size_per_layer_input", "use_double_wide_mlp")
    layers = depth(k)
    local = grouped(k, qk_norm=True)
    whole_kv = k.whole("num_global_key_value_heads", default=local.kv_heads)
    if local.heads % whole_kv:
        raise ConfigError("num_global_key_value_heads", say("does not divide the query heads"))
    full = GroupedQuery(
        local.heads,
        whole_kv,
        k.whole("global_head_dim", default=local.head_dim),
        qk_norm=True,
        value_from_key=k.flag("attention_k_eq_v", default=False),
    )
    types = k.listed("layer_types", layers)
    if types is None:
        raise no_default("layer_types", "gemma4")
    attentions = [full if kind == "full_attention" else of_type(k, kind, local) for kind in types]
    owned = layers - k.whole("num_kv_shared_layers", default=0, low=0, high=layers)
    attentions = [a if i < owned else SharedCache(a) for i, a in enumerate(attentions)]
    feedforward: FeedForward = dense(k)
    if k.flag("enable_moe_block", default=False):
        feedforward = Beside(dense(k), experts(k, shared=0))
    return fold([(a, feedforward) for a in attentions], 4)


def phi3(k: Keys) -> Blocks:
    attention: Attention = grouped(k)
    if k.find("sliding_window")[1] is not None:
        attention = SlidingWindow(grouped(k), window_size(k))
    return fold([(attention, dense(k))] * depth(k), 2)


def deepseek(k: Keys) -> Blocks:
    layers, attention = depth(k), latent(k)
    sparse = experts(k, router_bias=k.text("topk_method") == "noaux_tc")
    feedforwards = dense_first(k, layers, sparse, dense(k))
    return fold([(attention, f) for f in feedforwards], 2)


def sparse_latent(k: Keys) -> Blocks:
    layers = depth(k)
    attention = SparseTopK(
        latent(k), k.whole("index_topk"), k.whole("index_n_heads"), k.whole("index_head_dim")
    )
    feedforwards = dense_first(k, layers, experts(k, router_bias=True), dense(k))
    return fold([(attention, f) for f in feedforwards], 2)


def deepseek_v4(k: Keys) -> Blocks:
    layers = depth(k)
    k.assumptions.append(say("compressor and hyper-connection weights are not counted"))
    ratios = k.listed("compress_ratios", layers, at_least=True)
    if ratios is None:
        raise no_default("compress_ratios", "deepseek_v4")
    common = {
        "heads": k.whole("num_attention_heads", high=10**5),
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
    attentions = []
    for ratio in ratios:
        if isinstance(ratio, bool) or not isinstance(ratio, int) or not 0 <= ratio <= 10**6:
            raise ConfigError(
                "compress_ratios", say("has an entry that is not a small whole number")
            )
        # Only the mildly compressed layers are long enough to need an indexer.
        picks = indexer if 0 < ratio <= 4 else {}
        attentions.append(Compressed(**common, ratio=ratio, **picks))
    sparse = experts(k, router_bias=True)
    return fold([(a, sparse) for a in attentions], 2)


def kimi_linear(k: Keys) -> Blocks:
    layers = depth(k)
    linear = k.table("linear_attn_config")
    delta = KimiDelta(
        linear.whole("num_heads"),
        linear.whole("head_dim"),
        linear.whole("short_conv_kernel_size"),
        linear.flag("use_full_rank_gate", default=False, quiet=True),
    )
    full = latent(k, output_gate=k.flag("mla_use_output_gate", default=False, quiet=True))
    chosen = linear.config.get("kda_layers")
    if not isinstance(chosen, list):
        raise ConfigError("kda_layers", say("is missing or not a list"))
    inside = k.whole("routed_expert_hidden_size", default=0, low=0)
    sparse = experts(k, router_bias=True, latent_width=inside)
    feedforwards = dense_first(k, layers, sparse, dense(k))
    return fold([(delta if i + 1 in chosen else full, f) for i, f in enumerate(feedforwards)], 2)


def glm4_moe(k: Keys) -> Blocks:
    layers = depth(k)
    attention = grouped(
        k,
        qkv_bias=k.flag("attention_bias", default=False),
        qk_norm=k.flag("use_qk_norm", default=False),
    )
    feedforwards = dense_first(k, layers, experts(k, router_bias=True), dense(k))
    return fold([(attention, f) for f in feedforwards], 2)


def gpt_oss(k: Keys) -> Blocks:
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


def llama4(k: Keys) -> Blocks:
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


def falcon(k: Keys) -> Blocks:
    heads = k.whole("num_attention_heads", "n_head", high=10**5)
    new = k.flag("new_decoder_architecture", default=False)
    many = k.flag("multi_query", default=True)
    # Without the new architecture num_kv_heads is ignored by the model's own code.
    old = 1 if many else heads
    kv_heads = k.whole("num_kv_heads", "n_head_kv", default=heads) if new else old
    must_divide("num_kv_heads", kv_heads, heads)
    bias = k.flag("bias", default=False, quiet=True)
    attention = GroupedQuery(heads, kv_heads, head_dim(k, heads), qkv_bias=bias, output_bias=bias)
    feedforward = Dense(
        k.whole("ffn_hidden_size", "intermediate_size", default=4 * width(k)), False, bias
    )
    # Layer norms have a bias each; the new architecture has two norms, parallel ones share one.
    parallel = k.flag("parallel_attn", default=True)
    return fold([(attention, feedforward)] * depth(k), 4 if new or not parallel else 2)


def opt(k: Keys) -> Blocks:
    attention = grouped(k, qkv_bias=True, output_bias=True)
    return fold([(attention, dense(k, "ffn_dim", gated=False, bias=True))] * depth(k), 4)


def jamba(k: Keys) -> Blocks:
    layers, attention = depth(k), grouped(k)
    state = Mamba(
        inner=k.whole("mamba_expand", default=2) * width(k),
        state=k.whole("mamba_d_state", default=16),
        step_rank=k.whole("mamba_dt_rank", default=-(-width(k) // 16)),
        convolution=k.whole("mamba_d_conv", default=4),
    )
    period = k.whole("attn_layer_period", default=8)
    offset = k.whole("attn_layer_offset", default=4, low=0)
    every_, first = (
        k.whole("expert_layer_period", default=2),
        k.whole("expert_layer_offset", default=1, low=0),
    )
    sparse = experts(k, shared=0)
    return fold(
        [
            (
                attention if i % period == offset else state,
                sparse if i % every_ == first else dense(k),
            )
            for i in range(layers)
        ],
        2,
    )


_NEMOTRON = {"M": "mamba", "*": "attention", "-": "mlp", "E": "moe"}


def nemotron_h(k: Keys) -> Blocks:
    kinds = k.raw("layers_block_type")
    if kinds is None:
        pattern = k.text("hybrid_override_pattern")
        if not pattern:
            raise ConfigError("hybrid_override_pattern", say("is missing"))
        kinds = [_NEMOTRON.get(mark, mark) for mark in pattern]
    if not isinstance(kinds, list) or not 0 < len(kinds) <= MOST_LAYERS:
        raise ConfigError("layers_block_type", say("is not a list of layers"))
    makers: dict[str, Callable[[], Layer]] = {
        "mamba": lambda: (mamba2(k), NO_FEEDFORWARD),
        "attention": lambda: (grouped(k), NO_FEEDFORWARD),
        "mlp": lambda: (NO_ATTENTION, dense(k, gated=False)),
        "moe": lambda: (NO_ATTENTION, nemotron_experts(k)),
    }
    known: dict[str, Layer] = {}
    for kind in kinds:
        if not isinstance(kind, str) or kind not in makers:
            raise ConfigError(
                "hybrid_override_pattern", say("has a layer that is not interpreted here")
            )
        if kind not in known:
            known[kind] = makers[kind]()
    return fold([known[kind] for kind in kinds], 1)


def nemotron_experts(k: Keys) -> MixtureOfExperts:
    shared = k.whole("moe_shared_expert_intermediate_size", default=0, low=0)
    shared *= k.whole("n_shared_experts", default=0, low=0)
    inside = k.whole("moe_latent_size", default=0, low=0)
    return experts(k, shared=shared, router_bias=True, gated=False, latent_width=inside)


def granite_hybrid(k: Keys) -> Blocks:
    layers, attention, state = depth(k), grouped(k), mamba2(k)
    kinds = k.listed("layer_types", layers)
    if kinds is None:
        raise no_default("layer_types", "granitemoehybrid")
    makers: dict[Any, Attention] = {"attention": attention, "mamba": state}
    if any(not isinstance(kind, str) or kind not in makers for kind in kinds):
        raise ConfigError("layer_types", say("has an entry that is not interpreted here"))
    shared = k.whole("shared_intermediate_size", default=0, low=0)
    feedforward: FeedForward = Dense(shared)
    if k.whole("num_local_experts", default=0, low=0):
        feedforward = experts(k, shared=shared)
    return fold([(makers[kind], feedforward) for kind in kinds], 2)


def minimax_m1(k: Keys) -> Blocks:
    layers, attention = depth(k), grouped(k)
    state = Lightning(attention.heads, attention.head_dim)
    kinds = k.listed("attn_type_list", layers)
    if kinds is None:
        raise no_default("attn_type_list", "minimax_m1")
    if any(kind not in (0, 1) for kind in kinds):
        raise ConfigError("attn_type_list", say("has an entry that is neither 0 nor 1"))
    k.refuse("shared_intermediate_size")
    feedforward = experts(k, shared=0)
    return fold([((state, attention)[kind], feedforward) for kind in kinds], 2)


def minimax_m2(k: Keys) -> Blocks:
    layers = depth(k)
    kinds = k.listed("attn_type_list", layers)
    if kinds is None:
        k.assume("attn_type_list", say("full attention in every layer"))
    elif any(kind != 1 for kind in kinds):
        raise ConfigError("attn_type_list", say("has an entry other than 1, full attention"))
    k.refuse("shared_intermediate_size")
    attention = grouped(k, qk_norm=k.flag("use_qk_norm", default=True))
    bias = k.flag("use_routing_bias", default=True)
    return fold([(attention, experts(k, shared=0, router_bias=bias))] * layers, 2)


def mimo(k: Keys) -> Blocks:
    layers = depth(k)

    def heads(prefix: str) -> GroupedQuery:
        count = k.whole(f"{prefix}num_attention_heads")
        kv_heads = k.whole(f"{prefix}num_key_value_heads")
        if count % kv_heads:
            raise ConfigError(
                f"{prefix}num_key_value_heads", say("does not divide the query heads")
            )
        return GroupedQuery(
            count, kv_heads, k.whole(f"{prefix}head_dim"), k.whole(f"{prefix}v_head_dim")
        )

    pattern = k.listed("hybrid_layer_pattern", layers)
    if pattern is None:
        raise ConfigError("hybrid_layer_pattern", say("is missing"))
    if any(kind not in (0, 1) for kind in pattern):
        raise ConfigError("hybrid_layer_pattern", say("has an entry that is neither 0 nor 1"))
    choice: tuple[Attention, Attention] = (
        heads(""),
        SlidingWindow(heads("swa_"), window_size(k)),
    )
    feedforwards = dense_first(k, layers, experts(k, router_bias=True), dense(k))
    return fold([(choice[kind], f) for kind, f in zip(pattern, feedforwards, strict=True)], 2)


def step3(k: Keys) -> Blocks:
    layers, attention = depth(k), grouped(k)
    attentions = by_type(k, layers, attention) or [attention] * layers
    shared = k.whole("share_expert_dim", default=0, low=0)
    bias = k.flag("use_moe_router_bias", default=False)
    feedforwards = dense_first(k, layers, experts(k, shared=shared, router_bias=bias), dense(k))
    return fold(zip(attentions, feedforwards, strict=True), 2)


@dataclass(frozen=True)
class Family:
    """How one ``model_type`` is read: its layers, and the defaults of what stands around them."""

    blocks: Callable[[Keys], Blocks]
    tied: bool = False
    vocabulary: int | None = None
    max_context: int | None = None
    final_norms: int = 1
    extra_positions: int | None = None


FAMILIES: Mapping[str, Family] = {
    "llama": Family(llama),
    "smollm3": Family(llama, tied=True),
    "mistral": Family(mistral),
    "mixtral": Family(mistral),
    "qwen2": Family(qwen),
    "qwen2_moe": Family(qwen),
    "qwen3": Family(qwen),
    "qwen3_moe": Family(qwen),
    "qwen3_next": Family(qwen_hybrid),
    "qwen3_5_text": Family(qwen_hybrid),
    "qwen3_5_moe_text": Family(qwen_hybrid),
    "gemma2": Family(gemma2, tied=True),
    "gemma3_text": Family(gemma3, tied=True, vocabulary=262_208, max_context=131_072),
    "gemma4_text": Family(gemma4, tied=True),
    "phi3": Family(phi3),
    "deepseek_v2": Family(deepseek),
    "deepseek_v3": Family(deepseek),
    "kimi_k2": Family(deepseek),
    "deepseek_v32": Family(sparse_latent),
    "glm_moe_dsa": Family(sparse_latent),
    "deepseek_v4": Family(deepseek_v4),
    "kimi_linear": Family(kimi_linear),
    "glm4_moe": Family(glm4_moe),
    "gpt_oss": Family(gpt_oss),
    "llama4_text": Family(llama4),
    "falcon": Family(falcon, tied=True, final_norms=2),
    "RefinedWebModel": Family(falcon, tied=True, final_norms=2),
    "RefinedWeb": Family(falcon, tied=True, final_norms=2),
    "opt": Family(opt, tied=True, final_norms=2, extra_positions=2),
    "jamba": Family(jamba),
    "nemotron_h": Family(nemotron_h),
    "granitemoehybrid": Family(granite_hybrid),
    "minimax_m1": Family(minimax_m1),
    "minimax_m2": Family(minimax_m2),
    "mimo_v2_flash": Family(mimo),
    "step3p7": Family(step3),
}
