"""Which replicas there are and which requests each of them gets."""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

import numpy as np

from calc.serving.clock import Clock
from calc.serving.errors import positive, whole
from calc.serving.log import Log, Use
from calc.serving.policies import Batching, Continuous
from calc.serving.pool import Footprint, Relief
from calc.serving.prefix import NoPrefixes, PrefixCache
from calc.serving.replica import Replica
from calc.serving.store import Store
from calc.serving.task import Fate, State, Task
from calc.serving.traffic import Traffic
from calc.words import marked, say

MOST_REPLICAS = 64


@dataclass(frozen=True)
class Floor:
    """What a deployment has to work with: times, memory, requests, and where to write."""

    clock: Clock
    footprint: Footprint
    relief: Relief
    prefix: PrefixCache | None
    traffic: Traffic
    tasks: Sequence[Task]
    log: Log
    uses: list[Use]
    replicas: list[Replica]

    def serve(
        self, name: str, batching: Batching, number: int, tasks: Sequence[Task]
    ) -> Iterator[None]:
        """Let one replica, of a name and a number, serve its requests."""
        use = Use(name, self.footprint.total)
        self.uses.append(use)
        system = self.traffic.system
        prefixes = self.prefix.open(self.footprint, system) if self.prefix else NoPrefixes()
        store = Store(self.footprint, prefixes)
        replica = Replica(self.clock, store, batching, self.relief, tasks, self.log, use, number)
        self.replicas.append(replica)
        for task in tasks:
            self.log.replica[task.request] = number
        yield from replica.run()


@runtime_checkable
class Deployment(Protocol):
    """Replicas, and the way of a request through them."""

    @property
    def name(self) -> str:
        """What the field calls it."""

    @property
    def batching(self) -> Batching:
        """Policy of the replicas that decode."""

    @property
    def names(self) -> tuple[str, ...]:
        """Of the replicas by number, of the scenario's chips each."""

    def serve(self, floor: Floor) -> Iterator[None]:
        """Serve all requests; yields after every event."""


@dataclass(frozen=True)
class Colocated:
    """Replicas that read prompts and decode.

    With `affinity` all requests of a session go to the same replica, where their prefix is;
    otherwise they go round. Neither looks at how busy a replica is.
    """

    batching: Batching
    replicas: int = 1
    affinity: bool = True

    def __post_init__(self) -> None:
        whole(marked("The number of replicas"), self.replicas, 1, MOST_REPLICAS)

    @property
    def name(self) -> str:
        return self.batching.name

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(say("replica {n}", n=number + 1) for number in range(self.replicas))

    def serve(self, floor: Floor) -> Iterator[None]:
        shares: list[list[Task]] = [[] for _ in range(self.replicas)]
        for task in floor.tasks:
            key = task.session if self.affinity else task.request
            shares[key % self.replicas].append(task)
        for number, tasks in enumerate(shares):
            yield from floor.serve(self.names[number], self.batching, number, tasks)


@dataclass(frozen=True)
class Disaggregated:
    """Replicas that read prompts, and others that decode.

    A prompt goes to the first prefill replica that is free, and the first token comes from there.
    Its cache follows at the `bandwidth` of each prefill replica's network [byte/s], layer by layer
    behind the reading with `streaming`, and afterwards in one piece without; caches of one replica
    follow each other. Decode replicas take turns. Prefill replicas keep prefixes, though of prompts
    only, since they never see an answer; their memory has no limit otherwise. What is put out of a
    decode replica is read again there.

    References
    ----------
    F8.8, F8.9; Zhong et al. 2024.
    """

    prefill: int = 1
    decode: int = 1
    bandwidth: float = 50e9
    streaming: bool = True
    batching: Batching = field(default_factory=Continuous)
    name = "disaggregated"

    def __post_init__(self) -> None:
        whole(marked("The number of prefill replicas"), self.prefill, 1, MOST_REPLICAS)
        whole(marked("The number of decode replicas"), self.decode, 1, MOST_REPLICAS)
        positive(marked("The bandwidth between the pools"), self.bandwidth, "B/s")

    @property
    def names(self) -> tuple[str, ...]:
        return (
            *(say("prefill {n}", n=number + 1) for number in range(self.prefill)),
            *(say("decode {n}", n=number + 1) for number in range(self.decode)),
        )

    def serve(self, floor: Floor) -> Iterator[None]:
        shares: list[list[Task]] = [[] for _ in range(self.decode)]
        for turn, task in enumerate(self._read(floor)):
            shares[turn % self.decode].append(task)
            yield
        for number, tasks in enumerate(shares, self.prefill):
            yield from floor.serve(self.names[number], self.batching, number, tasks)

    def _read(self, floor: Floor) -> list[Task]:
        """Requests that go on to decode, in the order in which their caches arrive."""
        clock, log, s = floor.clock, floor.log, floor.clock.scenario
        layers = s.model.layers
        prompts = np.array([task.prompt for task in floor.tasks], dtype=float)
        # A model whose state does not grow sends the same for any prompt: one figure for all.
        sent = s.model.kv_bytes(prompts, s.kv_format) / self.bandwidth
        transfers = np.broadcast_to(sent, prompts.shape)
        servers = [(0.0, number) for number in range(self.prefill * clock.lanes)]
        links = [0.0] * self.prefill
        system = floor.traffic.system
        kept = [
            floor.prefix.open_apart(floor.footprint, system) if floor.prefix else NoPrefixes()
            for _ in links
        ]
        passed = []
        for task, transfer in zip(floor.tasks, transfers.tolist(), strict=True):
            free, number = heapq.heappop(servers)
            start = max(free, task.ready)
            where = number % self.prefill
            reading = _reading(floor, task, kept[where])
            end = start + reading
            heapq.heappush(servers, (end, number))
            request = task.request
            log.admitted[request], log.first[request] = start, end
            log.intervals.append((request, int(State.WAITING), task.ready, start, where))
            log.intervals.append((request, int(State.PREFILL), start, end, where))
            task.produced = 1
            if task.output == 1:
                log.produced[request] = task.width
                log.end(request, Fate.FINISHED, end)
                continue
            # What layers before the last have sent while the next was read is hidden (F8.9).
            hidden = reading * (layers - 1) / layers if self.streaming else 0.0
            arrived = max(end + max(0.0, transfer - hidden), links[where] + transfer)
            links[where] = arrived
            log.intervals.append((request, int(State.TRANSFER), end, arrived, where))
            task.ready = task.since = arrived
            task.fetch = 0.0
            passed.append(task)
        return sorted(passed, key=_ready)


def _reading(floor: Floor, task: Task, prefixes: NoPrefixes) -> float:
    """Time to read a prompt on a prefill replica, what is cached of it left out [s]."""
    hit = prefixes.find(task)
    prefixes.keep(task, task.prompt)
    known = hit * floor.footprint.tokens
    floor.log.asked += task.prompt
    floor.log.found += known
    floor.log.passes.append(task.prompt - known)
    return prefixes.read_time(hit) + floor.clock.prompt(task.prompt, known)


def _ready(task: Task) -> tuple[float, int]:
    return task.ready, task.request
