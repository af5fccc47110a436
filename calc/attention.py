"""Attention kinds that keep a cache: the parameters, the cached bytes and the FLOPs of one layer.

Every kind is one class that answers the same questions (see `Attention`), so a model is a list of
layers and a hybrid model needs no branch anywhere: Gemma 3 is some layers of `GroupedQuery` and
some of `SlidingWindow` around one. Kinds that read a part of their cache are in
`calc.sparse_attention`, and those with a constant state instead of a cache in `calc.state_space`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from calc.errors import LedgerError
from calc.formats import NumberFormat
from calc.paging import window_blocks
from calc.words import say

Array = NDArray[np.float64]

# Of a figure that may be 0 though it has no default; all others are at least 1.
MAY_BE_ZERO: Mapping[str, int] = {"low": 0}


@dataclass(frozen=True, slots=True)
class HeadSplit:
    """How one attention layer divides over chips, and what travels if its cache is split further.

    Parameters
    ----------
    query_heads : int
        Heads that the projections can be split by; 0 when unknown or split in any way.
    cache_heads : int
        Heads that the cache can be split by: its chips beyond that hold copies. 0 when it splits
        in any way.
    query_elements, output_elements : int
        Elements of one token's queries, and of its attended values, over all heads.
    """

    query_heads: int
    cache_heads: int
    query_elements: int
    output_elements: int


SPLITS_ANY_WAY = HeadSplit(0, 0, 0, 0)


class Attention(ABC):
    """One attention layer: all that the core, presets and pages ask of a kind.

    A kind answers what is abstract here, and of the rest what is different for it.
    """

    @property
    @abstractmethod
    def label(self) -> str:
        """What the kind is called, with the figures that set its cache."""

    @property
    @abstractmethod
    def split(self) -> HeadSplit:
        """How the layer divides over chips."""

    @abstractmethod
    def params(self, d_model: int) -> int:
        """Parameters of the layer's projections [parameter]."""

    @property
    @abstractmethod
    def kv_elements_written(self) -> str:
        """Cached elements of one token as the product or sum they are, or in words."""

    @abstractmethod
    def kv_bytes_per_token(self, kv_format: NumberFormat) -> float:
        """Bytes that one more cached token adds, before any window is full [byte/token]."""

    @abstractmethod
    def kv_bytes(self, context: ArrayLike, kv_format: NumberFormat) -> Array:
        """Bytes one sequence keeps at a context length [byte]."""

    @abstractmethod
    def kv_bytes_read(self, context: ArrayLike, kv_format: NumberFormat) -> Array:
        """Bytes one sequence moves per decode step at a context length [byte]."""

    @abstractmethod
    def flops(self, context: ArrayLike) -> Array:
        """FLOPs of scores and values for one decoded token at a context length [FLOP]."""

    @abstractmethod
    def prefill_flops(self, tokens: ArrayLike) -> Array:
        """FLOPs of scores and values for a whole prompt under the causal mask [FLOP]."""

    @property
    def kernels(self) -> int:
        """Kernels that engines start for the layer in one step (F3.12): projections 2, itself 1."""
        return 3

    def tokens_kept(self, context: ArrayLike) -> Array | None:
        """Tokens kept, of `kv_bytes_per_token` each [token]; None if the cache is no product."""
        return None

    @property
    def paged_as(self) -> str:
        """What an engine pages the cache as, together with all layers of that name; empty if none.

        References
        ----------
        F2.4.
        """
        return "full"

    @property
    def equal_pages(self) -> bool:
        """Whether its cache lies in blocks of one size, each of so many tokens or of one state."""
        return True

    def blocks_held(self, longest: int, chunk: int, block: int) -> int:
        """Blocks that an engine reserves for one sequence, while a prompt chunk is read.

        References
        ----------
        F2.13.
        """
        return -(-longest // block)

    @property
    def core(self) -> PerToken | None:
        """The attention inside windows, sharing and indexers; None where there is none."""
        return None

    @property
    def multi_head(self) -> Attention | None:
        """The layer with a key and a value head for each query head; None if it has no such twin.

        References
        ----------
        F5.1.
        """
        return None

    def kv_params(self, d_model: int) -> int:
        """Parameters that the layer does without when it shares another's cache [parameter].

        0 where no published model shares the kind's cache.
        """
        return 0

    @property
    def absorption(self) -> float:
        """FLOPs of a query-key pair in decoding over those in a prompt; 1 unless latent (F5.1)."""
        return 1.0

    def unmasked_flops(self, tokens: int) -> float:
        """FLOPs of a prompt without a causal mask, each pair at its price in decoding [FLOP]."""
        return float(tokens) * float(self.flops(tokens))

    def index_flops(self, pairs: ArrayLike) -> Array:
        """Of so many pairs, FLOPs of the indexer, which no absorption changes [FLOP] (F2.10)."""
        return np.zeros(np.shape(pairs))


def causal_pairs(tokens: ArrayLike) -> Array:
    """Query-key pairs of a causal prompt, each token seeing itself and all before."""
    length = np.asarray(tokens, dtype=float)
    return np.asarray(length * (length + 1) / 2)


class PerToken(Attention):
    """Shared by kinds that cache a fixed number of elements for every token and read them all."""

    @property
    @abstractmethod
    def kv_elements(self) -> int:
        """Cached elements per token."""

    @property
    def kv_elements_written(self) -> str:
        return f"{self.kv_elements:,}"

    @property
    @abstractmethod
    def kv_vectors(self) -> int:
        """Cached vectors per token, each of which may carry a scale of its own."""

    @property
    @abstractmethod
    def flops_per_cached_token(self) -> int:
        """FLOPs that a decoded token spends on each cached token [FLOP]."""

    @property
    def flops_per_prefill_pair(self) -> int:
        """FLOPs of one query-key pair while a prompt is read [FLOP]."""
        return self.flops_per_cached_token

    @property
    def core(self) -> PerToken:
        return self

    @property
    def rotary_width(self) -> int:
        """Elements of a row in an engine's table of rotary positions; 0 where there is none."""
        return 0

    @property
    def multi_head(self) -> GroupedQuery | None:
        return None

    @property
    def latent(self) -> Latent | None:
        """The latent attention that it is, if it is one."""
        return None

    @property
    def absorption(self) -> float:
        pair = self.flops_per_prefill_pair
        return self.flops_per_cached_token / pair if pair else 1.0

    def tokens_kept(self, context: ArrayLike) -> Array:
        return np.asarray(context, dtype=float)

    def kv_bytes_per_token(self, kv_format: NumberFormat) -> float:
        return self.kv_elements * kv_format.bytes + self.kv_vectors * kv_format.vector_scale_bytes

    def kv_bytes(self, context: ArrayLike, kv_format: NumberFormat) -> Array:
        return np.asarray(context, dtype=float) * self.kv_bytes_per_token(kv_format)

    def kv_bytes_read(self, context: ArrayLike, kv_format: NumberFormat) -> Array:
        return self.kv_bytes(context, kv_format)

    def flops(self, context: ArrayLike) -> Array:
        return np.asarray(context, dtype=float) * self.flops_per_cached_token

    def prefill_flops(self, tokens: ArrayLike) -> Array:
        return causal_pairs(tokens) * self.flops_per_prefill_pair


@dataclass(frozen=True)
class GroupedQuery(PerToken):
    """Grouped-query attention; multi-head when ``kv_heads == heads``, multi-query when it is 1.

    Parameters
    ----------
    heads, kv_heads : int
        Query heads and key/value heads.
    head_dim : int
        Width of a head. It is a fact of its own and often not ``d_model / heads``.
    value_dim : int
        Width of a value head; 0 when it is `head_dim`.
    qkv_bias, output_bias, sinks, output_gate, head_gate, value_from_key : bool
        Extras that a parameter count exact to the integer needs: biases, attention sinks, a gate
        as wide as the values or one number a head, and values that are projected by the key's
        matrix.
    qk_norm, norm_each_head, norm_bias : bool
        Whether queries and keys are normed, with vectors of their own for each head, and a bias.
    inputs : int
        Model widths that queries, keys and values are projected from.

    References
    ----------
    Parameters F1.1; cache F2.1; FLOPs F3.2.
    """

    heads: int
    kv_heads: int
    head_dim: int
    value_dim: int = 0
    qkv_bias: bool = False
    output_bias: bool = False
    sinks: bool = False
    qk_norm: bool = False
    output_gate: bool = False
    value_from_key: bool = False
    head_gate: bool = False
    norm_each_head: bool = False
    norm_bias: bool = False
    inputs: int = 1

    def __post_init__(self) -> None:
        if self.heads % self.kv_heads:
            raise LedgerError(f"heads {self.heads} is not a multiple of kv_heads {self.kv_heads}")

    @property
    def label(self) -> str:
        if self.kv_heads == 1:
            return say("multi-query, {heads} KV heads", heads=self.kv_heads)
        if self.kv_heads == self.heads:
            return say("multi-head, {heads} KV heads", heads=self.kv_heads)
        return say("grouped-query, {heads} KV heads", heads=self.kv_heads)

    @property
    def split(self) -> HeadSplit:
        width, values = self.heads * self.head_dim, self.heads * self._value_dim
        return HeadSplit(self.heads, self.kv_heads, width, values)

    @property
    def _value_dim(self) -> int:
        return self.value_dim or self.head_dim

    @property
    def multi_head(self) -> GroupedQuery:
        return replace(self, kv_heads=self.heads)

    def kv_params(self, d_model: int) -> int:
        """The key and value projections."""
        keys = self.kv_heads * self.head_dim
        values = self.kv_heads * self._value_dim
        matrices = keys if self.value_from_key else keys + values
        small = self.qkv_bias * (keys + values) + self._norm(self.kv_heads)
        return self.inputs * d_model * matrices + small

    def _norm(self, heads: int) -> int:
        """Parameters of the norm of queries or of keys."""
        each = (1 + self.norm_bias) * self.head_dim
        return self.qk_norm * each * (heads if self.norm_each_head else 1)

    def params(self, d_model: int) -> int:
        query, values = self.heads * self.head_dim, self.heads * self._value_dim
        return (
            self.inputs * d_model * query
            + self.qkv_bias * query
            + self._norm(self.heads)
            + self.kv_params(d_model)
            + (1 + self.output_gate) * values * d_model
            + self.output_bias * d_model
            + self.sinks * self.heads
            + self.head_gate * self.heads * d_model
        )

    @property
    def rotary_width(self) -> int:
        return self.head_dim

    @property
    def kv_elements(self) -> int:
        """A key and a value for each KV head."""
        return self.kv_heads * (self.head_dim + self._value_dim)

    @property
    def kv_elements_written(self) -> str:
        return f"{self.kv_heads} × ({self.head_dim} + {self._value_dim})"

    @property
    def kv_vectors(self) -> int:
        return 2 * self.kv_heads

    @property
    def flops_per_cached_token(self) -> int:
        """A score and a weighted value per query head, 2 FLOP per multiply-add."""
        return 2 * self.heads * (self.head_dim + self._value_dim)


@dataclass(frozen=True)
class Latent(PerToken):
    """Multi-head latent attention (MLA) in its absorbed decode form, RoPE part decoupled.

    The latent and the RoPE key are cached once and shared by all heads: there is no factor 2,
    since keys and values are views of the same latent.

    Parameters
    ----------
    heads : int
        Query heads.
    q_rank : int
        Rank of the query compression; 0 when queries are projected directly.
    kv_rank, rope_dim, nope_dim, value_dim : int
        Latent width, decoupled RoPE width, and per-head key and value widths.
    output_gate : bool
        Whether a gate as wide as the values multiplies the output.

    References
    ----------
    Parameters F1.6; cache F2.2; FLOPs F3.3, prompts F5.1.
    """

    heads: int
    q_rank: int = field(metadata=MAY_BE_ZERO)
    kv_rank: int
    nope_dim: int
    rope_dim: int = field(metadata=MAY_BE_ZERO)
    value_dim: int
    output_gate: bool = False

    @property
    def label(self) -> str:
        return say("latent (MLA), {rank} + {rope}", rank=self.kv_rank, rope=self.rope_dim)

    @property
    def split(self) -> HeadSplit:
        """All heads read the one latent, so each chip needs the whole of it (F3.7)."""
        absorbed = self.kv_rank + self.rope_dim
        return HeadSplit(self.heads, 1, self.heads * absorbed, self.heads * self.kv_rank)

    @property
    def latent(self) -> Latent:
        return self

    @property
    def kernels(self) -> int:
        """Projections down, norm and up of queries and latent, out: 5; and itself."""
        return 6

    @property
    def multi_head(self) -> GroupedQuery:
        """Keys and values of each head as a prompt has them written out."""
        key = self.nope_dim + self.rope_dim
        return GroupedQuery(
            self.heads, self.heads, key, self.value_dim, output_gate=self.output_gate
        )

    def params(self, d_model: int) -> int:
        query_width = self.heads * (self.nope_dim + self.rope_dim)
        queries = (
            self.q_rank * (d_model + 1 + query_width) if self.q_rank else d_model * query_width
        )
        latent = d_model * (self.kv_rank + self.rope_dim) + self.kv_rank
        up = self.kv_rank * self.heads * (self.nope_dim + self.value_dim)
        out = (1 + self.output_gate) * self.heads * self.value_dim * d_model
        return queries + latent + up + out

    @property
    def rotary_width(self) -> int:
        return self.rope_dim

    @property
    def kv_elements(self) -> int:
        """The latent and one RoPE key."""
        return self.kv_rank + self.rope_dim

    @property
    def kv_elements_written(self) -> str:
        return f"{self.kv_rank} + {self.rope_dim}"

    @property
    def kv_vectors(self) -> int:
        return 1

    def kv_bytes_per_token(self, kv_format: NumberFormat) -> float:
        rope = self.rope_dim * (kv_format.rope_bits or kv_format.bits) / 8
        return self.kv_rank * kv_format.bytes + rope + kv_format.vector_scale_bytes

    @property
    def flops_per_cached_token(self) -> int:
        """Scores over latent and RoPE key, values over the latent, for each head."""
        return 2 * self.heads * (2 * self.kv_rank + self.rope_dim)

    @property
    def flops_per_prefill_pair(self) -> int:
        """A prompt is read with the keys and values of each head written out."""
        return 2 * self.heads * (self.nope_dim + self.rope_dim + self.value_dim)


@dataclass(frozen=True)
class Around(Attention):
    """Shared by kinds that stand around another one: what they do not answer, that one does."""

    inner: Attention

    @property
    def split(self) -> HeadSplit:
        return self.inner.split

    def params(self, d_model: int) -> int:
        return self.inner.params(d_model)

    @property
    def kernels(self) -> int:
        return self.inner.kernels

    @property
    def kv_elements_written(self) -> str:
        return self.inner.kv_elements_written

    @property
    def core(self) -> PerToken | None:
        return self.inner.core

    @property
    def multi_head(self) -> Attention | None:
        twin = self.inner.multi_head
        return None if twin is None else replace(self, inner=twin)

    def kv_params(self, d_model: int) -> int:
        return self.inner.kv_params(d_model)

    @property
    def absorption(self) -> float:
        return self.inner.absorption

    def index_flops(self, pairs: ArrayLike) -> Array:
        return self.inner.index_flops(pairs)


@dataclass(frozen=True)
class Limited(Around):
    """Shared by kinds that let a token see only part of what lies before it."""

    inner: PerToken

    @abstractmethod
    def tokens_kept(self, context: ArrayLike) -> Array:
        """Tokens whose cache must be kept [token]."""

    @abstractmethod
    def seen(self, context: ArrayLike) -> Array:
        """Tokens that the next one attends to [token]."""

    @abstractmethod
    def pairs(self, tokens: ArrayLike) -> Array:
        """Query-key pairs of a prompt."""

    @property
    def paged_as(self) -> str:
        return self.label

    def kv_bytes_per_token(self, kv_format: NumberFormat) -> float:
        return self.inner.kv_bytes_per_token(kv_format)

    def kv_bytes(self, context: ArrayLike, kv_format: NumberFormat) -> Array:
        return self.inner.kv_bytes(self.tokens_kept(context), kv_format)

    def kv_bytes_read(self, context: ArrayLike, kv_format: NumberFormat) -> Array:
        return self.inner.kv_bytes_read(self.seen(context), kv_format)

    def flops(self, context: ArrayLike) -> Array:
        return self.inner.flops(self.seen(context))

    def prefill_flops(self, tokens: ArrayLike) -> Array:
        return self.pairs(tokens) * self.inner.flops_per_prefill_pair


@dataclass(frozen=True)
class SlidingWindow(Limited):
    """An attention that sees the last `window` tokens only, the newest included.

    References
    ----------
    F2.3: kept and read tokens are ``min(context, window)``.
    """

    window: int

    @property
    def label(self) -> str:
        return say("window {size:,}, {inner}", size=self.window, inner=self.inner.label)

    def tokens_kept(self, context: ArrayLike) -> Array:
        return np.asarray(np.minimum(context, self.window), dtype=float)

    def blocks_held(self, longest: int, chunk: int, block: int) -> int:
        return window_blocks(self.window, longest, chunk, block)

    def seen(self, context: ArrayLike) -> Array:
        return self.tokens_kept(context)

    def pairs(self, tokens: ArrayLike) -> Array:
        length = np.asarray(tokens, dtype=float)
        within = np.minimum(length, self.window)
        return np.asarray(causal_pairs(within) + (length - within) * self.window)


@dataclass(frozen=True)
class Chunked(Limited):
    """An attention that sees back to the start of its own chunk (Llama 4).

    Kept is what the chunk may fill, read what it holds now: ``((context - 1) mod chunk) + 1``.

    References
    ----------
    F2.6.
    """

    chunk: int

    @property
    def label(self) -> str:
        return say("chunks of {size:,}, {inner}", size=self.chunk, inner=self.inner.label)

    def tokens_kept(self, context: ArrayLike) -> Array:
        return np.asarray(np.minimum(context, self.chunk), dtype=float)

    def blocks_held(self, longest: int, chunk: int, block: int) -> int:
        """A chunk of attention starts at the edge of a block: none is needed beside."""
        return -(-min(self.chunk + chunk, longest) // block)

    def seen(self, context: ArrayLike) -> Array:
        return np.asarray(np.mod(np.asarray(context, dtype=float) - 1, self.chunk) + 1)

    def pairs(self, tokens: ArrayLike) -> Array:
        length = np.asarray(tokens, dtype=float)
        whole = np.floor(length / self.chunk)
        rest = length - whole * self.chunk
        return np.asarray(whole * causal_pairs(self.chunk) + causal_pairs(rest))

    def unmasked_flops(self, tokens: int) -> float:
        """Of its chunks, none of which sees another."""
        whole, rest = divmod(tokens, self.chunk)
        each = self.inner.unmasked_flops
        return whole * each(self.chunk) + each(rest)


@dataclass(frozen=True)
class SharedCache(Around):
    """A layer that attends to the cache of an earlier one: it keeps nothing and reads it all.

    Capacity shrinks, read traffic does not (F2.5). It has no key and value
    projections of its own.
    """

    @property
    def label(self) -> str:
        return say("shared cache, {inner}", inner=self.inner.label)

    def params(self, d_model: int) -> int:
        return self.inner.params(d_model) - self.inner.kv_params(d_model)

    def kv_params(self, d_model: int) -> int:
        return 0

    @property
    def kv_elements_written(self) -> str:
        return say("none of its own")

    @property
    def paged_as(self) -> str:
        return ""

    def kv_bytes_per_token(self, kv_format: NumberFormat) -> float:
        return 0.0

    def kv_bytes(self, context: ArrayLike, kv_format: NumberFormat) -> Array:
        return np.zeros(np.shape(context))

    def kv_bytes_read(self, context: ArrayLike, kv_format: NumberFormat) -> Array:
        return self.inner.kv_bytes_read(context, kv_format)

    def flops(self, context: ArrayLike) -> Array:
        return self.inner.flops(context)

    def prefill_flops(self, tokens: ArrayLike) -> Array:
        return self.inner.prefill_flops(tokens)


@dataclass(frozen=True)
class CrossAttention(Around):
    """A layer that attends to an image alone (Llama 3.2 Vision): without one it keeps nothing.

    Two gates weigh what it adds (F2.12).
    """

    inner: GroupedQuery

    @property
    def label(self) -> str:
        return say("cross-attention to images, {inner}", inner=self.inner.label)

    def params(self, d_model: int) -> int:
        return self.inner.params(d_model) + 2

    @property
    def kv_elements_written(self) -> str:
        return say("none of text")

    @property
    def paged_as(self) -> str:
        return ""

    @property
    def multi_head(self) -> None:
        """None: it keeps its image, whatever the text is attended with."""
        return None

    def kv_bytes_per_token(self, kv_format: NumberFormat) -> float:
        return 0.0

    def kv_bytes(self, context: ArrayLike, kv_format: NumberFormat) -> Array:
        return np.zeros(np.shape(context))

    def kv_bytes_read(self, context: ArrayLike, kv_format: NumberFormat) -> Array:
        return np.zeros(np.shape(context))

    def flops(self, context: ArrayLike) -> Array:
        return np.zeros(np.shape(context))

    def prefill_flops(self, tokens: ArrayLike) -> Array:
        return np.zeros(np.shape(tokens))


@dataclass(frozen=True)
class StatedCache(PerToken):
    """Attention of a model known by its totals only: so many cached elements per token.

    Its projections are part of the stated parameters and its FLOPs are unknown, so both are 0 here.
    With no elements it stands for a layer without attention.
    """

    elements: int

    @property
    def label(self) -> str:
        return say("stated total") if self.elements else say("none")

    @property
    def split(self) -> HeadSplit:
        return SPLITS_ANY_WAY

    def params(self, d_model: int) -> int:
        return 0

    @property
    def kernels(self) -> int:
        return int(self.elements > 0)

    @property
    def kv_elements(self) -> int:
        return self.elements

    @property
    def kv_vectors(self) -> int:
        return 0

    @property
    def flops_per_cached_token(self) -> int:
        return 0


NO_ATTENTION = StatedCache(0)


# What preset files may name: kinds, and keys that put another kind around one.
KINDS: Mapping[str, type[Attention]] = {"grouped-query": GroupedQuery, "latent": Latent}
AROUND: Mapping[str, type[Around]] = {
    "window": SlidingWindow,
    "chunk": Chunked,
    "shared": SharedCache,
    "cross": CrossAttention,
}
