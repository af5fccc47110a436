"""The requests that a service is asked to answer."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from calc.serving.arrivals import Arrivals
from calc.serving.errors import ServingError, positive, whole
from calc.serving.lengths import LONGEST, Lengths
from calc.words import marked, say

Array = NDArray[np.float64]
Tokens = NDArray[np.int64]

MOST_REQUESTS = 200_000
MOST_SAMPLES = 256
MOST_TOKENS = 1 << 21
MOST_TURNS = 100


@dataclass(frozen=True, eq=False)
class Traffic:
    """Requests in the order in which they come.

    Parameters
    ----------
    arrival : array of shape (requests,)
        When each comes [s], none before the one above it.
    prompt, output : array of shape (requests,)
        Tokens to read, and to generate for each sample [token].
    rate : float
        Mean rate that was asked for [request/s]; inf if all come at once.
    session : array of shape (requests,)
        Which conversation a request belongs to: each prompt of a session begins with the prompt
        and the answer before it.
    system : int
        Tokens at the start of every prompt that all requests share [token].
    samples : int
        Answers generated for each prompt, all of the request's output length (best of n).
    notices : tuple of str
        Sentences about what was changed or left out on the way here.
    """

    arrival: Array
    prompt: Tokens
    output: Tokens
    rate: float
    session: Tokens
    system: int = 0
    samples: int = 1
    notices: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not len(self.arrival):
            raise ServingError(say("The traffic has no request."))
        if not np.isfinite(self.arrival).all() or (self.arrival < 0).any():
            raise ServingError(say("An arrival time is negative or not finite."))
        if (np.diff(self.arrival) < 0).any():
            raise ServingError(say("Arrival times are not in order."))
        if min(self.prompt.min(), self.output.min()) < 1:
            raise ServingError(say("A prompt or an output is shorter than one token."))
        whole(marked("The number of samples"), self.samples, 1, MOST_SAMPLES)
        if self.longest > MOST_TOKENS:
            raise ServingError(
                say(
                    "A request may take {longest:,} tokens over all its samples; the limit is "
                    "{most:,}.",
                    longest=self.longest,
                    most=MOST_TOKENS,
                )
            )

    def __len__(self) -> int:
        return len(self.arrival)

    @cached_property
    def longest(self) -> int:
        """Most tokens that a request may have read or written, all its samples included [token]."""
        return int((self.prompt + self.samples * self.output).max())

    def upto(self, requests: int) -> Traffic:
        """The first so many of the requests."""
        return replace(
            self,
            arrival=self.arrival[:requests],
            prompt=self.prompt[:requests],
            output=self.output[:requests],
            session=self.session[:requests],
        )

    @property
    def realised_rate(self) -> float:
        """Requests per second that came [request/s]; the rate asked for where that is unknown."""
        span = float(self.arrival[-1] - self.arrival[0])
        return (len(self) - 1) / span if span > 0 else self.rate

    def at_rate(self, rate: float) -> Traffic:
        """These requests in their order, coming at another mean rate [request/s]."""
        if not math.isfinite(self.rate):
            raise ServingError(say("Requests that all come at once have no rate to change."))
        positive(marked("The arrival rate"), rate, marked("requests per second"))
        return replace(self, arrival=self.arrival * (self.rate / rate), rate=rate)


def generate(
    requests: int,
    arrivals: Arrivals,
    prompt: Lengths,
    output: Lengths,
    *,
    seed: int = 0,
    system: int = 0,
    samples: int = 1,
    turns: int = 1,
    think: float = 30.0,
) -> Traffic:
    """Random requests, the same ones for the same arguments.

    Arrivals and lengths are drawn from streams of their own: at another rate the same requests
    come in the same order.

    Parameters
    ----------
    requests : int
        How many.
    arrivals, prompt, output
        When they come and how long they are. With several turns `prompt` is what a turn adds.
    seed : int
        Start of the random numbers.
    system : int
        Tokens of a system prompt before every prompt [token].
    samples : int
        Answers to each prompt.
    turns : int
        Requests of one session, each of which starts with the whole conversation before it.
    think : float
        Mean time from one turn's arrival to the next one's [s], exponential; a turn comes at its
        time even if the answer before it is late.

    Raises
    ------
    ServingError
        If a number is out of its range.
    """
    whole(marked("The number of requests"), requests, 1, MOST_REQUESTS)
    whole(marked("The system prompt"), system, 0, LONGEST)
    whole(marked("The number of samples"), samples, 1, MOST_SAMPLES)
    whole(marked("The number of turns"), turns, 1, MOST_TURNS)
    whole(marked("The seed"), seed, 0, 2**63 - 1)
    positive(marked("The time between turns"), think, "s")
    times, prompts, outputs, gaps = (
        np.random.default_rng(stream) for stream in np.random.SeedSequence(seed).spawn(4)
    )
    added, answered = prompt.draw(prompts, requests), output.draw(outputs, requests)
    sessions = -(-requests // turns)
    # Sessions start at a rate that makes the requests come at the one asked for.
    start = arrivals.draw(times, sessions) * turns
    session = np.repeat(np.arange(sessions), turns)[:requests]
    turn = np.arange(requests) % turns
    pauses = np.where(turn > 0, gaps.exponential(think, requests), 0.0)
    arrival = start[session] + _since_first(pauses, turn)
    before = _since_first((added + answered).astype(float), turn) - answered
    lengths = system + np.where(turn > 0, before, added).astype(np.int64)
    if lengths.max() > LONGEST:
        raise ServingError(
            say("A conversation grows beyond {most:,} tokens: take fewer turns.", most=LONGEST)
        )
    order = np.argsort(arrival, kind="stable")
    return Traffic(
        arrival[order], lengths[order], answered[order], arrivals.rate, session[order], system,
        samples,
    )  # fmt: skip


def _since_first(values: Array, turn: Tokens) -> Array:
    """Sums of values from each session's first turn on."""
    running = np.cumsum(values)
    first = np.maximum.accumulate(np.where(turn == 0, np.arange(len(turn)), 0))
    return running - running[first] + values[first]
