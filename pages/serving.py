"""Serving: requests that arrive, wait, are batched, run out of cache and finish."""

from __future__ import annotations

import streamlit as st

from calc import serving
from calc.words import say
from pages.ui.charts import kit
from pages.ui.frame import link, tabs
from pages.ui.frame.page import cards, current_scenario, header, notes
from pages.ui.serving import figures, traces, words
from pages.ui.serving import load as service_load
from pages.ui.serving import view as service_view
from pages.ui.writing import explained, text

# Rows of the timeline.
DRAWN = 48

scenario = current_scenario()
values = link.widget_values()
header(say("What does the service keep?"), scenario)
try:
    view = service_view.view(scenario, values, traces.given())
except serving.ServingError as error:
    st.markdown(words.cannot(str(error)))
    traces.control()
    st.stop()

shown = view.shown
if shown is None:
    st.markdown(words.cannot(view.problems[view.setup.shown]))
    st.stop()
st.markdown(words.verdict(view, shown))
told = [*view.setup.notices, *view.traffic.notices, *shown.run.notices, *traces.notice()]
notes(
    [
        *map(text.plain, dict.fromkeys(told)),
        *(
            f"**{service_view.name(policy)}**: {text.plain(problem)}"
            for policy, problem in view.problems.items()
        ),
    ]
)
cards(words.headline(shown.figures, view.setup.limits))

if not shown.run.finished.any():
    st.caption(say("No request was answered, so there is no latency to draw."))
    st.stop()
with st.grid(2, min_column_width=400):
    kit.show(
        figures.timeline(shown.run, min(DRAWN, len(view.traffic))),
        key="service-timeline",
        revision=f"timeline-{view.setup.shown}",
        alt=say("What the first requests did: waiting, reading, decoding, put out."),
    )
    kit.show(
        figures.distribution(
            view.outcomes, lambda run: run.ttft, say("Time to first token (s)"),
            view.setup.limits.ttft,
        ),
        key="service-ttft",
        alt=say("Share of requests within a time to first token, for all policies."),
    )  # fmt: skip
st.caption(words.described(view.traffic))

compared, spread, time, load, theory, trace = tabs.show(
    "service-tabs",
    [
        say("Policies"),
        say("Percentiles"),
        say("Over time"),
        say("Load"),
        say("Closed forms"),
        say("Trace"),
    ],
)
if compared.open:
    with compared:
        words.policies(view.outcomes)
        st.caption(
            say(
                "All on the same traffic and the same chips. A request that was turned away has "
                "waited for ever: it is in every percentile, and where a percentile is such a "
                "request there is a dash."
            )
        )
if spread.open:
    with spread:
        st.table(words.percentiles(shown.figures), hide_index=True)
        kit.show(
            figures.distribution(
                view.outcomes, lambda run: run.tpot, say("Time per output token (s)"),
                view.setup.limits.tpot,
            ),
            key="service-tpot",
            alt=say("Share of requests within a time per output token, for all policies."),
        )  # fmt: skip
if time.open:
    with time, st.grid(2, min_column_width=400):
        kit.show(
            figures.occupancy(shown.run),
            key="service-occupancy",
            alt=say("Requests that decode and wait over time."),
        )
        kit.show(
            figures.memory(shown.run),
            key="service-memory",
            alt=say("Cache in use over time, and what of it holds tokens."),
        )
pending = False
if load.open:
    with load:
        pending = service_load.tab(scenario, values, view)
if theory.open:
    with theory:
        st.table(words.closed_forms(view), hide_index=True)
if trace.open:
    with trace:
        traces.control()
explained.section(
    scenario,
    ("prefill_time", "step_time", "end_to_end", "servers_ratio", "kv_tokens_retired"),
    key="serving",
)
if pending:
    # One rate further, with what is known on screen meanwhile.
    st.rerun()
