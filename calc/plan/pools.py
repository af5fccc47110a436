"""Two pools: replicas that only read prompts, and replicas that only decode."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from calc import decode, prefill
from calc.layout import Layout
from calc.plan import mix, waits
from calc.plan.ask import Ask
from calc.plan.replica import Steady, fits, groups, slots
from calc.scenario import Scenario

Array = NDArray[np.float64]

# Replicas beyond the fewest that can read at all, looked at in turn.
_GROWTH = (np.arange(3), np.arange(3, 64))


@dataclass(frozen=True)
class Readers:
    """Prefill replicas by layout.

    Attributes
    ----------
    reading : array
        Time to read a prompt, on average [s].
    lanes : array
        Prompts that a replica reads at a time.
    sending : array
        Time to send a prompt's cache to the other pool [s].
    exposed : array
        What of it no reading hides, layer by layer: it delays the second token [s].
    holds : array
        Whether memory holds the weights and a prompt in each lane.
    uneven : array
        Mean square of `own` over the square of its mean.
    own : tuple of array
        Time to read a prompt of each part of a mix [s].
    """

    reading: Array
    lanes: Array
    sending: Array
    exposed: Array
    holds: NDArray[np.bool_]
    uneven: Array
    own: tuple[Array, ...]

    def on(self, shape: tuple[int, ...]) -> Readers:
        """With all figures of one shape, a last axis of one left out."""

        def flat(figure: Any) -> Any:
            return np.broadcast_to(figure, (*shape, 1))[..., 0]

        figures = {one.name: flat(getattr(self, one.name)) for one in fields(self)[:-1]}
        return Readers(**figures, own=tuple(flat(one) for one in self.own))


def readers(scenario: Scenario, layout: Layout, ask: Ask) -> Readers:
    """Prefill replicas of a chip (F8.8, F8.9)."""
    s, parts = scenario, ask.parts
    own = [prefill.prompt_time(s, part.prompt, part.known, layout).total for part in parts]
    lanes = groups(s, layout) * (np.ones(()) if s.fidelity == "bound" else layout.pp)
    sent = _sent(s, layout, ask)
    # Charged to the mean answer as what it is to the part that is closest to its limit.
    exposed = [
        one * part.each_ratio * ask.steps / part.steps
        for part, one in zip(parts, exposures(s, layout, ask, own), strict=True)
    ]
    return Readers(
        mix.averaged(parts, own), np.asarray(lanes), mix.averaged(parts, sent),
        mix.strictest([1.0] * len(parts), exposed), fits(s, layout, lanes, ask),
        np.asarray(mix.squared(parts, own)), tuple(own),
    )  # fmt: skip


def _sent(scenario: Scenario, layout: Layout, ask: Ask) -> list[Array]:
    """Time to send the cache of a prompt of each part [s]."""
    s, ports = scenario, layout.chips * scenario.scale_out
    return [np.asarray(s.model.kv_bytes(part.prompt, s.kv_format) / ports) for part in ask.parts]


def exposures(scenario: Scenario, layout: Layout, ask: Ask, own: Sequence[Array]) -> list[Array]:
    """What of sending a prompt's cache no reading hides, of each part [s]."""
    hidden = (scenario.model.layers - 1) / scenario.model.layers
    return [
        np.maximum(0.0, sent - reading * hidden)
        for sent, reading in zip(_sent(scenario, layout, ask), own, strict=True)
    ]


@dataclass(frozen=True)
class Pool:
    """How many of each kind of prefill replica it takes, and how long a prompt then waits.

    `replicas` is inf where no number keeps the limit.
    """

    replicas: Array
    used: Array
    ttft: Array


def pool(found: Readers, ask: Ask) -> Pool:
    """The fewest replicas of each kind that read all prompts within the limit.

    Waits are those of one queue before all lanes (M/G/m).

    References
    ----------
    F13.2, F13.4.
    """
    work = ask.needed * found.reading / found.lanes
    least = np.maximum(np.ceil(work / ask.most_used - 1e-9), np.ceil(ask.needed * found.sending))
    least = np.maximum(least, 1.0)
    replicas = np.full(least.shape, np.inf)
    used, ttft = replicas.copy(), replicas.copy()
    # The wait falls as replicas are added: the first that keeps the limit is the fewest. Few
    # kinds of replica need more than a few more.
    ratios = [part.first_ratio for part in ask.parts]
    soonest = mix.strictest(ratios, found.own)
    able = np.broadcast_to(found.holds & (soonest <= ask.ttft), least.shape)
    lanes = np.broadcast_to(found.lanes, least.shape)
    for more in _GROWTH:
        at = np.nonzero(able & np.isinf(replicas))
        tried = least[at][:, None] + more
        busy = work[at][:, None] / tried
        scatter = ask.scatter * found.uneven[at][:, None]
        mean = waits.wait(busy, found.reading[at][:, None], scatter, tried * lanes[at][:, None])
        first = mix.strictest(
            ratios,
            [waits.first_token(ask, busy, mean, own[at][:, None], 0.0) for own in found.own],
        )
        kept = first <= ask.ttft
        fewest = np.argmax(kept, axis=-1)[:, None]
        works = kept.any(axis=-1)
        for whole, every in ((replicas, tried), (used, busy), (ttft, first)):
            whole[at] = np.where(works, np.take_along_axis(every, fewest, -1)[:, 0], np.inf)
    return Pool(replicas, used, ttft)


def decoders(scenario: Scenario, layout: Layout, batch: ArrayLike, ask: Ask) -> Steady:
    """Decode replicas: no prompt ever delays a step.

    `ttft` is nan: the other pool gives the first token. What of the transfer is exposed comes on
    top of the time per token.
    """
    s, decoding = scenario, np.asarray(batch, dtype=float)
    step = decode.step_time(s, decoding + 1, ask.context, layout=layout).total
    tpot = step
    if ask.deviations:
        above = decoding + 1 + ask.deviations * np.sqrt(2 * decoding / 3)
        tpot = decode.step_time(s, above, ask.context, layout=layout).total
    held = np.broadcast_to(slots(decoding), step.shape)
    none = np.full(step.shape, np.nan)
    ratio = max(part.each_ratio for part in ask.parts)
    return Steady(
        decoding / (ask.steps * step), step, step, ratio * tpot, none, step,
        np.zeros(step.shape), held, fits(s, layout, held, ask), none, 0.0, np.zeros(()),
        (tpot,) * len(ask.parts),
    )  # fmt: skip
