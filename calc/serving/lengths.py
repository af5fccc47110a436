"""How long prompts and outputs are: distributions of whole tokens, at least one."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from calc.serving.errors import ServingError, positive
from calc.words import marked, say

Array = NDArray[np.float64]
Tokens = NDArray[np.int64]

# Longer prompts or outputs are not served: times are tabulated for every context.
LONGEST = 1 << 20


class Lengths(Protocol):
    """A distribution of lengths."""

    @property
    def mean(self) -> float:
        """Mean length before rounding [token]."""

    def at(self, mean: float) -> Lengths:
        """Lengths spread alike around another mean [token]."""

    def draw(self, random: np.random.Generator, count: int) -> Tokens:
        """So many lengths [token]."""


def whole_tokens(lengths: Array) -> Tokens:
    """Lengths rounded up to whole tokens, within 1 and `LONGEST`."""
    return np.clip(np.ceil(lengths), 1, LONGEST).astype(np.int64)


@dataclass(frozen=True)
class Constant:
    """All alike."""

    tokens: int

    def __post_init__(self) -> None:
        _check(self.tokens)

    @property
    def mean(self) -> float:
        return float(self.tokens)

    def at(self, mean: float) -> Constant:
        return Constant(round(mean))

    def draw(self, random: np.random.Generator, count: int) -> Tokens:
        return np.full(count, self.tokens, dtype=np.int64)


@dataclass(frozen=True)
class Lognormal:
    """Many short, few very long: `mean` [token] and `spread`, the deviation over the mean."""

    mean: float
    spread: float = 1.0

    def __post_init__(self) -> None:
        _check(self.mean)
        positive(marked("The spread of lengths"), self.spread)

    def at(self, mean: float) -> Lognormal:
        return replace(self, mean=mean)

    def draw(self, random: np.random.Generator, count: int) -> Tokens:
        sigma = math.sqrt(math.log1p(self.spread**2))
        center = math.log(self.mean) - sigma**2 / 2
        return whole_tokens(random.lognormal(center, sigma, count))


@dataclass(frozen=True)
class Exponential:
    """Memoryless, of a `mean` [token]: the case with closed forms."""

    mean: float

    def __post_init__(self) -> None:
        _check(self.mean)

    def at(self, mean: float) -> Exponential:
        return Exponential(mean)

    def draw(self, random: np.random.Generator, count: int) -> Tokens:
        return whole_tokens(random.exponential(self.mean, count))


@dataclass(frozen=True)
class Uniform:
    """Every length from `low` to `high` equally likely [token]."""

    low: int
    high: int

    def __post_init__(self) -> None:
        _check(self.low)
        _check(self.high)
        if self.low > self.high:
            raise ServingError(
                say(
                    "Lengths from {low:,} to {high:,} tokens run backwards.",
                    low=self.low,
                    high=self.high,
                )
            )

    @property
    def mean(self) -> float:
        return (self.low + self.high) / 2

    def at(self, mean: float) -> Uniform:
        return Uniform(*(_scaled(length, mean / self.mean) for length in (self.low, self.high)))

    def draw(self, random: np.random.Generator, count: int) -> Tokens:
        return random.integers(self.low, self.high, count, endpoint=True)


@dataclass(frozen=True)
class Mix:
    """One of a few lengths, each equally likely [token]."""

    tokens: tuple[int, ...]

    def __post_init__(self) -> None:
        if not self.tokens:
            raise ServingError(say("A mix of lengths names none."))
        for length in self.tokens:
            _check(length)

    @property
    def mean(self) -> float:
        return sum(self.tokens) / len(self.tokens)

    def at(self, mean: float) -> Mix:
        return Mix(tuple(_scaled(length, mean / self.mean) for length in self.tokens))

    def draw(self, random: np.random.Generator, count: int) -> Tokens:
        return random.choice(np.asarray(self.tokens, dtype=np.int64), count)


def _scaled(tokens: int, factor: float) -> int:
    return max(round(tokens * factor), 1)


def _check(tokens: float) -> None:
    if not 1 <= tokens <= LONGEST:
        raise ServingError(
            say(
                "A length is {tokens:g} tokens; it must be within 1 to {most:,}.",
                tokens=tokens,
                most=LONGEST,
            )
        )
