"""How long one decode step takes, and what fills it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from calc import host, memory
from calc.layout import Layout
from calc.operators import Operator, Work, bound, by_operator
from calc.scenario import Scenario

Array = NDArray[np.float64]


@dataclass(frozen=True)
class StepTime:
    """One decode step; times in seconds, of the shape of batch × context broadcast.

    Attributes
    ----------
    batch : array
        Sequences; a step makes one token for each.
    work : Work
        Operators, messages and overhead of the busiest chip.
    link_overlap : float
        Share of the shorter of communicating and all else that hides behind the longer.
    n_chips : int or array
        Chips of the replica.
    """

    batch: Array
    work: Work
    link_overlap: float
    n_chips: int | Array

    @cached_property
    def busy(self) -> Array:
        """Time of all operators together."""
        return _total(operator.time for operator in self.work.operators)

    @cached_property
    def total(self) -> Array:
        """The step. At fidelity ``bound`` it is ``kv_read + max(weight_read, linear_compute)``."""
        if not self.work.transfers and not self.work.overhead.any():
            return self.busy
        return np.asarray(self.busy + self.exposed + self.work.overhead)

    @cached_property
    def communication(self) -> Array:
        """Messages between chips, hidden or not; 0 at fidelity ``bound``."""
        return self._shaped(_total(self.work.transfers.values()))

    @cached_property
    def exposed(self) -> Array:
        """What of the communication adds to the step."""
        spoken = _total(self.work.transfers.values())
        return np.asarray(spoken - self.link_overlap * np.minimum(self.busy, spoken))

    @property
    def overhead(self) -> Array:
        """Time that no operator accounts for; 0 at fidelity ``bound``."""
        return self._shaped(self.work.overhead)

    @property
    def kv_read(self) -> Array:
        """Time to move the cache."""
        return self._sum(True, lambda operator: operator.read)

    @property
    def weight_read(self) -> Array:
        """Time to move the weights."""
        return self._sum(False, lambda operator: operator.read)

    @property
    def linear_compute(self) -> Array:
        """Time to do the FLOPs of all that has weights."""
        return self._sum(False, lambda operator: operator.compute)

    @property
    def attention_compute(self) -> Array:
        """Time to do the FLOPs of scores and values; the bound leaves it out of `total`."""
        return self._sum(True, lambda operator: operator.compute)

    def _sum(self, cache: bool, term: Callable[[Operator], Array]) -> Array:
        return self._shaped(
            _total(term(operator) for operator in self.work.operators if operator.cache == cache)
        )

    def _shaped(self, term: ArrayLike) -> Array:
        return np.broadcast_to(np.asarray(term, dtype=float), self.total.shape)

    @property
    def throughput(self) -> Array:
        """Tokens generated per second over the whole batch [token/s]."""
        return self.batch / self.total

    @property
    def throughput_per_chip(self) -> Array:
        """Tokens per second per chip [token/s]."""
        return self.throughput / self.n_chips

    @property
    def compute_bound(self) -> NDArray[np.bool_]:
        """Whether the FLOPs of the linear layers outlast the weight read."""
        return self.linear_compute > self.weight_read

    def at(self, index: int | tuple[int, ...]) -> StepTime:
        """One step or row of a sweep, as if it had been timed alone."""
        shape = self.total.shape

        def pick(values: ArrayLike) -> Array:
            return np.asarray(np.broadcast_to(np.asarray(values, dtype=float), shape)[index])

        work = Work(
            tuple(
                replace(operator, moved=pick(operator.moved), done=pick(operator.done))
                for operator in self.work.operators
            ),
            {name: pick(time) for name, time in self.work.transfers.items()},
            pick(self.work.overhead),
        )
        return StepTime(pick(self.batch), work, self.link_overlap, self.n_chips)

    def charged(self) -> dict[str, Array]:
        """The terms that add up to `total` [s]: of each operator's two sides what is not hidden."""
        sides = [(operator.cache, *operator.charged()) for operator in self.work.operators]
        terms = {
            "kv_read": _total(read for cache, read, _ in sides if cache),
            "weight_read": _total(read for cache, read, _ in sides if not cache),
            "linear_compute": _total(done for cache, _, done in sides if not cache),
            "attention_compute": _total(done for cache, _, done in sides if cache),
            "communication": self.exposed,
            "overhead": self.work.overhead,
        }
        return {name: self._shaped(term) for name, term in terms.items()}


def _total(terms: Iterable[Array]) -> Array:
    return np.asarray(sum(terms, np.zeros(())))


