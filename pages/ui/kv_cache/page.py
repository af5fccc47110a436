"""The KV cache page: what each kind of attention would keep, and how many sequences fit."""

from __future__ import annotations

from dataclasses import replace

import streamlit as st

from calc import paging, pool, roofline
from calc.words import marked, say
from pages.ui.charts import kit, rooflines, scrubber, sweeps
from pages.ui.frame import draw, groups, language
from pages.ui.frame.page import Exhibit, Page, Shown
from pages.ui.frame.switches import Switch
from pages.ui.kv_cache import figures, tables, words
from pages.ui.kv_cache.view import (
    BESIDE,
    METRICS,
    SHARED,
    SHARING,
    USUAL,
    WINDOW,
    WINDOWS,
    KvCacheView,
    by_context,
)
from pages.ui.writing import explained, fit, layout, printed, text
from presets import formats, models

QUESTION = marked("How large is the KV cache?")
_BLOCKS = (1, 8, 16, 32, 64, 128, 256)
_ENDS = (1, 10**7)
_LENGTHS = range(_ENDS[0], _ENDS[1] + 1)


def verdict(view: KvCacheView) -> str:
    """The answer."""
    return words.verdict(view.plain, view.largest)


def head(view: KvCacheView) -> None:
    """The answer, what to know beside it, and its figures."""
    draw.head(verdict(view), [layout.cache_copies(view.scenario), printed.cache(view.scenario)])
    draw.metrics(METRICS, view)


def controls(view: KvCacheView) -> None:
    """What the variants are given, and which models stand beside them."""
    with st.container(horizontal=True, vertical_alignment="bottom"):
        st.selectbox(
            say("Sliding window in five of six layers"),
            WINDOWS,
            format_func=lambda tokens: say("{n:,} tokens", n=tokens) if tokens else say("none"),
            key=language.renamed(WINDOW),
            persist_state="session",
            width=230,
        )
        st.selectbox(
            say("Layers sharing one cache"),
            SHARED,
            key=SHARING,
            persist_state="session",
            width=150,
        )
        with st.popover(say("Compare with models"), key="kv-pick", on_change="rerun") as picker:
            if picker.open:
                st.pills(
                    say("Models drawn beside the variants, six at most"),
                    list(models),
                    selection_mode="multi",
                    default=USUAL,
                    key=BESIDE,
                    persist_state="session",
                )


def context(view: KvCacheView) -> Shown:
    """Caches against context."""
    return Shown(
        view.context_chart(),
        say("KV cache per sequence against context for the variants and the chosen models."),
    )


def charts(view: KvCacheView) -> None:
    """The scrubber, what each kind caches of a token, and how it grows."""
    scrubber.show("kv_cache-scrub", [by_context(view)])
    s = view.scenario
    sizes = {
        name: text.GIGA * float(variant.kv_bytes(s.context, s.kv_format))
        for name, variant in view.compared.items()
    }
    named = {name: text.si(size / text.GIGA, "B") for name, size in sizes.items()}
    with st.grid(2, min_column_width=400):
        kit.show(
            figures.bars(
                sizes,
                named,
                say("KV cache of {n:,} tokens, {format} (GB)", n=s.context, format=s.kv_format.id),
            ),
            key="kv-variants",
            alt=say(
                "KV cache per sequence of each attention kind: {kinds}",
                kinds=text.listed(f"{name} {size}" for name, size in named.items()),
            ),
        )
        context(view).draw("kv-context")


def what_fits(view: KvCacheView) -> None:
    """Each kind: its cache and the sequences that fit."""
    st.table(tables.variants(view.scenario, view.compared), hide_index=True)
    st.caption(
        say(
            "The same attention layers, heads and widths under each kind; weights change with "
            "the projections. MHA ratio compares caches at this context. Sharing shrinks what "
            "is kept, not what is read."
        )
    )


def intensity(view: KvCacheView) -> None:
    """FLOPs for a byte of cache, against what the chip has."""
    chip = view.scenario.chip
    kit.show(
        figures.intensity(
            sweeps.intensities(view.compared, view.plain),
            {id: roofline.ridge_point(chip, formats[id]) for id in ("bf16", "fp8", "int8")},
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


def layers(view: KvCacheView) -> None:
    """What each group of equal layers keeps and reads."""
    st.table(tables.caches(view.plain), hide_index=True)
    explained.formula("kv_per_sequence", view.plain)
    assumptions = view.scenario.model.assumptions
    if assumptions:
        assumed = say("Assumed: {assumptions}", assumptions=text.clauses(assumptions))
        st.caption(text.plain(assumed))


def paged(view: KvCacheView) -> None:
    """What blocks waste, and what one reservation does."""
    with st.container(horizontal=True):
        mean = st.number_input(
            say("Mean length"),
            *_ENDS,
            500,
            key="kv-mean",
            persist_state="session",
        )
        longest = st.number_input(
            say("Longest length"),
            *_ENDS,
            4096,
            key="kv-longest",
            persist_state="session",
        )
        block = st.selectbox(
            say("Block"),
            _BLOCKS,
            index=_BLOCKS.index(16),
            key="kv-block",
            persist_state="session",
        )
    st.markdown(tables.paging_table(view.plain, mean, longest, block))
    paged_so = replace(view.scenario, kv_block=block)
    if not pool.reason(paged_so):
        st.markdown(fit.promised(pool.of(paged_so, longest)))
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


def roofs(view: KvCacheView) -> None:
    """The attention of each kind under the chip's roofs."""
    under_roofs(view).draw(
        "kv-roofline", on_click=lambda _: explained.open_at("kv_cache", "attention_intensity")
    )
    st.markdown(bound_by(view))


def under_roofs(view: KvCacheView) -> Shown:
    """The same as an exhibit."""
    return rooflines.shown(view.scenario, view.attending.work, view.kinds)


def bound_by(view: KvCacheView) -> str:
    """Which kinds wait for memory, and which for compute."""
    return rooflines.sentence(view.scenario, view.kinds)


PAGE = Page(
    name="kv_cache",
    title=marked("KV cache"),
    question=QUESTION,
    view=KvCacheView,
    groups=groups.COMMON,
    unused=("batch",),
    parts={"head": head, "controls": controls, "charts": charts},
    controls="controls",
    tabs={
        marked("What fits"): what_fits,
        marked("Intensity"): intensity,
        marked("Layers"): layers,
        marked("Paging"): paged,
        marked("Roofline"): roofs,
    },
    switches=(
        Switch(WINDOW, "window", 0, WINDOWS),
        Switch(SHARING, "shared", 1, SHARED),
        Switch(BESIDE, "beside", USUAL, tuple(models), many=True),
        Switch("kv-mean", "mean", 500, _LENGTHS),
        Switch("kv-longest", "longest", 4096, _LENGTHS),
        Switch("kv-block", "block", 16, _BLOCKS),
    ),
    metrics=METRICS,
    exhibits=(
        Exhibit("kv-cache", QUESTION, verdict, context),
        Exhibit("kv-roofline", marked("Which attention waits for memory?"), bound_by, under_roofs),
    ),
)
