"""The simulations of the Serving page: run once for a scenario and setup, kept while both stay."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any

import numpy as np
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from calc import Scenario, known, serving
from calc.serving import Limits, Run, Service, Setup, Traffic
from calc.words import marked, say
from pages.ui.frame import language, link
from pages.ui.writing import text

# Told of the share that is done; drawing it is where Streamlit lets a click end a run.
Progress = Callable[[float], None]

LABELS = {
    "static": marked("static"),
    "dynamic": marked("dynamic"),
    "continuous": marked("continuous"),
    "chunked": marked("chunked prefill"),
    "disaggregated": marked("disaggregated"),
}
# Requests and chunks over all policies from which a bar is worth its place.
_LONG = 10_000
# And from which the policies that are not shown wait until they are asked for.
_VERY_LONG = 50_000
# Of one simulation; 20,000 requests with prompts of a few chunks take fewer.
MOST_EVENTS = 200_000
# Room for a bar or a sentence [px].
_LINE_HEIGHT = 56
_KEPT = "_service"


@dataclass(frozen=True)
class Outcome:
    """One policy: its run and its figures."""

    run: Run
    figures: Service


@dataclass(frozen=True)
class Simulated:
    """The traffic and what each policy made of it.

    Attributes
    ----------
    outcomes, problems : mapping
        By policy: what is known, and why others cannot be.
    independent : bool
        Whether requests come as a Poisson process and are alike.
    coming : tuple of str
        Policies that are not simulated yet.
    """

    traffic: Traffic
    setup: Setup
    outcomes: Mapping[str, Outcome]
    problems: Mapping[str, str]
    independent: bool = True
    coming: tuple[str, ...] = ()

    @property
    def compared(self) -> list[str]:
        """Policies that are known or will be, in their order: each has its place."""
        known = {*self.outcomes, *self.coming}
        return [id for id in self.setup.deployments if id in known]

    @property
    def shown(self) -> Outcome | None:
        """The policy whose requests are drawn."""
        return self.outcomes.get(self.setup.shown)


def limits(
    simulated: Simulated, of: Callable[[Limits | serving.ServiceClass], float]
) -> list[float]:
    """A limit of the service, or those of its classes from the strictest on."""
    found = simulated.traffic.classified
    return sorted({of(one) for one in (found.classes if found else [simulated.setup.limits])})


def name(id: str) -> str:
    """A policy as it is called."""
    return say(LABELS[id])


def here(
    scenario: Scenario, values: Mapping[str, Any], trace: Traffic | None, *, whole: bool = False
) -> Simulated:
    """Simulate what the controls ask for; a long one shows what is done, and can be stopped.

    The policy that is shown, or the `whole` of them; see `others`.

    Raises
    ------
    ServingError
        If traffic or setup cannot be.
    """
    found = st.session_state.get(_KEPT)
    of = asked(scenario, values, trace)
    if found is None or found.of != of:
        found = st.session_state[_KEPT] = _begun(of, scenario, values, trace)
    # In every run, or all below it would change places once it is known.
    place = st.empty() if found.long else None
    for policy in found.coming if whole else found.coming[:1]:
        # The others follow once this one is on screen.
        if whole or policy == found.setup.shown:
            _simulate(scenario, found, policy, place)
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
    kept, of = st.session_state.get(_KEPT), asked(scenario, values, trace)

    @cache
    def make() -> Simulated:
        found = (
            replace(kept, outcomes={**kept.outcomes}, problems={**kept.problems})
            if kept is not None and kept.of == of
            else _begun(of, scenario, values, trace)
        )
        for policy in found.left:
            _run(scenario, found, policy, found.clock(scenario), None)
        return found.known()

    return make


def _reader(scenario: Scenario, values: Mapping[str, Any]) -> Scenario | None:
    """A replica that only reads prompts, where it is unlike one that decodes."""
    # Catalogues are not looked up for nothing: pages do so in every run.
    if all(values[one.name] == one.absent for one in serving.prefill_pool.FIELDS):
        return None
    found = serving.reader(values, scenario, link.catalogues())
    return found and known.least(found)


@dataclass(frozen=True)
class Of:
    """All that a simulation depends on; the scenario's own batch and context are no part of it."""

    scenario: Scenario
    reader: Scenario | None
    chosen: Mapping[str, Any]
    traffic: int
    language: str


def _begun(of: Of, scenario: Scenario, values: Mapping[str, Any], trace: Traffic | None) -> _Found:
    """Nothing simulated yet."""
    independent = (
        trace is None
        and values["arrivals"] == "poisson"
        and values["turns"] == 1
        and not values["clients"]
        and not values["classes"]
    )
    traffic = trace or serving.requested(values, scenario)
    return _Found(of, traffic, serving.setup(values, scenario, of.reader), independent)


def asked(scenario: Scenario, values: Mapping[str, Any], traffic: Traffic | None) -> Of:
    """What simulations of this traffic depend on."""
    chosen = {one.name: values[one.name] for one in serving.asked.FIELDS}
    bare = replace(scenario, batch=1, context=1)
    return Of(bare, _reader(scenario, values), chosen, id(traffic), language.current())