def step_time(
    scenario: Scenario,
    batch: ArrayLike | None = None,
    context: ArrayLike | None = None,
    tokens: ArrayLike = 1,
    layout: Layout | None = None,
) -> StepTime:
    """Time of one decode step at the scenario's fidelity.

    At ``bound``

    .. math:: T = \\frac{B\\,\\kappa(S)}{N W}
              + \\max\\left(\\frac{P(B)\\,b_w}{N W}, \\frac{2 B P_\\mathrm{act}}{N C}\\right)

    and at ``operators`` a sum over operators, with what chips send each other beside it

    .. math:: T = \\sum_o \\max\\left(\\frac{Q_o}{\\eta_W W}, \\frac{F_o}{\\eta_C C}\\right)
              + T_\\mathrm{links} + T_\\mathrm{fixed}

    Parameters
    ----------
    scenario : Scenario
        What to time.
    batch, context : array_like, optional
        Sequences and cached tokens to use instead of the scenario's; they broadcast against each
        other, so a sweep over both is one call.
    tokens : array_like
        Tokens of each sequence in the step: 1, or a draft and one more when verifying. FLOPs and
        the experts hit grow with it; weights and cache are read once (F3.6).
    layout : Layout, optional
        Widths to use instead of the scenario's; arrays of them broadcast too. At ``bound`` only
        their chips count.

    Returns
    -------
    StepTime
        Terms in seconds. `total` is nan where the chip has no published compute rate, or no link
        that the layout needs.

    References
    ----------
    F3.1–F3.10, with the weights really read (F1.9, F3.5) and the cache
    summed over the model's own layers (F2.1–F2.12).
    """
    s = scenario
    sequences = np.asarray(s.batch if batch is None else batch, dtype=float)
    length = np.asarray(s.context if context is None else context, dtype=float)
    each = np.asarray(tokens, dtype=float)
    chips = s.n_chips if layout is None else layout.chips
    if s.fidelity == "bound":
        work = bound(s, np.asarray(chips, dtype=float), sequences, length, each)
        return StepTime(sequences, work, 0.0, chips)
    work = by_operator(s, layout or Layout.of(s), sequences, length, each)
    return StepTime(sequences, work, s.link_overlap, chips)


def kv_equals_weights_batch(scenario: Scenario) -> float:
    """Batch at which a step reads as many bytes of cache as of weights [sequence].

    Beyond it a larger batch shares little (F3.5). The weights of a mixture of experts grow
    with the batch, so it is found by climbing from below, as `roofline.compute_bound_batch` is.
    inf where nothing is cached.
    """
    each = float(scenario.model.kv_bytes_read(scenario.context, scenario.kv_format))
    if not each:
        return math.inf
    batch = 1.0
    for _ in range(200):
        s = scenario
        read = float(host.chip_bytes_read(s, batch))
        if not abs(read / each - batch) > 1e-9 * batch:
            break
        batch = read / each
    return batch


@dataclass(frozen=True)
class Frontier:
    """Throughput against latency as the batch grows from 1.

    `latency` is seconds per token of one sequence, `throughput_per_chip` tokens per second;
    `fits` says whether memory holds the batch.
    """

    batch: Array
    latency: Array
    throughput_per_chip: Array
    fits: NDArray[np.bool_]

    @classmethod
    def of(cls, step: StepTime, max_batch: float) -> Frontier:
        """The frontier that a sweep over batches lies on."""
        fits = step.batch <= max_batch
        return cls(step.batch, step.total, step.throughput_per_chip, fits)

    def of_batches(self, kept: NDArray[np.bool_]) -> Frontier:
        """Its points at some of the batches."""
        return Frontier(
            self.batch[kept], self.latency[kept], self.throughput_per_chip[kept], self.fits[kept]
        )


def frontier(scenario: Scenario, batch: ArrayLike) -> Frontier:
    """The latency/throughput frontier of a scenario over given batches (Pope et al. 2022)."""
    return Frontier.of(step_time(scenario, batch=batch), float(memory.max_batch(scenario)))


def sweep_end(scenario: Scenario, max_batch: float, compute_bound_from: float) -> float:
    """Where a curve over batches should end [sequence]: past whatever there is to see.

    A power of two beyond the scenario's batch, the last batch that fits and the compute-bound
    batch, so that it stays put under small moves; within reason for models that never get there.
    """
    landmarks = [2 * scenario.batch, 1.5 * max_batch, 64]
    if compute_bound_from < 8192:
        landmarks.append(1.5 * compute_bound_from)
    return float(2.0 ** min(np.ceil(np.log2(max(landmarks))), 17))


def batch_sweep(upper: float, landmarks: ArrayLike = (), points: int = 64) -> Array:
    """Whole batches from 1 to `upper`, spread evenly on a logarithmic scale.

    Powers of two and `landmarks` within the range are among them.
    """
    even = np.round(np.geomspace(1, max(upper, 2), points))
    exact = np.concatenate([2.0 ** np.arange(0, 18), np.ravel(np.asarray(landmarks, dtype=float))])
    return np.unique(np.concatenate([even, exact[(exact >= 1) & (exact <= upper)]]))
