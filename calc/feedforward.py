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

    def params(self, d_model: int) -> int:
        return (3 if self.gated else 2) * d_model * self.width

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
    router_bias, expert_bias : bool
        Small extras that a parameter count exact to the integer needs.

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

    def __post_init__(self) -> None:
        if not 0 < self.top_k <= self.experts:
            raise ValueError(f"top_k {self.top_k} is not between 1 and experts {self.experts}")

    def expert_params(self, d_model: int) -> int:
        """Parameters of one routed expert [parameter]."""
        bias = self.expert_bias * (2 * self.expert_width + d_model)
        return 3 * d_model * self.expert_width + bias

    def always_read(self, d_model: int) -> int:
        """Router and shared experts: read whatever the routing [parameter]."""
        router = self.experts * (d_model + self.router_bias)
        return router + 3 * d_model * self.shared_width

    def params(self, d_model: int) -> int:
        return self.always_read(d_model) + self.experts * self.expert_params(d_model)

    def active_params(self, d_model: int) -> int:
        return self.always_read(d_model) + self.top_k * self.expert_params(d_model)

    def params_read(self, d_model: int, tokens: ArrayLike) -> Array:
        hit = expected_distinct_experts(self.experts, self.top_k, tokens)
        return self.always_read(d_model) + hit * self.expert_params(d_model)


@dataclass(frozen=True)
class StatedParams:
    """Everything that a model known by its totals only multiplies and reads in one step."""

    total: int

    def params(self, d_model: int) -> int:
        return self.total

    def active_params(self, d_model: int) -> int:
        return self.total

    def params_read(self, d_model: int, tokens: ArrayLike) -> Array:
        return np.asarray(float(self.total))


# What preset files may name, and how.
KINDS: Mapping[str, type] = {"dense": Dense, "mixture-of-experts": MixtureOfExperts}
