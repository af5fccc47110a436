"""The tab Ring of replicas: a prompt that several replicas share."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator

import streamlit as st

from calc import Scenario, known, ring
from calc.words import marked, say
from pages.ui.charts import lines
from pages.ui.frame.page import Shown
from pages.ui.prefill.view import WIDTH, PrefillView
from pages.ui.writing import explained, palette, published, tables, text

QUESTION = marked("How much faster is prefill over a ring?")
_LOOKS = palette.QUANTITIES


def sentence(view: PrefillView) -> str:
    """How long the prompt takes over the ring, and what hides."""
    s, n, one = view.scenario, view.width, view.rings.at(view.width)
    total, left = float(one.total), float(one.exposed)
    if math.isnan(total):
        return published.without_time(s, marked("Prefill time over a ring"))
    replicas = text.plural(n, marked("{n} replica"), marked("{n} replicas"))
    chips = text.plural(s.n_chips, marked("{n} chip"), marked("{n} chips"))
    took = say(
        "{replicas} of {chips} in a ring read the prompt in **{time}**; one replica takes {alone}.",
        replicas=replicas,
        chips=chips,
        time=published.least(s, text.si(total, "s")),
        alone=published.least(s, text.si(view.total, "s")),
    )
    return text.sentences(took, _hidden(one, left), _from(view.ring_limit))


def _hidden(one: ring.Ring, left: float) -> str:
    if one.width == 1 or math.isinf(one.attention):
        return ""
    told = {
        "exchange": text.si(float(one.exchange), "s"),
        "attention": text.si(float(one.attention), "s"),
    }
    if left:
        return say(
            "The KV exchange takes {exchange}, attention {attention}: {left} is not hidden.",
            left=text.si(left, "s"),
            **told,
        )
    return say(
        "The KV exchange takes {exchange} and hides behind {attention} of attention.", **told
    )


def _from(limit: float) -> str:
    if math.isnan(limit):
        return ""
    if math.isinf(limit):
        return say("No ring up to {n:,} replicas waits for the exchange.", n=ring.WIDEST)
    return say("From {n:,.0f} replicas on, the exchange takes longer than attention.", n=limit)


def chart(view: PrefillView) -> Shown:
    """The prompt's time against the replicas of the ring."""
    s, n, rings, limit = view.scenario, view.width, view.rings, view.ring_limit
    widths, here = rings.width, float(rings.at(n).total)
    far = [float(width) for width in widths if math.log2(width).is_integer()]
    drawn: dict[str, lines.Line] = {
        say("prompt"): (rings.total, lines.TOTAL),
        say("attention FLOPs"): (rings.attention, _LOOKS["attention_compute"]),
        say("KV exchange"): (rings.exchange, _LOOKS["communication"]),
        say("shared evenly"): (view.total / widths, lines.BOUND),
    }
    return Shown(
        lines.chart(
            widths,
            drawn,
            x_title=say("Replicas in the ring"),
            y_title=say("Time to read the prompt (s)"),
            unit="s",
            now=(n, here, text.si(here, "s")),
            rules=[("x", limit, say("exchange > attention from {n:,.0f}", n=limit))]
            if limit <= far[-1]
            else (),
            x_ticks={float(w): f"{w:,.0f}" for w in far},
        ),
        say(
            "Time to read the prompt against the replicas of a ring; {time} with {n:,}.",
            time=published.least(s, text.si(here, "s")),
            n=n,
        ),
    )


def _share(scenario: Scenario, kept: float) -> str:
    """Of two bounds no quotient is known."""
    return text.percent(math.nan if known.bounded(scenario) else kept)


def _table(view: PrefillView) -> str:
    s, n = view.scenario, view.width
    both = [view.rings.at(width) for width in (1, n)]

    def times(values: Iterable[ring.Array]) -> list[str]:
        return [published.seconds(s, float(value)) for value in values]

    kept = view.rings.kept[view.rings.width == n].item()
    rows = [
        [say("Chips"), *(text.count(width * s.n_chips) for width in (1, n))],
        [say("Time to read the prompt"), *times(one.total for one in both)],
        [say("Attention of a replica"), *times(one.attention for one in both)],
        [say("KV exchange"), *times(one.exchange for one in both)],
        [say("KV exchange not hidden"), *times(one.exposed for one in both)],
        [say("Prompt/s per chip"), text.percent(1.0), _share(s, kept)],
    ]
    ringed = text.plural(n, marked("Ring of {n}"), marked("Ring of {n}"))
    return tables.markdown([say("Quantity"), say("1 replica"), ringed], rows, " rr")


def _assumed(scenario: Scenario) -> Iterator[str]:
    yield say("The pairs of the causal mask are split evenly.")
    link = scenario.chip.link_one_way
    if math.isfinite(link):
        yield say(
            "Each chip sends the cache one way to its counterpart in the next replica: {near} "
            "over fast links, {far} beyond them.",
            near=text.si(link, "B/s"),
            far=text.si(scenario.scale_out, "B/s"),
        )


def tab(view: PrefillView) -> None:
    """How many replicas, what the prompt takes then, and where the ring takes over."""
    st.number_input(
        say("Replicas in the ring"), 1, ring.WIDEST, WIDTH.default, key=WIDTH.key,
        persist_state="session", width=200,
        help=say("Each replica holds all weights and an equal part of the prompt; 1 is no ring."),
    )  # fmt: skip
    st.markdown(sentence(view))
    with st.grid(2, min_column_width=400):
        chart(view).draw("prefill-ring-chart")
        with st.container():
            st.markdown(_table(view))
            st.caption(text.sentences(*_assumed(view.scenario)))
    explained.formula("ring_limit", view.scenario)
