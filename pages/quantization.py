"""Quantization: what each precision moves, what formats cost, and what rounding does."""

from __future__ import annotations

import streamlit as st

from calc import decode, precision
from calc.words import say
from pages.ui.charts import kit
from pages.ui.frame import tabs
from pages.ui.frame.page import current_scenario, header, notes
from pages.ui.quantization import affine, figures, tables, words
from pages.ui.writing import explained, fit, text
from presets import formats

scenario = current_scenario()
header(say("What does precision buy?"), scenario)

columns = st.columns(len(precision.SWITCHES))
changed = {}
for column, (switch, use) in zip(columns, precision.SWITCHES.items(), strict=True):
    offered = [id for id, item in formats.items() if use in item.uses]
    suggested = precision.suggestion(scenario, switch, formats)
    to = column.selectbox(
        say("{what} to", what=say(tables.LABELS[switch])),
        offered,
        index=offered.index(suggested),
        key=f"to-{switch}-{suggested}",
        persist_state="session",
    )
    changed[switch] = precision.switched(scenario, switch, formats[to])
now = precision.figures(scenario)
then_figures = {switch: precision.figures(s) for switch, s in changed.items()}
st.markdown(words.verdict(scenario, changed, now, then_figures))
notes([fit.misfit(scenario)])

held = int(now.max_batch)
batches = decode.batch_sweep(max(2.0 * scenario.batch, 1.5 * held, 256), [scenario.batch, held])
swept, frontier = decode.step_time(scenario, batch=batches), decode.frontier(scenario, batches)
names = tables.names(changed)
with st.grid(3, min_column_width=260):
    for switch, then in changed.items():
        name = names[switch]
        kit.show(
            figures.step_lines(swept, decode.step_time(then, batch=batches), name),
            key=f"quantization-{switch}",
            alt=say(
                "Weight read, linear FLOPs and KV read against batch, now and with {change}.",
                change=name,
            ),
        )
    for switch, then in changed.items():
        name = names[switch]
        kit.show(
            figures.frontiers(frontier, decode.frontier(then, batches), name),
            key=f"frontier-{switch}",
            alt=say(
                "Throughput per chip against time per token, now and with {change}.", change=name
            ),
        )
moves, rounding, bits = tabs.show(
    "quantization-tabs",
    [say("What moves"), say("Affine quantization"), say("Bits of every format")],
)
if moves.open:
    with moves:
        st.markdown(tables.moves(changed, now, then_figures))
        caption = say("Dotted: now; solid: then, as far as memory holds the batch.")
        st.caption(text.sentences(caption, tables.mixed(scenario)))
if rounding.open:
    with rounding:
        affine.section()
if bits.open:
    with bits:
        st.table(tables.format_bits(scenario), hide_index=True)
        st.caption(say("Bits: those of a value, and its share of scales and zero points."))
explained.section(scenario, tables.EXPLAINED, key="quantization")
