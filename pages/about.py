"""About: method, nomenclature, and where every figure of the chosen model and chip comes from."""

from __future__ import annotations

import streamlit as st

from calc.explain import EXPLANATIONS
from calc.words import marked, say
from pages.ui.frame.page import current_scenario, header
from pages.ui.writing import explained, tables, text

INTRODUCTION = marked("""
One decode step makes one token for every sequence of the batch. It reads each sequence's KV cache,
and it reads the weights once, or multiplies by them if that takes longer. The ledger adds the bytes
and the FLOPs, divides by what the chips can move and do, and says which of the two takes the time.
At fidelity **bound** the step is
""")

METHOD = marked("""
It is a lower bound that anybody can check: weights and cache fully sharded, memory and compute
perfectly overlapped within the linear layers, no communication, no kernel overhead, attention FLOPs
hidden behind the cache read. Well-tuned engines come within about 1.5 × of it where
bandwidth rules.

What it counts with care:

- **Weights read** leave out an untied input embedding, which is gathered, and include a tied one,
  which is the output head. Of routed experts only the distinct ones that the batch hits are read:
  $E\\,(1-(1-k/E)^B)$ per layer.
- **Cache** is summed over the model's own layers: grouped KV heads, latent (MLA) layers without a
  factor 2, sliding windows that stop growing.
- **Chips divide time.** Twice the chips halve the step and leave tokens per second per chip alone.
- **Formats** count their scales: 4-bit weights in groups of 128 cost 4.125 bits.
- **Peaks are dense**, bytes are SI (1 GB is 10⁹ B), one multiply-add is 2 FLOP.
- **Unknown stays unknown.** A figure that no source publishes is shown as not published, and so is
  whatever needs it.
""")

SOURCES = marked("""
- J. Austin et al., *How To Scale Your Model*, 2025, parts 7 and 8: the bound, the critical batch,
  Llama 3 70B on TPU v5e.
- R. Pope et al., *Efficiently Scaling Transformer Inference*, arXiv 2211.05102: sharded decode.
- C. Chen, *Transformer Inference Arithmetic*, 2022: bytes and FLOPs of a step.
- DeepSeek-AI, *DeepSeek-V2* and *DeepSeek-V3* reports: latent attention and its cache.
- N. Shazeer, arXiv 1911.02150, and J. Ainslie et al., arXiv 2305.13245: multi-query and
  grouped-query attention.

F-numbers beside a formula are those of the ledger's own formula reference.
""")

scenario = current_scenario()
header(say("About the ledger"), scenario)

st.header(say("Method"), anchor=False)
st.markdown(say(INTRODUCTION))
bound = EXPLANATIONS["step_time"]
st.latex(f"{bound.symbol} = {bound.build(scenario).latex()}")
st.markdown(say(METHOD))

st.header(say("Nomenclature"), anchor=False)
# Symbols stand over their boxes by a hair: without this each cell would scroll, out of reach of
# keys.
st.html(
    "<style>[data-testid=stTable] [data-testid=stMarkdownContainer] { overflow: visible; }</style>"
)
st.table(explained.nomenclature(scenario), hide_index=True)

st.header(say("Figures of this chip"), anchor=False)
st.markdown(f"**{text.plain(scenario.chip.name)}**, {text.plain(scenario.chip.topology)}")
st.table(
    tables.table([say("Figure"), say("Value"), say("Source")], tables.chip_facts(scenario.chip)),
    hide_index=True,
)
for note in scenario.chip.notes:
    st.caption(text.plain(note))

st.header(say("Figures of this model"), anchor=False)
st.markdown(f"**{text.plain(scenario.model.name)}**")
st.markdown(tables.markdown([say("Figure"), say("Value")], tables.model_facts(scenario)))
st.caption(text.plain(say("Sources: {sources}", sources="; ".join(scenario.model.sources))))
if scenario.model.note:
    st.caption(text.plain(scenario.model.note))

st.header(say("Literature"), anchor=False)
st.markdown(say(SOURCES))
explained.section(scenario, (), key="about")
