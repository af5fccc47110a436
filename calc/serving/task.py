"""One request on its way through a replica."""

from __future__ import annotations

from enum import IntEnum


class State(IntEnum):
    """What a request is doing; each stretch of it is an interval of the run."""

    WAITING = 0
    PREFILL = 1
    DECODE = 2
    PREEMPTED = 3
    TRANSFER = 4


class Fate(IntEnum):
    """How a request ended.

    Rejected ones found no room or lost it, cancelled ones had no token when their patience ended,
    and timed out ones not all of them when their time was up; lost ones were with a replica that
    failed, and were not sent again.
    """

    UNFINISHED = 0
    FINISHED = 1
    REJECTED = 2
    CANCELLED = 3
    TIMED_OUT = 4
    LOST = 5


class Task:
    """A request as a replica holds it.

    Attributes
    ----------
    request : int
        Its row in the traffic; lower came earlier.
    session : int
        The conversation it belongs to.
    priority : int
        A higher one goes first.
    doom : Fate
        How it ends as soon as it can be taken out; `Fate.UNFINISHED` while it goes on.
    ready : float
        When it reaches the replica [s].
    prompt, output, width : int
        Tokens to read, tokens of each sample, samples.
    produced : int
        Tokens that each sample has.
    fetch : float
        Time to bring its cache back from the host, 0 if it comes with it [s]; negative if there is
        none and its tokens must be read.
    hit : int
        Blocks that it holds in the prefix cache.
    read : int
        Tokens read so far, those found in the prefix cache included.
    ticket : int
        Number among all that ever joined the batch; 0 outside it.
    end, place : int
        Step at which it has all its tokens, and its row in the batch.
    latest : float
        When it had its latest token, unless it decodes [s].
    state, since
        What it is doing and from when on [s].
    """

    __slots__ = (
        "doom", "end", "fetch", "hit", "latest", "output", "place", "priority", "produced",
        "prompt", "read", "ready", "request", "session", "since", "state", "ticket", "width",
    )  # fmt: skip

    def __init__(
        self,
        request: int,
        ready: float,
        prompt: int,
        output: int,
        width: int,
        produced: int = 0,
        session: int = 0,
        priority: int = 0,
    ) -> None:
        self.request, self.session, self.priority = request, session, priority
        self.prompt, self.output, self.width, self.produced = prompt, output, width, produced
        self.hit = self.read = self.ticket = self.end = self.place = 0
        self.fetch, self.state, self.doom = -1.0, State.WAITING, Fate.UNFINISHED
        self.come(ready)

    def come(self, now: float) -> None:
        """It reaches the service or a replica now [s]."""
        self.ready = self.since = self.latest = now

    @property
    def to_read(self) -> int:
        """Tokens to read before the next token: the prompt, and what each sample has written."""
        return self.prompt + self.width * self.produced

    @property
    def left(self) -> int:
        """Tokens still to read and to write, while it does not decode [token]."""
        reads = 0 if self.fetch >= 0 else self.to_read - self.read
        return reads + self.width * (self.output - self.produced)

    @property
    def next_context(self) -> int:
        """Cached positions of one sample when it starts to decode, again or for the first time."""
        return self.context + (self.fetch < 0)

    @property
    def context(self) -> int:
        """Cached positions of one sample once it decodes [token].

        The latest token is not among them: the next step reads it and writes its position.
        """
        return self.prompt + self.produced - 1
