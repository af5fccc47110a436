"""The requests that a service is asked to answer."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from calc.serving.arrivals import Arrivals, AtOnce, Daily
from calc.serving.chains import Hashes
from calc.serving.classes import Classified, ServiceClass, shares
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
class Loop:
    """A closed loop: so many `clients`, and the time from an answer to the next request [s].

    `pauses` has one for each request, the time before it.
    """

    clients: int
    pauses: Array


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
    hashes : Hashes, optional
        What prompts share where a trace tells it, in place of sessions.
    samples : int
        Answers generated for each prompt, all of the request's output length (best of n).
    classified : Classified, optional
        Which class each request is of, where there are classes.
    adapters : int
        LoRA adapters, in turn over sessions; 0 for none.
    loop : Loop, optional
        Clients that send a request when their last is answered: arrivals are known after the run.
    notices : tuple of str
        Sentences about what was changed or left out on the way here.
    understood : tuple of str
        Sentences about what was made of the file that they come from.
    recipe : Recipe, optional
        What draws more of them, where they were drawn.
    """

    arrival: Array
    prompt: Tokens
    output: Tokens
    rate: float
    session: Tokens
    system: int = 0
    samples: int = 1
    hashes: Hashes | None = None
    classified: Classified | None = None
    adapters: int = 0
    loop: Loop | None = None
    notices: tuple[str, ...] = ()
    understood: tuple[str, ...] = ()
    recipe: Recipe | None = None

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
            recipe=self.recipe and replace(self.recipe, requests=min(requests, len(self))),
            arrival=self.arrival[:requests],
            prompt=self.prompt[:requests],
            output=self.output[:requests],
            session=self.session[:requests],
            hashes=self.hashes and self.hashes.of(list(range(min(requests, len(self))))),
            classified=self.classified and self.classified.rows(slice(requests)),
            loop=self.loop and replace(self.loop, pauses=self.loop.pauses[:requests]),
        )

    @property
    def varies(self) -> bool:
        """Whether its rate is known to go up and down, so that no part of a run is steady."""
        return self.recipe is not None and isinstance(self.recipe.arrivals, Daily)

    @property
    def realised_rate(self) -> float:
        """Requests per second that came [request/s]; the rate asked for where that is unknown."""
        span = float(self.arrival[-1] - self.arrival[0])
        return (len(self) - 1) / span if span > 0 else self.rate

    @cached_property
    def shared(self) -> float:
        """Share of prompt tokens that a cache without a limit would find (F8.18)."""
        # Each adapter reads the system prompt once.
        again = np.ones(len(self), dtype=bool)
        again[np.unique(self.session % max(self.adapters, 1), return_index=True)[1]] = False
        found = int(np.minimum(self.system, self.prompt[again] - 1).clip(0).sum())
        seen: set[int] = set()
        if self.hashes:
            found = 0
            for ids, prompt in zip(self.hashes.ids, self.prompt.tolist(), strict=True):
                known = next((n for n, key in enumerate(ids) if key not in seen), len(ids))
                found += min(known * self.hashes.block, prompt)
                seen.update(ids)
        else:
            said: dict[int, int] = {}
            rows = zip(
                self.session.tolist(), self.prompt.tolist(), self.output.tolist(), strict=True
            )
            for session, prompt, output in rows:
                if session in said:
                    found += max(min(said[session], prompt - 1) - self.system, 0)
                said[session] = prompt + output
        return found / float(self.prompt.sum())

    def enough(self, requests: int) -> Traffic:
        """So many requests of this kind, or all there are."""
        if self.recipe and requests > len(self):
            return replace(self.recipe, requests=min(requests, MOST_REQUESTS)).draw()
        return self.upto(requests)

    def at_rate(self, rate: float) -> Traffic:
        """These requests coming at another mean rate [request/s].

        Their order and lengths stay, and of sessions the time between turns: more of them begin.
        """
        if self.loop:
            raise ServingError(
                say("Clients that wait for their answers have no rate to change, but a number.")
            )
        if not math.isfinite(self.rate):
            raise ServingError(say("Requests that all come at once have no rate to change."))
        positive(marked("The arrival rate"), rate, marked("requests per second"))
        if self.recipe and self.recipe.turns > 1:
            return self.recipe.at(rate).draw()
        recipe = self.recipe and self.recipe.at(rate)
        _, first, of = np.unique(self.session, return_index=True, return_inverse=True)
        began = self.arrival[first][of]
        arrival = began * (self.rate / rate) + (self.arrival - began)
        order = np.argsort(arrival, kind="stable")
        return replace(
            self, arrival=arrival[order], prompt=self.prompt[order], output=self.output[order],
            session=self.session[order], rate=rate, recipe=recipe,
            hashes=self.hashes and self.hashes.of(order.tolist()),
            classified=self.classified and self.classified.rows(order),
        )  # fmt: skip


