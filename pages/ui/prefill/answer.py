"""The tab Without a KV cache: what a whole answer takes."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import streamlit as st

from calc import known
from calc.answer import Array, Work
from calc.words import marked, say
from pages.ui.charts import lines
from pages.ui.frame.page import Shown
from pages.ui.prefill.view import PrefillView
from pages.ui.writing import explained, palette, published, tables, text

QUESTION = marked("How much does a KV cache save?")
_PETA = 1e15
_CACHED = palette.Look("", palette.QUANTITIES["kv_cache"].colour)


def sentence(view: PrefillView) -> str:
    """The work of the scenario's answer both ways, and how it grows."""
    s, (kept, again) = view.scenario, view.answers
    n = s.output
    flops, more = (float(one.flops[n - 1]) for one in (kept, again))
    one = text.plural(n, marked("An answer of {n} token"), marked("An answer of {n} tokens"))
    return text.sentences(
        say(
            "{answer} to a prompt of {prompt:,} takes {flops} with a cache and {more} without: "
            "**{ratio}**.",
            answer=one,
            prompt=s.prompt,
            flops=text.si(flops, "FLOP"),
            more=text.si(more, "FLOP"),
            ratio=text.times(more / flops),
        ),
        _alone(view),
        say(
            "An answer twice as long takes {kept} the FLOPs with a cache and {again} without.",
            kept=text.times(kept.doubled(n)),
            again=text.times(again.doubled(n)),
        ),
        say(
            "Without a cache, linear layers grow as n² in the whole text's n tokens. "
            "Attention, {share} of these FLOPs, grows as n³ at most.",
            share=text.percent(again.attended(n)),
        ),
    )


def _alone(view: PrefillView) -> str:
    s, n = view.scenario, view.scenario.output
    times = [float(one.time[n - 1]) for one in view.answers]
    if any(map(math.isnan, times)):
        return ""
    kept, again = (published.least(s, text.si(time, "s")) for time in times)
    return say(
        "Alone on its chips it takes {kept} with a cache and {again} without.",
        kept=kept,
        again=again,
    )


def chart(view: PrefillView) -> Shown:
    """FLOPs against the length of the answer, both ways."""
    kept, again = view.answers
    n, far = view.scenario.output, len(kept.tokens)
    at = np.unique(np.append(np.geomspace(1, far, 96).round(), float(n))).astype(int) - 1
    here = float(again.flops[n - 1])
    return Shown(
        lines.chart(
            again.tokens[at],
            {
                say("without a cache"): (again.flops[at] / _PETA, lines.TOTAL),
                say("its attention"): (
                    again.attention[at] / _PETA, palette.QUANTITIES["attention_compute"],
                ),
                say("with a cache"): (kept.flops[at] / _PETA, _CACHED),
            },
            x_title=say("Tokens of the answer"),
            y_title=say("The whole answer (PFLOP)"),
            unit="PFLOP",
            now=(n, here / _PETA, text.si(here, "FLOP")),
            decades=6,
        ),
        say("FLOPs of an answer against its length, with a KV cache and without."),
    )  # fmt: skip


def _table(view: PrefillView) -> str:
    s, n = view.scenario, view.scenario.output

    def flops(label: str, of: Callable[[Work], Array], growth: str) -> list[str]:
        kept, again = (float(of(one)[n - 1]) for one in view.answers)
        ratio = text.times(again / kept) if kept else ""
        return [label, text.si(kept, "FLOP"), text.si(again, "FLOP"), ratio, growth]

    kept, again = (float(one.time[n - 1]) for one in view.answers)
    ratio = math.nan if known.bounded(s) else again / kept
    rows = [
        flops(say("Linear FLOPs"), lambda one: one.linear, "n → n²"),
        flops(say("Attention FLOPs"), lambda one: one.attention, "n² → n³"),
        flops(say("All FLOPs"), lambda one: one.flops, ""),
        [say("Time alone"), published.seconds(s, kept), published.seconds(s, again),
         text.times(ratio), ""],
    ]  # fmt: skip
    head = [say("Answer"), say("With a cache"), say("Without"), say("Ratio"), say("Growth")]
    return tables.markdown(head, rows, " rrrr")


def tab(view: PrefillView) -> None:
    """What is computed once, and what would be computed again."""
    st.markdown(sentence(view))
    with st.grid(2, min_column_width=400):
        chart(view).draw("prefill-answer")
        with st.container():
            st.markdown(_table(view))
            st.caption(
                say(
                    "Growth is in the n tokens of the whole text, with full attention; windows "
                    "and constant states take off one factor n. No prefix is cached."
                )
            )
    for id in ("answer_flops", "answer_flops_uncached"):
        explained.formula(id, view.scenario)
