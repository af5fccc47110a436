"""What Hugging Face configurations of many families have in common, by its many spellings."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

from calc.attention import Attention, Chunked, GroupedQuery, Latent, SlidingWindow
from calc.feedforward import Dense, FeedForward, MixtureOfExperts
from calc.hf_keys import MOST_LAYERS, ConfigError, Keys
from calc.model import Block
from calc.state_space import Mamba2
from calc.words import say

Layer = tuple[Attention, FeedForward]
Blocks = tuple[Block, ...]


def fold(layers: Iterable[Layer], norms: int) -> Blocks:
    """Equal layers as one block each, in order of first appearance."""
    return tuple(
        Block(count, attention, feedforward, norms)
        for (attention, feedforward), count in Counter(layers).items()
    )


def depth(k: Keys) -> int:
    """Number of layers."""
    return k.whole("num_hidden_layers", "n_layer", "n_layers", "num_layers", high=MOST_LAYERS)


def width(k: Keys) -> int:
    """Model width."""
    return k.whole("hidden_size", "n_embd", "d_model", high=10**6)


def grouped(k: Keys, **extras: Any) -> GroupedQuery:
    """Grouped-query attention by the usual keys."""
    heads = k.whole("num_attention_heads", "n_head", high=10**5)
    kv_heads = k.whole("num_key_value_heads", "num_kv_heads", default=heads, high=10**5)
    must_divide("num_key_value_heads", kv_heads, heads)
    return GroupedQuery(heads, kv_heads, head_dim(k, heads), **extras)


def must_divide(key: str, kv_heads: int, heads: int) -> None:
    """Refuse key and value heads that query heads cannot be shared out to."""
    if heads % kv_heads:
        raise ConfigError(
            key,
            say("{kv_heads} does not divide {heads} query heads", kv_heads=kv_heads, heads=heads),
        )


def head_dim(k: Keys, heads: int) -> int:
    """Head width; by default the model width over the heads."""
    spellings = ("head_dim", "attention_head_dim")
    if k.find(*spellings)[1] is not None:
        return k.whole(*spellings, high=10**5)
    if width(k) % heads:
        raise ConfigError(
            spellings[0],
            say("is missing, and {heads} heads do not divide hidden_size", heads=heads),
        )
    return int(k.assume(spellings[0], width(k) // heads))


def latent(k: Keys, **extras: Any) -> Latent:
    """Latent attention; a head_dim that such files may carry is not used."""
    return Latent(
        heads=k.whole("num_attention_heads", high=10**5),
        q_rank=0 if k.find("q_lora_rank")[1] is None else k.whole("q_lora_rank", low=0),
        kv_rank=k.whole("kv_lora_rank"),
        nope_dim=k.whole("qk_nope_head_dim"),
        rope_dim=k.whole("qk_rope_head_dim", low=0),
        value_dim=k.whole("v_head_dim"),
        **extras,
    )


def mamba2(k: Keys) -> Mamba2:
    """A Mamba-2 layer by its two spellings."""
    return Mamba2(
        heads=k.whole("mamba_num_heads", "mamba_n_heads"),
        head_dim=k.whole("mamba_head_dim", "mamba_d_head"),
        state=k.whole("ssm_state_size", "mamba_d_state"),
        groups=k.whole("n_groups", "mamba_n_groups"),
        convolution=k.whole("conv_kernel", "mamba_d_conv"),
    )


def dense(k: Keys, *names: str, **extras: Any) -> Dense:
    """A gated MLP by the usual keys."""
    return Dense(k.whole(*(names or ("intermediate_size", "n_inner", "ffn_dim"))), **extras)


def experts(k: Keys, *, shared: int | None = None, **extras: Any) -> MixtureOfExperts:
    """A mixture of experts by its many spellings."""
    count = k.whole("n_routed_experts", "num_local_experts", "num_experts", high=10**5)
    top_k = k.whole(
        "num_experts_per_tok", "num_experts_per_token", "top_k_experts", "experts_per_token"
    )
    if top_k > count:
        raise ConfigError(
            "num_experts_per_tok",
            say("{top_k} is more than the {count} experts", top_k=top_k, count=count),
        )
    each = k.whole("moe_intermediate_size", "intermediate_size")
    if shared is None:
        shared = each * k.whole("n_shared_experts", "num_shared_experts", default=0, low=0)
    return MixtureOfExperts(count, top_k, each, shared, **extras)


def window_size(k: Keys, default: int | None = None) -> int:
    """The sliding window, which must be there."""
    return k.whole("sliding_window", "sliding_window_size", default=default)


def by_type(k: Keys, layers: int, attention: GroupedQuery) -> list[Attention] | None:
    """One attention a layer from ``layer_types``, or None when the file has none."""
    types = k.listed("layer_types", layers)
    return None if types is None else [of_type(k, kind, attention) for kind in types]


def of_type(k: Keys, kind: Any, attention: GroupedQuery) -> Attention:
    """The attention that one entry of ``layer_types`` means."""
    if kind == "full_attention":
        return attention
    if kind == "sliding_attention":
        return SlidingWindow(attention, window_size(k))
    if kind == "chunked_attention":
        return Chunked(attention, k.whole("attention_chunk_size"))
    raise ConfigError("layer_types", say("has an entry that is not interpreted here"))


def every(k: Keys, layers: int, attention: GroupedQuery, pattern: int) -> list[Attention]:
    """Windows on all layers but each `pattern`-th."""
    local = SlidingWindow(attention, window_size(k, default=4096))
    return [attention if (i + 1) % pattern == 0 else local for i in range(layers)]


def dense_first(k: Keys, layers: int, sparse: FeedForward, plain: Dense) -> list[FeedForward]:
    """Dense layers first, and experts at every ``moe_layer_freq``-th after them."""
    first = k.whole("first_k_dense_replace", default=0, low=0, high=MOST_LAYERS)
    frequency = k.raw("moe_layer_freq")
    if isinstance(frequency, list):
        chosen = k.listed("moe_layer_freq", layers) or []
        return [sparse if one else plain for one in chosen]
    step = 1 if frequency is None else k.whole("moe_layer_freq", high=MOST_LAYERS)
    return [sparse if i >= first and i % step == 0 else plain for i in range(layers)]
