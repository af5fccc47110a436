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
    """

    name: str
    params: int
    columns: int = 0
    experts: int = 1
    top_k: int = 1
    bias: int = 0

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
    """A gated (SwiGLU, GeGLU) or plain two-matrix MLP of hidden size `width` (F1.2)."""

    width: int
    gated: bool = True
    bias: bool = False

    def parts(self, d_model: int) -> tuple[Part, ...]:
        bias = self.bias * ((1 + self.gated) * self.width + d_model)
        matrices = (3 if self.gated else 2) * d_model * self.width
        return (Part(checkpoint.DENSE, matrices + bias, self.width),)


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
    router_bias, expert_bias, shared_gate : bool
        Small extras that a parameter count exact to the integer needs.
    gated : bool
        Whether an expert has three matrices (SwiGLU) or two.
    latent_width : int
        Width that routed experts work in, between two shared projections; 0 for the model's own.

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

    def __post_init__(self) -> None:
        if not 0 < self.top_k <= self.experts:
            raise LedgerError(f"top_k {self.top_k} is not between 1 and experts {self.experts}")

    @property
    def _matrices(self) -> int:
        return 3 if self.gated else 2

    def parts(self, d_model: int) -> tuple[Part, ...]:
        bias = self.expert_bias * (2 * self.expert_width + d_model)
        expert = self._matrices * (self.latent_width or d_model) * self.expert_width + bias
        shared = self._matrices * d_model * self.shared_width + self.shared_gate * d_model
        always = (
            Part(checkpoint.ROUTER, self.experts * (d_model + self.router_bias)),
            Part(checkpoint.SHARED, shared, self.shared_width),
            Part(checkpoint.BETWEEN, 2 * d_model * self.latent_width),
        )
        return (
            *(part for part in always if part.params),
            Part(checkpoint.ROUTED, expert, self.expert_width, self.experts, self.top_k, bias),
        )


@dataclass(frozen=True)
class Beside(FeedForward):
    """Two feed-forward layers at one place, both of which every token passes (Gemma 4)."""

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
        return (Part(marked("all weights"), self.total),) if self.total else ()


NO_FEEDFORWARD = StatedParams(0)

# What preset files may name, and how.
KINDS: Mapping[str, type] = {"dense": Dense, "mixture-of-experts": MixtureOfExperts}
