"""One plan: what is bought, how it is laid out, how fast it answers and what it costs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from calc import cost, memory
from calc.plan.ask import Ask
from calc.scenario import Scenario
from calc.serving import queueing
from calc.words import marked

# What stops fewer replicas from being enough.
BINDS: Mapping[str, str] = {
    "tpot": marked("time per token"),
    "ttft": marked("time to first token"),
    "reading": marked("reading prompts"),
    "memory": marked("memory"),
    "replicas": marked("whole replicas"),
}
_CLOSE = 0.9  # from here on a limit is what binds


@dataclass(frozen=True)
class Prefill:
    """The pool that reads prompts.

    `replicas` of what `scenario` is; a prompt takes `reading`, its cache `sending` to the other
    pool, of which `exposed` delays the second token [s].
    """

    scenario: Scenario
    replicas: int
    reading: float
    sending: float
    exposed: float


@dataclass(frozen=True)
class Candidate:
    """A plan, and its figures at the rate with its headroom.

    Parameters
    ----------
    scenario : Scenario
        One replica: chip, chips, layout, formats, batch.
    arrangement : str
        Of `ARRANGEMENTS`.
    replicas : int
        Of one pool, or those that decode.
    exact : float
        As many as it would take if they could be divided.
    prefill : Prefill or None
        The other pool.
    batch, slots, budget : int
        Decoding sequences of a replica on average and at their most, and tokens of a step of one
        group, 0 where prompts are not read in chunks.
    rate : float
        Requests that a replica answers [1/s].
    step, longest : float
        A decode step, and the longest gap between two tokens [s].
    tpot, ttft, mean_tpot : float
        At the asked percentile, and the mean [s].
    used, filled : float
        Share of its time that a reader reads; share of what memory holds that the slots take.
    chips : int
        All of them.
    usd_per_hour, watts : float
        Of all of them; nan where unpublished.
    """

    scenario: Scenario
    arrangement: str
    replicas: int
    exact: float
    prefill: Prefill | None
    batch: int
    slots: int
    budget: int
    rate: float
    step: float
    longest: float
    tpot: float
    ttft: float
    mean_tpot: float
    used: float
    filled: float
    chips: int
    usd_per_hour: float
    watts: float
    ask: Ask

    @property
    def aim(self) -> float:
        """What is to be least, by the objective that is asked; nan where it is unknown."""
        return {
            "usd": self.usd_per_hour,
            "chips": float(self.chips),
            "energy": self.watts,
            "fastest": self.tpot,
        }[self.ask.objective]

    @property
    def tightness(self) -> Mapping[str, float]:
        """How much of each limit it takes [share]."""
        return {
            "tpot": self.tpot / self.ask.tpot,
            "ttft": self.ttft / self.ask.ttft,
            "reading": self.used / self.ask.most_used,
            "memory": self.filled,
        }

    @property
    def binds(self) -> str:
        """What it is closest to breaking, of `BINDS`; whole replicas where nothing is close."""
        name, share = max(self.tightness.items(), key=lambda item: item[1])
        return name if share >= _CLOSE else "replicas"

    @property
    def present(self) -> float:
        """Requests in the system, waiting or answered (F8.3), at the rate with its headroom."""
        ask = self.ask
        return queueing.in_system(ask.needed, self.ttft + ask.steps * self.mean_tpot)

    @property
    def usd_per_million_out(self) -> float:
        """Of all tokens of answers at the rate, everything charged to them [USD]."""
        return float(cost.per_million(self.usd_per_hour, self.ask.rate * self.ask.output))

    @property
    def usd_per_million(self) -> float:
        """Of all tokens, those of prompts and of answers [USD]."""
        tokens = self.ask.prompt + self.ask.output
        return float(cost.per_million(self.usd_per_hour, self.ask.rate * tokens))

    @property
    def reading_share(self) -> float:
        """What part of the price reading prompts is charged.

        By pool; in one pool the part of the time per token that prompts lengthen it by (F13.5).
        """
        if self.prefill is None:
            return 1 - self.step / self.mean_tpot
        return self.prefill.replicas * self.prefill.scenario.n_chips / self.chips

    @property
    def split(self) -> tuple[float, float]:
        """Price of a million prompt tokens, and of a million answer tokens [USD] (F13.5)."""
        share, ask = self.reading_share, self.ask
        return (
            share * float(cost.per_million(self.usd_per_hour, ask.rate * ask.prompt)),
            (1 - share) * self.usd_per_million_out,
        )

    @property
    def tokens_per_joule(self) -> float:
        """Answer tokens for each joule at the chips' power [token/J]."""
        return self.ask.rate * self.ask.output / self.watts

    @property
    def answering(self) -> Mapping[str, float]:
        """The mean time per token and what is left of its limit [s].

        `step` with no prompt beside it, what `prompts` add to it, the `tail` from there to the
        asked percentile, and what is `left`.
        """
        # Of a low percentile the mean may be above what is asked.
        step, mean = min(self.step, self.tpot), min(self.mean_tpot, self.tpot)
        return {
            "step": step,
            "prompts": max(mean - step, 0.0),
            "tail": self.tpot - max(mean, step),
            "left": self.ask.tpot - self.tpot,
        }

    @property
    def memory(self) -> Mapping[str, float]:
        """What fills a replica's memory, with as many sequences as it has slots [byte]."""
        s, context = self.scenario, self.ask.context
        weights = memory.weights(s)
        cache = float(memory.kv_cache(s, self.slots, context))
        used = self.slots * memory.activations_per_sequence(s)
        left = memory.capacity(s) - weights - cache - used
        return {
            "weights": weights, "kv_cache": cache, "activations": used, "free": max(left, 0.0),
        }  # fmt: skip
