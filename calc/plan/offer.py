"""What an API asks for the same tokens, and from what rate on one's own plan is cheaper."""

from __future__ import annotations

from dataclasses import dataclass

from calc.plan.ask import Ask
from calc.plan.candidate import Candidate

_MILLION, _HOUR = 1e6, 3600.0


@dataclass(frozen=True)
class Offer:
    """Prices of a million tokens of a model by an API, as one source printed them [USD].

    `model` is an id; `read` the day on which the price was read, not since when it holds.
    """

    model: str
    provider: str
    usd_in: float
    usd_out: float
    read: str
    source: str

    def per_request(self, ask: Ask) -> float:
        """Of a request of mean lengths, no token of which is cached [USD]."""
        return (ask.prompt * self.usd_in + ask.output * self.usd_out) / _MILLION

    def per_hour(self, ask: Ask) -> float:
        """Of all requests of an hour at the rate [USD/hour]."""
        return ask.rate * _HOUR * self.per_request(ask)


def cheaper_from(candidate: Candidate, offer: Offer) -> float:
    """Rate from which a plan costs less than an API [1/s].

    inf where the plan cannot serve so many within its limits and headroom: then it is dearer at
    any rate.
    """
    one, ask = candidate, candidate.ask
    rate = one.usd_per_hour / (_HOUR * offer.per_request(ask))
    return rate if rate <= most_served(one) else float("inf")


def most_served(candidate: Candidate) -> float:
    """The highest rate that a plan serves within its limits, its headroom kept [1/s]."""
    one, ask = candidate, candidate.ask
    replicas = one.replicas - ask.spare
    most = replicas * one.rate
    if one.prefill:
        # Readers are as many as the asked rate takes, up to their share in use.
        most = min(most, ask.needed * ask.most_used / one.used)
    return most / (1 + ask.headroom)
