"""Decoders in which some layers, or all, carry a constant state instead of a cache."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from calc.attention import NO_ATTENTION, Attention, GroupedQuery
from calc.feedforward import NO_FEEDFORWARD, Dense, FeedForward, Linear, LowRank, MixtureOfExperts
from calc.hf_families.mixtures import qwen_feedforward
from calc.hf_keys import MOST_LAYERS, ConfigError, Keys
from calc.hf_parts import (
    FULL,
    Layer,
    Stack,
    beside,
    by_kind,
    dense,
    depth,
    experts,
    fold,
    grouped,
    mamba2,
    query_heads,
    state_bytes,
    width,
)
from calc.model import Block
from calc.state_space import GatedDeltaNet, Lightning, Mamba, Mamba2, ShortConvolution
from calc.words import say

LINEAR = "linear_attention"


def qwen_hybrid(k: Keys) -> Stack:
    layers = depth(k)
    attention = grouped(k, default_dim=256, qk_norm=True, output_gate=True)
    delta = GatedDeltaNet(
        key_heads=k.whole("linear_num_key_heads"),
        value_heads=k.whole("linear_num_value_heads"),
        key_dim=k.whole("linear_key_head_dim"),
        value_dim=k.whole("linear_value_head_dim"),
        convolution=k.whole("linear_conv_kernel_dim"),
        precision=state_bytes(k),
    )
    types = k.listed("layer_types", layers)
    if types is None:
        interval = k.whole("full_attention_interval", default=4)
        types = [LINEAR if (i + 1) % interval else FULL for i in range(layers)]
    makers: dict[str, Callable[[], Attention]] = {FULL: lambda: attention, LINEAR: lambda: delta}
    attentions = by_kind("layer_types", types, makers)
    return fold(zip(attentions, qwen_feedforward(k, layers), strict=True), 2)


def mamba(k: Keys) -> Stack:
    """The first Mamba: no attention, no MLP."""
    inner = k.whole("intermediate_size", default=k.whole("expand", default=2) * width(k))
    bias = k.flag("use_bias", default=False)
    state = Mamba(
        inner=inner,
        state=k.whole("state_size", default=16),
        step_rank=step_rank(k, "time_step_rank"),
        convolution=k.whole("conv_kernel", default=4),
        bias=bias,
        convolution_bias=k.flag("use_conv_bias", default=True),
        precision=state_bytes(k),
    )
    return fold([(state, NO_FEEDFORWARD)] * depth(k), 1)


def step_rank(k: Keys, name: str) -> int:
    """Rank of the step sizes; ``auto`` is a sixteenth of the model's width."""
    if k.find(name)[1] == "auto":
        return -(-width(k) // 16)
    return k.whole(name, default=-(-width(k) // 16))


def mamba_2(k: Keys) -> Stack:
    """Mamba-2 alone: no attention, no MLP."""
    bias = k.flag("use_bias", default=False)
    convolution_bias = k.flag("use_conv_bias", default=True)
    state = mamba2(k, input_bias=bias, output_bias=bias, convolution_bias=convolution_bias)
    return fold([(state, NO_FEEDFORWARD)] * depth(k), 1)


def jamba(k: Keys) -> Stack:
    layers, attention = depth(k), grouped(k)
    state = Mamba(
        inner=k.whole("mamba_expand", default=2) * width(k),
        state=k.whole("mamba_d_state", default=16),
        step_rank=step_rank(k, "mamba_dt_rank"),
        convolution=k.whole("mamba_d_conv", default=4),
        selection_norms=True,
        bias=k.flag("mamba_proj_bias", default=False),
        convolution_bias=k.flag("mamba_conv_bias", default=True),
        precision=state_bytes(k),
    )
    period = k.whole("attn_layer_period", default=8)
    offset = k.whole("attn_layer_offset", default=4, low=0)
    step = k.whole("expert_layer_period", default=2)
    first = k.whole("expert_layer_offset", default=1, low=0)
    sparse, plain = experts(k, shared=0), dense(k)
    return fold(
        [
            (attention if i % period == offset else state, sparse if i % step == first else plain)
            for i in range(layers)
        ],
        2,
    )


_NEMOTRON = {"M": LINEAR, "*": FULL, "-": "mlp", "E": "moe"}


def nemotron_h(k: Keys) -> Stack:
    """Each layer is one thing: a state, attention, an MLP or experts."""
    k.refuse("use_bias", "mamba_proj_bias", "attention_bias", "mlp_bias")
    key, kinds = k.find("layers_block_type", "layer_types")
    if kinds is None:
        key, pattern = "hybrid_override_pattern", k.text("hybrid_override_pattern")
        if not pattern:
            raise k.missing("hybrid_override_pattern")
        kinds = [_NEMOTRON.get(mark, mark) for mark in pattern]
    if not isinstance(kinds, list) or not 0 < len(kinds) <= MOST_LAYERS:
        raise ConfigError(key, say("is not a list of layers"))
    makers: dict[str, Callable[[], Layer]] = {
        LINEAR: lambda: (_biased_mamba2(k, "use_conv_bias"), NO_FEEDFORWARD),
        FULL: lambda: (grouped(k), NO_FEEDFORWARD),
        "mlp": lambda: (NO_ATTENTION, dense(k, gated=False)),
        "moe": lambda: (NO_ATTENTION, _nemotron_experts(k)),
    }
    return fold(by_kind(key, kinds, makers), 1)


def _nemotron_experts(k: Keys) -> MixtureOfExperts:
    shared = k.whole("moe_shared_expert_intermediate_size", default=0, low=0)
    shared *= k.whole("num_shared_experts", default=0, low=0)
    inside = k.whole("moe_latent_size", default=0, low=0)
    return experts(k, shared=shared, router_bias=True, gated=False, latent_width=inside)


def granite_hybrid(k: Keys) -> Stack:
    layers = depth(k)
    kinds = k.listed("layer_types", layers)
    if kinds is None:
        k.assume("layer_types", say("Mamba in every layer"))
        kinds = [LINEAR] * layers
    shared = k.whole("shared_intermediate_size", default=1024, low=0)
    feedforward: FeedForward = Dense(shared)
    if k.whole("num_experts", default=8, low=0):
        feedforward = experts(k, shared=shared)
    attentions = by_kind("layer_types", kinds, _attention_or_mamba(k))
    return fold([(attention, feedforward) for attention in attentions], 2)


def bamba(k: Keys) -> Stack:
    layers = depth(k)
    kinds = k.listed("layers_block_type", layers) or k.listed("layer_types", layers)
    if kinds is None:
        chosen = k.chosen("attn_layer_indices")
        if chosen is None:
            k.assume("attn_layer_indices", None)
        kinds = [FULL if i in (chosen or ()) else LINEAR for i in range(layers)]
    feedforward = dense(k, bias=k.flag("mlp_bias", default=False))
    attentions = by_kind("layers_block_type", kinds, _attention_or_mamba(k))
    return fold([(attention, feedforward) for attention in attentions], 2)


def _attention_or_mamba(k: Keys) -> Mapping[str, Callable[[], Attention]]:
    """The two kinds of layer of Granite 4 and Bamba."""

    def attention() -> Attention:
        bias = k.flag("attention_bias", default=False)
        return grouped(k, qkv_bias=bias, output_bias=bias)

    def state() -> Attention:
        bias = k.flag("mamba_proj_bias", default=False)
        return _biased_mamba2(k, "mamba_conv_bias", input_bias=bias, output_bias=bias)

    return {FULL: attention, LINEAR: state}


def _biased_mamba2(k: Keys, convolution: str, **extras: Any) -> Mamba2:
    """A Mamba-2 layer whose convolution has a bias unless the key says otherwise."""
    return mamba2(k, convolution_bias=k.flag(convolution, default=True), **extras)


def falcon_h1(k: Keys) -> Stack:
    """Attention and Mamba-2 side by side in every layer."""
    layers, bias = depth(k), k.flag("attention_bias", default=False)
    attention = grouped(k, qkv_bias=bias, output_bias=bias)
    heads = k.whole("mamba_n_heads", default=128)
    channels = _channels(k)
    if channels % heads:
        raise k.error("mamba_n_heads", say("does not divide {n:,} channels", n=channels))
    state = _biased_mamba2(
        k,
        "mamba_conv_bias",
        head_dim=channels // heads,
        gated_norm=k.flag("mamba_rms_norm", default=False),
        input_bias=k.flag("mamba_proj_bias", default=False),
        output_bias=k.flag("projectors_bias", default=False),
    )
    feedforward = dense(k, bias=k.flag("mlp_bias", default=False))
    return Stack(
        (
            Block(layers, attention, feedforward, 2),
            Block(layers, state, NO_FEEDFORWARD, 0, beside=True),
        )
    )


def _channels(k: Keys) -> int:
    """Channels of Falcon-H1's states: given, or null for a multiple of the model's width."""
    if "mamba_d_ssm" in k.config and k.raw("mamba_d_ssm") is None:
        return k.whole("mamba_expand", default=2) * width(k)
    return k.whole("mamba_d_ssm", default=1024)


def zamba2(k: Keys) -> Stack:
    """Mamba-2 in every layer, and beside some of them a transformer they share.

    It runs on the residual and the embedding together, twice the model's width; each place has an
    adapter of its own.
    """
    layers, d_model = depth(k), width(k)
    bias = k.flag("add_bias_linear", default=False)
    state = _biased_mamba2(k, "use_conv_bias", input_bias=bias, output_bias=bias)
    kinds = k.listed("layers_block_type", layers) or k.listed("layer_types", layers)
    if kinds is None:
        raise k.missing("layers_block_type")
    heads = query_heads(k)
    if 2 * d_model % heads:
        raise k.error("num_attention_heads", say("does not divide twice the model's width"))
    inner = k.whole("intermediate_size", default=4 * d_model)
    rank = k.whole("adapter_rank", default=128)
    adapters: list[FeedForward] = [Linear(), LowRank(rank, 2 * inner)]
    if k.flag("use_shared_attention_adapter", default=False):
        adapters += 3 * [LowRank(rank, 3 * d_model)]
    plain = (state, NO_FEEDFORWARD)
    hybrid = (state, beside(*adapters))
    stack = fold(
        by_kind("layers_block_type", kinds, {LINEAR: lambda: plain, "hybrid": lambda: hybrid}),
        1,
    )
    uses = sum(kind == "hybrid" for kind in kinds)
    if not uses:
        return stack
    shared = Block(
        uses,
        GroupedQuery(heads, heads, 2 * d_model // heads, inputs=2),
        Dense(inner),
        norms=3,
        beside=True,
        weight_sets=min(uses, k.whole("num_mem_blocks", default=1)),
    )
    return replace(stack, blocks=(*stack.blocks, shared))


def lfm2(k: Keys) -> Stack:
    """Short convolutions, and attention in some layers."""
    layers = depth(k)
    attention = grouped(k, qk_norm=True)
    convolution = ShortConvolution(
        width(k), k.whole("conv_L_cache", default=3), k.flag("conv_bias", default=False)
    )
    kinds = k.listed("layer_types", layers)
    if kinds is None:
        chosen = k.chosen("full_attn_idxs")
        if chosen is None:
            k.assume("full_attn_idxs", say("full attention in every layer"))
            chosen = set(range(layers))
        kinds = [FULL if i in chosen else "conv" for i in range(layers)]
    makers: dict[str, Callable[[], Attention]] = {
        FULL: lambda: attention,
        "conv": lambda: convolution,
    }
    attentions = by_kind("layer_types", kinds, makers)
    if k.family != "lfm2_moe":
        plain = Dense(_adjusted_width(k))
        return fold([(a, plain) for a in attentions], 2)
    sparse = experts(k, shared=0, router_bias=k.flag("use_expert_bias", default=True))
    first = k.whole("num_dense_layers", default=2, low=0)
    plain = dense(k)
    return fold([(a, plain if i < first else sparse) for i, a in enumerate(attentions)], 2)


def _adjusted_width(k: Keys) -> int:
    """LFM2's MLP is two thirds as wide as the file says, unless the file says that it is not."""
    columns = k.whole("block_ff_dim", "intermediate_size")
    if not k.flag("block_auto_adjust_ff_dim", default=True):
        return columns
    factor = 1.0
    if k.has("block_ffn_dim_multiplier"):
        factor = k.number("block_ffn_dim_multiplier", 1e-3, 1e3)
    step = k.whole("block_multiple_of", default=256)
    return -(-int(factor * (2 * columns // 3)) // step) * step


def minimax(k: Keys) -> Stack:
    """Lightning attention, and full attention in some layers."""
    layers, attention = depth(k), grouped(k)
    state = Lightning(attention.heads, attention.head_dim)
    k.refuse("shared_intermediate_size")
    kinds = k.listed("attn_type_list", layers)
    if kinds is not None:
        if any(kind not in (0, 1) for kind in kinds):
            raise ConfigError("attn_type_list", say("has an entry that is neither 0 nor 1"))
        kinds = [FULL if kind else LINEAR for kind in kinds]
    else:
        kinds = k.listed("layer_types", layers)
    if kinds is None:
        raise k.missing("attn_type_list")
    makers: dict[str, Callable[[], Attention]] = {FULL: lambda: attention, LINEAR: lambda: state}
    feedforward = experts(k, shared=0)
    return fold([(a, feedforward) for a in by_kind("layer_types", kinds, makers)], 2)
