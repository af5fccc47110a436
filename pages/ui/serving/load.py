"""The Load tab: figures against the arrival rate, or against the number of clients that wait."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import streamlit as st

from calc import Scenario, serving
from calc.serving import Service
from calc.words import say
from pages.ui.charts import kit
from pages.ui.serving import figures, searches, simulations, words
from pages.ui.serving.searches import Crowds, Loads
from pages.ui.serving.simulations import Simulated
from pages.ui.writing import text

# Room for a bar [px].
_BAR = 56
# A figure, its title, its limit, and what the chart shows.
Charts = Mapping[str, tuple[Callable[[Service], float], str, float, str]]


def tab(scenario: Scenario, values: Mapping[str, Any], simulated: Simulated) -> bool:
    """Draw what is known of the sweep, then go a step further; whether there is news to draw."""
    if simulated.traffic.loop:
        crowds = searches.crowds(scenario, values, simulated)
        _clients(crowds, simulated)
        goes_on = not (simulated.coming or crowds.stopped or crowds.done == 1)
        if goes_on:
            searches.more_crowds(scenario, values, simulated, crowds)
        return goes_on
    try:
        loads = searches.loads(scenario, values, simulated)
    except serving.ServingError as error:
        st.markdown(text.plain(str(error)))
        return False
    told = _rates(loads, simulated)
    goes_on = not (simulated.coming or loads.stopped or loads.done == 1)
    if goes_on:
        loads.step(lambda share: told())
    return goes_on


def _rates(loads: Loads, simulated: Simulated) -> Callable[[], None]:
    """Other arrival rates, and the highest that keeps the limits; what draws the bar again."""
    limits = simulated.setup.limits
    # Of classes the strictest.
    ttft, *_ = simulations.limits(simulated, lambda one: one.ttft)
    tpot, *_ = simulations.limits(simulated, lambda one: kit.MILLI * one.tpot)
    again = _bar(loads, sum(len(knee.tried) for knee in loads.known.values()))
    st.markdown(words.knees(loads, limits))
    curves = {
        policy: [(one.realised, one.figures) for one in knee.rising]
        for policy, knee in loads.known.items()
    }
    rings = {
        policy: (knee.rate, knee.low.figures) for policy, knee in loads.known.items() if knee.low
    }
    charts: Charts = {
        "ttft": (
            lambda one: one.ttft.percentiles[90], say("p90 TTFT (s)"), ttft,
            say("p90 of the time to first token against the arrival rate."),
        ),
        "tpot": (
            lambda one: kit.MILLI * one.tpot.percentiles[90], say("p90 TPOT (ms)"),
            tpot, say("p90 of the time per output token against the arrival "
                                         "rate."),
        ),
        "goodput": (
            lambda one: one.goodput, say("Goodput (requests/s)"), 0.0,
            say("Goodput against the arrival rate."),
        ),
    }  # fmt: skip
    now = simulated.traffic.realised_rate
    _draw(charts, curves, say("Arrival rate (requests/s)"), now, rings)
    st.caption(
        say(
            "Each rate is simulated with 800 requests and more, up to {n:,}, until the share of "
            "good ones is known to 2 points or leaves no doubt. Requests of the warm-up are left "
            "out. Rates are those that came; ringed is the highest that keeps both limits. Drawn "
            "are the policy shown and those that do best.",
            n=max(serving.knees.MOST, len(loads.traffic)),
        )
    )
    return again


def _clients(crowds: Crowds, simulated: Simulated) -> None:
    """Other numbers of clients."""
    ttft, *_ = simulations.limits(simulated, lambda one: one.ttft)
    tpot, *_ = simulations.limits(simulated, lambda one: kit.MILLI * one.tpot)
    _bar(crowds, sum(map(len, crowds.figures.values())))
    charts: Charts = {
        "throughput": (
            lambda one: one.throughput, say("Token/s"), 0.0,
            say("Tokens each second against the number of clients."),
        ),
        "ttft": (
            lambda one: one.ttft.mean, say("Mean TTFT (s)"), ttft,
            say("Mean time to first token against the number of clients."),
        ),
        "tpot": (
            lambda one: kit.MILLI * one.tpot.mean, say("Mean TPOT (ms)"), tpot,
            say("Mean time per output token against the number of clients."),
        ),
    }  # fmt: skip
    curves = {
        policy: list(zip(map(float, crowds.counts), known, strict=False))
        for policy, known in crowds.figures.items()
    }
    assert simulated.traffic.loop
    _draw(charts, curves, say("Clients"), float(simulated.traffic.loop.clients), {})
    st.caption(
        say(
            "As many requests for each number of clients, who send the next when the last is "
            "answered: throughput is clients over the time from one request of a client to its "
            "next (F8.19). Drawn are the policy shown and those that do best."
        )
    )


def _bar(sweep: Loads | Crowds, tried: int) -> Callable[[], None]:
    """How far a sweep is, and a way to stop it; its place stays. What draws the bar again."""
    told = say("Loads simulated: {n:,}", n=tried)
    with st.container(horizontal=True, vertical_alignment="center", height=_BAR, border=False):
        if sweep.done == 1:
            st.caption(told)
            return lambda: None
        bar = st.progress(sweep.done, told)
        label = say("Go on") if sweep.stopped else say("Stop")
        st.button(label, key="load-stop", on_click=sweep.stop)

    def again() -> None:
        bar.progress(sweep.done, told)

    return again


def _draw(
    charts: Charts,
    curves: Mapping[str, figures.Curve],
    across: str,
    now: float,
    rings: Mapping[str, tuple[float, Service]],
) -> None:
    with st.grid(len(charts), min_column_width=300):
        for name, (of, title, limit, alt) in charts.items():
            kit.show(
                figures.load(curves, of, title, across, now=now, limit=limit, rings=rings),
                key=f"load-{name}",
                alt=alt,
            )
