"""Prefill: how long a prompt takes, what may ride along with decoding, and what a cache saves."""

from __future__ import annotations

import streamlit as st

from calc import decode, prefill
from calc.words import say
from pages.ui.charts import kit
from pages.ui.frame import tabs
from pages.ui.frame.page import current_scenario, header, metrics, notes
from pages.ui.prefill import figures, tables, words
from pages.ui.writing import explained, fit, text

scenario = current_scenario()
reading = prefill.prompt_time(scenario)
total = float(reading.total)
step = decode.step_time(scenario)
free = prefill.free_tokens(scenario)
largest = prefill.largest_chunk(scenario)
rate = prefill.prompt_rate(scenario, total)
ratio = prefill.servers_ratio(1 / rate, scenario.batch, float(step.total), scenario.output)

header(say("How long until the first token?"), scenario)
st.markdown(words.verdict(scenario, reading))
notes([fit.misfit(scenario), *words.caveats(scenario)])
shown = {
    "prefill_time": text.si(total, "s"),
    "prompt_token_rate": text.rate(scenario.prompt * rate),
    "attention_share": text.percent(prefill.attention_share(scenario)),
    "free_tokens": text.count(free // 1),
    "largest_chunk": text.count(largest),
    "servers_ratio": text.ratio(ratio),
}
metrics(shown)

with st.grid(2, min_column_width=400):
    kit.show(
        figures.against_prompt(scenario, total),
        key="prefill-length",
        alt=say("Time to read a prompt against its length; {time} here.", time=text.si(total, "s")),
    )
    kit.show(
        figures.against_chunk(scenario, largest, free),
        key="prefill-chunk",
        alt=say(
            "Time per output token against chunk size; within the target up to {n} tokens.",
            n=text.count(largest),
        ),
    )
st.caption(tables.chunk_sentence(scenario))

work, cached, split = tabs.show(
    "prefill-tabs",
    [say("FLOPs per layer"), say("Prefix cache"), say("Separate prefill servers")],
)
if work.open:
    with work:
        st.table(tables.layers(scenario), hide_index=True)
        st.caption(tables.layer_notes(scenario))
if cached.open:
    with cached, st.grid(2, min_column_width=400):
        kit.show(
            figures.against_prefix(scenario),
            key="prefill-prefix",
            alt=say("Time left of the prompt against the prefix that is cached, in whole blocks."),
        )
        st.markdown(tables.prefix(scenario))
if split.open:
    with split:
        st.markdown(tables.disaggregation(scenario, total, step))
        st.caption(
            say(
                "A decode replica finishes batch ÷ output requests each step; prefill replicas of "
                "the same chips must read as many prompts. Streaming sends the cache of each layer "
                "while the next ones are computed."
            )
        )
explained.section(scenario, shown, key="prefill")
