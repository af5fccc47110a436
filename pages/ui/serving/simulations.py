"""The simulations of the Serving page: run once for a scenario and setup, kept while both stay."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any

import numpy as np
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from calc import Scenario, serving
from calc.serving import Knee, Run, Service, Setup, Traffic
from calc.words import marked, say
from pages.ui.frame import language
from pages.ui.writing import text

LABELS = {
    "static": marked("static"),
    "dynamic": marked("dynamic"),
    "continuous": marked("continuous"),
    "chunked": marked("chunked prefill"),
    "disaggregated": marked("disaggregated"),
}
_MOST_DRAWN = 4
# Requests of a search for knees between two looks at the page.
_AT_ONCE = 3000
# And after which it waits to be told to go on.
_PAUSE = 6_000
# Requests and chunks over all policies from which a bar is worth its place.
_LONG = 10_000
# And from which the policies that are not shown wait until they are asked for.
_VERY_LONG = 50_000
# Of one simulation; 20,000 requests with prompts of a few chunks take fewer.
_MOST_EVENTS = 200_000
_KEPT, _SWEEP, _CROWDS = "_service", "_load", "_crowds"


@dataclass(frozen=True)
class Outcome:
    """One policy: its run and its figures."""

    run: Run
    figures: Service


@dataclass(frozen=True)
class Simulated:
    """The traffic and what each policy made of it."""

    traffic: Traffic
    setup: Setup
    outcomes: Mapping[str, Outcome]
    problems: Mapping[str, str]
    independent: bool = True

    @property
    def shown(self) -> Outcome | None:
        """The policy whose requests are drawn."""
        return self.outcomes.get(self.setup.shown)


def name(id: str) -> str:
    """A policy as it is called."""
    return say(LABELS[id])


def here(scenario: Scenario, values: Mapping[str, Any], trace: Traffic | None) -> Simulated:
    """Simulate what the controls ask for; a long one shows what is done, and can be stopped.

    Raises
    ------
    ServingError
        If traffic or setup cannot be.
    """
    found = st.session_state.get(_KEPT)
    of = _asked(scenario, values, trace)
    if found is None or found.of != of:
        found = st.session_state[_KEPT] = _begun(of, scenario, values, trace)
    _simulate(scenario, found)
    return found.known()


def later(
    scenario: Scenario, values: Mapping[str, Any], trace: Traffic | None
) -> Callable[[], Simulated]:
    """What simulates where there is no page, from what this session knows already.

    Raises
    ------
    ServingError
        If traffic or setup cannot be; by what is returned.
    """
    kept, of = st.session_state.get(_KEPT), _asked(scenario, values, trace)

    @cache
    def make() -> Simulated:
        found = (
            replace(kept, outcomes={**kept.outcomes}, problems={**kept.problems})
            if kept is not None and kept.of == of
            else _begun(of, scenario, values, trace)
        )
        clock = _clock(scenario, found.traffic, found.setup)
        for policy in found.left:
            _run(scenario, found, policy, clock, None)
        return found.known()

    return make


def _begun(of: Any, scenario: Scenario, values: Mapping[str, Any], trace: Traffic | None) -> _Found:
    """Nothing simulated yet."""
    independent = (
        trace is None
        and values["arrivals"] == "poisson"
        and values["turns"] == 1
        and not values["clients"]
        and not values["classes"]
    )
    traffic = trace or serving.requested(values, scenario)
    return _Found(of, traffic, serving.setup(values, scenario), independent)


def _asked(scenario: Scenario, values: Mapping[str, Any], traffic: Traffic | None) -> Any:
    """All that a simulation depends on; the scenario's own batch and context are no part of it."""
    chosen = {one.name: values[one.name] for one in serving.asked.FIELDS}
    return replace(scenario, batch=1, context=1), chosen, id(traffic), language.current()