def closed_loop(
    requests: int,
    clients: int,
    prompt: Lengths,
    output: Lengths,
    *,
    pause: float = 0.0,
    seed: int = 0,
    system: int = 0,
    samples: int = 1,
    classes: tuple[ServiceClass, ...] = (),
) -> Traffic:
    """Requests of clients that wait: the form of most published benchmarks.

    Each sends its first at time 0, after a pause if there is one, and its next a pause after the
    answer (F8.19).

    Parameters
    ----------
    requests : int
        How many over all clients.
    clients : int
        How many requests are under way at a time, or paused.
    prompt, output
        How long they are.
    pause : float
        Mean time from an answer to the next request [s], exponential.
    seed, system, samples, classes
        As in `generate`.

    Raises
    ------
    ServingError
        If a number is out of its range.
    """
    whole(marked("The number of clients"), clients, 1, MOST_REQUESTS)
    if not 0 <= pause < math.inf:
        raise ServingError(
            say("The pause of a client is {pause:g} s; it must be 0 or above and finite.",
                pause=pause)
        )  # fmt: skip
    drawn = generate(
        requests, AtOnce(), prompt, output, seed=seed, system=system, samples=samples,
        classes=classes,
    )  # fmt: skip
    pauses = np.random.default_rng((seed, 1)).exponential(1.0, requests) * pause
    return replace(drawn, recipe=None, loop=Loop(clients, pauses))


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
    classes: tuple[ServiceClass, ...] = (),
) -> Traffic:
    """Random requests, the same ones for the same arguments.

    Arrivals and lengths are drawn from streams of their own: at another rate the same requests
    come in the same order, unless they belong to sessions.

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
        Sessions begin at the rate of arrivals over the turns, and some are under way at the start,
        so that requests come at that rate from the first to the last.
    think : float
        Mean time from one turn's arrival to the next one's [s], exponential; a turn comes at its
        time even if the answer before it is late.
    classes : tuple of ServiceClass
        What requests are of, drawn by their shares, those of a session all of one. Lengths are
        spread as `prompt` and `output` are, around the means of their class.

    Raises
    ------
    ServingError
        If a number is out of its range.
    """
    return Recipe(
        requests, arrivals, prompt, output, seed, system, samples, turns, think, classes
    ).draw()


