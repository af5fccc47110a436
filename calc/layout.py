"""How the chips of one replica divide the work.

A replica is ``pipeline`` stages of ``dp`` groups of ``tp`` chips. A group splits every matrix and
the cache of its own sequences over its chips; groups hold copies of all that is no routed expert.
Routed experts are split like the rest, or with ``ep > 1`` spread over all chips of the stage.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from calc import host
from calc.attention import HeadSplit
from calc.checkpoint import ROUTED
from calc.feedforward import Part
from calc.words import marked, say

if TYPE_CHECKING:
    from calc.model import Model
    from calc.scenario import Scenario

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Layout:
    """Widths of one layout, or arrays of them to look at many at once.

    Parameters
    ----------
    tp, dp, ep, pp : array_like
        Chips of a group, groups of a stage, ways that experts are spread, stages.
    micro_batches : array_like
        Parts that the batch is cut into.
    """

    tp: Array
    dp: Array
    ep: Array
    pp: Array
    micro_batches: Array

    @classmethod
    def of_widths(
        cls,
        tp: ArrayLike,
        dp: ArrayLike = 1,
        ep: ArrayLike = 1,
        pp: ArrayLike = 1,
        micro_batches: ArrayLike = 0,
    ) -> Layout:
        """A layout of widths; with 0 micro-batches, one for each stage."""
        stages, parts = np.asarray(pp, dtype=float), np.asarray(micro_batches, dtype=float)
        return cls(
            np.asarray(tp, dtype=float),
            np.asarray(dp, dtype=float),
            np.asarray(ep, dtype=float),
            stages,
            np.where(parts > 0, parts, stages),
        )

    @classmethod
    def of(cls, scenario: Scenario) -> Layout:
        """The layout of a scenario; if its widths do not make its chips, nearby ones."""
        s = scenario
        tp, dp, pp = widths(s)
        ep = s.expert_parallel if tp * dp % s.expert_parallel == 0 else 1
        return cls.of_widths(tp, dp, ep, pp, s.micro_batches)

    @property
    def stage(self) -> Array:
        """Chips of one stage."""
        return self.tp * self.dp

    @property
    def chips(self) -> Array:
        """Chips of the replica."""
        return self.stage * self.pp

    @property
    def rounds(self) -> Array:
        """How often the time of one micro-batch through all stages passes in one step.

        With as many micro-batches as stages all are busy; fewer leave bubbles, more take longer
        and read the weights once more each (F3.9).
        """
        return np.maximum(self.pp, self.micro_batches) / self.pp

    def expert_ways(self) -> Array:
        """Chips that share all routed experts of a layer."""
        return np.where(self.ep > 1, self.stage, self.tp)

    def cache_share(
        self, split: HeadSplit, kv_sharding: str, sequences: Array | None = None
    ) -> Array:
        """Part of its group's cache that one chip reads.

        Heads are dealt out first. Beyond them a chip holds a copy, unless the cache is split by
        batch, as far as there are `sequences` to deal out, or by sequence (F3.7, F3.8).
        """
        if not split.cache_heads:
            return 1 / self.tp
        by_head = np.ceil(split.cache_heads / self.tp) / split.cache_heads
        if kv_sharding == "replicated" or not split.query_elements:
            return np.asarray(by_head)
        parted = 1 / self.tp
        if kv_sharding == "batch" and sequences is not None:
            sharing = self.copies_per_head(split)
            parted = by_head * np.ceil(sequences / sharing) / np.maximum(sequences, 1)
        return np.where(self.tp > split.cache_heads, parted, by_head)

    def copies_per_head(self, split: HeadSplit) -> Array:
        """Chips that share one cached head, copied or split."""
        if not split.cache_heads:
            return np.ones_like(self.tp)
        return np.maximum(1.0, self.tp / split.cache_heads)

    def copies(self, split: HeadSplit, scenario: Scenario) -> Array:
        """Chips that hold the same part of a cache, and share the query heads that read it."""
        if scenario.kv_sharding != "replicated" and split.query_elements:
            return np.ones_like(self.tp)
        return self.copies_per_head(split)

    def sequences(self, batch: ArrayLike) -> Array:
        """Sequences of the fullest group in one micro-batch."""
        parts = self.dp * self.micro_batches
        return np.asarray(np.ceil(np.asarray(batch, dtype=float) / parts))

    def weights_per_chip(self, scenario: Scenario) -> Array:
        """Weights that one chip holds, layers spread evenly over stages [byte]."""
        s, model = scenario, scenario.model
        dense = model.weight_bytes(s.stored) - model.routed_bytes(s.stored)
        if not model.routed_params:
            dense -= host.weights(s)
        return dense / (self.tp * self.pp) + self.experts_per_chip(s)

    def experts_per_chip(self, scenario: Scenario) -> Array:
        """Of those the routed experts and their second copies [byte]."""
        s, model = scenario, scenario.model
        held = model.routed_bytes(s.stored) * (1 - s.host_share if model.routed_params else 1)
        return (held + self.redundant_bytes(s)) / (self.expert_ways() * self.pp)

    def redundant_bytes(self, scenario: Scenario) -> Array:
        """Second copies of experts on the chips of all stages, where experts are spread [byte]."""
        s = scenario
        each = s.model.one_expert * s.stored.of(ROUTED).bytes * (1 - s.host_share)
        return np.where(self.ep > 1, s.redundant_experts * each, 0.0)

    def cache_per_chip(self, scenario: Scenario, context: ArrayLike) -> Array:
        """Cache of one sequence that a chip of its group holds, by layer evenly over stages [B]."""
        s, stored = scenario, np.asarray(0.0)
        for block in s.model.blocks:
            share = self.cache_share(block.attention.split, s.kv_sharding)
            stored = stored + block.count * block.attention.kv_bytes(context, s.kv_format) * share
        return stored / self.pp


def widths(scenario: Scenario) -> tuple[int, int, int]:
    """Tensor, data and pipeline widths that make up the scenario's chips.

    What a scenario asks for is used if it multiplies to its chips; else the tensor width gives way,
    and if that does not help all chips are one group.
    """
    s = scenario
    groups = s.attention_dp * s.pipeline
    if s.n_chips % groups == 0:
        return s.n_chips // groups, s.attention_dp, s.pipeline
    return s.n_chips, 1, 1


def with_chips(s: Scenario, n: int) -> Scenario | None:
    """It on `n` chips, tensor parallel taking up the rest; None if other widths change."""
    if s.fidelity == "bound":
        return replace(s, n_chips=n)
    changed = replace(s, n_chips=n, tensor_parallel=0)
    was, now = Layout.of(s), Layout.of(changed)
    kept = (was.dp, was.ep, was.pp) == (now.dp, now.ep, now.pp)
    return changed if kept else None


def problems(scenario: Scenario) -> list[str]:
    """What is wrong with the widths a scenario asks for, and what is used instead."""
    s, found = scenario, []
    tp, dp, pp = widths(s)
    asked = (s.tensor_parallel or tp) * s.attention_dp * s.pipeline
    if s.n_chips % (s.attention_dp * s.pipeline) or asked != s.n_chips:
        found.append(
            say(
                "Tensor × data × pipeline is {asked} × {groups} × {stages}, not {chips} chips; "
                "{tp} × {dp} × {pp} is used.",
                asked=s.tensor_parallel or say("all"),
                groups=s.attention_dp,
                stages=s.pipeline,
                chips=s.n_chips,
                tp=tp,
                dp=dp,
                pp=pp,
            )
        )
    if tp * dp % s.expert_parallel:
        found.append(
            say(
                "Expert parallel {ep} does not divide the {chips} chips of a stage; 1 is used.",
                ep=s.expert_parallel,
                chips=tp * dp,
            )
        )
    ep = s.expert_parallel if tp * dp % s.expert_parallel == 0 else 1
    if s.redundant_experts and ep == 1:
        found.append(say("Experts that are not spread have no redundant copies."))
    return found + illegal(s.model, tp, dp, ep, pp, s.redundant_experts)


def illegal(
    model: Model, tp: int, dp: int = 1, ep: int = 1, pp: int = 1, redundant: int = 0
) -> list[str]:
    """Shapes of a model that widths do not divide, in words; times then assume an even split."""
    found = []
    for name, size in shapes(model, ep).items():
        if size % tp and not (name == "KV heads" and tp % size == 0):
            found.append(say(_UNSPLIT[name], size=size, tp=tp))
    experts = {part.experts for part in _parts(model) if part.routed}
    if ep > 1 and not experts:
        found.append(say("The model has no routed experts to spread."))
    copies = redundant if ep > 1 else 0
    found += [say("{number} experts do not split {ep} ways.", number=number + copies, ep=ep)
              for number in experts if (number + copies) % ep]  # fmt: skip
    ways = tp * dp // ep
    columns = {part.columns for part in _parts(model) if part.routed} if ep > 1 else set()
    found += [say("{number:,} expert columns do not split {ways} ways.", number=number, ways=ways)
              for number in columns if number % ways]  # fmt: skip
    if model.layers < pp:
        found.append(say("{layers} layers do not fill {pp} stages.", layers=model.layers, pp=pp))
    return found


_UNSPLIT = {
    "query heads": marked("{size:,} query heads do not split {tp} ways."),
    "KV heads": marked("{size:,} KV heads do not split {tp} ways."),
    "MLP columns": marked("{size:,} MLP columns do not split {tp} ways."),
}


def shapes(model: Model, ep: int = 1) -> dict[str, int]:
    """Sizes that a tensor-parallel width must divide, the common divisor of each sort."""
    splits = [block.attention.split for block in model.blocks]
    attending = [split for split in splits if split.query_elements]
    sizes = {
        "query heads": [split.query_heads for split in attending],
        "KV heads": [split.cache_heads for split in attending if split.cache_heads > 1],
        "MLP columns": [
            part.columns for part in _parts(model) if part.columns and not (part.routed and ep > 1)
        ],
    }
    return {name: math.gcd(*values) for name, values in sizes.items() if values}


def _parts(model: Model) -> list[Part]:
    return [part for block in model.blocks for part in block.feedforward.parts(model.d_model)]


def pipeline_utilisation(stages: ArrayLike, micro_batches: ArrayLike) -> Array:
    """Share of its time that a stage works while micro-batches fill and drain the pipeline.

    Of a prompt, or one pass; decoding keeps as many in flight as there are stages.

    References
    ----------
    F3.9.

    Examples
    --------
    >>> round(float(pipeline_utilisation(4, 8)), 4)
    0.7273
    """
    parts = np.asarray(micro_batches, dtype=float)
    return np.asarray(parts / (parts + np.asarray(stages, dtype=float) - 1))


def micro_batches_for(utilisation: float, stages: float) -> int:
    """Fewest micro-batches that keep a pipeline busy for a share of its time (F3.9).

    >>> micro_batches_for(0.9, 4)
    27
    """
    # Less than a rounding error beyond a whole number is that number.
    return math.ceil(utilisation * (stages - 1) / (1 - utilisation) - 1e-9)
