"""A decoder as a list of blocks, and what it holds, reads and multiplies per step."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from calc.attention import Attention, StatedCache
from calc.checkpoint import ATTENTION, EMBEDDING, HEAD, ROUTED, Checkpoint, Stored
from calc.feedforward import NO_FEEDFORWARD, FeedForward, Part, StatedParams
from calc.formats import NumberFormat

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Block:
    """`count` equal layers, wherever they stand in the stack: sums do not depend on the order.

    `norms` is the number of model-wide norm vectors of one layer: 2, or 4 in Gemma (F1.3). Layers
    that run `beside` those of another block (an attention and a state in parallel) are no layers of
    their own. Layers that take turns with fewer weights than they are name how many `weight_sets`
    there are; 0 when each has its own.
    """

    count: int
    attention: Attention
    feedforward: FeedForward
    norms: int = 2
    beside: bool = False
    weight_sets: int = 0

    @property
    def stored(self) -> int:
        """Layers whose weights are stored."""
        return self.weight_sets or self.count


@dataclass(frozen=True, slots=True)
class Streamed:
    """A part of a model that a step reads: `runs` times, of which so many are `stored` apart."""

    runs: int
    stored: int
    part: Part


@dataclass(frozen=True)
class Resident:
    """Weights that memory holds though a step of text reads none of them.

    `name` is what the field calls them, such as a vision tower or draft layers for multi-token
    prediction; `params` their number, 0 where it is not known, and `routed` those of them that are
    routed experts, which are spread over chips as the decoder's are.
    """

    name: str
    params: int
    routed: int = 0


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
        Norm vectors before the first and after the last layer; 2 when one has a bias.
    head_bias : bool
        Whether the output head has a bias.
    max_context : int or None
        Longest context that the published configuration claims [token].
    positions : int
        Rows of a learned position table; 0 where positions are computed.
    rotary_rows : int
        Rows of the tables of rotary positions that engines keep for it; 0 where they are
        `max_context`.
    lookup : int
        Parameters of further tables that are gathered from, such as Gemma 3n's embeddings for each
        layer [parameter].
    outside : FeedForward
        What every token passes once, around the layers.
    checkpoint : Checkpoint or None
        How the published weights are stored; None when not said.
    resident : tuple of Resident
        What is loaded beside the decoder though a text step does not read it.
    hub : str
        Where the weights are published, as owner/name on the Hugging Face hub; empty when unknown.
    assumptions : tuple of str
        What was taken for granted where a configuration left something out.
    origin : str
        What it was edited from: the id of a preset, or a text as links carry custom models.
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
    head_bias: bool = False
    rotary_rows: int = 0
    lookup: int = 0
    outside: FeedForward = NO_FEEDFORWARD
    checkpoint: Checkpoint | None = None
    resident: tuple[Resident, ...] = ()
    hub: str = field(default="", compare=False)
    assumptions: tuple[str, ...] = field(default=(), compare=False, repr=False)
    origin: str = field(default="", compare=False, repr=False)
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
        return sum(block.count for block in self.blocks if not block.beside)

    @cached_property
    def kernels(self) -> int:
        """Kernels that engines start in one step: those of all layers, and 1 for the head (F3.12).

        Fixed before any constant was fitted; other plausible counts change the errors little.
        """
        d = self.d_model
        layers = sum(
            block.count
            * (block.attention.kernels + sum(one.kernels for one in block.feedforward.parts(d)))
            for block in self.blocks
        )
        return layers + sum(one.kernels for one in self.outside.parts(d)) + (self.head_params > 0)

    @cached_property
    def embedding_params(self) -> int:
        """One embedding table [parameter] (F1.4)."""
        return self.vocabulary * self.d_model

    @cached_property
    def gathered_params(self) -> int:
        """Tables that a step gathers a few rows of, never streams [parameter]."""
        rows = self.positions + (0 if self.tied else self.vocabulary)
        return rows * self.d_model + self.lookup

    @cached_property
    def streamed(self) -> tuple[Streamed, ...]:
        """What a step reads from memory, in the order a token passes it; norms with attention."""
        d = self.d_model
        found = [Streamed(1, 1, part) for part in self.outside.parts(d)]
        for block in self.blocks:
            own = Part(ATTENTION, block.attention.params(d) + block.norms * d)
            for part in (own, *block.feedforward.parts(d)):
                found.append(Streamed(block.count, block.stored, part))
        return (*found, Streamed(1, 1, Part(HEAD, self.head_params)))

    @cached_property
    def movable(self) -> tuple[Streamed, ...]:
        """What of it host memory may hold: routed experts, or all but the head without any."""
        routed = tuple(one for one in self.streamed if one.part.routed)
        return routed or tuple(one for one in self.streamed if one.part.name != HEAD)

    @cached_property
    def params_by_part(self) -> Mapping[str, int]:
        """All parameters by the part they belong to; norms count with what they stand before."""
        found = {EMBEDDING: self.gathered_params}
        for one in self.streamed:
            found[one.part.name] = found.get(one.part.name, 0) + one.stored * one.part.total
        return {name: params for name, params in found.items() if params}

    @cached_property
    def total_params(self) -> int:
        """All parameters, exact [parameter]."""
        return sum(self.params_by_part.values())

    @cached_property
    def active_params(self) -> int:
        """Parameters that multiply one decoded token [parameter].

        The input embedding is left out and the output head counted: the convention of DeepSeek
        and gpt-oss. Mixtral and Qwen3 publish `active_params_with_embedding` (F1.8).
        """
        return sum(one.runs * one.part.active for one in self.streamed)

    @cached_property
    def active_params_with_embedding(self) -> int:
        """Active parameters with the input embedding counted [parameter]."""
        return self.active_params + self.gathered_params - self.lookup

    @cached_property
    def head_params(self) -> int:
        """The output head and the final norms [parameter]."""
        bias = self.head_bias * self.vocabulary
        return self.embedding_params + bias + self.final_norms * self.d_model

    def weight_bytes(self, stored: Stored) -> float:
        """What all weights take as they are stored [byte] (F9.2)."""
        spread = sum(one.routed for one in self.resident)
        beside = (self.resident_params - spread) * stored.of(ATTENTION).bytes
        beside += spread * stored.of(ROUTED).bytes
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
        """What the routed experts take as they are stored, those beside the decoder too [byte]."""
        return self.held_routed * stored.of(ROUTED).bytes

    @cached_property
    def held_routed(self) -> int:
        """Parameters of routed experts that memory holds, those beside the decoder too."""
        return self.routed_params + sum(one.routed for one in self.resident)

    def bytes_read(self, tokens: ArrayLike, stored: Stored, skew: float = 0.0) -> Array:
        """Bytes that `params_read` takes as the weights are stored [byte]."""
        if stored.uniform is not None:
            return self.params_read(tokens, skew) * stored.uniform.bytes
        always = sum(
            one.runs * one.part.total * stored.of(one.part.name).bytes
            for one in self.streamed
            if not one.part.routed
        )
        return always + self._experts_read(tokens, skew) * stored.of(ROUTED).bytes

    def multiplied_in(
        self, stored: Stored, compute_format: NumberFormat
    ) -> Mapping[NumberFormat, int]:
        """Active parameters by the format that they are multiplied in [parameter]."""
        found: dict[NumberFormat, int] = {}
        if stored.uniform is not None:
            return {stored.multiplied(ATTENTION, compute_format): self.active_params}
        for one in self.streamed:
            used = stored.multiplied(one.part.name, compute_format)
            found[used] = found.get(used, 0) + one.runs * one.part.active
        return found

    @cached_property
    def routed_params(self) -> int:
        """Parameters of all routed experts [parameter]."""
        return sum(one.stored * one.part.total for one in self.streamed if one.part.routed)

    @cached_property
    def one_expert(self) -> int:
        """One routed expert of every layer that has some [parameter]."""
        return sum(one.stored * one.part.params for one in self.streamed if one.part.routed)

    def experts_read(self, tokens: ArrayLike, skew: float = 0.0) -> Array:
        """Share of all routed experts' parameters that a step of `tokens` tokens reads (F3.5)."""
        return self._experts_read(tokens, skew) / self.routed_params

    def _experts_read(self, tokens: ArrayLike, skew: float) -> Array:
        """Parameters of routed experts that a step reads [parameter]."""
        read = np.asarray(0.0)
        for one in self.streamed:
            if one.part.routed:
                read = read + one.runs * one.part.read(tokens, skew)
        return read

    @cached_property
    def _always_read(self) -> int:
        """Parameters that every step reads [parameter]."""
        return sum(one.runs * one.part.total for one in self.streamed if not one.part.routed)

    def params_read(self, tokens: ArrayLike, skew: float = 0.0) -> Array:
        """Expected parameters streamed from memory by a step of `tokens` tokens [parameter].

        Of routed experts only the distinct ones that the tokens hit are read (F3.5);
        `skew` makes them fewer, see `feedforward.expected_distinct_experts`.
        """
        return self._always_read + self._experts_read(tokens, skew)

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
        """FLOPs of decode attention per byte of cache moved [FLOP/byte]; nan if none is (F3.3)."""
        moved = np.asarray(self.kv_bytes_read(context, kv_format), dtype=float)
        return np.asarray(self.attention_flops(context) / np.where(moved > 0, moved, np.nan))

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