@dataclass
class _Found:
    """What is known so far of one scenario and setup."""

    of: Any
    traffic: Traffic
    setup: Setup
    independent: bool
    outcomes: dict[str, Outcome] = field(default_factory=dict)
    problems: dict[str, str] = field(default_factory=dict)
    stopped: bool = False
    all_asked: bool = False

    @property
    def left(self) -> list[str]:
        """Policies not yet simulated, the one that is shown first."""
        known = {*self.outcomes, *self.problems}
        order = sorted(self.setup.deployments, key=lambda id: id != self.setup.shown)
        return [id for id in order if id not in known]

    def known(self) -> Simulated:
        """As far as it is known, in the order of the policies."""
        outcomes = {id: self.outcomes[id] for id in self.setup.deployments if id in self.outcomes}
        return Simulated(self.traffic, self.setup, outcomes, self.problems, self.independent)

    def stop(self) -> None:
        """Leave the rest out."""
        self.stopped = True

    def go_on(self) -> None:
        """Simulate the rest after all."""
        self.stopped, self.all_asked = False, True


def _offer(found: _Found, why: str) -> None:
    """Why some policies are missing, and a way to have them after all."""
    with st.container(horizontal=True, vertical_alignment="center"):
        st.caption(why, width="content")
        st.button(say("Go on"), key="service-go-on", on_click=found.go_on)


def _simulate(scenario: Scenario, found: _Found) -> None:
    left, of = found.left, len(found.setup.deployments)
    if found.stopped and left:
        _offer(found, say("Stopped before {policies}.", policies=text.listed(map(name, left))))
        return
    work = _work(found.traffic, found.setup) * of
    if work > _VERY_LONG and not found.all_asked:
        waiting = [id for id in left if id != found.setup.shown]
        left = [id for id in left if id not in waiting]
        if waiting:
            names = text.listed(map(name, waiting))
            _offer(found, say("Long to simulate, and not done yet: {policies}.", policies=names))
    place = st.empty()
    clock = _clock(scenario, found.traffic, found.setup)
    for policy in left:
        told = None
        if work > _LONG:
            told = _progress(place, found, (of - len(found.left)) / of, name(policy))
        _run(scenario, found, policy, clock, told)
    place.empty()


def _run(
    scenario: Scenario,
    found: _Found,
    policy: str,
    clock: serving.Clock,
    told: Callable[[float], None] | None,
) -> None:
    """Simulate one policy; `told` is called with the share that is done."""
    try:
        run = serving.simulate(
            scenario, found.traffic, found.setup.deployments[policy], memory=found.setup.memory,
            relief=found.setup.relief, prefix=found.setup.prefix, clock=clock, progress=told,
            most_events=_MOST_EVENTS,
        )  # fmt: skip
    except serving.ServingError as error:
        found.problems[policy] = str(error)
    else:
        found.outcomes[policy] = Outcome(run, serving.summary(run, found.setup.limits))


def _progress(
    place: DeltaGenerator, found: _Found, done: float, label: str
) -> Callable[[float], None]:
    """A bar and a way to stop, and what a simulation calls with the share that is done."""
    with place.container(horizontal=True, vertical_alignment="center"):
        bar = st.empty()
        st.button(say("Stop"), key=f"service-stop-{label}", on_click=found.stop)
    each = 1 / len(found.setup.deployments)

    # Drawing is also where Streamlit lets a click end this run.
    def told(share: float) -> None:
        bar.progress(min(done + share * each, 1.0), say("Simulating: {policy}", policy=label))

    return told


def _work(traffic: Traffic, setup: Setup) -> float:
    """Events that a simulation may take, roughly: requests, and the chunks of their prompts."""
    return len(traffic) + float(traffic.prompt.sum()) / (20 * setup.budget)


def _clock(scenario: Scenario, traffic: Traffic, setup: Setup) -> serving.Clock:
    slots = max(one.batching.slots for one in setup.deployments.values())
    return serving.clock_for(scenario, traffic, slots)


