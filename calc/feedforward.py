"""Feed-forward kinds: the parts of one layer, and how many of their parameters a step touches."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from calc import checkpoint
from calc.errors import LedgerError
from calc.words import marked

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Part:
    """Matrices of a layer that act as one operator.

    A dense part is one expert that every token uses.

    Parameters
    ----------
    name : str
        What the field calls it, marked for translation.
    params : int
        Parameters of one expert [parameter].
    columns : int
        Hidden width of one expert, which tensor parallelism splits; 0 where it splits nothing.
    experts, top_k : int
        How many there are, and how many of them a token uses.
    bias : int
        Of `params`, those that are no matrix, which checkpoints leave unquantized.
    kernels : int
        Kernels that engines start for it in one step (F3.12).
    """

    name: str
    params: int
    columns: int = 0
    experts: int = 1
    top_k: int = 1
    bias: int = 0
    kernels: int = 2

    @property
    def routed(self) -> bool:
        """Whether a token passes only some of the experts."""
        return self.top_k < self.experts

    @property
    def total(self) -> int:
        """All parameters [parameter]."""
        return self.experts * self.params

    @property
    def active(self) -> int:
        """Parameters that multiply one token [parameter]."""
        return self.top_k * self.params

    def read(self, tokens: ArrayLike, skew: float = 0.0) -> Array:
        """Expected parameters read by a step of `tokens` tokens [parameter]."""
        if not self.routed:
            return np.asarray(float(self.total))
        return expected_distinct_experts(self.experts, self.top_k, tokens, skew) * self.params


class FeedForward(ABC):
    """One feed-forward layer, as the parts it is made of; all counts follow from them."""

    @abstractmethod
    def parts(self, d_model: int) -> tuple[Part, ...]:
        """The operators of the layer in a model of this width."""

    def params(self, d_model: int) -> int:
        """All parameters of the layer [parameter]."""
        return sum(part.total for part in self.parts(d_model))

    def active_params(self, d_model: int) -> int:
        """Parameters that multiply one token [parameter] (F1.8)."""
        return sum(part.active for part in self.parts(d_model))

    def params_read(self, d_model: int, tokens: ArrayLike, skew: float = 0.0) -> Array:
        """Expected parameters read from memory by a step of `tokens` tokens [parameter]."""
        read = np.asarray(0.0)
        for part in self.parts(d_model):
            read = read + part.read(tokens, skew)
        return read


def expected_distinct_experts(
    experts: int, top_k: int, tokens: ArrayLike, skew: float = 0.0
) -> Array:
    """Experts of a layer that at least one of `tokens` tokens is routed to, on average.

    .. math:: E\\,(1 - (1 - k/E)^{m^{1 - \\sigma}})

    Exact for independent tokens with uniform routing. Skewed routing touches fewer, as though only
    ``tokens ** (1 - skew)`` of the tokens chose for themselves.

    Parameters
    ----------
    experts, top_k : int
        Routed experts of the layer, and experts per token.
    tokens : array_like
        Tokens in the step [token].
    skew : float
        0 for uniform routing, 1 when all tokens choose the same `top_k`.

    References
    ----------
    F3.5; the skew between its two limits is ours.

    Examples
    --------
    >>> round(float(expected_distinct_experts(256, 8, 8)), 1)
    57.4
    >>> round(float(expected_distinct_experts(256, 8, 1000, skew=1.0)), 9)
    8.0
    """
    own = np.asarray(tokens, dtype=float)
    if skew:
        own = np.power(own, 1.0 - skew)
    return np.asarray(experts * (1 - np.power(1 - top_k / experts, own)))


@dataclass(frozen=True)
class Dense(FeedForward):
    """A gated (SwiGLU, GeGLU) or plain two-matrix MLP of hidden size `width` (F1.2).

    `scalars` are single saved numbers of the layer, such as an activation's or the layer's own
    scale.
    """

    width: int
    gated: bool = True
    bias: bool = False
    scalars: int = 0

    def parts(self, d_model: int) -> tuple[Part, ...]:
        small = self.bias * ((1 + self.gated) * self.width + d_model) + self.scalars
        matrices = (3 if self.gated else 2) * d_model * self.width
        return (Part(checkpoint.DENSE, matrices + small, self.width, bias=small),)


@dataclass(frozen=True)
class MixtureOfExperts(FeedForward):
    """Routed experts of which every token uses `top_k`, beside shared ones that it always uses.

    Parameters
    ----------
    experts, top_k : int
        Routed experts, and routed experts per token.
    expert_width : int
        Hidden size of one routed expert.
    shared_width : int
        Hidden size of all shared experts together; 0 for none.
    router_bias, expert_bias, shared_bias, shared_gate, router_scale, latent_norm : bool
        Small extras that a parameter count exact to the integer needs: biases of the router, of
        each expert and of the shared ones, a gate on the shared ones, a scale of the router's
        input and one per expert, and a norm of `latent_width`.
    gated : bool
        Whether an expert has three matrices (SwiGLU) or two.
    latent_width : int
        Width that routed experts work in, between two shared projections; 0 for the model's own.
    zero_experts : int
        Experts that return their input: the router knows them, and they have no weights. The
        `top_k` that a token uses are counted as though none of them were such.

    References
    ----------
    Parameters F1.5; read per step F3.5.
    """

    experts: int
    top_k: int
    expert_width: int
    shared_width: int = 0
    router_bias: bool = False
    expert_bias: bool = False
    shared_gate: bool = False
    gated: bool = True
    latent_width: int = 0
    shared_bias: bool = False
    router_scale: bool = False
    latent_norm: bool = False
    zero_experts: int = 0

    def __post_init__(self) -> None:
        if not 0 < self.top_k <= self.experts:
            raise LedgerError(f"top_k {self.top_k} is not between 1 and experts {self.experts}")

    @property
    def _matrices(self) -> int:
        return 3 if self.gated else 2

    def parts(self, d_model: int) -> tuple[Part, ...]:
        width = self.latent_width or d_model
        bias = self.expert_bias * ((1 + self.gated) * self.expert_width + width)
        expert = self._matrices * width * self.expert_width + bias
        shared_bias = self.shared_bias * ((1 + self.gated) * self.shared_width + d_model)
        shared = self._matrices * d_model * self.shared_width + self.shared_gate * d_model
        norm = self.latent_norm * self.latent_width
        scores = self.experts + self.zero_experts
        scales = self.router_scale * (d_model + self.experts) + self.router_bias * scores
        always = (
            Part(checkpoint.ROUTER, scores * d_model + scales, bias=scales),
            Part(checkpoint.SHARED, shared + shared_bias, self.shared_width, bias=shared_bias),
            Part(checkpoint.BETWEEN, 2 * d_model * self.latent_width + norm, bias=norm),
        )
        return (
            *(part for part in always if part.params),
            Part(
                checkpoint.ROUTED,
                expert,
                self.expert_width,
                self.experts,
                self.top_k,
                bias,
                kernels=5,
            ),
        )


@dataclass(frozen=True)
class Beside(FeedForward):
    """Two things at one place, both of which every token passes (Gemma 4)."""

    first: FeedForward
    second: FeedForward

    def parts(self, d_model: int) -> tuple[Part, ...]:
        return self.first.parts(d_model) + self.second.parts(d_model)


@dataclass(frozen=True)
class StatedParams(FeedForward):
    """Everything that a model known by its totals only multiplies and reads in one step.

    With none it stands for a layer without a feed-forward part.
    """

    total: int

    def parts(self, d_model: int) -> tuple[Part, ...]:
        return (Part(marked("all weights"), self.total, kernels=1),) if self.total else ()


NO_FEEDFORWARD = StatedParams(0)


@dataclass(frozen=True)
class Linear(FeedForward):
    """`count` square matrices of the model's width, in a layer's place or around all (F1.10)."""

    count: int = 1

    def parts(self, d_model: int) -> tuple[Part, ...]:
        return (Part(checkpoint.MAPS, self.count * d_model**2),)


@dataclass(frozen=True)
class LowRank(FeedForward):
    """Two thin matrices through `rank` columns: an adapter, or a way beside the layer.

    `outputs` is the width that comes out, 0 for the model's own; `norm` a norm of that width.
    """

    rank: int
    outputs: int = 0
    norm: bool = False

    def parts(self, d_model: int) -> tuple[Part, ...]:
        outputs = self.outputs or d_model
        norm = self.norm * outputs
        return (Part(checkpoint.LOW_RANK, self.rank * (d_model + outputs) + norm, bias=norm),)


@dataclass(frozen=True)
class PerLayerInputs(FeedForward):
    """What makes an input of `width` for each of `layers` layers from the embedding (Gemma 3n)."""

    width: int
    layers: int

    def parts(self, d_model: int) -> tuple[Part, ...]:
        matrix = d_model * self.width * self.layers
        return (Part(checkpoint.INPUTS, matrix + self.width, bias=self.width),)


@dataclass(frozen=True)
class AltUp(FeedForward):
    """Alternating updates: predicts and corrects `streams` residual streams (Gemma 3n; F1.10)."""

    streams: int

    def parts(self, d_model: int) -> tuple[Part, ...]:
        n, norms = self.streams, 2 * d_model
        mixing = n**2 + n**3 + n * d_model
        return (Part(checkpoint.STREAMS, mixing + norms, bias=norms),)


@dataclass(frozen=True)
class HyperConnections(FeedForward):
    """Mixes `streams` residual streams around attention and experts (DeepSeek-V4; F1.10)."""

    streams: int

    def parts(self, d_model: int) -> tuple[Part, ...]:
        mixed = (2 + self.streams) * self.streams
        small = 2 * (mixed + 3)
        matrices = 2 * mixed * self.streams * d_model
        return (Part(checkpoint.STREAMS, matrices + small, bias=small),)


@dataclass(frozen=True)
class StreamsJoined(FeedForward):
    """Joins `streams` residual streams into one after the last layer (DeepSeek-V4)."""

    streams: int

    def parts(self, d_model: int) -> tuple[Part, ...]:
        small = self.streams + 1
        matrix = self.streams**2 * d_model
        return (Part(checkpoint.STREAMS, matrix + small, bias=small),)


# What preset files may name, and how; the key that puts another one at the same place: beside.
KINDS: Mapping[str, type] = {
    "dense": Dense,
    "mixture-of-experts": MixtureOfExperts,
    "linear": Linear,
    "low-rank": LowRank,
    "per-layer-inputs": PerLayerInputs,
    "alternating-updates": AltUp,
    "hyper-connections": HyperConnections,
    "streams-joined": StreamsJoined,
}