@dataclass
class _Found:
    """What is known so far of one scenario and setup."""

    of: Of
    traffic: Traffic
    setup: Setup
    independent: bool
    outcomes: dict[str, Outcome] = field(default_factory=dict)
    problems: dict[str, str] = field(default_factory=dict)
    stopped: bool = False
    all_asked: bool = False
    _clock: serving.Clock | None = None

    def clock(self, scenario: Scenario) -> serving.Clock:
        """Times of the scenario, for all policies."""
        if self._clock is None:
            self._clock = clock_for(scenario, self.traffic, self.setup)
        return self._clock

    @property
    def work(self) -> float:
        """Of all policies (see `_work`)."""
        return _work(self.traffic, self.setup) * len(self.setup.deployments)

    @property
    def long(self) -> bool:
        """Whether a bar is worth its place."""
        return self.work > _LONG

    @property
    def coming(self) -> list[str]:
        """Policies that are simulated without being asked for, the one that is shown first."""
        if self.stopped:
            return []
        if self.work > _VERY_LONG and not self.all_asked:
            return [id for id in self.left if id == self.setup.shown]
        return self.left

    @property
    def left(self) -> list[str]:
        """Policies not yet simulated, the one that is shown first."""
        known = {*self.outcomes, *self.problems}
        order = sorted(self.setup.deployments, key=lambda id: id != self.setup.shown)
        return [id for id in order if id not in known]

    def known(self) -> Simulated:
        """As far as it is known, in the order of the policies."""
        outcomes = {id: self.outcomes[id] for id in self.setup.deployments if id in self.outcomes}
        return Simulated(
            self.traffic, self.setup, outcomes, self.problems, self.independent, tuple(self.coming)
        )

    def stop(self) -> None:
        """Leave the rest out."""
        self.stopped = True

    def go_on(self) -> None:
        """Simulate the rest after all."""
        self.stopped, self.all_asked = False, True


def others(scenario: Scenario) -> bool:
    """Simulate the next policy beside the one that is shown; whether there is news to draw.

    What takes long has a line for how far it is, for a way to stop it, and for what is left out.
    """
    found: _Found = st.session_state[_KEPT]
    if found.long:
        with st.container(height=_LINE_HEIGHT, border=False):
            offer(found)
            if not found.left:
                st.caption(say("All policies are simulated."))
            return _next(scenario, found, st.empty())
    return _next(scenario, found, None)


def offer(found: _Found | None = None) -> None:
    """Why some policies are missing, and a way to have them after all."""
    found = found or st.session_state.get(_KEPT)
    if found is None or not found.left or found.coming:
        return
    names = text.listed(map(name, found.left))
    why = (
        say("Stopped before {policies}.", policies=names)
        if found.stopped
        else say("Long to simulate, and not done yet: {policies}.", policies=names)
    )
    with st.container(horizontal=True, vertical_alignment="center"):
        st.caption(why, width="content")
        st.button(say("Go on"), key="service-go-on", on_click=found.go_on)


def _next(scenario: Scenario, found: _Found, place: DeltaGenerator | None) -> bool:
    if not found.coming:
        return False
    _simulate(scenario, found, found.coming[0], place)
    return True


def _simulate(scenario: Scenario, found: _Found, policy: str, place: DeltaGenerator | None) -> None:
    """Simulate one policy, with a bar where there is a place for it."""
    if place is None:
        _run(scenario, found, policy, found.clock(scenario), None)
        return
    of = len(found.setup.deployments)
    told = _progress(place, found, (of - len(found.left)) / of, name(policy))
    _run(scenario, found, policy, found.clock(scenario), told)
    place.empty()


def _run(
    scenario: Scenario,
    found: _Found,
    policy: str,
    clock: serving.Clock,
    told: Progress | None,
) -> None:
    """Simulate one policy; `told` is called with the share that is done."""
    try:
        run = served(scenario, found.traffic, found.setup, policy,
                     clock=clock, progress=told, most_events=MOST_EVENTS)  # fmt: skip
    except serving.ServingError as error:
        found.problems[policy] = str(error)
    else:
        found.outcomes[policy] = Outcome(run, serving.summary(run, found.setup.limits))


def served(scenario: Scenario, traffic: Traffic, setup: Setup, policy: str, **more: Any) -> Run:
    """What a setup makes of traffic under one policy; `more` goes to the simulator."""
    return serving.simulate(
        scenario, traffic, setup.deployments[policy], memory=setup.memory, relief=setup.relief,
        prefix=setup.prefix, steps=setup.steps, beside=setup.beside, **more,
    )  # fmt: skip


def outcome(scenario: Scenario, traffic: Traffic, setup: Setup) -> Outcome:
    """What the policy that is shown makes of traffic."""
    run = served(scenario, traffic, setup, setup.shown, most_events=MOST_EVENTS)
    return Outcome(run, serving.summary(run, setup.limits))


def _progress(place: DeltaGenerator, found: _Found, done: float, label: str) -> Progress:
    """A bar and a way to stop, and what a simulation calls with the share that is done."""
    with place.container(horizontal=True, vertical_alignment="center"):
        bar = st.empty()
        st.button(say("Stop"), key=f"service-stop-{label}", on_click=found.stop)
    each = 1 / len(found.setup.deployments)

    def told(share: float) -> None:
        bar.progress(min(done + share * each, 1.0), say("Simulating: {policy}", policy=label))

    return told


def _work(traffic: Traffic, setup: Setup) -> float:
    """Events that a simulation may take, roughly: requests, and the chunks of their prompts."""
    return len(traffic) + float(traffic.prompt.sum()) / (20 * setup.budget)


def clock_for(scenario: Scenario, traffic: Traffic, setup: Setup) -> serving.Clock:
    """What times the steps of all policies."""
    slots = max(one.batching.slots for one in setup.deployments.values())
    return serving.clock_for(scenario, traffic, slots, setup.steps)


def seconds(value: float) -> str:
    """A latency; that of a request that never came is said to be none."""
    if np.isnan(value):
        return text.unknown()
    if np.isinf(value):
        return say("it never came")
    # Nobody reads kiloseconds.
    return text.si(value, "s") if value < 1000 else say("{n} s", n=text.significant(value))
