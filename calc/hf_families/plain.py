"""Dense decoders in which every layer is the same: Llama and what differs from it in details."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from calc.attention import NO_ATTENTION, Attention, CrossAttention, GroupedQuery
from calc.feedforward import Dense, Linear
from calc.hf_keys import ConfigError, Keys
from calc.hf_parts import (
    Layer,
    Stack,
    beside,
    dense,
    depth,
    fold,
    grouped,
    in_window,
    query_heads,
    strange_entry,
    width,
)
from calc.words import say


def llama(k: Keys) -> Stack:
    bias = k.flag("attention_bias", default=False)
    attention = grouped(k, qkv_bias=bias, output_bias=bias)
    return fold([(attention, dense(k, bias=k.flag("mlp_bias", default=False)))] * depth(k), 2)


def unbiased(k: Keys) -> Stack:
    """Llama without the switches for biases."""
    return fold([(grouped(k), dense(k))] * depth(k), 2)


def mistral(k: Keys) -> Stack:
    return fold([(in_window(k, grouped(k)), dense(k))] * depth(k), 2)


def ministral3(k: Keys) -> Stack:
    attention = in_window(k, grouped(k, default_dim=128))
    return fold([(attention, dense(k))] * depth(k), 2)


def arcee(k: Keys) -> Stack:
    return fold([(grouped(k), dense(k, gated=False))] * depth(k), 2)


def seed_oss(k: Keys) -> Stack:
    attention = grouped(
        k,
        default_dim=128,
        qkv_bias=k.flag("attention_bias", default=True),
        output_bias=k.flag("attention_out_bias", default=False),
    )
    return fold([(attention, dense(k, bias=k.flag("mlp_bias", default=False)))] * depth(k), 2)


def internlm(k: Keys) -> Stack:
    bias = k.flag("bias", default=k.family != "internlm3")
    attention = grouped(k, qkv_bias=bias or k.raw("qkv_bias") is True, output_bias=bias)
    return fold([(attention, dense(k, bias=bias and k.family == "internlm3"))] * depth(k), 2)


def qwen1(k: Keys) -> Stack:
    """The first Qwen: its intermediate_size is that of gate and input together."""
    heads = query_heads(k)
    attention = GroupedQuery(heads, heads, k.whole("kv_channels", default=128), qkv_bias=True)
    both = k.whole("intermediate_size", low=2)
    return fold([(attention, Dense(both // 2))] * depth(k), 2)


def glm(k: Keys) -> Stack:
    bias = k.flag("attention_bias", default=True)
    attention = grouped(k, default_dim=128, qkv_bias=bias)
    return fold([(attention, dense(k))] * depth(k), 4 if k.family == "glm4" else 2)


def olmo(k: Keys) -> Stack:
    """The first OLMo: its norms have no weights."""
    bias = k.flag("attention_bias", default=False)
    attention = grouped(k, qkv_bias=bias, output_bias=bias)
    return fold([(attention, dense(k))] * depth(k), 0, final_norms=0)


def olmo2(k: Keys) -> Stack:
    bias = k.flag("attention_bias", default=False)
    attention = grouped(k, qkv_bias=bias, output_bias=bias, qk_norm=True, norm_each_head=True)
    return fold([(attention, dense(k))] * depth(k), 2)


def hunyuan(k: Keys) -> Stack:
    bias = k.flag("attention_bias", default=False)
    attention = grouped(k, qkv_bias=bias, output_bias=bias, qk_norm=True)
    return fold([(attention, dense(k))] * depth(k), 2)


def apertus(k: Keys) -> Stack:
    """Its activation has two learned numbers and two saved ones a layer."""
    bias = k.flag("attention_bias", default=False)
    attention = grouped(k, qkv_bias=bias, output_bias=bias, qk_norm=True)
    return fold([(attention, dense(k, gated=False, scalars=4))] * depth(k), 2)


def orion(k: Keys) -> Stack:
    """Llama with layer norms that have a bias."""
    return fold([(grouped(k), dense(k))] * depth(k), 4, final_norms=2)


def nemotron(k: Keys) -> Stack:
    bias = k.flag("attention_bias", default=False)
    attention = grouped(k, default_dim=128, qkv_bias=bias, output_bias=bias)
    feedforward = dense(k, gated=False, bias=k.flag("mlp_bias", default=False))
    return fold([(attention, feedforward)] * depth(k), 4, final_norms=2)


def mllama(k: Keys) -> Stack:
    """Some layers attend to the image alone; its embedding has eight rows more than its head."""
    layers = depth(k)
    attention = grouped(k)
    chosen = k.chosen("cross_attention_layers")
    if chosen is None:
        raise k.missing("cross_attention_layers")
    k.note(say("no image: cross-attention layers keep nothing, with one a vector for each patch"))
    image = CrossAttention(replace(attention, qk_norm=True))
    found: list[Layer] = [(image if i in chosen else attention, dense(k)) for i in range(layers)]
    return fold(found, 2, lookup=8 * width(k))


def nemotron_nas(k: Keys) -> Stack:
    """Llama pruned layer by layer: attention or MLP narrower, a matrix in its place, or none."""
    layers, heads = depth(k), query_heads(k)
    k.refuse("attention_bias", "mlp_bias")
    if width(k) % heads:
        raise k.error("num_attention_heads", say("does not divide hidden_size"))
    blocks = k.listed("block_configs", layers)
    if blocks is None:
        raise k.missing("block_configs")
    found: list[Layer] = []
    norms, kept = [], []
    for block in blocks:
        if not isinstance(block, Mapping):
            raise strange_entry("block_configs")
        own, mlp = (k.within(block).table(name) for name in ("attention", "ffn"))
        fates = _fate(own), _fate(mlp)
        instead = [Linear() for fate in fates if fate == "replace_with_linear"]
        attention: Attention = NO_ATTENTION
        if fates[0] == "":
            own.refuse("window_length", "sparsify")
            group = own.whole("n_heads_in_group")
            if heads % group:
                raise ConfigError("n_heads_in_group", say("does not divide the query heads"))
            attention = GroupedQuery(heads, heads // group, width(k) // heads)
        plain = [Dense(_pruned_width(mlp, width(k)))] if fates[1] == "" else []
        found.append((attention, beside(*instead, *plain)))
        norms.append(sum(fate != "no_op" for fate in fates))
        kept.append({"attention": _set(own), "ffn": _set(mlp)})
    k.used["block_configs"] = kept
    return fold(found, norms)


def _fate(part: Keys) -> str:
    """What became of attention or MLP; empty when it was kept."""
    fates = ("no_op", "replace_with_linear")
    return next((fate for fate in fates if part.raw(fate) is True), "")


def _pruned_width(mlp: Keys, d_model: int) -> int:
    """The width as it stands, or from a factor of the model's width, in steps of 256."""
    if mlp.has("intermediate_size"):
        return mlp.whole("intermediate_size")
    columns = int(2 * mlp.number("ffn_mult", 1e-6, 1e4) * d_model / 3)
    return -(-columns // 256) * 256


def _set(part: Keys) -> dict[str, Any]:
    """The keys that were read, without those that are off."""
    return {key: value for key, value in part.used.items() if value}
