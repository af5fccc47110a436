"""Layers that carry a constant state instead of a growing cache.

The state is as large at a million tokens as at one, and each decode step reads it and writes it
back: the traffic of a step is twice its size (F2.7).
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from calc.attention import Attention, HeadSplit
from calc.formats import NumberFormat
from calc.words import say

Array = NDArray[np.float64]

STATE_BYTES = 4  # engines keep the recurrent state in fp32
CONVOLUTION_BYTES = 2  # and the last inputs of the short convolution in bf16


class ConstantState(Attention):
    """What all of them share: a recurrent state, and the last inputs of a short convolution."""

    @property
    @abstractmethod
    def state_heads(self) -> int:
        """Heads, or channels, that states belong to."""

    @property
    def split(self) -> HeadSplit:
        """By head or channel; a state has no tokens that could be split further."""
        return HeadSplit(self.state_heads, self.state_heads, 0, 0)

    @property
    @abstractmethod
    def state_elements(self) -> int:
        """Elements of the recurrent state."""

    @property
    @abstractmethod
    def convolution_elements(self) -> int:
        """Inputs that the short convolution still needs."""

    @property
    def state_bytes(self) -> int:
        """Bytes of state for one sequence [byte]."""
        return self.state_elements * STATE_BYTES + self.convolution_elements * CONVOLUTION_BYTES

    @property
    def kv_elements_written(self) -> str:
        return say("constant")

    def kv_bytes_per_token(self, kv_format: NumberFormat) -> float:
        return 0.0

    def kv_bytes(self, context: ArrayLike, kv_format: NumberFormat) -> Array:
        return np.full(np.shape(context), float(self.state_bytes))

    def kv_bytes_read(self, context: ArrayLike, kv_format: NumberFormat) -> Array:
        """Read and written, once a step."""
        return 2 * self.kv_bytes(context, kv_format)

    def flops(self, context: ArrayLike) -> Array:
        """Decay, update and read-out, 2 FLOP each per element of the state."""
        return np.full(np.shape(context), 6.0 * self.state_elements)

    def prefill_flops(self, tokens: ArrayLike) -> Array:
        return np.asarray(tokens, dtype=float) * 6.0 * self.state_elements


@dataclass(frozen=True)
class GatedDeltaNet(ConstantState):
    """Gated delta rule (Qwen3-Next, Qwen3.5), parameters by F1.7.

    Parameters
    ----------
    key_heads, value_heads : int
        Heads of keys and queries, and of values.
    key_dim, value_dim : int
        Width of a head.
    convolution : int
        Taps of the short convolution.
    """

    key_heads: int
    value_heads: int
    key_dim: int
    value_dim: int
    convolution: int

    @property
    def label(self) -> str:
        return say(
            "gated DeltaNet, {heads} heads of {key} × {value}",
            heads=self.value_heads,
            key=self.key_dim,
            value=self.value_dim,
        )

    @property
    def _mixed(self) -> int:
        return 2 * self.key_heads * self.key_dim + self.value_heads * self.value_dim

    @property
    def state_heads(self) -> int:
        return self.value_heads

    @property
    def state_elements(self) -> int:
        return self.value_heads * self.key_dim * self.value_dim

    @property
    def convolution_elements(self) -> int:
        return self._mixed * (self.convolution - 1)

    def params(self, d_model: int) -> int:
        values = self.value_heads * self.value_dim
        return (
            d_model * (self._mixed + values)
            + d_model * 2 * self.value_heads
            + self._mixed * self.convolution
            + 2 * self.value_heads
            + self.value_dim
            + values * d_model
        )


@dataclass(frozen=True)
class KimiDelta(ConstantState):
    """Kimi delta attention: a delta rule whose decay is a gate per channel.

    `full_rank_gate` says that decay and output gates are full projections instead of two thin ones
    of one head's width.
    """

    heads: int
    head_dim: int
    convolution: int
    full_rank_gate: bool = False

    @property
    def label(self) -> str:
        return say(
            "Kimi delta attention, {heads} heads of {width}", heads=self.heads, width=self.head_dim
        )

    @property
    def state_heads(self) -> int:
        return self.heads

    @property
    def state_elements(self) -> int:
        return self.heads * self.head_dim**2

    @property
    def convolution_elements(self) -> int:
        return 3 * self.heads * self.head_dim * (self.convolution - 1)

    def params(self, d_model: int) -> int:
        width = self.heads * self.head_dim
        gate = d_model * width if self.full_rank_gate else self.head_dim * (d_model + width)
        return (
            4 * d_model * width
            + 3 * width * self.convolution
            + 2 * gate
            + d_model * self.heads
            + width
            + self.heads
            + self.head_dim
        )


@dataclass(frozen=True)
class Mamba(ConstantState):
    """Selective state space of the first kind (Jamba).

    Parameters
    ----------
    inner : int
        Channels, usually twice the model width.
    state : int
        State per channel.
    step_rank : int
        Rank of the step-size projection.
    convolution : int
        Taps of the short convolution.
    """

    inner: int
    state: int
    step_rank: int
    convolution: int

    @property
    def label(self) -> str:
        return say("Mamba, {channels} channels of {state}", channels=self.inner, state=self.state)

    @property
    def state_heads(self) -> int:
        return self.inner

    @property
    def state_elements(self) -> int:
        return self.inner * self.state

    @property
    def convolution_elements(self) -> int:
        return self.inner * (self.convolution - 1)

    def params(self, d_model: int) -> int:
        selection = self.step_rank + 2 * self.state
        return (
            2 * d_model * self.inner
            + self.inner * (self.convolution + 1)
            + self.inner * selection
            + selection
            + (self.step_rank + 1) * self.inner
            + self.inner * (self.state + 1)
            + self.inner * d_model
        )


@dataclass(frozen=True)
class Mamba2(ConstantState):
    """Selective state space with heads (Nemotron-H, Granite 4)."""

    heads: int
    head_dim: int
    state: int
    groups: int
    convolution: int

    @property
    def label(self) -> str:
        return say(
            "Mamba-2, {heads} heads of {width} × {state}",
            heads=self.heads,
            width=self.head_dim,
            state=self.state,
        )

    @property
    def _inner(self) -> int:
        return self.heads * self.head_dim

    @property
    def _mixed(self) -> int:
        return self._inner + 2 * self.groups * self.state

    @property
    def state_heads(self) -> int:
        return self.heads

    @property
    def state_elements(self) -> int:
        return self._inner * self.state

    @property
    def convolution_elements(self) -> int:
        return self._mixed * (self.convolution - 1)

    def params(self, d_model: int) -> int:
        return (
            d_model * (self._inner + self._mixed + self.heads)
            + self._mixed * (self.convolution + 1)
            + 3 * self.heads
            + self._inner
            + self._inner * d_model
        )


@dataclass(frozen=True)
class Lightning(ConstantState):
    """Lightning attention (MiniMax-M1): linear attention with an output gate."""

    heads: int
    head_dim: int

    @property
    def label(self) -> str:
        return say(
            "lightning attention, {heads} heads of {width}", heads=self.heads, width=self.head_dim
        )

    @property
    def state_heads(self) -> int:
        return self.heads

    @property
    def state_elements(self) -> int:
        return self.heads * self.head_dim**2

    @property
    def convolution_elements(self) -> int:
        return 0

    def params(self, d_model: int) -> int:
        width = self.heads * self.head_dim
        return 5 * d_model * width + width


# What preset files may name.
KINDS: Mapping[str, type[Attention]] = {
    "gated-delta": GatedDeltaNet,
    "kimi-delta": KimiDelta,
    "mamba": Mamba,
    "mamba-2": Mamba2,
    "lightning": Lightning,
}
