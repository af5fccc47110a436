"""Feed-forward kinds: the parameters of one layer, and how many of them a step touches."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]


class FeedForward(Protocol):
    """What the rest of the core asks of one feed-forward layer."""

    def params(self, d_model: int) -> int:
        """All parameters of the layer [parameter]."""

    def active_params(self, d_model: int) -> int:
        """Parameters that multiply one token [parameter]."""

    def params_read(self, d_model: int, tokens: ArrayLike) -> Array:
        """Expected parameters read from memory by a step of `tokens` tokens [parameter]."""


def expected_distinct_experts(experts: int, top_k: int, tokens: ArrayLike) -> Array:
    """Experts of a layer that at least one of `tokens` tokens is routed to, on average.

    .. math:: E\\,(1 - (1 - k/E)^m)

    Exact for independent tokens with uniform routing; skewed routing touches fewer.

    Parameters
    ----------
    experts, top_k : int
        Routed experts of the layer, and experts per token.
    tokens : array_like
        Tokens in the step [token].

    References
    ----------
    formulas.md F3.5.

    Examples
    --------
    >>> round(float(expected_distinct_experts(256, 8, 8)), 1)
    57.4
    """
    untouched = np.power(1 - top_k / experts, np.asarray(tokens, dtype=float))
    return np.asarray(experts * (1 - untouched))


@dataclass(frozen=True)
class Dense:
    """A gated (SwiGLU, GeGLU) or plain two-matrix MLP of hidden size `width` (formulas.md F1.2)."""

    width: int
    gated: bool = True
    bias: bool = False

    def params(self, d_model: int) -> int:
        bias = self.bias * ((1 + self.gated) * self.width + d_model)
        return (3 if self.gated else 2) * d_model * self.width + bias

    def active_params(self, d_model: int) -> int:
        return self.params(d_model)

    def params_read(self, d_model: int, tokens: ArrayLike) -> Array:
        return np.asarray(float(self.params(d_model)))


@dataclass(frozen=True)
class MixtureOfExperts:
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
    Parameters formulas.md F1.5; active F1.8; read per step F3.5.
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
            raise ValueError(f"top_k {self.top_k} is not between 1 and experts {self.experts}")

    def expert_params(self, d_model: int) -> int:
        """Parameters of one routed expert [parameter]."""
        bias = self.expert_bias * (2 * self.expert_width + d_model)
        return self._matrices * (self.latent_width or d_model) * self.expert_width + bias

    @property
    def _matrices(self) -> int:
        return 3 if self.gated else 2

    def always_read(self, d_model: int) -> int:
        """Router, shared experts, projections: read whatever the routing [parameter]."""
        router = self.experts * (d_model + self.router_bias)
        shared = self._matrices * d_model * self.shared_width + self.shared_gate * d_model
        return router + shared + 2 * d_model * self.latent_width

    def params(self, d_model: int) -> int:
        return self.always_read(d_model) + self.experts * self.expert_params(d_model)

    def active_params(self, d_model: int) -> int:
        return self.always_read(d_model) + self.top_k * self.expert_params(d_model)

    def params_read(self, d_model: int, tokens: ArrayLike) -> Array:
        hit = expected_distinct_experts(self.experts, self.top_k, tokens)
        return self.always_read(d_model) + hit * self.expert_params(d_model)


@dataclass(frozen=True)
class Beside:
    """Two feed-forward layers at one place, both of which every token passes (Gemma 4)."""

    first: FeedForward
    second: FeedForward

    def params(self, d_model: int) -> int:
        return self.first.params(d_model) + self.second.params(d_model)

    def active_params(self, d_model: int) -> int:
        return self.first.active_params(d_model) + self.second.active_params(d_model)

    def params_read(self, d_model: int, tokens: ArrayLike) -> Array:
        return self.first.params_read(d_model, tokens) + self.second.params_read(d_model, tokens)


@dataclass(frozen=True)
class StatedParams:
    """Everything that a model known by its totals only multiplies and reads in one step.

    With none it stands for a layer without a feed-forward part.
    """

    total: int

    def params(self, d_model: int) -> int:
        return self.total

    def active_params(self, d_model: int) -> int:
        return self.total

    def params_read(self, d_model: int, tokens: ArrayLike) -> Array:
        return np.asarray(float(self.total))


NO_FEEDFORWARD = StatedParams(0)

# What preset files may name, and how.
KINDS: Mapping[str, type] = {"dense": Dense, "mixture-of-experts": MixtureOfExperts}
