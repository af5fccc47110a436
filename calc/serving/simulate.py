"""The simulation: traffic on a deployment of a scenario."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import repeat

import numpy as np

from calc.scenario import Scenario
from calc.serving.clock import Clock
from calc.serving.comers import Clients, Timed
from calc.serving.deployment import Colocated, Deployment, Floor
from calc.serving.log import Log
from calc.serving.policies import Batching
from calc.serving.pool import Footprint, Memory, Paged, Recompute, Relief
from calc.serving.prefix import PrefixCache
from calc.serving.run import Intervals, MemoryUse, Run, Shifts
from calc.serving.steps import PLAIN, Steps
from calc.serving.task import Fate, Task
from calc.serving.traffic import Traffic
from calc.words import say

# Events between two questions whether to go on.
_EVENTS = 256


def simulate(
    scenario: Scenario,
    traffic: Traffic,
    policy: Batching | Deployment,
    *,
    memory: Memory | None = None,
    relief: Relief | None = None,
    prefix: PrefixCache | None = None,
    progress: Callable[[float], bool | None] | None = None,
    clock: Clock | None = None,
    most_events: int | None = None,
    steps: Steps = PLAIN,
    beside: float = 0.0,
) -> Run:
    """Serve traffic; the same arguments give the same run.

    Step times come from `decode`, `prefill` and their chunks at the scenario's fidelity. Its own
    batch, context and lengths are not used.

    Parameters
    ----------
    scenario : Scenario
        One replica.
    traffic : Traffic
        The requests.
    policy : Batching or Deployment
        A batching policy for one replica, or a deployment of several.
    memory : Memory
        How cache is handed out; `Paged` by default.
    relief : Relief
        What happens when it runs out; `Recompute` by default.
    prefix : PrefixCache, optional
        Where prefixes are kept; nowhere by default.
    progress : callable, optional
        Called now and then with the share of requests that have ended; False stops the run.
    clock : Clock, optional
        Of an earlier call of `clock_for`, to time a scenario once for several runs; one that does
        not cover this run is not used.
    most_events : int, optional
        Events after which the run is stopped, which a notice then says: long prompts in small
        chunks, or many requests, have millions. Without end by default.
    steps : Steps
        How tokens are made; one of each sequence a step by default.
    beside : float
        What of a replica's memory is taken beside weights and cache, as by adapters [byte].

    Raises
    ------
    ServingError
        If the weights do not fit or steps cannot be timed.

    References
    ----------
    F8.1–F8.11 for what must come out on average; F8.14 for its steps.
    """
    deployment = policy if isinstance(policy, Deployment) else Colocated(policy)
    kept, relieved = memory or Paged(), relief or Recompute()
    taken = beside + steps.memory(scenario)
    footprint = Footprint.of(scenario, kept, traffic.longest, taken)
    if prefix:
        prefix.check(footprint, scenario.model.name)
    slots = deployment.batching.slots
    if clock is None or not clock.covers(scenario, traffic.longest, slots, steps):
        clock = clock_for(scenario, traffic, slots, steps)
    log = Log(len(traffic))
    tasks, notices = _tasks(traffic, footprint, kept, slots, log)
    comers = Clients(tasks, traffic.loop, log) if traffic.loop else Timed(tasks)
    floor = Floor(clock, footprint, kept, relieved, prefix, traffic, comers, log, [])
    stopped = _drive(deployment.serve(floor), log, progress, most_events)
    if stopped and stopped == most_events:
        notices.append(
            say(
                "Stopped after {events:,} events, when {ended:,} of {all:,} requests had ended.",
                events=stopped,
                ended=log.ends,
                all=len(traffic),
            )
        )
    return _run(scenario, deployment, floor, stopped, notices)


def clock_for(
    scenario: Scenario, traffic: Traffic, slots: int = 256, steps: Steps = PLAIN
) -> Clock:
    """Times of a scenario for all that traffic may ask, in batches of up to so many slots."""
    clock = Clock(scenario, traffic.longest, slots, steps)
    clock.prompts.learn(traffic.prompt)
    if traffic.system:
        block = scenario.kv_block
        shared = np.minimum(traffic.system, traffic.prompt - 1) // block * block
        clock.prompts.learn(traffic.prompt, shared)
    return clock


def _tasks(
    traffic: Traffic, footprint: Footprint, kept: Memory, slots: int, log: Log
) -> tuple[list[Task], list[str]]:
    """Requests that can be served at all, and sentences about the others, which are rejected."""
    width, notices = traffic.samples, list(traffic.notices)
    context = traffic.prompt + traffic.output - 1
    most = footprint.table[context]
    shared = footprint.shared[traffic.prompt]
    blocks = shared + width * (most - shared)
    large, long = blocks > footprint.total, context > kept.longest
    if width > slots:
        large = np.ones_like(large)
        notices.append(
            say(
                "All requests are rejected: {width:,} samples do not fit into {slots:,} slots.",
                width=width,
                slots=slots,
            )
        )
    elif large.any():
        worst = int(np.argmax(blocks))
        notices.append(
            say(
                "Rejected for want of cache: {large:,} of {all:,} requests. Request {worst:,} "
                "needs {blocks:,} blocks of {tokens:,} tokens, and the replica has {total:,}.",
                large=int(large.sum()),
                all=len(traffic),
                worst=worst + 1,
                blocks=int(blocks[worst]),
                tokens=footprint.tokens,
                total=footprint.total,
            )
        )
    if long.any():
        notices.append(
            say(
                "Rejected for their length: {long:,} of {all:,} requests. They are longer than "
                "the {reserved:,.0f} tokens reserved for each.",
                long=int(long.sum()),
                all=len(traffic),
                reserved=kept.longest,
            )
        )
    tasks = []
    of = traffic.classified
    priorities = of.each(lambda one: one.priority).astype(int).tolist() if of else repeat(0)
    rows = zip(
        traffic.arrival.tolist(), traffic.prompt.tolist(), traffic.output.tolist(),
        traffic.session.tolist(), (large | long).tolist(), priorities, strict=False,
    )  # fmt: skip
    for request, (arrival, prompt, output, session, refused, priority) in enumerate(rows):
        if refused:
            log.end(request, Fate.REJECTED, arrival)
        else:
            tasks.append(Task(request, arrival, prompt, output, width, 0, session, priority))
    return tasks, notices


def _drive(
    events: Iterator[None],
    log: Log,
    progress: Callable[[float], bool | None] | None,
    most: int | None,
) -> int:
    """Let all events happen, or `most` of them; returns after how many it stopped, 0 if not."""
    for number, _ in enumerate(events, 1):
        if progress and number % _EVENTS == 0 and progress(log.ends / len(log.fate)) is False:
            return number
        if number == most and log.ends < len(log.fate):
            return number
    if progress:
        progress(log.ends / len(log.fate))
    return 0


def _run(
    scenario: Scenario, deployment: Deployment, floor: Floor, stopped: int, notices: Sequence[str]
) -> Run:
    log, traffic, ended = floor.log, floor.traffic, np.array(floor.log.ended)
    if traffic.loop:
        traffic = _came(traffic, log)
        # Those that cannot be served are turned away when their turn comes.
        ended = np.maximum(ended, np.where(np.isnan(ended), np.nan, traffic.arrival))
    columns = np.array(log.intervals).reshape(-1, 5).T
    return Run(
        scenario=scenario,
        reader=deployment.reader or scenario,
        traffic=traffic,
        name=deployment.name,
        names=deployment.names,
        admitted=np.array(log.admitted),
        first=np.array(log.first),
        ended=ended,
        fate=np.array(log.fate),
        preemptions=np.array(log.preemptions),
        retries=np.array(log.retries),
        produced=np.array(log.produced),
        replica=np.array(log.replica),
        shifts=_shifts(log),
        intervals=Intervals(
            columns[0].astype(np.int64),
            columns[1].astype(np.int64),
            columns[2],
            columns[3],
            columns[4].astype(np.int64),
        ),
        gaps=np.array(log.gaps).reshape(-1, 2).T,
        memory=tuple(
            MemoryUse(one.use.name, one.use.total, one.store.pool.peak, *one.use.arrays())
            for one in floor.replicas
        ),
        steps=dict(sorted(log.steps.items())),
        slot_steps=log.slot_steps,
        passes=np.array(log.passes, dtype=np.int64),
        asked=log.asked,
        found=log.found,
        reread=log.reread,
        stopped=bool(stopped),
        notices=tuple(notices),
    )


def _shifts(log: Log) -> Shifts | None:
    if not log.staffed:
        return None
    replica, shift, start, end = np.array(log.shifts).reshape(-1, 4).T
    return Shifts(replica.astype(np.int64), shift.astype(np.int64), start, end)


def _came(traffic: Traffic, log: Log) -> Traffic:
    """The requests of a closed loop at the times at which they came."""
    arrival = np.zeros(len(traffic))
    arrival[list(log.arrived)] = list(log.arrived.values())
    arrival = np.maximum.accumulate(arrival)
    found = replace(traffic, arrival=arrival, loop=None)
    return replace(found, rate=found.realised_rate, loop=traffic.loop)


@dataclass(frozen=True, eq=False)
class LoadPoint:
    """A run of the same requests at one rate [request/s]."""

    rate: float
    run: Run


def load_sweep(
    scenario: Scenario,
    traffic: Traffic,
    policy: Batching | Deployment,
    rates: Sequence[float],
    *,
    memory: Memory | None = None,
    relief: Relief | None = None,
    prefix: PrefixCache | None = None,
    clock: Clock | None = None,
    most_events: int | None = None,
) -> Iterator[LoadPoint]:
    """Runs of the requests at several rates, each as soon as it is simulated.

    Parameters are those of `simulate`; rates are requests per second.
    """
    deployment = policy if isinstance(policy, Deployment) else Colocated(policy)
    timed = clock or clock_for(scenario, traffic, deployment.batching.slots)
    for rate in rates:
        run = simulate(
            scenario, traffic.at_rate(rate), deployment, memory=memory, relief=relief,
            prefix=prefix, clock=timed, most_events=most_events,
        )  # fmt: skip
        yield LoadPoint(rate, run)
