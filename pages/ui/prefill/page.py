"""The Prefill page: a prompt's time, its chunks, its prefix, servers of its own."""

from __future__ import annotations

import streamlit as st

from calc.words import marked, say
from pages.ui.charts import kit, rooflines
from pages.ui.frame import draw, groups
from pages.ui.frame.page import ROOT, Exhibit, Page, Shown
from pages.ui.prefill import answer, figures, ring, tables, words
from pages.ui.prefill.view import METRICS, WIDTH, PrefillView
from pages.ui.writing import fit, printed, published, text

QUESTION = marked("How long until the first token?")


def verdict(view: PrefillView) -> str:
    """The answer."""
    return words.verdict(view.scenario, view.reading)


def head(view: PrefillView) -> None:
    """The answer, what to know beside it, and its figures."""
    draw.head(verdict(view), words.caveats(view.scenario), fit.misfit(view.scenario))
    draw.metrics(METRICS, view)


def by_length(view: PrefillView) -> Shown:
    """The prompt's time against its length."""
    return Shown(
        figures.against_prompt(view.scenario, view.total),
        say(
            "Time to read a prompt against its length; {time} here.",
            time=published.least(view.scenario, text.si(view.total, "s")),
        ),
    )


def charts(view: PrefillView) -> None:
    """The prompt's length, and the size of its chunks."""
    with st.grid(2, min_column_width=400):
        by_length(view).draw("prefill-length")
        kit.show(
            figures.against_chunk(view.scenario, view.largest_chunk, view.free),
            key="prefill-chunk",
            alt=say(
                "Time per output token against chunk size; within the target up to {n} tokens.",
                n=text.count(view.largest_chunk),
            ),
        )
    st.caption(tables.chunk_sentence(view.scenario))


def layers(view: PrefillView) -> None:
    """FLOPs of one layer of each kind."""
    st.table(tables.layers(view.scenario), hide_index=True)
    st.caption(tables.layer_notes(view.scenario))


def prefix(view: PrefillView) -> None:
    """What a cached prefix saves."""
    with st.grid(2, min_column_width=400):
        kit.show(
            figures.against_prefix(view.scenario),
            key="prefill-prefix",
            alt=say("Time left of the prompt against the prefix that is cached, in whole blocks."),
        )
        with st.container():
            st.markdown(tables.prefix(view.scenario))
            st.page_link(
                ROOT / "pages" / "serving.py", label=say("What a kept prefix is worth"),
                width="content",
            )  # fmt: skip


def separate(view: PrefillView) -> None:
    """Servers that only read prompts."""
    st.markdown(tables.disaggregation(view.scenario, view.total, view.step))
    st.caption(
        say(
            "A decode replica finishes batch ÷ output requests each step; prefill replicas of "
            "the same chips must read as many prompts. Streaming sends the cache of each layer "
            "while the next ones are computed."
        )
    )
    said = printed.servers(view.scenario, view.step, view.servers_ratio)
    if said:
        st.caption(said)


def roofline(view: PrefillView) -> None:
    """Each operator of the prompt under the chip's roofs."""
    rooflines.tab(
        "prefill",
        view.scenario,
        view.work,
        ("prompt_weight_intensity", "prompt_cache_intensity"),
    )


def under_roofs(view: PrefillView) -> Shown:
    """The same as an exhibit."""
    return rooflines.shown(view.scenario, view.work, view.work.by_name())


def bound_by(view: PrefillView) -> str:
    """What of the prompt waits for memory, and what for compute."""
    return rooflines.sentence(view.scenario, view.work.by_name())


PAGE = Page(
    name="prefill",
    title=marked("Prefill"),
    question=QUESTION,
    view=PrefillView,
    groups=(*groups.COMMON, groups.PREFILL),
    unfolded=(groups.PREFILL,),
    parts={"head": head, "charts": charts},
    tabs={
        marked("FLOPs per layer"): layers,
        marked("Prefix cache"): prefix,
        marked("Separate prefill servers"): separate,
        marked("Roofline"): roofline,
        marked("Ring of replicas"): ring.tab,
        marked("Without a KV cache"): answer.tab,
    },
    switches=(WIDTH,),
    metrics=METRICS,
    exhibits=(
        Exhibit("prefill", QUESTION, verdict, by_length),
        Exhibit(
            "prefill-roofline",
            marked("Which parts of prefill wait for compute?"),
            bound_by,
            under_roofs,
        ),
        Exhibit("prefill-ring", ring.QUESTION, ring.sentence, ring.chart),
        Exhibit("prefill-answer", answer.QUESTION, answer.sentence, answer.chart),
    ),
)
