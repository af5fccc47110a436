"""A plan before simulated requests: what the closed form says, and what came out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from calc.plan import replica
from calc.plan.ask import Ask
from calc.plan.candidate import Candidate
from calc.serving import (
    ChunkedPrefill,
    ClassService,
    Colocated,
    Continuous,
    Disaggregated,
    Service,
    ServingError,
    Spread,
    by_class,
    generate,
    simulate,
    summary,
)
from calc.serving.arrivals import Poisson
from calc.serving.deployment import MOST_REPLICAS, Deployment
from calc.serving.lengths import Constant, Lengths, Lognormal
from calc.serving.service import Limits
from calc.words import say


@dataclass(frozen=True)
class Proof:
    """What simulated requests made of a plan, at the rate with its headroom.

    `ttft` and `tpot` are what the limits are on, their mean or percentile, of the class that is
    closest to its own [s]; `holds` whether all keep them. `classes` is what became of each class.
    """

    service: Service
    ttft: float
    tpot: float
    holds: bool
    classes: tuple[ClassService, ...] = ()


def verify(
    candidate: Candidate,
    requests: int = 2000,
    progress: Callable[[float], bool | None] | None = None,
) -> Proof:
    """Simulate a plan.

    Of more replicas than a simulation takes, as many as it does, with their share of the requests.

    Raises
    ------
    ServingError
        If the simulation cannot express the plan.
    """
    one, ask = candidate, candidate.ask
    deployment, part = _deployment(one)
    traffic = generate(
        requests,
        Poisson(ask.needed * part),
        _lengths(ask, ask.prompt),
        _lengths(ask, ask.output),
        classes=ask.classes,
    )
    run = simulate(one.scenario, traffic, deployment, progress=progress)
    limits = Limits(ask.ttft, ask.tpot)
    service = summary(run, limits)
    classes = by_class(run, limits, service.window)
    found: Sequence[ClassService | Service] = classes or (service,)
    parts = list(zip(ask.parts, found, strict=True))
    ttft = max(part.first_ratio * _of(ask, each.ttft) for part, each in parts)
    tpot = max(part.each_ratio * _of(ask, each.tpot) for part, each in parts)
    return Proof(service, ttft, tpot, ttft <= ask.ttft and tpot <= ask.tpot, classes)


def _lengths(ask: Ask, mean: float) -> Lengths:
    return Lognormal(mean, ask.spread) if ask.spread else Constant(round(mean))


def _of(ask: Ask, spread: Spread) -> float:
    """The figure of a latency that the limits are on."""
    if ask.chance is None:
        return float(spread.mean)
    return float(spread.percentiles[round(100 * ask.chance)])


def _deployment(one: Candidate) -> tuple[Deployment, float]:
    """How it is simulated, and the share of the requests that so many replicas get."""
    s = one.scenario
    groups = int(replica.groups(s, replica.layout_of(s)))
    if one.prefill is None:
        batching = (
            ChunkedPrefill(one.slots, max(one.budget, -(-one.slots // groups)), groups)
            if one.budget
            else Continuous(one.slots)
        )
        replicas = min(one.replicas, MOST_REPLICAS)
        return Colocated(batching, replicas, affinity=False), replicas / one.replicas
    pool = one.prefill
    if max(one.replicas, pool.replicas) > MOST_REPLICAS:
        raise ServingError(say("So many replicas are not simulated."))
    bandwidth = s.scale_out * pool.scenario.n_chips
    deployment = Disaggregated(
        pool.replicas, one.replicas, bandwidth, True, Continuous(one.slots), reader=pool.scenario
    )
    return deployment, 1.0
