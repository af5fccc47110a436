"""How long one decode step takes, and what fills it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from calc import memory
from calc.scenario import Scenario

Array = NDArray[np.float64]


@dataclass(frozen=True)
class StepTime:
    """One decode step, term by term [s]; every field has the shape of batch × context broadcast.

    Attributes
    ----------
    batch : array
        Sequences, which is also tokens per step.
    total : array
        The step. At fidelity ``bound`` it is ``kv_read + max(weight_read, linear_compute)``.
    kv_read, weight_read : array
        Time to move the cache and the weights from memory.
    linear_compute, attention_compute : array
        Time to do the FLOPs of the linear layers, and of scores and values. The bound charges
        attention by its cache read and leaves `attention_compute` out of `total`.
    communication, overhead : array
        0 at fidelity ``bound``.
    n_chips : int
        Chips of the replica.
    """

    batch: Array
    total: Array
    kv_read: Array
    weight_read: Array
    linear_compute: Array
    attention_compute: Array
    communication: Array
    overhead: Array
    n_chips: int

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

    def charged(self) -> dict[str, Array]:
        """The terms that add up to `total` [s]: of weight read and linear FLOPs only the longer."""
        return {
            "kv_read": self.kv_read,
            "weight_read": np.where(self.compute_bound, 0.0, self.weight_read),
            "linear_compute": np.where(self.compute_bound, self.linear_compute, 0.0),
            "communication": self.communication,
            "overhead": self.overhead,
        }


def step_time(
    scenario: Scenario,
    batch: ArrayLike | None = None,
    context: ArrayLike | None = None,
    tokens: ArrayLike = 1,
) -> StepTime:
    """Time of one decode step at the scenario's fidelity.

    .. math:: T = \\frac{B\\,\\kappa(S)}{N W}
              + \\max\\left(\\frac{P(B)\\,b_w}{N W}, \\frac{2 B P_\\mathrm{act}}{N C}\\right)

    Parameters
    ----------
    scenario : Scenario
        What to time.
    batch, context : array_like, optional
        Sequences and cached tokens to use instead of the scenario's; they broadcast against each
        other, so a sweep over both is one call.
    tokens : array_like
        Tokens of each sequence in the step: 1, or a draft and one more when verifying. FLOPs and
        the experts hit grow with it; weights and cache are read once (formulas.md F3.6).

    Returns
    -------
    StepTime
        Terms in seconds. `total` is nan where the chip has no published compute rate.

    References
    ----------
    Seed 001 §6; formulas.md F3.1, with the weights really read (F1.9, F3.5) and the cache summed
    over the model's own layers (F2.1–F2.4).
    """
    sequences = np.asarray(scenario.batch if batch is None else batch, dtype=float)
    length = np.asarray(scenario.context if context is None else context, dtype=float)
    model, chip, n = scenario.model, scenario.chip, scenario.n_chips
    bandwidth = n * chip.bandwidth
    rate = n * chip.peak(scenario.compute_format)

    kv_read = sequences * (model.kv_bytes_read(length, scenario.kv_format) / bandwidth)
    multiplied = sequences * np.asarray(tokens, dtype=float)
    weight_read = model.params_read(multiplied) * (scenario.weight_format.bytes / bandwidth)
    linear_compute = multiplied * (2.0 * model.active_params / rate)
    attention_compute = multiplied * (model.attention_flops(length) / rate)
    total = kv_read + np.maximum(weight_read, linear_compute)

    def shaped(term: ArrayLike) -> Array:
        return np.broadcast_to(np.asarray(term, dtype=float), total.shape)

    return StepTime(
        batch=shaped(sequences),
        total=total,
        kv_read=shaped(kv_read),
        weight_read=shaped(weight_read),
        linear_compute=shaped(linear_compute),
        attention_compute=shaped(attention_compute),
        communication=shaped(0.0),
        overhead=shaped(0.0),
        n_chips=n,
    )


def kv_equals_weights_batch(scenario: Scenario) -> float:
    """Batch at which a step reads as many bytes of cache as of weights [sequence].

    Beyond it a larger batch shares little (seed 001 §4). The weights of a mixture of experts grow
    with the batch, so it is found by climbing from below, as `roofline.compute_bound_batch` is.
    """
    each = float(scenario.model.kv_bytes_read(scenario.context, scenario.kv_format))
    batch = 1.0
    for _ in range(200):
        read = float(scenario.model.params_read(batch)) * scenario.weight_format.bytes
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


def frontier(scenario: Scenario, batch: ArrayLike) -> Frontier:
    """The latency/throughput frontier of a scenario over given batches (seed 001 §12)."""
    step = step_time(scenario, batch=batch)
    return Frontier(
        step.batch, step.total, step.throughput_per_chip, step.batch <= memory.max_batch(scenario)
    )


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
