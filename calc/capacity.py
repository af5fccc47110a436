"""Whether it fits, on how few chips, and what the smallest topology earns."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from calc import cost, decode, known, memory, prefill
from calc.checkpoint import Stored
from calc.chip import Chip
from calc.formats import NumberFormat
from calc.model import Model
from calc.scenario import Scenario

Array = NDArray[np.float64]


def requests_per_second_per_chip(
    batch: float, step_time: float, output: float, n_chips: float, prompt_time: float = 0.0
) -> float:
    """Requests that one chip's share of a replica finishes each second [request/s].

    The replica decodes a full batch and reads a prompt for each request; without `prompt_time`, the
    time that it spends on one [s], it only decodes.

    .. math:: r = \\frac{1}{N \\left( T_\\mathrm{step} G / B + T_\\mathrm{prompt} \\right)}

    Examples
    --------
    43 sequences on 16 chips, and 138 on 32, at a step of 19 ms (Austin et al. 2025, part 8):

    >>> round(requests_per_second_per_chip(43, 0.019, 512, 16), 3)
    0.276
    >>> round(requests_per_second_per_chip(138, 0.019, 512, 32), 3)
    0.443
    """
    return 1 / (n_chips * (step_time * output / batch + prompt_time))


@dataclass(frozen=True)
class Topology:
    """A slice with its memory full of sequences.

    Parameters
    ----------
    stored, kv_format : Stored, NumberFormat
        How weights and cache are stored.
    weights : float
        Weights [byte].
    chips_raw : float
        Chips' worth of memory that they take, not rounded.
    n_chips : int
        The slice; 0 if none can hold the weights.
    free : float
        Left for the cache [byte].
    sequences : int
        That fit at the scenario's context.
    step_time : float
        Of a decode step with all of them [s].
    decoded_per_second : float
        Answers of one chip's share if it did nothing but decode [request/s].
    requests_per_second : float
        Of one chip's share, prompts read by the same chips [request/s].
    usd_per_million_tokens : float
        Of generated tokens.
    """

    stored: Stored
    kv_format: NumberFormat
    weights: float
    chips_raw: float
    n_chips: int
    free: float
    sequences: int
    step_time: float
    decoded_per_second: float
    requests_per_second: float
    usd_per_million_tokens: float


def topology(scenario: Scenario, *, doubled: bool = False) -> Topology:
    """The smallest slice that holds the weights, or at least twice that, filled with sequences.

    References
    ----------
    F6.2; Austin et al. 2025, part 8.
    """
    s = scenario
    weights = memory.weights(replace(s, fidelity="bound"))
    room = s.chip.memory * s.usable_memory - s.runtime_memory
    raw = weights / room if room > 0 else math.inf
    fewest = memory.fewest_chips(
        s, raw, lambda tried: memory.weights(tried) <= memory.capacity(tried)
    )
    if fewest and doubled:
        fewest = s.chip.legal_count(2 * fewest)
    if not 0 < fewest <= memory.most_chips():
        return Topology(s.stored, s.kv_format, weights, raw, 0, 0.0, 0, *[math.nan] * 4)
    full = replace(s, n_chips=fewest, tensor_parallel=0)
    batch = int(memory.max_batch(full))
    free = memory.capacity(full) - memory.weights(full)
    if not batch:
        return Topology(
            s.stored, s.kv_format, weights, raw, fewest, free, 0, math.nan, 0.0, 0.0, math.nan
        )
    step = decode.step_time(full, batch=batch)
    total = float(step.total)
    prompts = prefill.prompt_rate(full, float(prefill.prompt_time(full).total))
    return Topology(
        s.stored,
        s.kv_format,
        weights,
        raw,
        fewest,
        free,
        batch,
        total,
        requests_per_second_per_chip(batch, total, s.output, fewest),
        requests_per_second_per_chip(batch, total, s.output, fewest, 1 / prompts),
        float(cost.per_million_tokens(full, step)),
    )


def topologies(
    scenario: Scenario, formats: Sequence[NumberFormat]
) -> list[tuple[Topology, Topology]]:
    """The smallest topology and its double, with weights and cache in each of the formats."""
    return [
        (topology(stored), topology(stored, doubled=True))
        for stored in (replace(scenario, weight_format=f, kv_format=f) for f in formats)
    ]


@dataclass(frozen=True)
class Fit:
    """A scenario on another chip: the slice that holds it, and what it does there.

    `n_chips` is 0 where no slice holds it. Where a rate is not published, `bounded`, time and price
    are at least and the rate at most what is given; nan where nothing bounds them.
    """

    chip: Chip
    n_chips: int
    max_batch: int
    step_time: float
    throughput_per_chip: float
    usd_per_million_tokens: float
    bounded: bool = False
    scenario: Scenario | None = None


def fits(scenario: Scenario, chips: Mapping[str, Chip]) -> list[Fit]:
    """The scenario's batch and context on the fewest chips of every kind."""
    return [_fit(replace(scenario, chip=chip, price=0.0, power=0.0)) for chip in chips.values()]


def _fit(s: Scenario) -> Fit:
    none = Fit(s.chip, 0, 0, math.nan, math.nan, math.nan)
    if s.chip.memory * s.usable_memory <= s.runtime_memory:
        return none
    fewest = memory.min_chips(replace(s, n_chips=1, attention_dp=1, pipeline=1))
    if not 0 < fewest <= memory.most_chips():
        return none
    there = known.least(replace(s, n_chips=fewest, tensor_parallel=0, attention_dp=1, pipeline=1))
    step = decode.step_time(there)
    return Fit(
        s.chip,
        fewest,
        int(memory.max_batch(there)),
        float(step.total),
        float(step.throughput_per_chip),
        float(cost.per_million_tokens(there, step)),
        known.bounded(there),
        there,
    )


def mixed_weights(model: Model, experts: NumberFormat, rest: NumberFormat) -> float:
    """Weights with the experts' matrices in one format and everything else in another [byte].

    References
    ----------
    F9.2, mixed checkpoints.
    """
    parts = [(b.count, p) for b in model.blocks for p in b.feedforward.parts(model.d_model)]
    matrices = sum(
        count * part.experts * (part.params - part.bias) for count, part in parts if part.routed
    )
    return matrices * experts.bytes + (model.total_params - matrices) * rest.bytes


def largest_batches(scenario: Scenario, context: Array) -> Array:
    """Sequences that memory holds at each context [sequence]."""
    return np.asarray(memory.max_batch(scenario, context), dtype=float)
