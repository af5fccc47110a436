"""What a ``config.json`` may say of a model: everything it has, under the usual keys."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from calc.attention import (
    NO_ATTENTION,
    Attention,
    Chunked,
    CrossAttention,
    GroupedQuery,
    Latent,
    SharedCache,
    SlidingWindow,
)
from calc.feedforward import (
    AltUp,
    Beside,
    Dense,
    FeedForward,
    HyperConnections,
    Linear,
    LowRank,
    MixtureOfExperts,
    PerLayerInputs,
)
from calc.model import Block, Model
from calc.sparse_attention import Compressed, SparseBlocks, SparseTopK
from calc.state_space import ConstantState, GatedDeltaNet, KimiDelta, Mamba2, ShortConvolution


def offered(model: Model, layers: Sequence[Block]) -> dict[str, Any]:
    """All that a configuration may say of a model, under the usual keys."""
    found: dict[str, Any] = {
        "hidden_size": model.d_model,
        "vocab_size": model.vocabulary,
        "num_hidden_layers": len(layers),
        "tie_word_embeddings": model.tied,
        "lm_head_bias": model.head_bias,
        "num_kv_shared_layers": sum(isinstance(one.attention, SharedCache) for one in layers),
    }
    if model.max_context:
        found["max_position_embeddings"] = model.max_context
    if model.max_context and model.rotary_rows:
        # Layers of another kind have a table of their own, which is not scaled.
        own = len({block.attention.paged_as for block in model.blocks}) > 1
        factor = model.rotary_rows / model.max_context - own
        found["rope_scaling"] = {"rope_type": "linear", "factor": factor}
    attentions = [block.attention for block in layers]
    beside = [block.attention for block in model.blocks if block.beside]
    for layer in dict.fromkeys([*attentions, *beside]):
        for key, value in _attention(layer).items():
            found.setdefault(key, value)
    if len(set(attentions)) > 1:
        found["layer_types"] = [_type(one) for one in attentions]
        found["use_sliding_window"] = "sliding_window" in found
    else:
        found.setdefault("sliding_window", None)
        if found["sliding_window"]:
            found["layer_types"] = ["sliding_attention"] * len(layers)
            found["use_sliding_window"] = True
    found |= _feedforwards([block.feedforward for block in layers])
    for said in (_by_layer, _of_full_layers, _of_windows, _inputs, _pruned):
        found |= said(model, layers)
    return found


def _type(layer: Attention) -> str:
    """What ``layer_types`` calls a layer."""
    match layer:
        case SharedCache():
            return _type(layer.inner)
        case SlidingWindow():
            return "sliding_attention"
        case Chunked():
            return "chunked_attention"
        case ShortConvolution():
            return "conv"
        case SparseBlocks():
            return "minimax_m3_sparse"
        case ConstantState():
            return "linear_attention"
    return "full_attention"


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
        case SparseBlocks():
            return {
                "index_topk_blocks": layer.blocks,
                "index_block_size": layer.block,
                "index_n_heads": layer.index_heads,
                "index_head_dim": layer.index_dim,
                **_attention(layer.inner),
            }
        case CrossAttention():
            return _attention(layer.inner)
        case Compressed():
            indexer = {"index_topk": layer.top_k, "index_n_heads": layer.index_heads,
                       "index_head_dim": layer.index_dim} if layer.top_k else {}  # fmt: skip
            return {
                "num_attention_heads": layer.heads,
                "head_dim": layer.head_dim,
                "qk_rope_head_dim": layer.rope_dim,
                "q_lora_rank": layer.q_rank,
                "o_groups": layer.output_groups,
                "o_lora_rank": layer.output_rank,
                "sliding_window": layer.near,
                **indexer,
            }
        case ShortConvolution():
            return {"conv_L_cache": layer.convolution, "conv_bias": layer.bias}
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
                "use_conv_bias": layer.convolution_bias,
                "mamba_d_ssm": layer.heads * layer.head_dim,
                "mamba_rms_norm": layer.gated_norm,
                "projectors_bias": layer.output_bias,
                "state_dtype": {4: "float32", 2: "bfloat16"}.get(layer.precision),
            }
    return {}


def _flat(layer: FeedForward) -> list[FeedForward]:
    """What stands at one place."""
    return [layer.first, *_flat(layer.second)] if isinstance(layer, Beside) else [layer]


def has_experts(layer: FeedForward) -> bool:
    """Whether experts stand at a place."""
    return any(isinstance(part, MixtureOfExperts) for part in _flat(layer))


def _feedforwards(layers: Sequence[FeedForward]) -> dict[str, Any]:
    """What is said of the feed-forward parts."""
    found: dict[str, Any] = {"block_auto_adjust_ff_dim": False}
    for part in (part for layer in dict.fromkeys(layers) for part in _flat(layer)):
        for key, value in _feedforward(part).items():
            found.setdefault(key, value)
    widths = [next((p.width for p in _flat(one) if isinstance(p, Dense)), 0) for one in layers]
    if len(set(widths)) > 1 and all(widths):
        found["intermediate_sizes"] = widths
    sparse = [has_experts(layer) for layer in layers]
    if any(sparse) and not all(sparse):
        found["mlp_layer_types"] = ["sparse" if one else "dense" for one in sparse]
        found["mlp_only_layers"] = [i for i, one in enumerate(sparse) if not one]
    if any(sparse):
        found["first_k_dense_replace"] = found["num_dense_layers"] = sparse.index(True)
        found["enable_moe_block"] = any(isinstance(p, Dense) for p in _flat(layers[-1]))
        alternate = sparse == [i % 2 == 1 for i in range(len(sparse))]
        found["interleave_moe_layer_step"] = 2 if alternate else 1
    return found


def _feedforward(part: FeedForward) -> dict[str, Any]:
    """What is said of one feed-forward part."""
    match part:
        case Dense():
            return {
                "intermediate_size": part.width,
                "intermediate_size_mlp": part.width,
                "dense_intermediate_size": part.width,
                "mlp_bias": part.bias,
            }
        case MixtureOfExperts():
            return {
                "num_experts": part.experts,
                "num_experts_per_tok": part.top_k,
                "moe_intermediate_size": part.expert_width,
                "num_shared_experts": -(-part.shared_width // part.expert_width),
                "shared_expert_intermediate_size": part.shared_width,
                "shared_intermediate_size": part.shared_width,
                "share_expert_dim": part.shared_width,
                "topk_method": "noaux_tc" if part.router_bias else "greedy",
                "moe_router_enable_expert_bias": part.router_bias,
                "use_expert_bias": part.router_bias,
                "use_routing_bias": part.router_bias,
                "use_moe_router_bias": part.router_bias,
                "zero_expert_num": part.zero_experts,
                "moe_latent_size": part.latent_width,
            }
        case AltUp():
            return {"altup_num_inputs": part.streams}
        case HyperConnections():
            return {"hc_mult": part.streams}
        case LowRank():
            return {"laurel_rank": part.rank}
    return {}


def _by_layer(model: Model, layers: Sequence[Block]) -> dict[str, Any]:
    """Lists that single families have of their layers."""
    found: dict[str, Any] = {}
    attentions = [block.attention for block in layers]
    if any(isinstance(one, CrossAttention) for one in attentions):
        found["cross_attention_layers"] = [
            i for i, one in enumerate(attentions) if isinstance(one, CrossAttention)
        ]
    sparse = [one for one in attentions if isinstance(one, SparseTopK)]
    if len(sparse) == len(attentions):
        found["indexer_types"] = ["full" if one.index_heads else "shared" for one in sparse]
    compressed = [one for one in attentions if isinstance(one, Compressed)]
    if len(compressed) == len(attentions):
        found["compress_ratios"] = [one.ratio for one in compressed]
        found["mlp_layer_types"] = [
            "moe" if any(getattr(part, "router_bias", False) for part in _flat(block.feedforward))
            else "hash_moe" for block in layers
        ]  # fmt: skip
    if all(block.norms == 1 for block in layers):
        found["layers_block_type"] = [
            _type(block.attention) if block.attention != NO_ATTENTION
            else "moe" if has_experts(block.feedforward) else "mlp" for block in layers
        ]  # fmt: skip
        for part in (part for block in layers for part in _flat(block.feedforward)):
            if isinstance(part, MixtureOfExperts):
                found["moe_shared_expert_intermediate_size"] = part.shared_width
                found["num_shared_experts"] = int(part.shared_width > 0)
    return found


def _of_full_layers(model: Model, layers: Sequence[Block]) -> dict[str, Any]:
    """Heads of layers without a window, where they differ from those in one (Gemma 4)."""
    own = [block.attention for block in layers if not isinstance(block.attention, SharedCache)]
    full = next((one for one in own if isinstance(one, GroupedQuery)), None)
    local = next((one.inner for one in own if isinstance(one, SlidingWindow)), None)
    if full is None or not isinstance(local, GroupedQuery):
        return {}
    found = {
        "global_head_dim": full.head_dim,
        "num_global_key_value_heads": full.kv_heads,
        "attention_k_eq_v": full.value_from_key,
    }
    widths = {isinstance(block.attention, SharedCache): _feedforwards([block.feedforward])
              for block in layers}  # fmt: skip
    if len(widths) == 2 and widths[True] != widths[False]:
        found["use_double_wide_mlp"] = True
    if local.heads == full.heads and local.kv_heads == full.kv_heads:
        found["head_dim"] = local.head_dim
    return found


def _of_windows(model: Model, layers: Sequence[Block]) -> dict[str, Any]:
    """Heads of layers with a window, where a family gives them apart (MiMo, Step)."""
    attentions = [block.attention for block in layers]
    local = next((one.inner for one in attentions if isinstance(one, SlidingWindow)), None)
    full = next((one for one in attentions if isinstance(one, GroupedQuery)), None)
    if not isinstance(local, GroupedQuery) or full is None:
        return {}
    found = {
        "num_attention_heads": full.heads,
        "num_key_value_heads": full.kv_heads,
        "swa_num_attention_heads": local.heads,
        "swa_num_key_value_heads": local.kv_heads,
        "swa_head_dim": local.head_dim,
        "swa_v_head_dim": local.value_dim or local.head_dim,
        "v_head_dim": full.value_dim or full.head_dim,
        "add_swa_attention_sink_bias": local.sinks,
        "add_full_attention_sink_bias": full.sinks,
        "hybrid_layer_pattern": [int(isinstance(one, SlidingWindow)) for one in attentions],
        "attention_other_setting": {"num_attention_heads": local.heads},
    }
    if full.kv_heads != local.kv_heads and local.head_dim != full.head_dim:
        # Gemma 4 gives those of its windows under the usual keys.
        found |= {"num_key_value_heads": local.kv_heads}
    return found


def _inputs(model: Model, layers: Sequence[Block]) -> dict[str, Any]:
    """The input that each layer has of its own (Gemma 3n and 4)."""
    around = next((p for p in _flat(model.outside) if isinstance(p, PerLayerInputs)), None)
    if around is None:
        return {"hidden_size_per_layer_input": 0}
    return {
        "hidden_size_per_layer_input": around.width,
        "vocab_size_per_layer_input": model.lookup // (around.width * len(layers)),
    }


def _pruned(model: Model, layers: Sequence[Block]) -> dict[str, Any]:
    """Layers of which attention or MLP may have become a matrix or nothing (Nemotron's)."""
    parts = [_flat(block.feedforward) for block in layers]
    whole = all(block.attention != NO_ATTENTION for block in layers)
    if whole and not any(isinstance(part, Linear) for each in parts for part in each):
        return {}
    blocks = []
    for block, each in zip(layers, parts, strict=True):
        matrices = sum(isinstance(part, Linear) for part in each)
        dense = next((part for part in each if isinstance(part, Dense)), None)
        attention: dict[str, Any] = {"no_op": True}
        mlp: dict[str, Any] = {"no_op": True}
        if isinstance(block.attention, GroupedQuery):
            attention = {"n_heads_in_group": block.attention.heads // block.attention.kv_heads}
        elif matrices > (dense is None):
            attention = {"replace_with_linear": True}
        if dense:
            mlp = {"intermediate_size": dense.width}
        elif matrices:
            mlp = {"replace_with_linear": True}
        blocks.append({"attention": attention, "ffn": mlp})
    return {"block_configs": blocks}
