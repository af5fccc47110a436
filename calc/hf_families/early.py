"""Decoders of the time before Llama and their kin: plain MLPs, layer norms with a bias.

A layer norm with a bias counts as two norms. Where attention and MLP run in parallel, they share
one.
"""

from __future__ import annotations

from calc.attention import GroupedQuery
from calc.feedforward import Dense
from calc.hf_keys import Keys
from calc.hf_parts import (
    Stack,
    dense,
    depth,
    fold,
    grouped,
    head_dim,
    in_window,
    must_divide,
    query_heads,
    width,
)
from calc.words import say


def all_heads(k: Keys, *, bias: bool) -> GroupedQuery:
    """Multi-head attention of families that know no other."""
    heads = query_heads(k)
    return GroupedQuery(heads, heads, head_dim(k, heads), qkv_bias=bias, output_bias=bias)


def plain_mlp(k: Keys, *, bias: bool) -> Dense:
    """A plain MLP, four times as wide as the model when its width is not given."""
    return Dense(k.whole("intermediate_size", default=4 * width(k)), gated=False, bias=bias)


def gpt2(k: Keys) -> Stack:
    positions = k.whole("max_position_embeddings")
    attention = all_heads(k, bias=True)
    if k.family == "gpt_bigcode" and k.flag("multi_query", default=True):
        heads = attention.heads
        attention = GroupedQuery(heads, 1, head_dim(k, heads), qkv_bias=True, output_bias=True)
    layers = [(attention, plain_mlp(k, bias=True))] * depth(k)
    return fold(layers, 4, final_norms=2, positions=positions)


def gpt_neox(k: Keys) -> Stack:
    attention = all_heads(k, bias=k.flag("attention_bias", default=True))
    return fold([(attention, plain_mlp(k, bias=True))] * depth(k), 4, final_norms=2)


def gptj(k: Keys) -> Stack:
    attention = all_heads(k, bias=False)
    layers = [(attention, plain_mlp(k, bias=True))] * depth(k)
    return fold(layers, 2, final_norms=2, head_bias=True)


def opt(k: Keys) -> Stack:
    """Its table of positions has two rows more than positions."""
    rows = k.whole("max_position_embeddings") + 2
    attention = grouped(k, qkv_bias=True, output_bias=True)
    layers = [(attention, dense(k, gated=False, bias=True))] * depth(k)
    return fold(layers, 4, final_norms=2, positions=rows)


def bloom(k: Keys) -> Stack:
    """One of its norms outside the layers stands after the embedding."""
    layers = [(all_heads(k, bias=True), plain_mlp(k, bias=True))] * depth(k)
    return fold(layers, 4, final_norms=4)


def mpt(k: Keys) -> Stack:
    attention = k.raw("attn_config")
    if isinstance(attention, dict):
        k.within(attention).refuse("kv_n_heads", "qk_ln")
        alibi = attention.get("alibi", True)
        k.used["attn_config"] = {"alibi": alibi}
        if alibi is not True:
            k.note(
                say("attn_config.alibi not true: read without a table of positions all the same")
            )
    if k.raw("no_bias") is False:
        k.note(say("no_bias false: read without biases all the same, as transformers does"))
    feedforward = Dense(k.whole("expansion_ratio", default=4) * width(k), gated=False)
    return fold([(all_heads(k, bias=False), feedforward)] * depth(k), 2)


def falcon(k: Keys) -> Stack:
    heads = query_heads(k)
    new = k.flag("new_decoder_architecture", default=k.family == "RefinedWeb")
    # Without the new architecture num_kv_heads is ignored by the model's own code.
    if new:
        kv_heads = k.whole("num_key_value_heads", default=heads)
    else:
        kv_heads = 1 if k.flag("multi_query", default=True) else heads
    must_divide(k, "num_key_value_heads", kv_heads, heads)
    bias = k.flag("bias", default=False)
    attention = GroupedQuery(heads, kv_heads, head_dim(k, heads), qkv_bias=bias, output_bias=bias)
    feedforward = Dense(k.whole("intermediate_size", default=4 * width(k)), False, bias)
    # The new architecture has two norms, parallel ones share one.
    norms = 4 if new or not k.flag("parallel_attn", default=True) else 2
    return fold([(attention, feedforward)] * depth(k), norms, final_norms=2)


def phi(k: Keys) -> Stack:
    normed = k.flag("qk_layernorm", default=False)
    attention = grouped(k, qkv_bias=True, output_bias=True, qk_norm=normed, norm_bias=normed)
    layers = [(attention, plain_mlp(k, bias=True))] * depth(k)
    return fold(layers, 2, final_norms=2, head_bias=True)


def stablelm(k: Keys) -> Stack:
    attention = grouped(
        k,
        qkv_bias=k.flag("use_qkv_bias", default=False),
        qk_norm=k.flag("qk_layernorm", default=False),
        norm_each_head=True,
    )
    norms = 2 if k.flag("use_parallel_residual", default=False) else 4
    return fold([(attention, dense(k))] * depth(k), norms, final_norms=2)


def starcoder2(k: Keys) -> Stack:
    bias = k.flag("use_bias", default=True)
    attention = in_window(k, grouped(k, qkv_bias=bias, output_bias=bias))
    layers = [(attention, dense(k, gated=False, bias=bias))] * depth(k)
    return fold(layers, 4, final_norms=2)


def cohere(k: Keys) -> Stack:
    """Its norms have no bias."""
    bias = k.flag("attention_bias", default=False)
    attention = grouped(
        k,
        qkv_bias=bias,
        output_bias=bias,
        qk_norm=k.flag("use_qk_norm", default=False),
        norm_each_head=True,
    )
    return fold([(attention, dense(k))] * depth(k), 1)
