"""What a service is to keep, and among what it is looked for."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from statistics import NormalDist
from typing import Any

import numpy as np

from calc.chip import Chip
from calc.errors import LedgerError
from calc.formats import NumberFormat
from calc.plan import mix
from calc.plan.mix import Array, Part
from calc.serving import queueing
from calc.serving.classes import ServiceClass, shares
from calc.words import marked, say

# What counts as within a limit: the mean of all requests, or the slowest of so many.
PERCENTILES: Mapping[str, float | None] = {
    "mean": None, "p50": 0.5, "p90": 0.9, "p95": 0.95, "p99": 0.99,
}  # fmt: skip
OBJECTIVES: Mapping[str, str] = {
    "usd": marked("cheapest"),
    "chips": marked("fewest chips"),
    "energy": marked("least energy"),
    "fastest": marked("fastest"),
}
# One pool that reads prompts in chunks or whole, or two: named as policies of serving are.
ARRANGEMENTS: Mapping[str, str] = {
    "chunked": marked("one pool, prompts in chunks"),
    "continuous": marked("one pool, whole prompts"),
    "disaggregated": marked("two pools"),
}
BATCHES = tuple(sorted({round(2 ** (i / 4)) for i in range(49)}))
BUDGETS = (256, 512, 1024, 2048, 4096, 8192)
STAGES = (1, 2, 4, 8)
MOST_CHIPS = 64


class PlanError(LedgerError):
    """A plan cannot be asked for like this; the message says why."""


@dataclass(frozen=True)
class Ask:
    """Traffic, and the limits it is to be served within.

    Parameters
    ----------
    rate : float
        Requests each second [1/s].
    prompt, output : float
        Mean tokens of a prompt and of an answer [token].
    spread : float
        Deviation over mean of both lengths; 0 where all are alike.
    known : float
        Tokens of each prompt whose cache is there already [token].
    ttft, tpot : float
        Longest time to the first token, and per token after it [s].
    percentile : str
        Whose times these are, of `PERCENTILES`.
    headroom : float
        Share by which the rate may grow before a limit breaks.
    most_used : float
        Most of its time that a replica may spend on reading prompts.
    objective : str
        What is best, of `OBJECTIVES`.
    spare : bool
        Whether each pool has one replica more than it needs.
    classes : tuple of ServiceClass
        What requests are of, each with lengths and limits of its own; none where all are alike.
        Then lengths and limits above are those of `Ask.mixed`.

    Raises
    ------
    PlanError
        If a number cannot be.
    """

    rate: float
    prompt: float
    output: float
    spread: float = 0.0
    known: float = 0.0
    ttft: float = 2.0
    tpot: float = 0.05
    percentile: str = "mean"
    headroom: float = 0.2
    most_used: float = 0.9
    objective: str = "usd"
    spare: bool = False
    classes: tuple[ServiceClass, ...] = ()

    @classmethod
    def mixed(cls, classes: Sequence[ServiceClass], **others: Any) -> Ask:
        """An ask for classes of requests: mean lengths of all, and the strictest of the limits."""
        prompt, output = (
            sum(
                share * getattr(one, name)
                for share, one in zip(shares(classes), classes, strict=True)
            )
            for name in ("prompt", "output")
        )
        ttft, tpot = (min(getattr(one, name) for one in classes) for name in ("ttft", "tpot"))
        return cls(
            prompt=prompt, output=output, ttft=ttft, tpot=tpot, classes=tuple(classes), **others
        )

    def __post_init__(self) -> None:
        above = {
            marked("The rate"): self.rate,
            marked("The prompt"): self.prompt,
            marked("The answer"): self.output,
            marked("The limit on time to first token"): self.ttft,
            marked("The limit on time per output token"): self.tpot,
        }
        for name, value in above.items():
            if not (math.isfinite(value) and value > 0):
                raise PlanError(say("{what} must be above 0.", what=say(name)))
        if not 0 < self.most_used < 1:
            raise PlanError(say("The share in use must be between 0 and 1."))
        if self.headroom < 0 or self.spread < 0 or not 0 <= self.known < self.prompt:
            raise PlanError(say("Headroom, spread and cached prefix are out of range."))
        if self.percentile not in PERCENTILES or self.objective not in OBJECTIVES:
            raise PlanError(say("There is no such percentile or objective."))

    @property
    def needed(self) -> float:
        """Rate that the limits are to hold at, headroom included [1/s]."""
        return self.rate * (1 + self.headroom)

    @cached_property
    def parts(self) -> tuple[Part, ...]:
        """Requests that are alike: all, or those of each class; shares are 1 in sum."""
        if not self.classes:
            return (Part("", 1.0, self.prompt, self.output, self.known, self.ttft, self.tpot),)
        return tuple(
            Part(
                one.name, share, one.prompt, one.output,
                min(self.known, one.prompt - 1.0), one.ttft, one.tpot, self.ttft / one.ttft,
                self.tpot / one.tpot,
            )
            for share, one in zip(shares(self.classes), self.classes, strict=True)
        )  # fmt: skip

    @cached_property
    def steps(self) -> float:
        """Decode steps of an answer, on average."""
        return mix.mean(self.parts, lambda part: part.steps)

    def chunks(self, room: Array) -> Array:
        """Steps that read a prompt, on average, with so many of its tokens in each."""
        return mix.averaged(
            self.parts, [part.read / np.minimum(room, part.read) for part in self.parts]
        )

    @property
    def scatter(self) -> float:
        """1 + cv², by which spread lengths lengthen waits; of requests that are alike."""
        return 1 + self.spread**2

    @property
    def context(self) -> float:
        """Cached tokens of a decoding sequence, averaged over time [token] (F8.3)."""
        return mix.mean(
            self.parts,
            lambda part: part.steps / self.steps
            * queueing.mean_context(part.prompt, part.output * self.scatter),
        )  # fmt: skip

    @property
    def chance(self) -> float | None:
        """Share of requests that are to be within the limits; None for the mean."""
        return PERCENTILES[self.percentile]

    @property
    def deviations(self) -> float:
        """Standard deviations above the mean at that share."""
        return NormalDist().inv_cdf(self.chance) if self.chance else 0.0


@dataclass(frozen=True)
class Formats:
    """How weights, cache and products are kept.

    Parameters
    ----------
    weights : NumberFormat or None
        None as the model is published.
    kv, compute : NumberFormat
        Of the cache, and of the matrix products.
    otherwise : NumberFormat or None
        To compute in where a chip publishes no rate for `compute`.
    """

    weights: NumberFormat | None
    kv: NumberFormat
    compute: NumberFormat
    otherwise: NumberFormat | None = None

    def by_rate(self, chips: Sequence[Chip]) -> dict[Formats, tuple[Chip, ...]]:
        """What each chip computes in, as formats without an alternative."""
        found: dict[Formats, list[Chip]] = {}
        for chip in chips:
            instead = self.otherwise and not chip.publishes(self.compute)
            used = self.otherwise if instead and self.otherwise else self.compute
            found.setdefault(replace(self, compute=used, otherwise=None), []).append(chip)
        return {formats: tuple(members) for formats, members in found.items()}

    def on(self, chip: Chip) -> dict[str, Any]:
        """The fields of a scenario that it sets on a chip."""
        return {
            "chip": chip,
            "weight_format": self.weights,
            "kv_format": self.kv,
            "compute_format": self.compute,
        }


@dataclass(frozen=True)
class Space:
    """What is compared.

    Parameters
    ----------
    chips : tuple of Chip
        With the prices that are to be paid.
    formats : tuple of Formats
        Tried on every chip.
    arrangements : tuple of str
        Of `ARRANGEMENTS`.
    most : int
        Most chips of a replica.
    batches, budgets, stages : tuple of int
        The grid: decoding sequences of a replica, token budgets of a step, pipeline stages.
    """

    chips: tuple[Chip, ...]
    formats: tuple[Formats, ...]
    arrangements: tuple[str, ...] = tuple(ARRANGEMENTS)
    most: int = MOST_CHIPS
    batches: tuple[int, ...] = field(default=BATCHES, repr=False)
    budgets: tuple[int, ...] = BUDGETS
    stages: tuple[int, ...] = STAGES

    def __post_init__(self) -> None:
        if not self.chips:
            raise PlanError(say("No chip is chosen."))
        if not self.formats:
            raise PlanError(say("No number format is chosen."))
        if not self.arrangements or set(self.arrangements) - set(ARRANGEMENTS):
            raise PlanError(say("No arrangement is chosen."))

    def counts(self, chip: Chip) -> tuple[int, ...]:
        """Chips that a replica may have: slices that can be had, else powers of two."""
        usual = chip.slices or tuple(2**i for i in range(self.most.bit_length()))
        return tuple(count for count in usual if count <= self.most)
