"""Speculation: what drafting buys, how long a draft should be, whether it pays at this batch."""

from __future__ import annotations

import streamlit as st

from calc import speculative
from calc.words import say
from pages.ui.charts import kit, scrubber, sweeps
from pages.ui.frame import tabs
from pages.ui.frame.page import current_scenario, header, metrics, notes
from pages.ui.speculative import bench, figures, words
from pages.ui.speculative import view as speculation_view
from pages.ui.writing import explained, tables

scenario = current_scenario()
timed = speculation_view.Timed.of(scenario)
view = speculation_view.view(scenario, timed)
best_here = speculation_view.best_here(timed, scenario.acceptance)

header(say("Does speculative decoding pay?"), scenario)
st.markdown(words.verdict(scenario, timed.here, best_here, timed.free))
notes(words.caveats(scenario, timed.ratio))
metrics(dict(zip(speculation_view.METRICS, view.metrics, strict=True)))
scrubber.show("speculation-scrub", [speculation_view.by_acceptance(scenario, timed)])

with st.grid(2, min_column_width=400):
    kit.show(
        view.charts["speed-batch"],
        key="speed-batch",
        alt=say(
            "Speed-up against batch at several contexts; now {factor}.", factor=view.metrics[0]
        ),
    )
    kit.show(
        view.charts["speed-length"],
        key="speed-length",
        alt=say("Speed-up against draft length; best {n} at this batch.", n=best_here),
    )

length, budget, acceptance = tabs.show(
    "speculation-tabs",
    [say("Acceptance and length"), say("Token budget"), say("Acceptance bench")],
)
if length.open:
    with length, st.grid(2, min_column_width=400):
        kit.show(
            figures.tokens(
                sweeps.DRAFTED,
                sweeps.tokens_by_acceptance(),
                scenario.acceptance,
                speculative.expected_tokens(scenario.acceptance, sweeps.DRAFTED),
            ),
            key="tokens-length",
            alt=say("Tokens per verification against draft length for several acceptances."),
        )
        kit.show(
            figures.speed_map(
                sweeps.ACCEPTANCES,
                sweeps.DRAFTED,
                sweeps.speed_map(timed.ratio),
                (scenario.n_draft, scenario.acceptance),
            ),
            key="speed-map",
            alt=say("Speed-up over acceptance and draft length if verification is free."),
        )
if budget.open:
    with budget:
        st.markdown(tables.speculation_budget(scenario, timed.here, timed.ratio))
        bench.conversions(scenario)
if acceptance.open:
    with acceptance:
        bench.section()
explained.section(scenario, speculation_view.METRICS, key="speculation")
