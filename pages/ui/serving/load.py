"""The load sweep of the Serving page: percentiles and goodput against the arrival rate."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import streamlit as st

from calc import Scenario, serving
from calc.serving import Service
from calc.words import say
from pages.ui.charts import kit
from pages.ui.serving import figures, simulations, words
from pages.ui.serving.simulations import Simulated
from pages.ui.writing import text


def tab(scenario: Scenario, values: Mapping[str, Any], simulated: Simulated) -> bool:
    """Draw what is known of the sweep; whether there is more to come."""
    try:
        loads = simulations.loads(scenario, values, simulated)
    except serving.ServingError as error:
        st.markdown(text.plain(str(error)))
        return False
    if loads.done < 1:
        tried = sum(len(knee.tried) for knee in loads.known.values())
        with st.container(horizontal=True, vertical_alignment="center"):
            st.progress(loads.done, say("Rates simulated: {n:,}", n=tried))
            st.button(
                say("Go on") if loads.stopped else say("Stop"), key="load-stop", on_click=loads.stop
            )
    limits, now = simulated.setup.limits, simulated.traffic.realised_rate
    st.markdown(words.knees(loads, limits))
    charts: Mapping[str, tuple[Callable[[Service], float], str, float, str]] = {
        "ttft": (
            lambda one: one.ttft.percentiles[99], say("p99 TTFT (s)"), limits.ttft,
            say("p99 of the time to first token against the arrival rate."),
        ),
        "tpot": (
            lambda one: one.tpot.percentiles[99], say("p99 TPOT (s)"), limits.tpot,
            say("p99 of the time per output token against the arrival rate."),
        ),
        "goodput": (
            lambda one: one.goodput, say("Goodput (requests/s)"), 0.0,
            say("Goodput against the arrival rate."),
        ),
    }  # fmt: skip
    with st.grid(len(charts), min_column_width=300):
        for name, (of, title, limit, alt) in charts.items():
            kit.show(
                figures.load(loads, of, title, now=now, limit=limit, log=limit > 0),
                key=f"load-{name}",
                alt=alt,
            )
    st.caption(
        say(
            "Each rate is simulated with 800 requests and more, up to {n:,}, until the share of "
            "good ones is known to 2 points or leaves no doubt. Requests of the warm-up are left "
            "out. Rates are those that came; ringed is the highest that keeps both limits. Drawn "
            "are the policy shown and those that do best.",
            n=max(serving.knees.MOST, len(loads.traffic)),
        )
    )
    return loads.done < 1 and not loads.stopped
