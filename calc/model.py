"""A decoder as a list of blocks, and what it holds, reads and multiplies per step."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from calc.attention import Attention, StatedCache
from calc.feedforward import FeedForward, StatedParams
from calc.formats import NumberFormat

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Block:
    """`count` equal layers, wherever they stand in the stack: sums do not depend on the order.

    `norms` is the number of model-wide norm vectors of one layer: 2, or 4 in Gemma (F1.3).
    """

    count: int
    attention: Attention
    feedforward: FeedForward
    norms: int = 2


@dataclass(frozen=True)
class Model:
    """A decoder-only transformer.

    Parameters
    ----------
    id, name : str
        Slug used in links, and the name shown to people.
    d_model : int
        Width of the residual stream.
    vocabulary : int
        Rows of the embedding table.
    tied : bool
        Whether the output head is the input embedding.
    blocks : tuple of Block
        All layers.
    final_norms : int
        Norm vectors after the last layer; 2 when it has a bias.
    max_context : int or None
        Longest context that the published configuration claims [token].
    positions : int
        Rows of a learned position table; 0 where positions are computed.
    checkpoint : str
        Id of the format that the published weights are in; empty when not said.
    assumptions : tuple of str
        What was taken for granted where a configuration left something out.
    sources, note : tuple of str, str
        Where the figures come from and what to know about them.

    Notes
    -----
    Counts are exact to the integer for published configurations (F1.1–F1.9). Three of them
    matter for time, and they differ: `total_params` is what memory holds, `params_read` what a
    step streams (the input embedding is gathered, not streamed; a tied head is streamed, F1.9),
    `active_params` what multiplies one token.
    """

    id: str
    name: str
    d_model: int
    vocabulary: int
    tied: bool
    blocks: tuple[Block, ...]
    final_norms: int = 1
    max_context: int | None = None
    positions: int = 0
    checkpoint: str = ""
    assumptions: tuple[str, ...] = field(default=(), compare=False, repr=False)
    sources: tuple[str, ...] = field(default=(), compare=False, repr=False)
    note: str = field(default="", compare=False, repr=False)

    @classmethod
    def from_totals(
        cls,
        total_params: float,
        kv_elements_per_token: float,
        *,
        id: str = "stated",
        name: str = "Stated totals",
    ) -> Model:
        """A dense model of which only two totals are known.

        Parameters
        ----------
        total_params : float
            All parameters; every one is read and multiplied in each step [parameter].
        kv_elements_per_token : float
            Cached elements per token over all layers; with an 8-bit cache, its bytes.

        Examples
        --------
        >>> from calc.formats import NumberFormat
        >>> model = Model.from_totals(30e9, 100e3)
        >>> model.kv_bytes_per_token(NumberFormat("int8", "int8", 8))
        100000.0
        """
        stack = Block(
            1, StatedCache(int(kv_elements_per_token)), StatedParams(int(total_params)), norms=0
        )
        return cls(id, name, 0, 0, True, (stack,), final_norms=0)

    @cached_property
    def layers(self) -> int:
        """Layers in all."""
        return sum(block.count for block in self.blocks)

    @cached_property
    def embedding_params(self) -> int:
        """One embedding table [parameter]."""
        return self.vocabulary * self.d_model

    @cached_property
    def gathered_params(self) -> int:
        """Tables that a step gathers a few rows of, never streams [parameter]."""
        rows = self.positions + (0 if self.tied else self.vocabulary)
        return rows * self.d_model

    @cached_property
    def outside_experts(self) -> int:
        """Everything but the feed-forward layers: attention, norms, embeddings [parameter]."""
        d = self.d_model
        stack = sum(b.count * (b.attention.params(d) + b.norms * d) for b in self.blocks)
        tables = self.embedding_params * (1 if self.tied else 2)
        return stack + tables + (self.positions + self.final_norms) * d

    @cached_property
    def total_params(self) -> int:
        """All parameters, exact [parameter]."""
        d = self.d_model
        return self.outside_experts + sum(b.count * b.feedforward.params(d) for b in self.blocks)

    @cached_property
    def active_params(self) -> int:
        """Parameters that multiply one decoded token [parameter].

        The input embedding is left out and the output head counted: the convention of DeepSeek
        and gpt-oss. Mixtral and Qwen3 publish `active_params_with_embedding` (F1.8).
        """
        return self.active_params_with_embedding - self.gathered_params

    @cached_property
    def active_params_with_embedding(self) -> int:
        """Active parameters with the input embedding counted [parameter]."""
        d = self.d_model
        active = sum(b.count * b.feedforward.active_params(d) for b in self.blocks)
        return self.outside_experts + active

    @cached_property
    def head_params(self) -> int:
        """The output head and the final norms [parameter]."""
        return self.embedding_params + self.final_norms * self.d_model

    @cached_property
    def routed_params(self) -> int:
        """Parameters of all routed experts [parameter]."""
        parts = [(b.count, p) for b in self.blocks for p in b.feedforward.parts(self.d_model)]
        return sum(count * part.total for count, part in parts if part.routed)

    def experts_read(self, tokens: ArrayLike, skew: float = 0.0) -> Array:
        """Share of all routed experts' parameters that a step of `tokens` tokens reads (F3.5)."""
        parts = [(b.count, p) for b in self.blocks for p in b.feedforward.parts(self.d_model)]
        read = np.asarray(0.0)
        for count, part in parts:
            if part.routed:
                read = read + count * part.read(tokens, skew)
        return read / self.routed_params

    def params_read(self, tokens: ArrayLike, skew: float = 0.0) -> Array:
        """Expected parameters streamed from memory by a step of `tokens` tokens [parameter].

        Of routed experts only the distinct ones that the tokens hit are read (F3.5);
        `skew` makes them fewer, see `feedforward.expected_distinct_experts`.
        """
        d = self.d_model
        read = np.asarray(float(self.outside_experts - self.gathered_params))
        for block in self.blocks:
            read = read + block.count * block.feedforward.params_read(d, tokens, skew)
        return read

    def kv_bytes_per_token(self, kv_format: NumberFormat) -> float:
        """Cache that one more token takes before any window is full [byte/token]."""
        return sum(b.count * b.attention.kv_bytes_per_token(kv_format) for b in self.blocks)

    def kv_bytes(self, context: ArrayLike, kv_format: NumberFormat) -> Array:
        """Cache that one sequence holds at a context length [byte]."""
        held = np.asarray(0.0)
        for block in self.blocks:
            held = held + block.count * block.attention.kv_bytes(context, kv_format)
        return held

    def kv_bytes_read(self, context: ArrayLike, kv_format: NumberFormat) -> Array:
        """Cache traffic of one sequence in one decode step [byte]."""
        moved = np.asarray(0.0)
        for block in self.blocks:
            moved = moved + block.count * block.attention.kv_bytes_read(context, kv_format)
        return moved

    def attention_intensity(self, context: ArrayLike, kv_format: NumberFormat) -> Array:
        """FLOPs of decode attention per byte of cache moved [FLOP/byte] (F3.3)."""
        return self.attention_flops(context) / self.kv_bytes_read(context, kv_format)

    def prefill_attention_flops(self, tokens: ArrayLike) -> Array:
        """Score and value FLOPs of a whole prompt under the causal mask [FLOP]."""
        flops = np.asarray(0.0)
        for block in self.blocks:
            flops = flops + block.count * block.attention.prefill_flops(tokens)
        return flops

    def attention_flops(self, context: ArrayLike) -> Array:
        """Score and value FLOPs of one decoded token at a context length [FLOP]."""
        flops = np.asarray(0.0)
        for block in self.blocks:
            flops = flops + block.count * block.attention.flops(context)
        return flops
