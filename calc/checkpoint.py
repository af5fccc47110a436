"""How the weights of a model are stored: in one format, or in one for each part.

Parts are called as the operators of a step are, with the input embedding beside them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Protocol

from calc.errors import LedgerError
from calc.formats import NumberFormat
from calc.words import marked, say

ATTENTION = marked("attention projections")
DENSE, SHARED, ROUTED = marked("dense MLP"), marked("shared experts"), marked("routed experts")
ROUTER, BETWEEN = marked("router"), marked("expert projections")
MAPS, LOW_RANK = marked("linear maps"), marked("low-rank maps")
STREAMS, INPUTS = marked("residual streams"), marked("per-layer inputs")
HEAD, EMBEDDING = marked("output head"), marked("input embedding")
PARTS = (
    ATTENTION, DENSE, SHARED, ROUTED, ROUTER, BETWEEN, MAPS, LOW_RANK, STREAMS, INPUTS, HEAD,
    EMBEDDING,
)  # fmt: skip


class Stored(Protocol):
    """What the core asks of stored weights; a `NumberFormat` is one format for all."""

    @property
    def id(self) -> str:
        """What links and tables call it."""

    @property
    def uniform(self) -> NumberFormat | None:
        """The format of all parts, if they have one."""

    @property
    def described(self) -> str:
        """Each part and its format, in words."""

    def of(self, part: str) -> NumberFormat:
        """The format of a part."""

    def multiplied(self, part: str, compute_format: NumberFormat) -> NumberFormat:
        """The format that a part is multiplied in."""

    def scaled(self, factor: float) -> Stored:
        """Weights that cost so many times the bytes."""


@dataclass(frozen=True)
class Checkpoint:
    """Weights as they are published: most of them in one format, some parts in others.

    Parameters
    ----------
    rest : NumberFormat
        The format of every part that is not named.
    parts : tuple of (str, NumberFormat)
        Formats of single parts.

    References
    ----------
    F9.2, mixed checkpoints.
    """

    rest: NumberFormat
    parts: tuple[tuple[str, NumberFormat], ...] = ()

    @classmethod
    def of_parts(cls, rest: NumberFormat, parts: Mapping[str, NumberFormat]) -> Checkpoint:
        """A checkpoint from formats by part; those that equal the rest are left out.

        Raises
        ------
        LedgerError
            If a part is none of `PARTS`.
        """
        for part in parts:
            if part not in PARTS:
                raise LedgerError(f"{part} is not one of {', '.join(PARTS)}")
        return cls(
            rest, tuple((part, parts[part]) for part in PARTS if parts.get(part, rest) != rest)
        )

    def only(self, parts: Iterable[str]) -> Checkpoint:
        """Without what it says of parts that a model does not have."""
        kept = set(parts)
        return replace(self, parts=tuple(pair for pair in self.parts if pair[0] in kept))

    @property
    def id(self) -> str:
        """Ids of its formats, that of the experts first."""
        ids = [self.of(ROUTED).id, *(f.id for _, f in self.parts), self.rest.id]
        return " + ".join(dict.fromkeys(ids))

    @property
    def uniform(self) -> NumberFormat | None:
        """The format of all parts, if they have one."""
        return None if self.parts else self.rest

    @property
    def described(self) -> str:
        """Each part and its format, in words."""
        told = [
            say("{part} {format}", part=say(part), format=found.id) for part, found in self.parts
        ]
        rest = say("the rest {format}", format=self.rest.id) if told else self.rest.id
        return ", ".join([*told, rest])

    def of(self, part: str) -> NumberFormat:
        """The format of a part."""
        return dict(self.parts).get(part, self.rest)

    def multiplied(self, part: str, compute_format: NumberFormat) -> NumberFormat:
        """The format that a part is multiplied in: wide weights are not narrowed on the way."""
        own = self.of(part)
        return own if own.rate and own.bits > compute_format.bits else compute_format

    def scaled(self, factor: float) -> Checkpoint:
        """Every part at so many times its bytes."""
        return replace(
            self,
            rest=self.rest.scaled(factor),
            parts=tuple((part, found.scaled(factor)) for part, found in self.parts),
        )


# What is taken where nobody says how a model is published.
UNSAID = Checkpoint(NumberFormat("bf16", "bfloat16", 16, "bf16"))
