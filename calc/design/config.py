"""A model as the ``config.json`` of a family that can express it.

Every family is offered what the model has, under the usual keys and its own spelling of them; the
first that reads the same model from it can express it, and what it read is the file.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

from calc import hf_config, hf_quantization, hf_resident
from calc.attention import Attention, Chunked, GroupedQuery, Latent, SharedCache, SlidingWindow
from calc.feedforward import Beside, Dense, FeedForward, MixtureOfExperts
from calc.hf_families import FAMILIES
from calc.hf_keys import ConfigError
from calc.model import Block, Model
from calc.sparse_attention import SparseTopK
from calc.state_space import GatedDeltaNet, KimiDelta, Mamba2

_TYPES: Mapping[type, str] = {
    SlidingWindow: "sliding_attention",
    Chunked: "chunked_attention",
    GatedDeltaNet: "linear_attention",
    KimiDelta: "linear_attention",
    Mamba2: "linear_attention",
}


@lru_cache(maxsize=64)
def written(model: Model) -> str | None:
    """The text of a ``config.json`` that gives the model; None where no family can express it.

    How weights are stored and what lies beside the decoder stand in it as in compact files.
    """
    orders = [list(_interleaved(model.blocks)), list(_in_order(model.blocks))]
    for layers in orders if orders[0] != orders[1] else orders[:1]:
        offered = {**_offered(model, layers), **_beside(model)}
        for kind, family in FAMILIES.items():
            spelt = dict(offered)
            for usual, own in family.spelling.items():
                if usual in offered:
                    spelt[own] = offered[usual]
            content = {"model_type": kind, **spelt}
            try:
                read = hf_config.parse(content, id=model.id, name=model.name or kind)
                if _same(read, model):
                    return json.dumps(_used(content), indent=2)
            except (ConfigError, TypeError, AttributeError, KeyError):
                # A family may read a key in a way of its own.
                continue
    return None


def _same(one: Model, other: Model) -> bool:
    """Whether two models are of the same layers."""
    return replace(one, id=other.id, name=other.name) == other


def _used(content: Mapping[str, Any]) -> dict[str, Any]:
    """What of a configuration decides the model, lists in full."""
    kept = hf_config.compact(content)
    return {key: content.get(key, value) for key, value in kept.items()}


def _in_order(blocks: Sequence[Block]) -> Iterator[Block]:
    """A block for each layer, those of one block together."""
    for block in blocks:
        if not block.beside:
            yield from [block] * block.count


def _interleaved(blocks: Sequence[Block]) -> Iterator[Block]:
    """A block for each layer, evenly spread where two differ in nothing but their attention."""
    for feedforward in dict.fromkeys(block.feedforward for block in blocks):
        group = [one for one in blocks if one.feedforward == feedforward and not one.beside]
        yield from _pair(*group) if len(group) == 2 else _in_order(group)


def _pair(first: Block, second: Block) -> Iterator[Block]:
    """Layers of two blocks, each of the fewer at one end of its share of the others."""
    few, many = sorted((first, second), key=lambda block: block.count)
    total = first.count + second.count
    if few is first:
        places = {k * total // few.count for k in range(few.count)}
    else:
        places = {(k + 1) * total // few.count - 1 for k in range(few.count)}
    return (few if i in places else many for i in range(total))


def _beside(model: Model) -> dict[str, Any]:
    """What compact files have of the checkpoint and of what is loaded beside the decoder."""
    found: dict[str, Any] = {}
    if model.checkpoint:
        found[hf_config.CHECKPOINT] = hf_quantization.written(model.checkpoint)
    if model.resident:
        found[hf_config.RESIDENT] = hf_resident.written(model.resident)
    return found


def _offered(model: Model, layers: Sequence[Block]) -> dict[str, Any]:
    """All that a configuration may say of a model, under the usual keys."""
    found: dict[str, Any] = {
        "hidden_size": model.d_model,
        "vocab_size": model.vocabulary,
        "num_hidden_layers": len(layers),
        "tie_word_embeddings": model.tied,
        "lm_head_bias": model.head_bias,
        "hidden_size_per_layer_input": 0,
        "num_kv_shared_layers": sum(isinstance(one.attention, SharedCache) for one in layers),
    }
    if model.max_context:
        found["max_position_embeddings"] = model.max_context
    attentions = [block.attention for block in layers]
    for layer in dict.fromkeys(attentions):
        for key, value in _attention(layer).items():
            found.setdefault(key, value)
    if len(set(attentions)) > 1:
        found["layer_types"] = [_TYPES.get(_outer(one), "full_attention") for one in attentions]
        found["use_sliding_window"] = "sliding_window" in found
    else:
        found.setdefault("sliding_window", None)
        if found["sliding_window"]:
            found["layer_types"] = ["sliding_attention"] * len(layers)
            found["use_sliding_window"] = True
    found |= _feedforwards([block.feedforward for block in layers])
    return found


def _outer(layer: Attention) -> type:
    """The kind that is read from ``layer_types``: a window, whoever shares its cache."""
    return _outer(layer.inner) if isinstance(layer, SharedCache) else type(layer)


def _attention(layer: Attention) -> dict[str, Any]:
    """What is said of one attention layer."""
    match layer:
        case SharedCache():
            return _attention(layer.inner)
        case SlidingWindow():
            return {"sliding_window": layer.window, **_attention(layer.inner)}
        case Chunked():
            return {"attention_chunk_size": layer.chunk, **_attention(layer.inner)}
        case SparseTopK():
            indexer = {"index_topk": layer.top_k, "index_n_heads": layer.index_heads,
                       "index_head_dim": layer.index_dim}  # fmt: skip
            return {**indexer, **_attention(layer.inner)}
        case GroupedQuery():
            return {
                "num_attention_heads": layer.heads,
                "num_key_value_heads": layer.kv_heads,
                "head_dim": layer.head_dim,
                "attention_bias": layer.qkv_bias,
                "attention_out_bias": layer.output_bias,
                "qkv_bias": layer.qkv_bias,
                "use_qkv_bias": layer.qkv_bias,
                "use_bias": layer.output_bias,
                "use_qk_norm": layer.qk_norm,
            }
        case Latent():
            return {
                "num_attention_heads": layer.heads,
                "q_lora_rank": layer.q_rank or None,
                "kv_lora_rank": layer.kv_rank,
                "qk_nope_head_dim": layer.nope_dim,
                "qk_rope_head_dim": layer.rope_dim,
                "v_head_dim": layer.value_dim,
                "mla_use_output_gate": layer.output_gate,
            }
        case GatedDeltaNet():
            return {
                "linear_num_key_heads": layer.key_heads,
                "linear_num_value_heads": layer.value_heads,
                "linear_key_head_dim": layer.key_dim,
                "linear_value_head_dim": layer.value_dim,
                "linear_conv_kernel_dim": layer.convolution,
                "state_dtype": {4: "float32", 2: "bfloat16"}.get(layer.precision),
            }
        case KimiDelta():
            return {
                "linear_num_heads": layer.heads,
                "linear_head_dim": layer.head_dim,
                "linear_conv_kernel_dim": layer.convolution,
                "use_full_rank_gate": layer.full_rank_gate,
            }
        case Mamba2():
            return {
                "mamba_n_heads": layer.heads,
                "mamba_d_head": layer.head_dim,
                "mamba_d_state": layer.state,
                "mamba_n_groups": layer.groups,
                "mamba_d_conv": layer.convolution,
                "mamba_proj_bias": layer.input_bias,
                "mamba_conv_bias": layer.convolution_bias,
                "state_dtype": {4: "float32", 2: "bfloat16"}.get(layer.precision),
            }
    return {}


def _flat(layer: FeedForward) -> list[FeedForward]:
    """What stands at one place."""
    return [layer.first, *_flat(layer.second)] if isinstance(layer, Beside) else [layer]


def _feedforwards(layers: Sequence[FeedForward]) -> dict[str, Any]:
    """What is said of the feed-forward parts."""
    found: dict[str, Any] = {}
    parts = [part for layer in dict.fromkeys(layers) for part in _flat(layer)]
    for part in parts:
        if isinstance(part, Dense):
            found.setdefault("intermediate_size", part.width)
            found.setdefault("mlp_bias", part.bias)
        if isinstance(part, MixtureOfExperts):
            found |= {
                "num_experts": part.experts,
                "num_experts_per_tok": part.top_k,
                "moe_intermediate_size": part.expert_width,
                "num_shared_experts": part.shared_width // part.expert_width,
                "shared_expert_intermediate_size": part.shared_width,
                "shared_intermediate_size": part.shared_width,
                "topk_method": "noaux_tc" if part.router_bias else "greedy",
                "moe_router_enable_expert_bias": part.router_bias,
                "zero_expert_num": part.zero_experts,
            }
    sparse = [any(isinstance(p, MixtureOfExperts) for p in _flat(layer)) for layer in layers]
    if any(sparse) and not all(sparse):
        found["mlp_layer_types"] = ["sparse" if one else "dense" for one in sparse]
        found["mlp_only_layers"] = [i for i, one in enumerate(sparse) if not one]
    if any(sparse):
        found["first_k_dense_replace"] = sparse.index(True)
    return found
