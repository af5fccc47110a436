"""One replica under a steady load, in closed form: how fast it answers, and what it holds."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from calc import decode, memory, prefill
from calc.layout import Layout
from calc.operators import Chunk
from calc.plan import mix, waits
from calc.plan.ask import Ask
from calc.scenario import Scenario

Array = NDArray[np.float64]

_SURE = 2.326  # standard deviations of the 99th percentile
_PASSES = 4
# Of a mix: busy periods count so many times, by comparison with simulated requests.
_MET = 4.0
_LEAST_IDLE = 0.02


@dataclass(frozen=True)
class Steady:
    """A replica with so many sequences decoding on average; arrays of layout × batch × budget.

    Attributes
    ----------
    rate : array
        Requests that it answers [1/s].
    step, longest : array
        A decode step, and one that reads a part of a prompt: the longest gap between tokens [s].
    tpot, ttft : array
        Time per token after the first, and to the first, at the asked percentile [s].
    mean_tpot : array
        The mean time per token [s].
    used : array
        Share of its time that the reader of prompts works.
    slots : array
        Sequences that it must hold at once: the 99th percentile.
    holds : array
        Whether memory holds so many, and the budget has a token for each.
    reading : array
        Time of a prompt in the reader [s].
    share, waiting : array
        Share of the steps of a group that read a part of a prompt, and prompts that are found
        waiting; 0 in a pool that only decodes.
    tpots, ttfts : tuple of array
        `tpot` and `ttft` of each part of a mix; those above are of the part that is closest to its
        limit, scaled to that of the plan.
    """

    rate: Array
    step: Array
    longest: Array
    tpot: Array
    ttft: Array
    mean_tpot: Array
    used: Array
    slots: Array
    holds: NDArray[np.bool_]
    reading: Array
    share: Array | float
    waiting: Array
    tpots: tuple[Array, ...] = ()
    ttfts: tuple[Array, ...] = ()


def steady(
    scenario: Scenario,
    layout: Layout,
    batch: ArrayLike,
    budget: ArrayLike,
    ask: Ask,
) -> Steady:
    """A replica that reads prompts in chunks of what its token budget leaves beside decoding.

    A tagged request sees the steps of its batch and one more. During an answer the prompts of those
    that come are read, and of those found waiting: mixed steps, longer by
    :math:`\\delta`,

    .. math:: \\mathrm{TPOT} = T_0 + (B + e) \\frac{\\delta}{s}, \\qquad
              x = \\frac{B}{s\\,\\mathrm{TPOT}}, \\qquad \\rho = \\frac{x D}{g}

    Parameters
    ----------
    scenario : Scenario
        Model, chip, formats; its chips, batch and lengths are not used.
    layout : Layout
        Widths; at ``bound`` only their chips count.
    batch, budget : array_like
        Decoding sequences of the replica, and tokens of one step of a group.
    ask : Ask
        Lengths and percentile; neither rate nor limits are used.

    References
    ----------
    F13.1–F13.3.
    """
    s, decoding, g = scenario, np.asarray(batch, dtype=float), groups(scenario, layout)
    each, parts = decoding / g, ask.parts
    room = np.asarray(budget, dtype=float) - np.ceil(each)
    # A step without room for a prompt reads none: what it takes is not asked for.
    sizes = [np.where(room > 0, np.minimum(room, part.read), np.nan) for part in parts]
    prompts = [
        Chunk.mean(size, part.prompt, part.known) for size, part in zip(sizes, parts, strict=True)
    ]

    def steps(sequences: Array) -> tuple[Array, list[Array]]:
        alone = decode.step_time(s, sequences, ask.context, layout=layout).total
        return alone, [
            prefill.mixed_step(s, prompt, sequences, ask.context, layout).total
            for prompt in prompts
        ]

    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        step, mixed = steps(decoding + 1)
        chunks = [part.read / size for part, size in zip(parts, sizes, strict=True)]
        readings = [number * one for number, one in zip(chunks, mixed, strict=True)]
        reading, number = mix.averaged(parts, readings), mix.averaged(parts, chunks)
        delay = mix.averaged(
            parts, [n * (one - step) for n, one in zip(chunks, mixed, strict=True)]
        )
        scatter = ask.scatter * mix.squared(parts, readings)
        share = each * number / ask.steps
        slowed = (1 - (1 - np.minimum(share, 1.0)) ** g) * (delay / number)
        flow = _settle(
            ask, decoding, g, reading, scatter,
            lambda rate, waiting: step + slowed + waiting * delay / ask.steps, share,
        )  # fmt: skip
        means = _each_mean(ask, flow, delay)
        tpot = means
        if ask.chance:
            above = decoding + 1 + ask.deviations * np.sqrt(2 * decoding / 3)
            # At the median a request meets the mean step: nothing to time anew.
            quick, slows = steps(above) if ask.deviations else (step, mixed)
            slow = (
                mix.averaged(parts, [n * one for n, one in zip(chunks, slows, strict=True)])
                / number
            )
            tpot = []
            for part in parts:
                there = each * part.steps / ask.steps
                read = waits.most_read(ask, there, flow.waiting, flow.rate * delay / g)
                meets = np.minimum(read * number / part.steps, 1.0)
                tpot.append(quick + (1 - (1 - meets) ** g) * (slow - quick))
        wait = waits.wait(flow.used, reading, scatter)
        ttft = [
            waits.first_token(ask, flow.used, wait, np.ceil(n) * one, step)
            for n, one in zip(chunks, mixed, strict=True)
        ]
        held = slots(decoding + flow.rate * reading, _bursts(ask, flow, reading, scatter))
        enough = np.asarray(budget) >= np.ceil(held / g)
    longest = np.maximum.reduce(mixed) if len(mixed) > 1 else mixed[0]
    return Steady(
        flow.rate, step, longest, *_strictest(ask, tpot, ttft), flow.tpot, flow.used, held,
        enough & (share < 1) & fits(s, layout, held, ask), reading, share, flow.waiting,
        tuple(tpot), tuple(ttft),
    )  # fmt: skip


def _each_mean(ask: Ask, flow: _Flow, delay: Array) -> list[Array]:
    """Mean time per token of each part: what waited delays few tokens more than many [s]."""
    return [
        flow.tpot
        if len(ask.parts) == 1
        else flow.tpot + flow.met * delay * (1 / part.steps - 1 / ask.steps)
        for part in ask.parts
    ]


def _strictest(ask: Ask, tpot: Sequence[Array], ttft: Sequence[Array]) -> tuple[Array, Array]:
    """Time per token and to the first token of the parts that are closest to their limits [s]."""
    return (
        mix.strictest([part.each_ratio for part in ask.parts], tpot),
        mix.strictest([part.first_ratio for part in ask.parts], ttft),
    )


def whole(scenario: Scenario, layout: Layout, batch: ArrayLike, ask: Ask) -> Steady:
    """A replica that reads whole prompts between decode steps, `steady` otherwise."""
    s, decoding, g = scenario, np.asarray(batch, dtype=float), groups(scenario, layout)
    lanes, parts = g * (1.0 if s.fidelity == "bound" else layout.pp), ask.parts
    readings = [prefill.prompt_time(s, part.prompt, part.known, layout).total for part in parts]
    reading = mix.averaged(parts, readings)
    scatter = ask.scatter * mix.squared(parts, readings)
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        step = decode.step_time(s, decoding + 1, ask.context, layout=layout).total

        def delay(rate: Array) -> Array:
            """What a prompt adds to the steps of those that decode, several read at once [s]."""
            return np.asarray(reading / np.clip(rate * (reading + step), 1.0, lanes))

        flow = _settle(
            ask, decoding, lanes, reading, scatter,
            lambda rate, waiting: step + (decoding + waiting) * delay(rate) / ask.steps,
        )  # fmt: skip
        tpot = _each_mean(ask, flow, delay(flow.rate))
        if ask.chance:
            above = decoding + 1 + ask.deviations * np.sqrt(2 * decoding / 3)
            quick = decode.step_time(s, above, ask.context, layout=layout).total
            tpot = []
            for part in parts:
                there = decoding * part.steps / ask.steps
                read = waits.most_read(ask, there, flow.waiting, flow.rate * delay(flow.rate))
                tpot.append(quick + read * delay(flow.rate) / part.steps)
        wait = waits.wait(flow.used, reading, scatter)
        ttft = [waits.first_token(ask, flow.used, wait, step + own, step) for own in readings]
        held = slots(decoding + flow.rate * reading, _bursts(ask, flow, reading, scatter))
    longest = step + (np.maximum.reduce(readings) if len(readings) > 1 else reading)
    return Steady(
        flow.rate, step, longest, *_strictest(ask, tpot, ttft), flow.tpot, flow.used, held,
        (flow.used < 1) & fits(s, layout, held, ask), reading, 0.0, flow.waiting,
        tuple(tpot), tuple(ttft),
    )  # fmt: skip


@dataclass(frozen=True)
class _Flow:
    """Mean time per token, rate, use of the reader, prompts found waiting and those met."""

    tpot: Array
    rate: Array
    used: Array
    waiting: Array
    met: Array


def _settle(
    ask: Ask,
    decoding: Array,
    readers: Array | float,
    reading: Array,
    scatter: Array | float,
    tpot: Callable[[Array, Array], Array],
    share: Array | float = 0.0,
) -> _Flow:
    """Time per token, rate and prompts left waiting that agree with each other.

    `tpot` gives the time per token from rate and waiting prompts; `share` of the steps read a
    part of a prompt, where prompts are read in parts.
    """
    waiting = met = rate = np.zeros(())
    for _ in range(_PASSES):
        met, each = waiting, tpot(rate, waiting)
        rate = decoding / (ask.steps * each)
        used = rate * reading / readers
        behind = used + used**2 * scatter / (2 * (1 - used))
        # A departing request leaves no fewer than none behind.
        waiting = behind * np.maximum(1 - share / used, 0.0)
    return _Flow(each, rate, used, waiting, met)


def groups(scenario: Scenario, layout: Layout) -> Array | float:
    """Groups that attend for their own sequences; the bound knows none."""
    return 1.0 if scenario.fidelity == "bound" else layout.dp


def layout_of(scenario: Scenario) -> Layout:
    """The layout of one replica; the bound knows only its chips."""
    s = scenario
    return Layout.of_widths(s.n_chips) if s.fidelity == "bound" else Layout.of(s)


def slots(there: ArrayLike, bursts: ArrayLike = 0.0) -> Array:
    """Sequences that must fit, of so many that are there on average: the 99th percentile.

    `bursts` is variance beyond that of independent arrivals.

    >>> float(slots(64.0))
    83.0
    """
    mean = np.asarray(there, dtype=float)
    return np.asarray(np.ceil(mean + _SURE * np.sqrt(mean + bursts)))


def _bursts(ask: Ask, flow: _Flow, reading: Array, scatter: Array | float) -> Array | float:
    """Variance of the sequences there by long prompts: they stop decoding, and others come.

    Only of a mix: busy periods of a reader, :math:`E[D^2] / (1 - \\rho)^3`, spread far more there.

    References
    ----------
    F13.7.
    """
    if len({(part.prompt, part.output) for part in ask.parts}) == 1:
        return 0.0
    idle = np.maximum(1 - flow.used, _LEAST_IDLE)
    return np.asarray(_MET * flow.rate**2 * reading**2 * scatter / idle**3)


def fits(scenario: Scenario, layout: Layout, held: ArrayLike, ask: Ask) -> NDArray[np.bool_]:
    """Whether memory holds so many sequences of mean length beside the weights (F6.2)."""
    return np.asarray(np.asarray(held, dtype=float) <= most(scenario, layout, ask))


def most(scenario: Scenario, layout: Layout, ask: Ask) -> Array:
    """Sequences of mean length that memory holds beside the weights, 0 if those do not fit."""
    s = scenario
    if s.fidelity == "bound":
        each = np.asarray(s.model.kv_bytes(ask.context, s.kv_format) / layout.chips)
    else:
        each = layout.cache_per_chip(s, ask.context) + memory.activations_per_chip(s, layout)
    return np.asarray(memory.whole(room(s, layout), each, math.inf) * groups(s, layout))


def room(scenario: Scenario, layout: Layout) -> Array:
    """What weights leave free on a chip, negative by what is missing [byte]."""
    s = scenario
    if s.fidelity == "bound":
        weights = s.model.weight_bytes(s.stored) / layout.chips
    else:
        weights = layout.weights_per_chip(s)
    return np.asarray(s.chip.memory * s.usable_memory - s.runtime_memory - weights)
