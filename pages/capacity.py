"""Capacity: does it fit, on how many, and what the smallest topology is worth."""

from __future__ import annotations

import streamlit as st

from calc import memory, roofline
from calc.words import say
from pages.ui.capacity import figures, packing, tables, words
from pages.ui.charts import kit
from pages.ui.frame import tabs
from pages.ui.frame.page import current_scenario, header, metrics, notes
from pages.ui.writing import explained, layout, text

scenario = current_scenario()
held = memory.ledger(scenario)
largest = int(memory.max_batch(scenario))
fewest = memory.min_chips(scenario)
crossing = roofline.compute_bound_batch(scenario)

header(say("Does it fit, and on how many?"), scenario)
topologies = tables.compared(scenario)
st.markdown(words.verdict(scenario, held, fewest, *topologies[0]))
notes(layout.caveats(scenario))
shown = {
    "weights": text.si(held.weights, "B"),
    "kv_cache": text.si(held.kv_cache, "B"),
    "free" if held.free >= 0 else "missing": text.si(abs(held.free), "B"),
    "fewest_chips": text.count(fewest) if fewest else say("none"),
    "max_batch": text.count(largest),
    "compute_bound_batch": text.count(crossing // 1),
}
metrics(shown)

with st.grid(2, min_column_width=400):
    kit.show(
        figures.resident(held, scenario.n_chips),
        key="capacity-resident",
        alt=say(
            "What fills the memory of all chips and of one: {parts}.",
            parts=text.quantities(held.parts(), "B"),
        ),
    )
    kit.show(
        figures.against_context(scenario, largest, crossing),
        key="capacity-context",
        alt=say("Sequences that memory holds against context; {n:,} at this context.", n=largest),
    )

smallest, everywhere, packed = tabs.show(
    "capacity-tabs",
    [say("Smallest topologies"), say("Every chip"), say("Replica packing")],
)
if smallest.open:
    with smallest:
        st.table(tables.topologies(topologies), hide_index=True)
        st.caption(
            say(
                "Each slice filled with sequences of {context:,} tokens; requests generate "
                "{output:,} tokens. Doubled: the next slice with at least twice the chips.",
                context=scenario.context,
                output=scenario.output,
            )
        )
if everywhere.open:
    with everywhere:
        st.caption(say("This batch and context on the fewest chips of every kind, as one group."))
        tables.every_chip(scenario)
if packed.open:
    with packed:
        packing.section()
explained.section(scenario, shown, key="capacity")
