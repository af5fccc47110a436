"""Decode: how long is one decode step, what fills it, and where is the frontier."""

from __future__ import annotations

from dataclasses import replace

import streamlit as st

from calc import cost, decode, explain, levers, memory, roofline
from calc.words import marked, say
from pages.ui import (
    explained,
    figures,
    operator_figures,
    sidebar,
    sweeps,
    tables,
    text,
    verdict,
)
from pages.ui.frame import current_scenario, header, metrics
from presets import formats

SCALES = (marked("logarithmic"), marked("linear"))

scenario = current_scenario()
step = decode.step_time(scenario)
held = memory.ledger(scenario)
max_batch = int(memory.max_batch(scenario))
crossing = roofline.compute_bound_batch(scenario)
sweep = decode.batch_sweep(
    decode.sweep_end(scenario, max_batch, crossing), [max_batch, scenario.batch]
)
log = st.session_state.get("decode-scale", SCALES[0]) == SCALES[0]
look = {"max_batch": max_batch, "log": log}
textbook = replace(scenario, fidelity="bound") if scenario.fidelity != "bound" else None
step_figure = figures.step_time(
    decode.step_time(scenario, batch=sweep),
    step,
    bound=decode.step_time(textbook, batch=sweep) if textbook else None,
    compute_bound_from=crossing,
    **look,
)
frontier_figure = figures.frontier(
    decode.frontier(scenario, sweep),
    step,
    held,
    bound=decode.frontier(textbook, sweep) if textbook else None,
    **look,
)
shown = {
    "step_time": text.si(float(step.total), "s"),
    "throughput": text.rate(float(step.throughput)),
    "throughput_per_chip": text.rate(float(step.throughput_per_chip)),
    "compute_bound_batch": text.count(crossing),
    "max_batch": text.count(max_batch),
    "usd_per_million_tokens": text.usd(float(cost.per_million_tokens(scenario, step))),
}

header(say("How long is one decode step?"), scenario)
st.markdown(verdict.decode_step(scenario, step, max_batch, crossing))
caveats = verdict.caveats(scenario, step)
if caveats:
    st.caption("  \n".join(f":material/info: {caveat}" for caveat in caveats))
metrics({say(explain.EXPLANATIONS[id].label): value for id, value in shown.items()})

charts = st.grid(2, min_column_width=400)
with charts:
    figures.show(
        step_figure,
        key="step-time",
        revision=f"step-{log}",
        alt=text.sentences(
            say("Step time and its terms against batch."), tables.step_sentence(step)
        ),
    )
    figures.show(
        frontier_figure,
        key="frontier",
        revision=f"frontier-{log}",
        on_click=sidebar.use_batch,
        alt=text.sentences(
            say("Throughput per chip against time per token as the batch grows."),
            tables.memory_sentence(held),
        ),
    )
with st.container(horizontal=True, horizontal_alignment="distribute"):
    st.caption(
        text.sentences(tables.step_sentence(step), tables.utilisation_sentence(scenario, step))
        + f"  \n{tables.memory_sentence(held)}",
        width=760,
    )
    st.segmented_control(
        say("Scale of the charts"),
        SCALES,
        format_func=say,
        default=SCALES[0],
        required=True,
        key="decode-scale",
        label_visibility="collapsed",
        persist_state="session",
    )

both = textbook is not None and scenario.model.routed_params > 0
details = st.grid(2, min_column_width=400) if both else st.container()
with details:
    if textbook:
        figures.show(
            operator_figures.operators(step),
            key="operators",
            alt=text.sentences(
                say("Both sides of each operator."), tables.operators_sentence(step)
            ),
        )
    if scenario.model.routed_params:
        figures.show(
            operator_figures.expert_traffic(*sweeps.expert_traffic(scenario, sweep)),
            key="experts",
            alt=say("Share of the routed experts that a step reads, against batch."),
        )

st.subheader(say("What one lever would do"), anchor=False)
st.markdown(tables.levers(levers.outcome(scenario), levers.pull_all(scenario, formats)))
explained.section(scenario)
