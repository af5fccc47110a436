"""A decoder as a list of blocks, and what it holds, reads and multiplies per step."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from calc.attention import Attention, StatedCache
from calc.checkpoint import ATTENTION, EMBEDDING, HEAD, PARTS, ROUTED, Checkpoint, Stored
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
class Resident:
    """Weights that memory holds though a step of text reads none of them.

    `name` is what the field calls them, such as a vision tower or draft layers for multi-token
    prediction; `params` their number, 0 where it is not known.
    """

    name: str
    params: int


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
    checkpoint : Checkpoint or None
        How the published weights are stored; None when not said.
    resident : tuple of Resident
        What is loaded beside the decoder though a text step does not read it.
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
    checkpoint: Checkpoint | None = None
    resident: tuple[Resident, ...] = ()
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
    def params_by_part(self) -> Mapping[str, int]:
        """All parameters by the part they belong to; norms count with what they stand before."""
        d, found = self.d_model, dict.fromkeys(PARTS, 0)
        for block in self.blocks:
            found[ATTENTION] += block.count * (block.attention.params(d) + block.norms * d)
            for part in block.feedforward.parts(d):
                found[part.name] = found.get(part.name, 0) + block.count * part.total
        found[HEAD], found[EMBEDDING] = self.head_params, self.gathered_params
        return {name: params for name, params in found.items() if params}

    def weight_bytes(self, stored: Stored) -> float:
        """What all weights take as they are stored [byte] (method.md F9.2)."""
        beside = self.resident_params * stored.of(ATTENTION).bytes
        if stored.uniform is not None:
            return self.total_params * stored.uniform.bytes + beside
        return beside + sum(
            params * stored.of(part).bytes for part, params in self.params_by_part.items()
        )

    @cached_property
    def resident_params(self) -> int:
        """Parameters loaded beside the decoder [parameter]."""
        return sum(one.params for one in self.resident)

    @cached_property
    def held_params(self) -> int:
        """Parameters that memory holds, those beside the decoder included [parameter]."""
        return self.total_params + self.resident_params

    def routed_bytes(self, stored: Stored) -> float:
        """What the routed experts take as they are stored [byte]."""
        return self.routed_params * stored.of(ROUTED).bytes

    def bytes_read(self, tokens: ArrayLike, stored: Stored, skew: float = 0.0) -> Array:
        """Bytes that `params_read` takes as the weights are stored [byte]."""
        if stored.uniform is not None:
            return self.params_read(tokens, skew) * stored.uniform.bytes
        d = self.d_model
        read = np.asarray(self.head_params * stored.of(HEAD).bytes)
        for block in self.blocks:
            own = block.attention.params(d) + block.norms * d
            read = read + block.count * own * stored.of(ATTENTION).bytes
            for part in block.feedforward.parts(d):
                each = block.count * stored.of(part.name).bytes
                read = read + each * part.read(tokens, skew)
        return read

    def multiplied_in(
        self, stored: Stored, compute_format: NumberFormat
    ) -> Mapping[NumberFormat, int]:
        """Active parameters by the format that they are multiplied in [parameter]."""
        found: dict[NumberFormat, int] = {}
        if stored.uniform is not None:
            return {stored.multiplied(ATTENTION, compute_format): self.active_params}
        d = self.d_model
        parts = [(HEAD, self.head_params)]
        for block in self.blocks:
            own = block.attention.params(d) + block.norms * d
            parts.append((ATTENTION, block.count * own))
            parts += [(p.name, block.count * p.active) for p in block.feedforward.parts(d)]
        for part, params in parts:
            used = stored.multiplied(part, compute_format)
            found[used] = found.get(used, 0) + params
        return found

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
        stored = np.asarray(0.0)
        for block in self.blocks:
            stored = stored + block.count * block.attention.kv_bytes(context, kv_format)
        return stored

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
