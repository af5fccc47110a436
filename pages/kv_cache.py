"""KV cache: what each kind of attention would cache, and how many sequences fit."""

from __future__ import annotations

from dataclasses import replace

import streamlit as st

from calc import memory, paging, roofline, variants
from calc.explain import EXPLANATIONS
from calc.words import say
from pages.ui.charts import kit, scrubber, sweeps
from pages.ui.frame import tabs
from pages.ui.frame.page import current_scenario, header, metrics, notes
from pages.ui.kv_cache import figures, view, words
from pages.ui.writing import explained, layout, tables, text
from presets import formats, models

laid_out = current_scenario()
# The cache itself is the same in any layout; how many fit is not.
scenario = replace(laid_out, fidelity="bound")
model, kv = scenario.model, scenario.kv_format
largest = int(memory.max_batch(laid_out))
header(say("How large is the KV cache?"), laid_out)
st.markdown(words.verdict(scenario, largest))
notes([layout.cache_copies(laid_out)])

metrics(dict(zip(view.METRICS, view.metrics(scenario, largest), strict=True)))

with st.container(horizontal=True, vertical_alignment="bottom"):
    window = st.selectbox(
        say("Sliding window in five of six layers"),
        [0, 128, 512, 1024, 4096, 8192],
        format_func=lambda tokens: say("{n:,} tokens", n=tokens) if tokens else say("none"),
        key="kv-window",
        persist_state="session",
        width=230,
    )
    sharing = st.selectbox(
        say("Layers to one cache"),
        [1, 2, 3, 4],
        key="kv-sharing",
        persist_state="session",
        width=150,
    )
    with st.popover(say("Beside which models"), key="kv-pick", on_change="rerun") as picker:
        if picker.open:
            st.pills(
                say("Models drawn beside the variants, six at most"),
                list(models),
                selection_mode="multi",
                default=sweeps.BESIDE,
                key="kv-models",
                persist_state="session",
            )
others = st.session_state.get("kv-models", sweeps.BESIDE)[:6]
compared = variants.compare(model, window=window, sharing=sharing)
per_variant = {name: variant.kv_bytes_per_token(kv) for name, variant in compared.items()}
drawn = {**compared, **{models[id].name: models[id] for id in others if id != model.id}}
curves = view.Curves.of(scenario, drawn)
scrubber.show("kv-scrub", [view.by_context(laid_out, (window, sharing, others), curves)])
charts = st.grid(2, min_column_width=400)
with charts:
    kit.show(
        figures.bars(
            per_variant,
            {name: text.kibibytes(size) for name, size in per_variant.items()},
            say("KV cache per token, {format} (bytes)", format=kv.id),
        ),
        key="kv-variants",
        alt=say(
            "KV cache per token of each attention kind: {kinds}",
            kinds=text.listed(
                f"{name} {text.kibibytes(size)}" for name, size in per_variant.items()
            ),
        ),
    )
    kit.show(
        view.chart(scenario, curves),
        key="kv-context",
        alt=say("KV cache per sequence against context for the variants and the chosen models."),
    )

fit, intensity, layers, paged = tabs.show(
    "kv-tabs",
    [say("What fits"), say("Intensity"), say("Layers"), say("Paging")],
)
if fit.open:
    with fit:
        st.table(tables.variants(laid_out, compared), hide_index=True)
        st.caption(
            say(
                "The same attention layers, heads and widths under each kind; weights change with "
                "the projections. MHA ratio compares caches at this context. Sharing shrinks what "
                "is kept, not what is read."
            )
        )
if intensity.open:
    with intensity:
        kit.show(
            figures.intensity(
                sweeps.intensities(compared, scenario),
                {
                    id: roofline.ridge_point(scenario.chip, formats[id])
                    for id in ("bf16", "fp8", "int8")
                },
            ),
            key="kv-intensity",
            alt=say(
                "Decode attention FLOPs per byte of cache for each kind, against the ridge points."
            ),
        )
        st.caption(
            say(
                "Left of a ridge, attention waits for memory. Grouped-query attention stays near "
                "its group size whatever the batch; an absorbed latent is read once for all heads, "
                "and can pass the ridge."
            )
        )
if layers.open:
    with layers:
        st.table(tables.layer_groups(scenario), hide_index=True)
        explained.formula(EXPLANATIONS["kv_per_sequence"], scenario)
        if model.assumptions:
            assumed = say("Assumed: {assumptions}", assumptions=text.clauses(model.assumptions))
            st.caption(text.plain(assumed))
if paged.open:
    with paged:
        with st.container(horizontal=True):
            mean = st.number_input(
                say("Mean length"), 1, 10**7, 500, key="kv-mean", persist_state="session"
            )
            longest = st.number_input(
                say("Longest length"), 1, 10**7, 4096, key="kv-longest", persist_state="session"
            )
            block = st.selectbox(
                say("Block"),
                [1, 8, 16, 32, 64, 128, 256],
                index=2,
                key="kv-block",
                persist_state="session",
            )
        st.markdown(tables.paging_table(scenario, mean, longest, block))
        lengths = sweeps.lengths(longest)
        kit.show(
            figures.utilisation(
                lengths,
                paging.paged_utilisation(lengths, block),
                paging.contiguous_utilisation(lengths, longest),
                mean,
                block,
            ),
            key="kv-paging",
            alt=say("Share of reserved cache in use, paged and contiguous, against mean length."),
        )
explained.section(laid_out, view.METRICS, key="kv")
