"""Cost: what tokens and requests cost, and what the chips get done for it."""

from __future__ import annotations

import streamlit as st

from calc import cost, decode, memory, prefill, roofline
from calc import metrics as measured
from calc.words import say
from pages.ui.charts import kit
from pages.ui.cost import figures, tables, words
from pages.ui.frame.page import current_scenario, header, metrics
from pages.ui.writing import explained, text

scenario = current_scenario()
step = decode.step_time(scenario)
reading = float(prefill.prompt_time(scenario).total)
prompts = prefill.prompt_rate(scenario, reading)
largest = int(memory.max_batch(scenario))
batches = decode.batch_sweep(
    decode.sweep_end(scenario, largest, roofline.compute_bound_batch(scenario)),
    [largest, scenario.batch],
)

header(say("What does a million tokens cost?"), scenario)
st.markdown(words.verdict(scenario, step, prompts))
per_output = text.usd(float(cost.per_million_tokens(scenario, step)))
shown = {
    "usd_per_million_output_tokens": per_output,
    "usd_per_million_input_tokens": text.usd(cost.per_million_input_tokens(scenario, prompts)),
    "usd_per_thousand_requests": text.usd(cost.requests(scenario, step, prompts)),
    "tokens_per_joule": text.significant(float(cost.tokens_per_joule(scenario, step))),
    "mbu": text.percent(float(measured.mbu(scenario, step))),
    "mfu": text.percent(float(measured.mfu(scenario, step))),
}
metrics(shown)

with st.grid(2, min_column_width=400):
    kit.show(
        figures.frontier(scenario, batches, largest, money=True),
        key="cost-frontier",
        alt=say("USD per million output tokens against time per token; {price}.", price=per_output),
    )
    kit.show(
        figures.frontier(scenario, batches, largest, money=False),
        key="cost-throughput",
        alt=say("Token/s per chip against time per token as the batch grows."),
    )
st.markdown(tables.measures(scenario, step, reading))
st.markdown(tables.prices(scenario))
st.caption(
    say(
        "Every chip is taken as busy all the time. Prices of different chips were printed at "
        "different times and on different terms: type your own under Prices and more in the "
        "sidebar."
    )
)
explained.section(scenario, shown, key="cost")
