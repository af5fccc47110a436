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

STATE_BYTES = 4  # the recurrent state in fp32, as SGLang keeps it; vLLM keeps most in bf16
CONVOLUTION_BYTES = 2  # and the last inputs of the short convolution in bf16


class ConstantState(Attention):
    """What all of them share: a recurrent state, and the last inputs of a short convolution."""

    precision: int = STATE_BYTES

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
        return self.state_elements * self.precision + self.convolution_elements * CONVOLUTION_BYTES

    @property
    def kv_elements_written(self) -> str:
        return say("constant")

    @property
    def paged_as(self) -> str:
        return self.label

    def blocks_held(self, longest: int, chunk: int, block: int) -> int:
        """The whole state lies in one."""
        return 1

    def kv_bytes_per_token(self, kv_format: NumberFormat) -> float:
        return 0.0

    def kv_bytes(self, context: ArrayLike, kv_format: NumberFormat) -> Array:
        return np.asarray(np.ones(np.shape(context)) * self.state_bytes)

    def kv_bytes_read(self, context: ArrayLike, kv_format: NumberFormat) -> Array:
        """Read and written, once a step."""
        return 2 * self.kv_bytes(context, kv_format)

    def flops(self, context: ArrayLike) -> Array:
        """Decay, update and read-out, 2 FLOP each per element of the state."""
        return np.asarray(np.ones(np.shape(context)) * 6.0 * self.state_elements)

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
    precision : int
        Bytes of one element of the state.
    """

    key_heads: int
    value_heads: int
    key_dim: int
    value_dim: int
    convolution: int
    precision: int = STATE_BYTES

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

    `full_rank_gate` says that the output gate is a full projection instead of two thin ones of one
    head's width, as the decay always is.
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
        thin = self.head_dim * (d_model + width)
        gate = d_model * width if self.full_rank_gate else thin
        return (
            4 * d_model * width
            + 3 * width * self.convolution
            + thin
            + gate
            + d_model * self.heads
            + width
            + self.heads
            + self.head_dim
        )


@dataclass(frozen=True)
class Mamba(ConstantState):
    """Selective state space of the first kind (Mamba, Jamba).

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
    selection_norms, bias, convolution_bias : bool
        Norms of what the selection is made from (Jamba), and biases of the projections and of the
        convolution.
    precision : int
        Bytes of one element of the state.
    """

    inner: int
    state: int
    step_rank: int
    convolution: int
    selection_norms: bool = False
    bias: bool = False
    convolution_bias: bool = True
    precision: int = STATE_BYTES

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
            + self.inner * (self.convolution + self.convolution_bias)
            + self.inner * selection
            + self.selection_norms * selection
            + self.bias * (2 * self.inner + d_model)
            + (self.step_rank + 1) * self.inner
            + self.inner * (self.state + 1)
            + self.inner * d_model
        )


@dataclass(frozen=True)
class Mamba2(ConstantState):
    """Selective state space with heads (Nemotron-H, Granite 4).

    Parameters
    ----------
    heads, head_dim : int
        Heads and their width; together the channels.
    state : int
        State per channel.
    groups : int
        Groups of heads that share what they write to and read from the state with.
    convolution : int
        Taps of the short convolution.
    input_bias, output_bias, convolution_bias, gated_norm : bool
        Extras that a parameter count exact to the integer needs.
    precision : int
        Bytes of one element of the state.
    """

    heads: int
    head_dim: int
    state: int
    groups: int
    convolution: int
    input_bias: bool = False
    output_bias: bool = False
    convolution_bias: bool = True
    gated_norm: bool = True
    precision: int = STATE_BYTES

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
        projected = self._inner + self._mixed + self.heads
        return (
            (d_model + self.input_bias) * projected
            + self._mixed * (self.convolution + self.convolution_bias)
            + 3 * self.heads
            + self.gated_norm * self._inner
            + (self._inner + self.output_bias) * d_model
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


@dataclass(frozen=True)
class ShortConvolution(ConstantState):
    """A gated convolution over the last tokens and no state beside it (LFM2; F1.7).

    Parameters
    ----------
    channels : int
        Width of the convolution.
    convolution : int
        Its taps.
    bias : bool
        Whether the projections and the convolution have biases.
    """

    channels: int
    convolution: int
    bias: bool = False

    @property
    def label(self) -> str:
        return say(
            "short convolution, {channels} channels of {taps}",
            channels=self.channels,
            taps=self.convolution,
        )

    @property
    def state_heads(self) -> int:
        return self.channels

    @property
    def state_elements(self) -> int:
        return 0

    @property
    def convolution_elements(self) -> int:
        return self.channels * (self.convolution - 1)

    def params(self, d_model: int) -> int:
        matrices = 4 * d_model * self.channels + self.channels * self.convolution
        return matrices + self.bias * (4 * self.channels + d_model)


# What preset files may name.
KINDS: Mapping[str, type[Attention]] = {
    "gated-delta": GatedDeltaNet,
    "kimi-delta": KimiDelta,
    "mamba": Mamba,
    "mamba-2": Mamba2,
    "lightning": Lightning,
    "short-convolution": ShortConvolution,
}
