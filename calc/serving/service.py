"""How good a service was: percentiles, throughput, goodput, utilisation, price.

Requests that failed count: a rejected one has waited for ever, and is in every percentile.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from calc import cost, host, known, metrics
from calc.scenario import Scenario
from calc.serving.errors import positive
from calc.serving.run import Run
from calc.serving.window import Window, steady
from calc.words import marked

Array = NDArray[np.float64]
PERCENTS = (50, 90, 95, 99)


@dataclass(frozen=True)
class Limits:
    """What a good answer keeps: longest time to the first token and per output token [s].

    Raises
    ------
    ServingError
        If one of them is 0: no request could keep it.
    """

    ttft: float = 1.0
    tpot: float = 0.05

    def __post_init__(self) -> None:
        positive(marked("The limit on time to first token"), self.ttft, "s")
        positive(marked("The limit on time per output token"), self.tpot, "s")


@dataclass(frozen=True)
class Spread:
    """A latency over requests [s].

    `mean` is of those that finished, `percentiles` by percent of all; `undefined` counts those
    that have none, such as a time between tokens where there is one token.
    """

    mean: float
    percentiles: dict[int, float]
    undefined: int


def percentile(values: ArrayLike, percent: float) -> float:
    """The smallest value that at least so many percent do not exceed.

    It is always the value of some request, so that infinite ones do no harm.

    >>> percentile([0.1] * 9 + [3.0], 50), percentile([0.1] * 9 + [3.0], 95)
    (0.1, 3.0)
    """
    ordered = np.sort(np.ravel(np.asarray(values, dtype=float)))
    if not len(ordered):
        return math.nan
    # Rounded first: 0.95 × 20 is a little more than 19.
    rank = math.ceil(round(percent / 100 * len(ordered), 9))
    return float(ordered[max(rank, 1) - 1])


def spread(values: Array) -> Spread:
    """Mean and percentiles of a latency; nan values have none."""
    known = values[~np.isnan(values)]
    finite = known[np.isfinite(known)]
    return Spread(
        float(finite.mean()) if len(finite) else math.nan,
        {percent: percentile(known, percent) for percent in PERCENTS},
        int(np.isnan(values).sum()),
    )


def gaps(run: Run) -> Spread:
    """Times between two tokens over all of them, so that a long stall shows (F8.1).

    Of tokens that came: a request that was turned away has no gap.
    """
    times, counts = run.gaps
    if not counts.size:
        return Spread(math.nan, dict.fromkeys(PERCENTS, math.nan), 0)
    order = np.argsort(times, kind="stable")
    upto = np.cumsum(counts[order])
    ranks = np.ceil(np.round(np.array(PERCENTS) / 100 * upto[-1], 9))
    at = times[order][np.searchsorted(upto, ranks)]
    return Spread(
        float(times @ counts / upto[-1]), dict(zip(PERCENTS, at.tolist(), strict=True)), 0
    )


def cdf(values: Array) -> tuple[Array, Array]:
    """Finite values in order, and the share of all requests that do not exceed each."""
    known = np.sort(values[~np.isnan(values)])
    share = np.arange(1, len(known) + 1) / max(len(known), 1)
    finite = np.isfinite(known)
    return known[finite], share[finite]


def meets(ttft: Array, tpot: Array, limits: Limits) -> NDArray[np.bool_]:
    """Requests within both limits; one without a gap between tokens is judged by its first."""
    return (ttft <= limits.ttft) & (np.isnan(tpot) | (tpot <= limits.tpot))


def good(run: Run, limits: Limits) -> NDArray[np.bool_]:
    """Requests of a run within both limits: those of their class where there are classes."""
    of = run.traffic.classified
    if not of:
        return meets(run.ttft, run.tpot, limits)
    ttft, tpot = of.each(lambda one: one.ttft), of.each(lambda one: one.tpot)
    within = np.isnan(run.tpot) | (run.tpot <= tpot)
    return np.asarray((run.ttft <= ttft) & within)


def goodput(good: int, duration: float) -> float:
    """Requests within limits in the unit of time of `duration` (F8.5).

    30 of 100 requests of one minute are 30 a minute, 0.5 a second.

    >>> goodput(30, 1.0), goodput(30, 60.0)
    (30.0, 0.5)
    """
    return good / duration if duration > 0 else math.nan


def knee(rates: ArrayLike, good: ArrayLike, share: float = 0.9) -> float:
    """The highest of rising rates up to which at least a `share` of the requests is good.

    `good` is the share of the requests within both limits at each rate; nan if not even the lowest
    has enough of them.

    >>> knee([1, 2, 4, 8], [1.0, 0.95, 0.92, 0.25])
    4.0
    """
    asked = np.asarray(rates, dtype=float)
    kept = np.cumprod(np.asarray(good, dtype=float) >= share).astype(bool)
    return float(asked[kept][-1]) if kept.any() else math.nan


@dataclass(frozen=True)
class Service:
    """The figures of a run.

    Attributes
    ----------
    ttft, tpot, tpot_per_token, e2e : Spread
        Latencies [s]; `tpot` is over gaps, (A) of F8.1, `tpot_per_token` over tokens, (B).
    itl : Spread
        Of every gap between two tokens [s].
    longest_gap : float
        The longest of them [s]; nan where there is none.
    finished, rejected, cancelled, timed_out, lost, unfinished, preempted, good : int
        Requests that ended so, were put out at least once, or kept both limits.
    good_share : float
        Of all requests, those that kept both limits.
    window : Window
        The part of the run that the rates and prices below are of.
    throughput, requests, goodput : float
        Generated tokens, finished requests, and good ones of those that came, each second.
    mean_batch, slot_efficiency : float
        Slots in use in a decode step, and the share of them that made a token.
    kv_used, kv_utilisation, kv_peak : float
        Share of the blocks in use over time, of those the share that holds tokens, most in use.
    hit_rate : float
        Share of prompt tokens found in the prefix cache.
    reread : int
        Tokens read again by requests that had been put out [token].
    mfu, mbu : float
        Over all chips and the whole run, idle time included (F4.2, F4.3).
    usd_per_million_tokens, usd_per_million_good_tokens : float
        Of generated tokens, and of those of good requests; nan without a price.
    """

    ttft: Spread
    tpot: Spread
    tpot_per_token: Spread
    e2e: Spread
    itl: Spread
    longest_gap: float
    finished: int
    rejected: int
    cancelled: int
    timed_out: int
    lost: int
    unfinished: int
    preempted: int
    good: int
    good_share: float
    window: Window
    throughput: float
    requests: float
    goodput: float
    mean_batch: float
    slot_efficiency: float
    kv_used: float
    kv_utilisation: float
    kv_peak: float
    hit_rate: float
    reread: int
    mfu: float
    mbu: float
    usd_per_million_tokens: float
    usd_per_million_good_tokens: float


def summary(run: Run, limits: Limits | None = None) -> Service:
    """The figures of a run under limits.

    Latencies and counts are of all requests. Rates and prices are of the steady part of the run:
    neither the time in which it fills is in them nor that in which the last requests drain.

    References
    ----------
    F8.1–F8.5, F8.12, F8.16.
    """
    kept = limits or Limits()
    kept_limits = good(run, kept)
    window = steady(run)
    price = run.over_chips(cost.price) * run.paid(window.start, window.end)
    time, tokens = window.time, window.tokens(run)
    kept_there = kept_limits & window.came(run)
    finished, rejected = int(run.finished.sum()), int(run.rejected.sum())
    cancelled, timed_out = int(run.cancelled.sum()), int(run.timed_out.sum())
    lost = int(run.lost.sum())
    used = [memory.mean(memory.used) for memory in run.memory]
    filled = [memory.mean(memory.filled) for memory in run.memory]
    total = sum(memory.total for memory in run.memory)
    return Service(
        ttft=spread(run.ttft),
        tpot=spread(run.tpot),
        tpot_per_token=spread(run.tpot_per_token),
        e2e=spread(run.e2e),
        itl=gaps(run),
        longest_gap=float(run.gaps[0].max()) if run.gaps.size else math.nan,
        finished=finished,
        rejected=rejected,
        cancelled=cancelled,
        timed_out=timed_out,
        lost=lost,
        unfinished=len(run.traffic) - finished - rejected - cancelled - timed_out - lost,
        preempted=int((run.preemptions > 0).sum()),
        good=int(kept_limits.sum()),
        good_share=float(kept_limits.mean()),
        window=window,
        throughput=_rate(tokens, time),
        requests=_rate(window.ended(run), time),
        goodput=goodput(int(kept_there.sum()), time),
        mean_batch=run.mean_batch,
        slot_efficiency=run.slot_efficiency,
        kv_used=_share(sum(used), total),
        kv_utilisation=_share(sum(filled), sum(used)),
        kv_peak=max((memory.peak / memory.total for memory in run.memory), default=math.nan),
        hit_rate=run.hit_rate,
        reread=run.reread,
        mfu=_mfu(run),
        mbu=_mbu(run),
        usd_per_million_tokens=_price(price, tokens, time),
        usd_per_million_good_tokens=_price(price, float(run.produced[kept_there].sum()), time),
    )


@dataclass(frozen=True)
class ClassService:
    """What became of the requests of one class.

    `requests` came, of which `good` kept the limits of their class, were `preempted` at least once,
    or ended as the names say; `goodput` is of those that came in the steady part [request/s];
    `ttft`, `tpot` and `e2e` are latencies [s].
    """

    name: str
    requests: int
    good: int
    goodput: float
    preempted: int
    rejected: int
    cancelled: int
    timed_out: int
    lost: int
    ttft: Spread
    tpot: Spread
    e2e: Spread

    @property
    def good_share(self) -> float:
        """Of its requests, those that kept both limits; nan where none came."""
        return self.good / self.requests if self.requests else math.nan


def by_class(run: Run, limits: Limits, window: Window) -> tuple[ClassService, ...]:
    """The figures of each class, in the order of the classes; none where there are none."""
    of = run.traffic.classified
    if not of:
        return ()
    kept, there = good(run, limits), window.came(run)
    return tuple(
        ClassService(
            name=one.name,
            requests=int(mine.sum()),
            good=int(kept[mine].sum()),
            goodput=goodput(int((kept & there)[mine].sum()), window.time),
            preempted=int((run.preemptions[mine] > 0).sum()),
            rejected=int(run.rejected[mine].sum()),
            cancelled=int(run.cancelled[mine].sum()),
            timed_out=int(run.timed_out[mine].sum()),
            lost=int(run.lost[mine].sum()),
            ttft=spread(run.ttft[mine]),
            tpot=spread(run.tpot[mine]),
            e2e=spread(run.e2e[mine]),
        )
        for one, mine in zip(of.classes, (of.of == i for i in range(len(of.classes))), strict=True)
    )


def _rate(count: float, time: float) -> float:
    return count / time if time > 0 else math.nan


def _share(part: float, whole: float) -> float:
    return part / whole if whole > 0 else math.nan


def _price(price: float, tokens: float, time: float) -> float:
    """Price of a million tokens; inf if there are none."""
    if not tokens or not time > 0:
        return math.inf
    return float(cost.per_million(price, tokens / time))


def _forward(run: Run) -> tuple[Array, Array]:
    """Prompt tokens that requests had read, and decode steps that each sample took."""
    read = np.where(np.isnan(run.first), 0, run.traffic.prompt)
    steps = np.maximum(run.produced / run.traffic.samples - 1, 0)
    return read, steps


def _there(run: Run, of: Callable[[Scenario], float]) -> float:
    """Sum over all chips that were paid for, on average over the run."""
    start = float(run.traffic.arrival[0])
    return run.over_chips(of) * run.paid(start, start + run.duration)


def _mfu(run: Run) -> float:
    """Two FLOPs per active parameter and token that passed the model, none of them twice."""
    s, (read, steps) = run.scenario, _forward(run)
    tokens = float(read.sum() + run.traffic.samples * steps.sum()) - run.found
    if not run.duration > 0:
        return math.nan
    useful = 2.0 * s.model.active_params * max(tokens, 0.0)
    return float(
        metrics.flops_share(
            useful,
            run.duration,
            _there(run, lambda one: known.figure(one.chip.peak(one.compute_format))),
        )
    )


def _mbu(run: Run) -> float:
    """Bytes that had to move over all that could.

    Weights of every decode step and of prompts read apart from those; cache that steps read and
    prompts leave.
    """
    s, (read, steps) = run.scenario, _forward(run)
    if not run.duration > 0:
        return math.nan
    sizes = np.array(list(run.steps) or [1], dtype=float)
    counts = np.array(list(run.steps.values()) or [0], dtype=float)
    prompts, passes = read[read > 0].astype(float), run.passes.astype(float)
    # A dense model reads the same for any tokens: one figure for all.
    weights = float((host.chip_bytes_read(s, sizes) * counts).sum())
    read_apart = host.chip_bytes_read(s, passes)
    weights += float((read_apart * np.ones_like(passes)).sum())
    reads = np.cumsum(s.model.kv_bytes_read(np.arange(run.traffic.longest + 1), s.kv_format))
    reads = np.concatenate([[0.0], np.broadcast_to(reads, (run.traffic.longest + 1,))])
    start = run.traffic.prompt
    cache = float((reads[start + steps.astype(np.int64)] - reads[start]).sum())
    cache = run.traffic.samples * cache + float(s.model.kv_bytes(prompts, s.kv_format).sum())
    moved = weights + cache
    return float(
        metrics.bandwidth_share(
            moved, run.duration, _there(run, lambda one: known.figure(one.chip.bandwidth))
        )
    )
