"""Decode: how long is one decode step, what fills it, and where is the frontier."""

from __future__ import annotations

import streamlit as st

from calc import decode, memory
from calc.words import marked, say
from pages.ui.charts import kit, scrubber, sweeps
from pages.ui.decode import levers, operator_figures, words
from pages.ui.decode import view as decode_view
from pages.ui.frame import sidebar
from pages.ui.frame.page import current_scenario, header, metrics, notes
from pages.ui.writing import explained, tables, text

SCALES = (marked("logarithmic"), marked("linear"))

scenario = current_scenario()
step = decode.step_time(scenario)
max_batch = int(memory.max_batch(scenario))
landmarks = decode_view.Landmarks.of(
    scenario, log=st.session_state.get("decode-scale", SCALES[0]) == SCALES[0]
)
batches = decode_view.batches(scenario, max_batch, landmarks)
sweep = decode_view.Sweep.over(scenario, batches)
view = decode_view.view(scenario, step, sweep, max_batch, landmarks)
held = memory.ledger(scenario)

header(say("How long is one decode step?"), scenario)
st.markdown(words.verdict(scenario, step, max_batch, landmarks.compute_bound_from))
notes(words.caveats(scenario, step))
metrics(dict(zip(decode_view.METRICS, view.metrics, strict=True)))
scrubber.show(
    "decode-scrub",
    [
        decode_view.by_batch(scenario, sweep, max_batch, landmarks),
        decode_view.by_context(scenario, batches, landmarks),
    ],
)

charts = st.grid(2, min_column_width=400)
with charts:
    kit.show(
        view.charts["step-time"],
        key="step-time",
        revision=f"step-{landmarks.log}",
        alt=text.sentences(
            say("Step time and its terms against batch."), tables.step_sentence(step)
        ),
    )
    kit.show(
        view.charts["frontier"],
        key="frontier",
        revision=f"frontier-{landmarks.log}",
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

fine = scenario.fidelity != "bound"
both = fine and scenario.model.routed_params > 0
details = st.grid(2, min_column_width=400) if both else st.container()
with details:
    if fine:
        kit.show(
            operator_figures.operators(step),
            key="operators",
            alt=text.sentences(
                say("Both sides of each operator."), tables.operators_sentence(step)
            ),
        )
    if scenario.model.routed_params:
        kit.show(
            operator_figures.expert_traffic(*sweeps.expert_traffic(scenario, batches)),
            key="experts",
            alt=say("Share of the routed experts that a step reads, against batch."),
        )

levers.section(scenario)
explained.section(scenario, decode_view.METRICS, key="decode")
