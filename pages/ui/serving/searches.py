"""Sweeps of the Serving page, one simulation further at a time: rates up to knees, and clients."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import streamlit as st

from calc import Scenario, serving
from calc.serving import Knee, Limits, Run, Service, Setup, Traffic
from pages.ui.serving.simulations import (
    MOST_EVENTS,
    Of,
    Progress,
    Simulated,
    asked,
    clock_for,
    served,
)

_MOST_DRAWN = 4
# Requests of the rates of a search for knees after which it waits to be told to go on.
PAUSE = 150_000
_SWEEP, _CROWDS = "_load", "_crowds"


@dataclass
class Loads:
    """What is known of each policy's knee, and the searches that go on, one after another."""

    of: Of
    traffic: Traffic
    limits: Limits
    known: dict[str, Knee]
    simulate: Mapping[str, Callable[[Traffic, Progress], Run]]
    stopped: bool = False
    simulated: int = 0

    @property
    def done(self) -> float:
        """Share of the searches that are over."""
        return sum(knee.done for knee in self.known.values()) / max(len(self.known), 1)

    def stop(self) -> None:
        """Go no further, or go on."""
        self.stopped, self.simulated = not self.stopped, 0

    def step(self, told: Progress) -> None:
        """One rate further, for the first policy whose knee is not known."""
        policy = next(id for id, knee in self.known.items() if not knee.done)
        self.known[policy] = serving.knees.further(
            lambda traffic: self.simulate[policy](traffic, told), self.traffic, self.limits,
            self.known[policy],
        )  # fmt: skip
        self.simulated += self.known[policy].tried[-1].requests
        self.stopped = self.done < 1 and self.simulated > PAUSE


def loads(scenario: Scenario, values: Mapping[str, Any], simulated: Simulated) -> Loads:
    """The search for knees, as far as it is.

    Raises
    ------
    ServingError
        If the traffic has no rate to change.
    """
    of = asked(scenario, values, simulated.traffic)
    kept: Loads | None = st.session_state.get(_SWEEP)
    if kept is None or kept.of != of:
        simulated.traffic.at_rate(1.0)
        best = sorted(_best(simulated), key=lambda id: id != simulated.setup.shown)
        kept = Loads(
            of,
            simulated.traffic,
            simulated.setup.limits,
            {id: Knee() for id in best},
            {id: _served(scenario, simulated.setup, id) for id in best},
        )
        if not simulated.coming:
            st.session_state[_SWEEP] = kept
    return kept


def _served(scenario: Scenario, setup: Setup, policy: str) -> Callable[[Traffic, Progress], Run]:
    """What serves traffic of any rate under a policy."""
    clocks: list[serving.Clock] = []

    def run(traffic: Traffic, told: Progress) -> Run:
        # One that times longer requests times the shorter ones too.
        if not clocks or clocks[0].longest < traffic.longest:
            clocks[:] = [clock_for(scenario, traffic, setup)]
        return served(scenario, traffic, setup, policy,
                      clock=clocks[0], progress=told, most_events=MOST_EVENTS)  # fmt: skip

    return run


@dataclass
class Crowds:
    """Figures of each policy by the number of clients, as far as they are known."""

    of: Of
    counts: tuple[int, ...]
    figures: dict[str, list[Service]]
    stopped: bool = False

    @property
    def done(self) -> float:
        """Share of the numbers that are known."""
        return min(map(len, self.figures.values()), default=0) / len(self.counts)

    def stop(self) -> None:
        """Go no further, or go on."""
        self.stopped = not self.stopped


def crowds(scenario: Scenario, values: Mapping[str, Any], simulated: Simulated) -> Crowds:
    """The sweep over numbers of clients, as far as it is."""
    of = asked(scenario, values, simulated.traffic)
    kept: Crowds | None = st.session_state.get(_CROWDS)
    if kept is None or kept.of != of:
        counts = serving.client_counts(values["clients"])
        kept = Crowds(of, counts, {id: [] for id in _best(simulated)})
        if not simulated.coming:
            st.session_state[_CROWDS] = kept
    return kept


def more_crowds(
    scenario: Scenario, values: Mapping[str, Any], simulated: Simulated, kept: Crowds
) -> None:
    """One number of clients further."""
    clients = kept.counts[round(kept.done * len(kept.counts))]
    traffic, setup = serving.requested({**values, "clients": clients}, scenario), simulated.setup
    clock = clock_for(scenario, traffic, setup)
    for policy, figures in kept.figures.items():
        run = served(scenario, traffic, setup, policy, clock=clock)
        figures.append(serving.summary(run, setup.limits))


def _best(simulated: Simulated) -> list[str]:
    """As many policies as a chart tells apart: the one that is shown, and those that do best."""
    order = sorted(
        simulated.outcomes,
        key=lambda id: (id != simulated.setup.shown, -simulated.outcomes[id].figures.good),
    )
    chosen = order[:_MOST_DRAWN]
    return [id for id in simulated.outcomes if id in chosen]
