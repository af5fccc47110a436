"""How long the steps of a replica take, at the scenario's fidelity, for sequences of any lengths.

`decode.step_time` times a batch of equal contexts. A served batch has many, so its step is taken
apart into what depends on the batch alone and a share of each sequence (F8.14),

.. math:: T_\\mathrm{busy} = T_0(B) + g(B) \\sum_i a(S_i)

with both read off `decode.step_time`, and links beside it that depend on the batch alone, so that a
batch of equal contexts takes exactly its time (within 1 % where `kv_sharding` is ``batch`` and
layers split their caches in different ways). At ``operators`` sequences on different sides of
attention's roofline are each charged their longer side, as if they were read one after another:
the longer side of their sums, which one kernel for all could reach, is no longer than that.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property, partial

import numpy as np
from numpy.typing import NDArray

from calc import prefill
from calc.fields import Quantity
from calc.layout import Layout
from calc.scenario import FIELDS, Scenario
from calc.serving.errors import ServingError
from calc.serving.prompts import Prompts
from calc.serving.steps import PLAIN, Steps
from calc.words import say

Array = NDArray[np.float64]
_CHUNK = "chunk attention"


class Clock:
    """Step and prompt times of one replica.

    Parameters
    ----------
    scenario : Scenario
        What runs on what; its batch, context and lengths are not used.
    longest : int
        Longest context that will be asked for [token].
    most : int
        Largest batch that will be asked for [sequence].
    steps : Steps
        How tokens are made.

    Raises
    ------
    ServingError
        If the chip has no published rate, or no link that the layout needs.
    """

    def __init__(self, scenario: Scenario, longest: int, most: int, steps: Steps = PLAIN) -> None:
        batches = FIELDS["batch"]
        assert isinstance(batches, Quantity)
        self.scenario, self.longest, self.steps = scenario, longest, steps
        self.most = int(min(most, batches.high))
        sizes = np.arange(1, self.most + 1)
        alone = steps.time(scenario, 1, np.arange(longest + 1)).busy
        alone = np.broadcast_to(alone, (longest + 1,))
        # Where attention starts afresh at chunks, the shortest context is not the quickest.
        quick, slow = int(np.argmin(alone)), int(np.argmax(alone))
        empty = steps.time(scenario, sizes, quick)
        full = steps.time(scenario, sizes, slow).busy
        if not empty.known or not np.isfinite(alone).all():
            raise ServingError(_unknown(scenario))
        share = alone - alone[quick]
        each = share[slow] if share[slow] > 0 else 1.0
        gain = (full - empty.busy) / (sizes * each)
        # By batch: what is the same for any contexts, what multiplies their shares, and messages.
        self.fixed: list[float] = [0.0, *np.broadcast_to(empty.busy, sizes.shape).tolist()]
        self.gain: list[float] = [1.0, *gain.tolist()]
        self.links: list[float] = [0.0, *empty.communication.tolist()]
        self.overhead = float(np.max(empty.overhead))
        self.hides = empty.hides if any(self.links) else 0.0
        self.share = share
        # Sum of the shares of all contexts below one.
        self.shares = np.concatenate([[0.0], np.cumsum(share)])
        self.prompts = Prompts(scenario, longest)
        self._chunk_rows: dict[int, tuple[list[float], list[float]]] = {}
        self.lanes = int(prefill.concurrency(scenario))

    def covers(self, scenario: Scenario, longest: int, most: int, steps: Steps = PLAIN) -> bool:
        """Whether it times a scenario, contexts so long and batches so large, made so."""
        same = self.scenario is scenario or self.scenario == scenario
        return same and self.steps == steps and self.longest >= longest and self.most >= most

    @cached_property
    def slope(self) -> float:
        """Share of each token of context where they are all alike [s]; nan where not."""
        steps = np.diff(self.share)
        slope = float(self.share[-1]) / self.longest
        alike = self.share[0] == 0 and np.allclose(steps, slope, rtol=1e-8, atol=0)
        return slope if alike else math.nan

    def together(self, busy: float, links: float) -> float:
        """A step of so much work and so many messages, part of which may hide [s]."""
        return busy + links - self.hides * min(busy, links) + self.overhead

    def step(self, contexts: NDArray[np.int64]) -> float:
        """Time of one step of sequences with these contexts [s]."""
        size = len(contexts)
        shares = self.gain[size] * float(self.share[contexts].sum())
        return self.together(self.fixed[size] + shares, self.links[size])

    # Chunks of prompts beside a decode step

    def chunks(self, batch: int, parts: Sequence[tuple[int, int]]) -> tuple[float, float]:
        """Work and messages that chunks add to a step of `batch` sequences [s].

        Parameters
        ----------
        batch : int
            Sequences that decode, at least one: without any a chunk is a prompt of which a part is
            known.
        parts : sequence of (before, size)
            Of each chunk the prompt tokens read before it and its own.

        References
        ----------
        `prefill.chunked_step`, F5.3, without the one token of a prompt that is scored.
        """
        size = sum(size for _, size in parts)
        row = self._chunk_rows.get(batch)
        if row is None or len(row[0]) <= size:
            row = self._chunk_rows[batch] = self._chunk_row(batch, size)
        attention = sum(self._attention(*part) for part in parts)
        return row[0][size] + attention, row[1][size]

    def _chunk_row(self, batch: int, size: int) -> tuple[list[float], list[float]]:
        """What more tokens to multiply and to send add, for 0 to at least `size` of them [s]."""
        most = 1 << max(size, 255).bit_length()
        beside = replace(self.scenario, batch=batch)
        step = prefill.chunked_step(beside, np.arange(most), np.zeros(most), math.inf)
        attention = sum(at.time for at in step.work.operators if at.name == _CHUNK)
        work = np.broadcast_to(step.busy - attention, (most,))
        return (
            np.maximum(work - work[0], 0.0).tolist(),
            (step.communication - step.communication[0]).tolist(),
        )

    @cached_property
    def _chunk_operators(self) -> list[tuple[Array, Array, float]]:
        """Of each chunk attention: read and compute time of a prompt up to a length, overlap."""
        s, lengths = self.scenario, np.arange(self.longest + 1.0)
        none = np.zeros_like(lengths)
        unscored = partial(prefill.chunked_step, s, prompt=math.inf)
        done = unscored(lengths * self._parts, none).work.operators
        # What a chunk reads at ``bound`` is what came before it; one token's chunk shows it.
        seen = unscored(none + 1, lengths).work.operators if self._bound else done
        count = len(lengths)
        return [
            (
                np.broadcast_to(reads.read, (count,)),
                np.broadcast_to(does.compute, (count,)),
                does.overlap,
            )
            for reads, does in zip(seen, done, strict=True)
            if does.name == _CHUNK
        ]

    @cached_property
    def _bound(self) -> bool:
        return self.scenario.fidelity == "bound"

    @cached_property
    def _parts(self) -> float:
        """Micro-batches, each of which takes a part of a chunk along."""
        return 1.0 if self._bound else float(Layout.of(self.scenario).micro_batches)

    def _attention(self, before: int, size: int) -> float:
        """Attention of one chunk [s]."""
        after, total = before + size / self._parts, 0.0
        for read, compute, overlap in self._chunk_operators:
            moved = _at(read, before if self._bound else after)
            done = _at(compute, after) - _at(compute, before)
            total += max(moved, done) + (1 - overlap) * min(moved, done)
        return total


def _unknown(scenario: Scenario) -> str:
    """Why steps cannot be timed."""
    s = scenario
    if math.isnan(s.chip.peak(s.compute_format)):
        return say(
            "{chip} has no published rate for {format}: its steps cannot be timed.",
            chip=s.chip.name,
            format=s.compute_format.name,
        )
    return say(
        "A figure of {chip} that the layout needs is not published, such as its link.",
        chip=s.chip.name,
    )


def _at(values: Array, length: float) -> float:
    """A value between two whole lengths, along a straight line."""
    low = int(length)
    part, value = length - low, float(values[low])
    return value + part * (float(values[low + 1]) - value) if part else value
