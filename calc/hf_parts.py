"""What Hugging Face configurations of many families have in common."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import repeat
from typing import Any, TypeVar

from calc.attention import Attention, Chunked, GroupedQuery, Latent, SlidingWindow
from calc.feedforward import NO_FEEDFORWARD, Beside, Dense, FeedForward, MixtureOfExperts
from calc.hf_keys import MOST_LAYERS, ConfigError, Keys
from calc.model import Block
from calc.state_space import STATE_BYTES, Mamba2
from calc.words import say

Layer = tuple[Attention, FeedForward]

FULL, WINDOW = "full_attention", "sliding_attention"
_RENAMED = {"attention": FULL, "mamba": "linear_attention"}

T = TypeVar("T")


@dataclass(frozen=True)
class Stack:
    """All layers of a decoder and what stands around them; names are those of `Model`."""

    blocks: tuple[Block, ...]
    final_norms: int = 1
    positions: int = 0
    head_bias: bool = False
    lookup: int = 0
    outside: FeedForward = NO_FEEDFORWARD


def fold(layers: Iterable[Layer], norms: int | Sequence[int], **around: Any) -> Stack:
    """Equal layers as one block each, in order of first appearance."""
    each = repeat(norms) if isinstance(norms, int) else norms
    counted = Counter((*layer, own) for layer, own in zip(layers, each, strict=False))
    blocks = tuple(Block(count, *kinds) for kinds, count in counted.items())
    return Stack(blocks, **around)


def depth(k: Keys) -> int:
    """Number of layers."""
    return k.whole("num_hidden_layers", high=MOST_LAYERS)


def width(k: Keys) -> int:
    """Model width."""
    return k.whole("hidden_size", high=10**6)


def query_heads(k: Keys, default: int | None = None) -> int:
    """Query heads."""
    return k.whole("num_attention_heads", default=default, high=10**5)


def grouped(k: Keys, *, default_dim: int | None = None, **extras: Any) -> GroupedQuery:
    """Grouped-query attention by the usual keys; as many KV heads as heads when none are given."""
    heads = query_heads(k)
    kv_heads = k.whole("num_key_value_heads", default=heads, high=10**5)
    must_divide(k, "num_key_value_heads", kv_heads, heads)
    return GroupedQuery(heads, kv_heads, head_dim(k, heads, default_dim), **extras)


def must_divide(k: Keys, key: str, kv_heads: int, heads: int) -> None:
    """Refuse key and value heads that query heads cannot be shared out to."""
    if heads % kv_heads:
        raise k.error(
            key,
            say("{kv_heads} does not divide {heads} query heads", kv_heads=kv_heads, heads=heads),
        )


def head_dim(k: Keys, heads: int, default: int | None = None) -> int:
    """Head width; by default the model width over the heads."""
    if k.has("head_dim") or default or "head_dim" in k.defaults:
        return k.whole("head_dim", default=default, high=10**5)
    if width(k) % heads:
        raise k.error(
            "head_dim",
            say(
                "is missing, and {heads} heads do not divide {width}",
                heads=heads,
                width=k.find("hidden_size")[0],
            ),
        )
    return int(k.assume(k.find("head_dim")[0], width(k) // heads))


def latent(k: Keys, *, value_dim: int | None = None, **extras: Any) -> Latent:
    """Latent attention; a head_dim that such files may carry is not used."""
    return Latent(
        heads=query_heads(k),
        q_rank=_query_rank(k),
        kv_rank=k.whole("kv_lora_rank"),
        nope_dim=k.whole("qk_nope_head_dim"),
        rope_dim=k.whole("qk_rope_head_dim", low=0),
        value_dim=k.whole("v_head_dim", default=value_dim),
        **extras,
    )


def _query_rank(k: Keys) -> int:
    """Rank of the queries; null in a file says that they are projected directly."""
    if k.has("q_lora_rank") or ("q_lora_rank" not in k.config and "q_lora_rank" in k.defaults):
        return k.whole("q_lora_rank", low=0)
    k.optional("q_lora_rank")
    return 0


def mamba2(k: Keys, *, head_dim: int = 0, **extras: Any) -> Mamba2:
    """A Mamba-2 layer; the defaults are those of Granite 4 and Bamba."""
    heads = k.whole("mamba_n_heads", default=128)
    return Mamba2(
        heads=heads,
        head_dim=head_dim or mamba_width(k, heads),
        state=k.whole("mamba_d_state", default=256),
        groups=k.whole("mamba_n_groups", default=1),
        convolution=k.whole("mamba_d_conv", default=4),
        precision=state_bytes(k),
        **extras,
    )


def mamba_width(k: Keys, heads: int) -> int:
    """Width of a Mamba-2 head; ``auto`` and its absence divide the channels among the heads."""
    key, value = k.find("mamba_d_head")
    if value is not None and value != "auto":
        return k.whole("mamba_d_head")
    channels = k.whole("mamba_expand", default=2) * width(k)
    if channels % heads:
        raise ConfigError(
            key,
            say(
                "{channels:,} channels are not a multiple of {heads:,} heads",
                channels=channels,
                heads=heads,
            ),
        )
    return channels // heads


def state_bytes(k: Keys) -> int:
    """Bytes of one element of a recurrent state, as far as the file says."""
    key, name = k.find("state_dtype")
    if name is None:
        k.note(
            say("recurrent state kept in float32, as SGLang does; vLLM takes the model's precision")
        )
        return STATE_BYTES
    sizes = {"float32": 4, "bfloat16": 2, "float16": 2}
    if not isinstance(name, str) or name.removeprefix("torch.") not in sizes:
        raise ConfigError(key, say("is not a precision known here"))
    return sizes[name.removeprefix("torch.")]


def dense(k: Keys, *names: str, **extras: Any) -> Dense:
    """An MLP by the usual keys."""
    return Dense(k.whole(*(names or ("intermediate_size",))), **extras)


def experts(
    k: Keys,
    *,
    count: int | None = None,
    top_k: int | None = None,
    each: int | None = None,
    shared: int | None = None,
    **extras: Any,
) -> MixtureOfExperts:
    """A mixture of experts by the usual keys, but for what is given."""
    count = count or k.whole("num_experts", high=10**5)
    top_k = top_k or k.whole("num_experts_per_tok")
    each = each or k.whole("moe_intermediate_size")
    if top_k > count:
        raise k.error(
            "num_experts_per_tok",
            say("{top_k} is more than the {count} experts", top_k=top_k, count=count),
        )
    if shared is None:
        shared = each * k.whole("num_shared_experts", default=0, low=0)
    return MixtureOfExperts(count, top_k, each, shared, **extras)


def beside(*parts: FeedForward) -> FeedForward:
    """Several things that every token passes at one place; of none, nothing."""
    if not parts:
        return NO_FEEDFORWARD
    first, *others = parts
    return Beside(first, beside(*others)) if others else first


def window_size(k: Keys, default: int | None = None) -> int:
    """The sliding window, which must be there."""
    return k.whole("sliding_window", "sliding_window_size", default=default)


def of_type(k: Keys, kind: Any, attention: GroupedQuery) -> Attention:
    """The attention that one entry of ``layer_types`` means."""
    if kind == FULL:
        return attention
    if kind == WINDOW:
        return SlidingWindow(attention, window_size(k))
    if kind == "chunked_attention":
        return Chunked(attention, k.whole("attention_chunk_size"))
    raise strange_entry("layer_types")


def strange_entry(key: str) -> ConfigError:
    """A list has something that no layer is known for."""
    return ConfigError(key, say("has an entry that is not interpreted here"))


def by_kind(key: str, kinds: Iterable[Any], makers: Mapping[str, Callable[[], T]]) -> list[T]:
    """What each entry of a list means; `makers` are asked once, and only for what is there.

    Older names of kinds are those that transformers 5 renamed.
    """
    known: dict[str, T] = {}
    found = []
    for kind in kinds:
        if not isinstance(kind, str):
            raise strange_entry(key)
        now = _RENAMED.get(kind, kind)
        if now not in known:
            if now not in makers:
                raise strange_entry(key)
            known[now] = makers[now]()
        found.append(known[now])
    return found


def by_type(k: Keys, layers: int, attention: GroupedQuery) -> list[Attention] | None:
    """One attention a layer from ``layer_types``, or None when the file has none."""
    types = k.listed("layer_types", layers)
    return None if types is None else [of_type(k, kind, attention) for kind in types]


def every(k: Keys, layers: int, attention: GroupedQuery, pattern: int) -> list[Attention]:
    """Windows on all layers but each `pattern`-th."""
    local = SlidingWindow(attention, window_size(k, default=4096))
    return [attention if (i + 1) % pattern == 0 else local for i in range(layers)]


def windowed(k: Keys, attention: GroupedQuery, pattern: int) -> list[Attention]:
    """One attention a layer: by ``layer_types``, else windows on all but each `pattern`-th.

    A window that the file gives as null is none.
    """
    layers = depth(k)
    if "sliding_window" in k.config and k.raw("sliding_window") is None:
        return [attention] * layers
    typed = by_type(k, layers, attention)
    if typed is not None:
        return typed
    return every(k, layers, attention, k.whole("sliding_window_pattern", default=pattern))


def in_window(k: Keys, attention: GroupedQuery) -> Attention:
    """The attention in a window, if the file gives one; a missing key is told."""
    if not k.optional("sliding_window"):
        return attention
    return SlidingWindow(attention, window_size(k))


def sparse_layers(k: Keys, layers: int, first: int = 0) -> list[bool]:
    """Which layers have experts.

    By ``mlp_layer_types``, else every ``moe_layer_freq``-th after ``first_k_dense_replace`` dense
    ones, of which there are `first` when the file does not say.
    """
    types = k.listed("mlp_layer_types", layers)
    if types is not None:
        known = {"dense": False, "sparse": True}
        if any(not isinstance(kind, str) or kind not in known for kind in types):
            raise strange_entry("mlp_layer_types")
        return [known[kind] for kind in types]
    if isinstance(k.raw("moe_layer_freq"), list):
        return [bool(one) for one in k.each("moe_layer_freq", layers, low=0)]
    dense_ones = k.whole("first_k_dense_replace", default=first, low=0, high=MOST_LAYERS)
    step = k.whole("moe_layer_freq", high=MOST_LAYERS) if k.has("moe_layer_freq") else 1
    return [i >= dense_ones and i % step == 0 for i in range(layers)]


def dense_first(
    k: Keys, layers: int, sparse: FeedForward, *width: str, first: int = 0
) -> list[FeedForward]:
    """Experts where `sparse_layers` says, and a gated MLP elsewhere; `width` is its key."""
    chosen = sparse_layers(k, layers, first)
    plain = sparse if all(chosen) else dense(k, *width)
    return [sparse if one else plain for one in chosen]


def per_layer(k: Keys, layers: int) -> list[Keys] | None:
    """What files that transformers 5 wrote say of single layers, by number; None if nothing."""
    table = k.raw("per_layer_config")
    if table is None:
        return None
    if not isinstance(table, Mapping):
        raise ConfigError("per_layer_config", say("is not an object"))
    own: dict[int, Mapping[str, Any]] = {}
    for number, part in table.items():
        if not isinstance(number, str) or not number.isdecimal() or not isinstance(part, Mapping):
            raise strange_entry("per_layer_config")
        own[int(number[:9])] = part
    return [k.within(own.get(i, {})) for i in range(layers)]
