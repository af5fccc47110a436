"""Capacity: does it fit, on how many, and what the smallest topology is worth."""

from __future__ import annotations

import streamlit as st

from calc import memory, roofline
from pages.ui import (
    capacity_figures,
    capacity_tables,
    explained,
    figures,
    packing_bench,
    text,
    verdict,
)
from pages.ui.frame import current_scenario, header, metrics

scenario = current_scenario()
held = memory.ledger(scenario)
largest = int(memory.max_batch(scenario))
fewest = memory.min_chips(scenario)
crossing = roofline.compute_bound_batch(scenario)

header("Does it fit, and on how many?", scenario)
topologies = capacity_tables.compared(scenario)
st.markdown(verdict.capacity_fit(scenario, held, fewest, *topologies[0]))
caveats = verdict.layout_caveats(scenario)
if caveats:
    st.caption("  \n".join(f":material/info: {caveat}" for caveat in caveats))
shown = {
    "Weights": text.si(held.weights, "B"),
    "KV cache": text.si(held.kv_cache, "B"),
    "Free" if held.free >= 0 else "Missing": text.si(abs(held.free), "B"),
    "Fewest chips": text.count(fewest) if fewest else "none",
    "Largest batch": text.count(largest),
    "Critical batch": text.count(crossing // 1),
}
metrics(shown)

with st.grid(2, min_column_width=400):
    figures.show(
        capacity_figures.resident(held, scenario.n_chips),
        key="capacity-resident",
        alt=f"What fills the memory of all chips and of one: {text.ledger(held.parts())}.",
    )
    figures.show(
        capacity_figures.against_context(scenario, largest, crossing),
        key="capacity-context",
        alt=f"Sequences that memory holds against context; {largest:,} at this context.",
    )

smallest, everywhere, packed = st.tabs(
    ["Smallest topologies", "Every chip", "Replica packing"],
    key="capacity-tabs",
    on_change="rerun",
)
if smallest.open:
    with smallest:
        st.table(capacity_tables.topologies(topologies), hide_index=True)
        st.caption(
            f"Each slice filled with sequences of {scenario.context:,} tokens; requests generate "
            f"{scenario.output:,} tokens. Doubled: the next slice with at least twice the chips."
        )
if everywhere.open:
    with everywhere:
        st.caption("This batch and context on the fewest chips of every kind, as one group.")
        capacity_tables.every_chip(scenario)
if packed.open:
    with packed:
        packing_bench.section()
explained.section(scenario)