@dataclass(frozen=True)
class Recipe:
    """What `generate` was asked for."""

    requests: int
    arrivals: Arrivals
    prompt: Lengths
    output: Lengths
    seed: int
    system: int
    samples: int
    turns: int
    think: float
    classes: tuple[ServiceClass, ...] = ()

    def __post_init__(self) -> None:
        whole(marked("The number of requests"), self.requests, 1, MOST_REQUESTS)
        whole(marked("The system prompt"), self.system, 0, LONGEST)
        whole(marked("The number of samples"), self.samples, 1, MOST_SAMPLES)
        whole(marked("The number of turns"), self.turns, 1, MOST_TURNS)
        whole(marked("The seed"), self.seed, 0, 2**63 - 1)
        positive(marked("The time between turns"), self.think, "s")

    def at(self, rate: float) -> Recipe:
        """This traffic at another rate [request/s]."""
        return replace(self, arrivals=self.arrivals.at(rate))

    def draw(self) -> Traffic:
        """The requests."""
        rate, turns = self.arrivals.rate, self.turns
        if turns == 1 or math.isinf(rate):
            rows = self._until(math.inf, -(-self.requests // turns))
        else:
            # Requests of a session come together: their number spreads by more than its root.
            margin, rows = 4 * math.sqrt(self.requests * turns), np.empty((0, 5))
            while len(rows) < self.requests:
                end = (self.requests + margin) / rate
                rows = self._until(end, math.ceil((end * rate + 2 * margin) / turns))
                margin *= 2
        order = np.argsort(rows[:, 0], kind="stable")[: self.requests]
        arrival = rows[order, 0]
        prompt, output, session, of = rows[order, 1:].astype(np.int64).T
        if prompt.max() > LONGEST:
            raise ServingError(
                say("A conversation grows beyond {most:,} tokens: take fewer turns.", most=LONGEST)
            )
        return Traffic(
            arrival, prompt, output, rate, session, self.system, self.samples, recipe=self,
            classified=Classified(self.classes, of) if self.classes else None,
        )  # fmt: skip

    def _until(self, end: float, sessions: int) -> Array:
        """Arrival, prompt, output, session and class of all requests up to a time, by turn.

        Beside so many sessions that begin, those under way at the start: between any two turns as
        many as come in a thinking time, of which some go on before the end (M/M/∞ in a row).
        """
        times, prompts, outputs, gaps, others, picks = map(
            np.random.default_rng, np.random.SeedSequence(self.seed).spawn(6)
        )
        # Sessions begin at a rate that makes the requests come at the one asked for.
        rate = self.arrivals.rate / self.turns
        arrivals = self.arrivals.at(rate) if self.turns > 1 else self.arrivals
        time = arrivals.draw(times, sessions)
        time = time[time <= end]
        said, session, begun, found = np.zeros_like(time), np.arange(len(time)), len(time), []
        # Of the sessions: by number.
        of = self._pick(picks, begun)
        for turn in range(self.turns):
            if turn and math.isfinite(end):
                goes_on = -math.expm1(-end / self.think)
                count = others.poisson(self.arrivals.rate / self.turns * self.think * goes_on)
                left = -self.think * np.log1p(-goes_on * others.random(count))
                of = np.concatenate([of, self._pick(picks, count)])
                earlier = np.tile(of[begun:], turn)
                before = self._prompts(prompts, earlier) + self._outputs(outputs, earlier)
                time = np.concatenate([time, left])
                said = np.concatenate([said, before.reshape(turn, count).sum(axis=0)])
                session = np.concatenate([session, np.arange(begun, begun + count)])
                begun += count
            added = self._prompts(prompts, of[session])
            answered = self._outputs(outputs, of[session])
            columns = [time, self.system + said + added, answered, session, of[session]]
            found.append(np.stack(columns, axis=1))
            time = time + gaps.exponential(self.think, len(time))
            said = said + added + answered
            alive = time <= end
            time, said, session = time[alive], said[alive], session[alive]
        return np.concatenate(found)

    def _pick(self, random: np.random.Generator, count: int) -> Tokens:
        """Classes of so many sessions, by their place."""
        if not self.classes:
            return np.zeros(count, dtype=np.int64)
        return random.choice(len(self.classes), count, p=shares(self.classes))

    def _prompts(self, random: np.random.Generator, of: Tokens) -> Tokens:
        return _lengths(self.prompt, [one.prompt for one in self.classes], random, of)

    def _outputs(self, random: np.random.Generator, of: Tokens) -> Tokens:
        return _lengths(self.output, [one.output for one in self.classes], random, of)


def _lengths(
    spread: Lengths, means: Sequence[float], random: np.random.Generator, of: Tokens
) -> Tokens:
    """A length for each, around the mean of its class where there are classes [token]."""
    if not means:
        return spread.draw(random, len(of))
    found = np.empty(len(of), dtype=np.int64)
    for place, mean in enumerate(means):
        found[of == place] = spread.at(mean).draw(random, int((of == place).sum()))
    return found
