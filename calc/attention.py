"""Attention kinds: the parameters, the cached bytes and the FLOPs of one layer.

Every kind answers the same five questions (see `Attention`), so a model is a list of layers and a
hybrid model needs no branch anywhere: Gemma 3 is some layers of `GroupedQuery` and some of
`SlidingWindow`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from calc.formats import NumberFormat

Array = NDArray[np.float64]


class Attention(Protocol):
    """What the rest of the core asks of one attention layer."""

    def params(self, d_model: int) -> int:
        """Parameters of the layer's projections [parameter]."""

    def kv_bytes_per_token(self, kv_format: NumberFormat) -> float:
        """Bytes that one more cached token adds, before any window is full [byte/token]."""

    def kv_bytes(self, context: ArrayLike, kv_format: NumberFormat) -> Array:
        """Bytes one sequence keeps cached at a context length [byte]."""

    def kv_bytes_read(self, context: ArrayLike, kv_format: NumberFormat) -> Array:
        """Bytes one sequence moves per decode step at a context length [byte]."""

    def flops(self, context: ArrayLike) -> Array:
        """FLOPs of scores and values for one decoded token at a context length [FLOP]."""


class PerToken(ABC):
    """Shared by kinds that cache a fixed number of elements for every token and read them all."""

    @property
    @abstractmethod
    def kv_elements(self) -> int:
        """Cached elements per token."""

    @property
    @abstractmethod
    def flops_per_cached_token(self) -> int:
        """FLOPs that a decoded token spends on each cached token [FLOP]."""

    def kv_bytes_per_token(self, kv_format: NumberFormat) -> float:
        return self.kv_elements * kv_format.bytes

    def kv_bytes(self, context: ArrayLike, kv_format: NumberFormat) -> Array:
        return np.asarray(context, dtype=float) * self.kv_bytes_per_token(kv_format)

    def kv_bytes_read(self, context: ArrayLike, kv_format: NumberFormat) -> Array:
        return self.kv_bytes(context, kv_format)

    def flops(self, context: ArrayLike) -> Array:
        return np.asarray(context, dtype=float) * self.flops_per_cached_token


@dataclass(frozen=True)
class GroupedQuery(PerToken):
    """Grouped-query attention; multi-head when ``kv_heads == heads``, multi-query when it is 1.

    Parameters
    ----------
    heads, kv_heads : int
        Query heads and key/value heads.
    head_dim : int
        Width of a head. It is a fact of its own and often not ``d_model / heads``.
    qkv_bias, output_bias, sinks, qk_norm : bool
        Small extras that a parameter count exact to the integer needs.

    References
    ----------
    Parameters formulas.md F1.1; cache F2.1; FLOPs F3.2.
    """

    heads: int
    kv_heads: int
    head_dim: int
    qkv_bias: bool = False
    output_bias: bool = False
    sinks: bool = False
    qk_norm: bool = False

    def __post_init__(self) -> None:
        if self.heads % self.kv_heads:
            raise ValueError(f"heads {self.heads} is not a multiple of kv_heads {self.kv_heads}")

    def params(self, d_model: int) -> int:
        query, key_value = self.heads * self.head_dim, self.kv_heads * self.head_dim
        return (
            2 * d_model * (query + key_value)
            + self.qkv_bias * (query + 2 * key_value)
            + self.output_bias * d_model
            + self.sinks * self.heads
            + self.qk_norm * 2 * self.head_dim
        )

    @property
    def kv_elements(self) -> int:
        """Cached elements per token: a key and a value for each KV head."""
        return 2 * self.kv_heads * self.head_dim

    @property
    def flops_per_cached_token(self) -> int:
        """A score and a weighted value per query head, 2 FLOP per multiply-add."""
        return 4 * self.heads * self.head_dim


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

    References
    ----------
    Parameters formulas.md F1.6; cache F2.2; FLOPs F3.3.
    """

    heads: int
    q_rank: int
    kv_rank: int
    nope_dim: int
    rope_dim: int
    value_dim: int

    def params(self, d_model: int) -> int:
        query_width = self.heads * (self.nope_dim + self.rope_dim)
        queries = (
            self.q_rank * (d_model + 1 + query_width) if self.q_rank else d_model * query_width
        )
        latent = d_model * (self.kv_rank + self.rope_dim) + self.kv_rank
        up = self.kv_rank * self.heads * (self.nope_dim + self.value_dim)
        return queries + latent + up + self.heads * self.value_dim * d_model

    @property
    def kv_elements(self) -> int:
        """Cached elements per token: the latent and one RoPE key."""
        return self.kv_rank + self.rope_dim

    @property
    def flops_per_cached_token(self) -> int:
        """Scores over latent and RoPE key, values over the latent, for each head."""
        return 2 * self.heads * (2 * self.kv_rank + self.rope_dim)


@dataclass(frozen=True)
class SlidingWindow:
    """Any attention that sees the last `window` tokens only, the newest included.

    References
    ----------
    formulas.md F2.3: cached and read tokens are ``min(context, window)``.
    """

    inner: Attention
    window: int

    def within(self, context: ArrayLike) -> Array:
        """Tokens of the context that the window still shows [token]."""
        return np.asarray(np.minimum(context, self.window), dtype=float)

    def params(self, d_model: int) -> int:
        return self.inner.params(d_model)

    def kv_bytes_per_token(self, kv_format: NumberFormat) -> float:
        return self.inner.kv_bytes_per_token(kv_format)

    def kv_bytes(self, context: ArrayLike, kv_format: NumberFormat) -> Array:
        return self.inner.kv_bytes(self.within(context), kv_format)

    def kv_bytes_read(self, context: ArrayLike, kv_format: NumberFormat) -> Array:
        return self.inner.kv_bytes_read(self.within(context), kv_format)

    def flops(self, context: ArrayLike) -> Array:
        return self.inner.flops(self.within(context))


@dataclass(frozen=True)
class StatedCache(PerToken):
    """Attention of a model known by its totals only: so many cached elements per token.

    Its projections are part of the stated parameters and its FLOPs are unknown, so both are 0 here.
    """

    elements: int

    @property
    def kv_elements(self) -> int:
        return self.elements

    @property
    def flops_per_cached_token(self) -> int:
        return 0

    def params(self, d_model: int) -> int:
        return 0


# What preset files may name, and how; `window` wraps any of them in a `SlidingWindow`.
KINDS: Mapping[str, type] = {"grouped-query": GroupedQuery, "latent": Latent}
