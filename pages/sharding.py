"""Sharding: how wide a replica may be split, where links take over, and which layout is best."""

from __future__ import annotations

import streamlit as st

from calc import decode, sharding
from calc.words import say
from pages.ui.charts import kit
from pages.ui.frame import tabs
from pages.ui.frame.page import current_scenario, header, metrics, notes
from pages.ui.sharding import figures, tables, words
from pages.ui.writing import explained, text

scenario = sharding.with_links(current_scenario())
step = decode.step_time(scenario)
product = sharding.matmul(scenario)
where = sharding.current_limits(scenario)

header(say("How wide may it be sharded?"), scenario)
st.markdown(words.verdict(scenario, step))
notes(words.caveats(scenario))
shown = {
    "step_time": text.si(float(step.total), "s"),
    "matmul_hbm": text.si(float(product.hbm), "s"),
    "matmul_math": text.si(float(product.math), "s"),
    "matmul_link": text.si(float(product.link), "s"),
    "hbm_limit": text.ways(where.hbm),
    "compute_limit": text.ways(where.compute),
}
metrics(shown)

with st.grid(2, min_column_width=400):
    kit.show(
        figures.against_width(scenario),
        key="sharding-width",
        alt=say(
            "Step time against tensor-parallel width; {time} in this layout.",
            time=text.si(float(step.total), "s"),
        ),
    )
    kit.show(
        figures.matmul(scenario),
        key="sharding-matmul",
        alt=say("Memory, FLOPs and links of one MLP product against width."),
    )
st.caption(text.sentences(tables.layer_sentence(scenario, step), tables.messages(scenario)))

layouts, axes, split, widths, held = tabs.show(
    "sharding-tabs",
    [
        say("Layouts"),
        say("Axes and rings"),
        say("One or two dimensions"),
        say("Legal widths"),
        say("Per chip"),
    ],
)
if layouts.open:
    with layouts:
        st.caption(
            say(
                "Ways to divide these chips that the model's shapes allow; a row you choose "
                "becomes the layout."
            )
        )
        tables.layouts(scenario)
if axes.open:
    with axes:
        st.markdown(tables.limits(scenario))
        st.caption(
            say(
                "A ring sends both ways at once; an axis without wraparound is a line and sends "
                "one way. Compute is passed at M F W / C, memory at F W / (B W_HBM) with the bytes "
                "of weights over those of activations."
            )
        )
if split.open:
    with split, st.grid(2, min_column_width=400):
        kit.show(
            figures.two_axes(scenario),
            key="sharding-two",
            alt=say("Messages of one MLP against chips, with one and with both dimensions split."),
        )
        with st.container():
            st.markdown(tables.two_axes(scenario))
            st.caption(
                say(
                    "As the book has it, 1-D spreads its messages over three axes of a torus, each "
                    "link with its one-way bandwidth; the step charges the axes that the group has."
                )
            )
if widths.open:
    with widths:
        st.markdown(tables.widths(scenario))
if held.open:
    with held:
        st.markdown(tables.per_chip(scenario))
        st.caption(say("Copies: what this chip would not hold if everything were split evenly."))
explained.section(scenario, shown, key="sharding")
