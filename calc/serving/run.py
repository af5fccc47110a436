"""What a simulation gives: every request's times, and how full slots and memory were."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from calc.scenario import Scenario
from calc.serving.roster import Shift
from calc.serving.task import Fate, State
from calc.serving.traffic import Traffic

Array = NDArray[np.float64]
Counts = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Intervals:
    """Stretches in which a request did one thing: arrays of one length.

    `request` is its row in the traffic, `state` a `State`, `start` and `end` times [s], `replica`
    the number of the replica that had it, see `Run.names`.
    """

    request: Counts
    state: Counts
    start: Array
    end: Array
    replica: Counts

    def of(self, state: State) -> Intervals:
        """Those of one state."""
        return self._where(self.state == state)

    def upto(self, requests: int) -> Intervals:
        """Those of the first so many requests."""
        return self._where(self.request < requests)

    def on(self, *replicas: int) -> Intervals:
        """Those of some replicas."""
        return self._where(np.isin(self.replica, replicas))

    def _where(self, at: NDArray[np.bool_]) -> Intervals:
        return Intervals(
            self.request[at], self.state[at], self.start[at], self.end[at], self.replica[at]
        )

    def running(self) -> tuple[Array, Counts]:
        """Times [s], and how many of the intervals are open from each to the next."""
        times = np.concatenate([self.start, self.end])
        change = np.concatenate([np.ones_like(self.request), -np.ones_like(self.request)])
        at, where = np.unique(times, return_inverse=True)
        steps = np.bincount(where, weights=change, minlength=len(at))
        return at, np.cumsum(np.round(steps).astype(np.int64))


@dataclass(frozen=True, eq=False)
class Shifts:
    """Stretches in which a replica was paid for: arrays of one length.

    `replica` by number, `shift` a `Shift`, `start` and `end` times [s].
    """

    replica: Counts
    shift: Counts
    start: Array
    end: Array

    def within(self, start: float, end: float) -> float:
        """Replica-seconds that were paid for in a part of the time [s]."""
        return float(
            np.clip(np.minimum(self.end, end) - np.maximum(self.start, start), 0, None).sum()
        )

    def running(self, shift: Shift) -> tuple[Array, Counts]:
        """Times [s], and how many replicas do this from each to the next."""
        at = self.shift == shift
        times = np.concatenate([self.start[at], self.end[at]])
        change = np.concatenate([np.ones(at.sum()), -np.ones(at.sum())])
        places, where = np.unique(times, return_inverse=True)
        steps = np.bincount(where, weights=change, minlength=len(places))
        return places, np.cumsum(np.round(steps).astype(np.int64))


@dataclass(frozen=True, eq=False)
class MemoryUse:
    """Blocks of one replica's memory at the times of its events.

    `time` [s]; `used` blocks in use, `filled` what of them holds tokens, `kept` unused blocks that
    hold prefixes; `total` there are, `peak` the most ever in use.
    """

    name: str
    total: int
    peak: int
    time: Array
    used: Array
    filled: Array
    kept: Array

    def mean(self, values: Array) -> float:
        """Mean of a series over time."""
        span = self.time[-1] - self.time[0]
        if span <= 0:
            return float(values.mean())
        return float(np.trapezoid(values, self.time) / span)

    @property
    def utilisation(self) -> float:
        """Share of what is handed out that holds tokens, over time."""
        used = self.mean(self.used)
        return self.mean(self.filled) / used if used > 0 else np.nan


@dataclass(frozen=True, eq=False)
class Run:
    """One simulation.

    Attributes
    ----------
    scenario, reader, traffic, name
        What was simulated: a replica that decodes, one that only reads prompts where there are
        such, what came, and what the policy is called.
    names : tuple of str
        Of the replicas by number.
    admitted, first, ended : array of shape (requests,)
        When each was taken from the queue, had its first token, and ended [s]; nan where it never
        did.
    fate, preemptions, retries, produced, replica : array of shape (requests,)
        A `Fate`; how often it was put out, and sent again after a failure; tokens it got over all
        samples; who decoded it last.
    shifts : Shifts, optional
        Of the replicas that decode, where these came and went; otherwise all serve all the time.
    intervals : Intervals
        What each request did and when.
    gaps : array of shape (2, …)
        Times between two tokens of a sequence [s], and how many took each (ITL). Steps between two
        events are so much alike that they stand as their mean.
    memory : tuple of MemoryUse
        Of each replica that decodes.
    steps : mapping
        Decode steps by the number of slots in use.
    slot_steps : int
        Tokens that those steps made: each slot that still had something to say makes one.
    passes : array
        Prompt tokens of every reading of weights that served no decode step.
    asked, found, reread : int
        Prompt tokens of all starts; those found in the prefix cache; those read again after
        having been put out [token].
    stopped : bool
        Whether it was stopped before its end.
    notices : tuple of str
        Sentences about what was changed, left out or turned away.
    """

    scenario: Scenario
    reader: Scenario
    traffic: Traffic
    name: str
    names: tuple[str, ...]
    admitted: Array
    first: Array
    ended: Array
    fate: Counts
    preemptions: Counts
    retries: Counts
    produced: Counts
    replica: Counts
    shifts: Shifts | None
    intervals: Intervals
    gaps: Array
    memory: tuple[MemoryUse, ...]
    steps: Mapping[int, int]
    slot_steps: int
    passes: Counts
    asked: int
    found: int
    reread: int
    stopped: bool
    notices: tuple[str, ...]

    @property
    def readers(self) -> int:
        """Replicas that only read prompts: the first so many, which hand out no cache."""
        return len(self.names) - len(self.memory)

    @property
    def finished(self) -> NDArray[np.bool_]:
        """Requests that got all their tokens."""
        return np.asarray(self.fate == Fate.FINISHED)

    @property
    def rejected(self) -> NDArray[np.bool_]:
        """Requests that were turned away or cut off."""
        return np.asarray(self.fate == Fate.REJECTED)

    @property
    def cancelled(self) -> NDArray[np.bool_]:
        """Requests that gave up before their first token."""
        return np.asarray(self.fate == Fate.CANCELLED)

    @property
    def timed_out(self) -> NDArray[np.bool_]:
        """Requests that the service ended before their last token."""
        return np.asarray(self.fate == Fate.TIMED_OUT)

    @property
    def lost(self) -> NDArray[np.bool_]:
        """Requests that were with a replica that failed, and were not sent again."""
        return np.asarray(self.fate == Fate.LOST)

    def paid(self, start: float, end: float) -> float:
        """Share of the chips that were paid for in a part of the time, over it."""
        if self.shifts is None or end <= start:
            return 1.0
        there = self.shifts.within(start, end) / (end - start) + self.readers
        return there / len(self.names)

    @cached_property
    def ttft(self) -> Array:
        """Time to first token of each [s]; inf for those that did not finish (F8.1)."""
        return np.where(self.finished, self.first - self.traffic.arrival, np.inf)

    @cached_property
    def e2e(self) -> Array:
        """Time from arrival to the last token of each [s]; inf for those that did not finish."""
        return np.where(self.finished, self.ended - self.traffic.arrival, np.inf)

    @cached_property
    def tpot(self) -> Array:
        """Time per output token over the gaps between tokens, (A) of F8.1 [s].

        nan for answers of one token, which have no gap; inf for those that did not finish.
        """
        gaps = self.traffic.output - 1
        time = np.divide(
            self.ended - self.first, gaps, out=np.full(len(gaps), np.nan), where=gaps > 0
        )
        return np.where(self.finished, time, np.inf)

    @cached_property
    def tpot_per_token(self) -> Array:
        """Time per output token over all tokens, (B) of F8.1 [s]; inf where one did not finish."""
        return np.where(self.finished, (self.ended - self.first) / self.traffic.output, np.inf)

    @cached_property
    def duration(self) -> float:
        """From the first arrival to the end of the last request [s]."""
        ends = self.ended[np.isfinite(self.ended)]
        return float(ends.max() - self.traffic.arrival[0]) if len(ends) else 0.0

    @property
    def chips(self) -> int:
        """Chips of all replicas."""
        return round(self.over_chips(lambda scenario: 1.0))

    def over_chips(self, of: Callable[[Scenario], float]) -> float:
        """Sum over all chips of a figure that a chip of a scenario has."""
        decoding = len(self.memory) * self.scenario.n_chips * of(self.scenario)
        if not self.readers:
            return decoding
        return decoding + self.readers * self.reader.n_chips * of(self.reader)

    @cached_property
    def mean_batch(self) -> float:
        """Slots in use in a decode step, on average over steps [sequence]."""
        steps = sum(self.steps.values())
        return sum(size * count for size, count in self.steps.items()) / steps if steps else 0.0

    @cached_property
    def slot_efficiency(self) -> float:
        """Share of the slots in use that made a token; nan without a decode step (F8.6)."""
        slots = sum(size * count for size, count in self.steps.items())
        return self.slot_steps / slots if slots else np.nan

    @property
    def hit_rate(self) -> float:
        """Share of prompt tokens found in the prefix cache."""
        return self.found / self.asked if self.asked else 0.0
