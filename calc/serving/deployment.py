"""Which replicas there are and which requests each of them gets."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from typing import Protocol, runtime_checkable

from calc.scenario import Scenario
from calc.serving.clock import Clock
from calc.serving.comers import Comers
from calc.serving.deadlines import Deadlines
from calc.serving.errors import ServingError, positive, whole
from calc.serving.fleet import Fleet
from calc.serving.line import Queue, line
from calc.serving.log import Log, Use
from calc.serving.policies import Batching, Continuous
from calc.serving.pool import Footprint, Memory, Relief
from calc.serving.prefix import NoPrefixes, PrefixCache
from calc.serving.readers import Readers
from calc.serving.replica import Replica
from calc.serving.routing import InTurn, Routing
from calc.serving.staffing import Staffing
from calc.serving.store import Store
from calc.serving.task import Task
from calc.serving.traffic import Traffic
from calc.words import marked, say

MOST_REPLICAS = 1024


@dataclass(frozen=True)
class Floor:
    """What a deployment has to work with: times, memory, requests, and where to write."""

    clock: Clock
    footprint: Footprint
    memory: Memory
    relief: Relief
    prefix: PrefixCache | None
    traffic: Traffic
    comers: Comers
    log: Log
    replicas: list[Replica]

    def open(self, names: Sequence[str], batching: Batching, first: int = 0) -> list[Replica]:
        """Replicas of such names, the first of them of a number."""
        for number, name in enumerate(names, first):
            prefixes = (
                self.prefix.open(self.footprint, self.traffic) if self.prefix else NoPrefixes()
            )
            store, use = Store(self.footprint, prefixes), Use(name, self.footprint.total)
            self.replicas.append(
                Replica(
                    self.clock, store, batching, self.relief, self.log, use, number, self._line()
                )
            )
        return self.replicas

    def _line(self) -> Queue:
        of = self.traffic.classified
        return line(one.priority for one in of.classes) if of else line(())

    def deadlines(self) -> Deadlines | None:
        """How long requests wait, where they do not wait for ever."""
        return Deadlines.of(self.traffic)


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
        """Of the replicas by number."""

    @property
    def reader(self) -> Scenario | None:
        """One of those that only read prompts, where it is not the scenario that is simulated."""

    def unstaffed(self) -> Deployment:
        """Itself with all of its replicas there all the time."""

    def serve(self, floor: Floor) -> Iterator[None]:
        """Serve all requests; yields after every event."""


@dataclass(frozen=True)
class Colocated:
    """Replicas that read prompts and decode.

    With `affinity` all requests of a session go to the same replica, where their prefix is. Which
    one a request or a session goes to is up to `routing`. Who serves at all may change by
    `staffing`: failures, an autoscaler.
    """

    batching: Batching
    replicas: int = 1
    affinity: bool = True
    routing: Routing = field(default_factory=InTurn)
    staffing: tuple[Staffing, ...] = ()
    reader = None

    def __post_init__(self) -> None:
        whole(marked("The number of replicas"), self.replicas, 1, MOST_REPLICAS)

    @property
    def name(self) -> str:
        return self.batching.name

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(say("replica {n}", n=number + 1) for number in range(self.replicas))

    def unstaffed(self) -> Deployment:
        return replace(self, staffing=())

    def serve(self, floor: Floor) -> Iterator[None]:
        key = _session if self.affinity else _request
        replicas = floor.open(self.names, self.batching)
        fleet = Fleet(replicas, self.routing, key, floor.log, floor.deadlines(), self.staffing)
        yield from fleet.run(floor.comers)


@dataclass(frozen=True)
class Disaggregated:
    """Replicas that read prompts, and others that decode.

    A prompt goes to the first prefill replica that is free, and the first token comes from there.
    Its cache follows at the `bandwidth` of each prefill replica's network [byte/s], layer by layer
    behind the reading with `streaming`, and afterwards in one piece without; caches of one replica
    follow each other. Decode replicas take them by `routing`. Prefill replicas keep prefixes,
    though of prompts only, since they never see an answer; their memory has no limit otherwise.
    What is put out of a decode replica is read again there.

    Decode replicas are of the scenario that is simulated, and prefill replicas too, unless `reader`
    is another: of the same model, with chips, a layout and formats of its own. Decode replicas may
    come and go by `staffing`; prefill replicas stay.

    References
    ----------
    F8.8, F8.9; Zhong et al. 2024.
    """

    prefill: int = 1
    decode: int = 1
    bandwidth: float = 50e9
    streaming: bool = True
    batching: Batching = field(default_factory=Continuous)
    routing: Routing = field(default_factory=InTurn)
    reader: Scenario | None = None
    staffing: tuple[Staffing, ...] = ()
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

    def unstaffed(self) -> Deployment:
        return replace(self, staffing=())

    def serve(self, floor: Floor) -> Iterator[None]:
        clock, footprint = floor.clock, floor.footprint
        if self.reader:
            if self.reader.model != clock.scenario.model:
                raise ServingError(say("Both pools must serve the same model."))
            try:
                footprint = Footprint.of(self.reader, floor.memory, floor.traffic.longest)
                clock = Clock(self.reader, floor.traffic.longest, 1)
            except ServingError as error:
                raise ServingError(say("Prefill replicas: {reason}", reason=error)) from error
            clock.prompts.learn(floor.traffic.prompt)
        kept = [
            floor.prefix.open_apart(footprint, floor.traffic) if floor.prefix else NoPrefixes()
            for _ in range(self.prefill)
        ]
        s = clock.scenario
        sent = s.model.kv_bytes(floor.traffic.prompt.astype(float), s.kv_format) / self.bandwidth
        deadlines = floor.deadlines()
        readers = Readers(clock, kept, footprint.tokens, sent, self.streaming, floor.log, deadlines)
        replicas = floor.open(self.names[self.prefill :], self.batching, self.prefill)
        turn = count()
        fleet = Fleet(
            replicas, self.routing, lambda task: next(turn), floor.log, deadlines, self.staffing
        )

        def read(task: Task) -> None:
            if readers.read(task):
                fleet.send(task)

        yield from fleet.run(floor.comers, read)


def _session(task: Task) -> int:
    return task.session


def _request(task: Task) -> int:
    return task.request