@dataclass
class Loads:
    """What is known of each policy's knee, and the searches that go on."""

    of: Any
    traffic: Traffic
    known: dict[str, Knee]
    searches: dict[str, Iterator[Knee]]
    stopped: bool = False
    simulated: int = 0

    @property
    def done(self) -> float:
        """Share of the searches that are over."""
        return sum(knee.done for knee in self.known.values()) / max(len(self.known), 1)

    def stop(self) -> None:
        """Go no further, or go on."""
        self.stopped, self.simulated = not self.stopped, 0

    def step(self) -> None:
        """One rate further for each policy; so many requests are simulated in one go, no more."""
        for policy, search in self.searches.items():
            if not self.known[policy].done:
                self.known[policy] = next(search)
                self.simulated += self.known[policy].tried[-1].requests
        self.stopped = self.done < 1 and self.simulated > _PAUSE


def loads(scenario: Scenario, values: Mapping[str, Any], simulated: Simulated) -> Loads:
    """The search for knees, some rates further at each call until it is over or stopped.

    Raises
    ------
    ServingError
        If the traffic has no rate to change.
    """
    of = _asked(scenario, values, simulated.traffic)
    kept: Loads | None = st.session_state.get(_SWEEP)
    if kept is None or kept.of != of:
        best = _best(simulated)
        kept = Loads(
            of,
            simulated.traffic,
            {id: Knee() for id in best},
            {id: _search(scenario, simulated, id) for id in best},
        )
        st.session_state[_SWEEP] = kept
    before = kept.simulated
    while not kept.stopped and kept.done < 1 and kept.simulated - before < _AT_ONCE:
        kept.step()
    return kept


def _search(scenario: Scenario, simulated: Simulated, policy: str) -> Iterator[Knee]:
    setup, clocks = simulated.setup, list[serving.Clock]()

    def run(traffic: Traffic) -> Run:
        # One that times longer requests times the shorter ones too.
        if not clocks or clocks[0].longest < traffic.longest:
            clocks[:] = [_clock(scenario, traffic, setup)]
        return serving.simulate(
            scenario, traffic, setup.deployments[policy], memory=setup.memory,
            relief=setup.relief, prefix=setup.prefix, clock=clocks[0], most_events=_MOST_EVENTS,
        )  # fmt: skip

    return serving.find_knee(run, simulated.traffic, setup.limits)


@dataclass
class Crowds:
    """Figures of each policy by the number of clients, as far as they are known."""

    of: Any
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
    """The sweep over numbers of clients, one further at each call until it is over or stopped."""
    of = _asked(scenario, values, simulated.traffic)
    kept: Crowds | None = st.session_state.get(_CROWDS)
    if kept is None or kept.of != of:
        counts = serving.client_counts(values["clients"])
        kept = Crowds(of, counts, {id: [] for id in _best(simulated)})
        st.session_state[_CROWDS] = kept
    if kept.stopped or kept.done == 1:
        return kept
    clients = kept.counts[round(kept.done * len(kept.counts))]
    traffic, setup = serving.requested({**values, "clients": clients}, scenario), simulated.setup
    clock = _clock(scenario, traffic, setup)
    for policy, known in kept.figures.items():
        run = serving.simulate(
            scenario, traffic, setup.deployments[policy], memory=setup.memory,
            relief=setup.relief, prefix=setup.prefix, clock=clock,
        )  # fmt: skip
        known.append(serving.summary(run, setup.limits))
    return kept


def _best(simulated: Simulated) -> list[str]:
    """As many policies as a chart tells apart: the one that is shown, and those that do best."""
    order = sorted(
        simulated.outcomes,
        key=lambda id: (id != simulated.setup.shown, -simulated.outcomes[id].figures.good),
    )
    chosen = order[:_MOST_DRAWN]
    return [id for id in simulated.outcomes if id in chosen]


def seconds(value: float) -> str:
    """A latency; that of a request that never came is said to be none."""
    if np.isnan(value):
        return text.unknown()
    if np.isinf(value):
        return say("it never came")
    # Nobody reads kiloseconds.
    return text.si(value, "s") if value < 1000 else say("{n} s", n=text.significant(value))
