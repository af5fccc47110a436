"""What a block may be made of: kinds by the names that tables and links call them, and figures.

A figure is a field of a kind. What it is called and how far it goes stands here once, for every
kind that has a field of that name.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, Field, dataclass, fields
from typing import Any

from calc import attention, feedforward, sparse_attention, state_space
from calc.hf_keys import MOST_LAYERS
from calc.words import marked

# Attention by the name of its kind, and by the key that puts a kind around it, innermost first.
ATTENTION: Mapping[str, type[attention.Attention]] = {
    **attention.KINDS,
    **sparse_attention.KINDS,
    **state_space.KINDS,
    "stated": attention.StatedCache,
}
AROUND: Mapping[str, type[attention.Around]] = {**sparse_attention.AROUND, **attention.AROUND}
FEEDFORWARD: Mapping[str, type] = {**feedforward.KINDS, "stated": feedforward.StatedParams}

NAMES: Mapping[type, str] = {
    kind: name for name, kind in (*ATTENTION.items(), *FEEDFORWARD.items())
}
KEYS: Mapping[type, str] = {kind: key for key, kind in AROUND.items()}

LABELS: Mapping[str, str] = {
    "grouped-query": marked("Grouped-query"),
    "latent": marked("Latent (MLA)"),
    "compressed": marked("Compressed"),
    "gated-delta": marked("Gated DeltaNet"),
    "kimi-delta": marked("Kimi delta"),
    "mamba": "Mamba",
    "mamba-2": "Mamba-2",
    "lightning": marked("Lightning attention"),
    "short-convolution": marked("Short convolution"),
    "window": marked("Sliding window"),
    "chunk": marked("Chunk"),
    "shared": marked("Shares an earlier cache"),
    "cross": marked("Attends to images alone"),
    "sparse": marked("Indexer picks tokens"),
    "sparse-blocks": marked("Indexer picks blocks"),
    "dense": marked("Dense"),
    "mixture-of-experts": marked("Mixture of experts"),
    "linear": marked("Linear maps"),
    "low-rank": marked("Low-rank maps"),
    "per-layer-inputs": marked("Per-layer inputs"),
    "alternating-updates": marked("Alternating updates"),
    "hyper-connections": marked("Hyper-connections"),
    "streams-joined": marked("Joined streams"),
    "stated": marked("Stated total"),
}


@dataclass(frozen=True)
class Figure:
    """A figure of a block: what it is called, its largest value, and what it is rounded to."""

    label: str
    high: int = 10**6
    step: int = 1


_HEADS, _WIDTH, _TOKENS = 10**4, 10**6, 10**9

FIGURES: Mapping[str, Figure] = {
    "count": Figure(marked("Layers"), MOST_LAYERS),
    "norms": Figure(marked("Norms per layer"), 64),
    "weight_sets": Figure(marked("Weight sets"), MOST_LAYERS),
    "beside": Figure(marked("Runs beside another block")),
    "heads": Figure(marked("Query heads"), _HEADS, 8),
    "kv_heads": Figure(marked("KV heads"), _HEADS),
    "head_dim": Figure(marked("Head width"), _WIDTH, 16),
    "value_dim": Figure(marked("Value width"), _WIDTH, 16),
    "qkv_bias": Figure(marked("Q, K, V biases")),
    "output_bias": Figure(marked("Output bias")),
    "sinks": Figure(marked("Attention sinks")),
    "qk_norm": Figure(marked("Q and K norms")),
    "output_gate": Figure(marked("Output gate")),
    "value_from_key": Figure(marked("Values from keys")),
    "head_gate": Figure(marked("Gate per head")),
    "norm_each_head": Figure(marked("Norm per head")),
    "norm_bias": Figure(marked("Norm bias")),
    "inputs": Figure(marked("Widths projected from"), 64),
    "q_rank": Figure(marked("Query rank"), _WIDTH, 64),
    "kv_rank": Figure(marked("KV rank"), _WIDTH, 64),
    "nope_dim": Figure(marked("Width without RoPE"), _WIDTH, 16),
    "rope_dim": Figure(marked("RoPE width"), _WIDTH, 16),
    "window": Figure(marked("Window"), _TOKENS, 128),
    "chunk": Figure(marked("Chunk"), _TOKENS, 128),
    "top_k": Figure(marked("Top-k"), _TOKENS),
    "index_heads": Figure(marked("Index heads"), _HEADS),
    "index_dim": Figure(marked("Index width"), _WIDTH, 16),
    "blocks": Figure(marked("Blocks picked"), _TOKENS),
    "block": Figure(marked("Tokens to a block"), _TOKENS),
    "output_groups": Figure(marked("Output groups"), _HEADS),
    "output_rank": Figure(marked("Output rank"), _WIDTH, 64),
    "near": Figure(marked("Window"), _TOKENS, 64),
    "ratio": Figure(marked("Tokens to an entry"), _TOKENS),
    "key_heads": Figure(marked("Key heads"), _HEADS),
    "value_heads": Figure(marked("Value heads"), _HEADS),
    "key_dim": Figure(marked("Key width"), _WIDTH, 16),
    "convolution": Figure(marked("Convolution taps"), 1024),
    "precision": Figure(marked("Bytes of a state's element"), 8),
    "full_rank_gate": Figure(marked("Full-rank gate")),
    "inner": Figure(marked("Channels"), _WIDTH, 64),
    "state": Figure(marked("State per channel"), _WIDTH, 8),
    "step_rank": Figure(marked("Step rank"), _WIDTH),
    "selection_norms": Figure(marked("Selection norms")),
    "bias": Figure(marked("Biases")),
    "convolution_bias": Figure(marked("Convolution bias")),
    "groups": Figure(marked("Groups"), _HEADS),
    "input_bias": Figure(marked("Input bias")),
    "gated_norm": Figure(marked("Gated norm")),
    "channels": Figure(marked("Channels"), _WIDTH, 64),
    "elements": Figure(marked("KV elements per token"), 10**8),
    "width": Figure(marked("Width"), _WIDTH, 256),
    "gated": Figure(marked("Gated")),
    "scalars": Figure(marked("Saved scalars"), 1024),
    "experts": Figure(marked("Experts"), 10**5, 8),
    "expert_width": Figure(marked("Expert width"), _WIDTH, 64),
    "shared_width": Figure(marked("Shared experts' width"), _WIDTH, 64),
    "router_bias": Figure(marked("Router bias")),
    "expert_bias": Figure(marked("Expert biases")),
    "shared_gate": Figure(marked("Gate of shared experts")),
    "latent_width": Figure(marked("Width of the experts' input"), _WIDTH, 64),
    "shared_bias": Figure(marked("Biases of shared experts")),
    "router_scale": Figure(marked("Router scales")),
    "latent_norm": Figure(marked("Norm of the experts' input")),
    "zero_experts": Figure(marked("Experts without weights"), 10**5),
    "rank": Figure(marked("Rank"), _WIDTH),
    "outputs": Figure(marked("Output width"), _WIDTH),
    "norm": Figure(marked("Norm")),
    "layers": Figure(marked("Layers"), MOST_LAYERS),
    "streams": Figure(marked("Residual streams"), 64),
    "total": Figure(marked("Parameters"), 10**14),
    "d_model": Figure(marked("Model width"), _WIDTH, 256),
    "vocabulary": Figure(marked("Vocabulary"), 10**8, 256),
    "tied": Figure(marked("Tied head")),
    "max_context": Figure(marked("Longest context"), _TOKENS, 4096),
    "positions": Figure(marked("Learned positions"), _TOKENS),
    "rotary_rows": Figure(marked("Rows of rotary tables"), 10**9),
    "head_bias": Figure(marked("Head bias")),
    "lookup": Figure(marked("Further tables"), 10**13),
    "final_norms": Figure(marked("Final norms"), 64),
}


def figures_of(kind: type) -> list[Field[Any]]:
    """The fields of a kind that are figures of its own: all but the layer it stands around."""
    inner = "inner" if issubclass(kind, attention.Around) else ""
    return [field for field in fields(kind) if field.name != inner]


def lowest(field: Field[Any]) -> int:
    """The least that a figure may be: 1, or 0 where that means there is none."""
    return 0 if field.default == 0 else int(field.metadata.get("low", 1))


def is_flag(field: Field[Any]) -> bool:
    """Whether a figure is a yes or no."""
    return field.type == "bool"


def needed(field: Field[Any]) -> bool:
    """Whether a figure has no default."""
    return field.default is MISSING
