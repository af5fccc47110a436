"""The tab FSDP: weights that pass the links in every step."""

from __future__ import annotations

import math

import numpy as np
import streamlit as st

from calc import Scenario, known, sharding
from calc.network import Network
from calc.words import marked, say
from pages.ui.charts import lines
from pages.ui.frame.page import Shown
from pages.ui.sharding.view import ShardingView
from pages.ui.writing import explained, palette, tables, text

QUESTION = marked("Why not FSDP for decoding?")
_LOOKS = palette.QUANTITIES


def _time(scenario: Scenario) -> float:
    """Of links that nobody published nothing is known, not even a bound worth the name."""
    return float(sharding.gather_time(known.stated(scenario)))


def sentence(view: ShardingView) -> str:
    """How long the gather takes, against what it is there for."""
    s, time = view.scenario, _time(view.scenario)
    if s.n_chips == 1:
        return say("One chip holds all the weights: FSDP has nothing to gather.")
    if math.isnan(time):
        return say("The time to gather the weights is not known here.")
    size, read = sharding.gathered(s), float(view.step.weight_read)
    return text.sentences(
        say(
            "FSDP would gather {size} of weights in every step: **{time}** over links of {rate}.",
            size=text.si(size, "B"),
            time=text.si(time, "s"),
            rate=text.si(Network.of(s).path(s.n_chips).bandwidth, "B/s"),
        ),
        say(
            "In this layout a chip reads its weights in {read}; the gather takes {ratio} as long.",
            read=text.si(read, "s"),
            ratio=text.times(time / read),
        )
        if math.isfinite(read)
        else "",
        _hides(s),
    )


def _hides(scenario: Scenario) -> str:
    tokens = sharding.gather_hidden_from(known.stated(scenario))
    if math.isnan(tokens):
        return ""
    return say(
        "At the dense rate the gather hides behind FLOPs from {tokens} in a step on; this batch "
        "has {batch:,}.",
        tokens=text.tokens(round(tokens)),
        batch=scenario.batch,
    )


def chart(view: ShardingView) -> Shown | None:
    """Gathering and reading the weights against the chips of the replica."""
    s, time = view.scenario, _time(view.scenario)
    if math.isnan(time):
        return None
    chips = np.unique(np.append(2.0 ** np.arange(1, 9), float(s.n_chips)))
    chips = chips[chips > 1]
    swept = sharding.by_width(s, chips).step
    return Shown(
        lines.chart(
            chips,
            {
                say("FSDP gather"): (1e3 * sharding.gather_time(s, chips), lines.TOTAL),
                say("weight read"): (1e3 * swept.weight_read, _LOOKS["weight_read"]),
                say("linear FLOPs"): (1e3 * swept.linear_compute, _LOOKS["linear_compute"]),
            },
            x_title=say("Chips of a replica"),
            y_title=say("Time per step (ms)"),
            unit="ms",
            now=(s.n_chips, 1e3 * time, text.si(time, "s")) if s.n_chips > 1 else None,
            x_ticks={float(n): f"{n:,.0f}" for n in 2.0 ** np.arange(1, 9)},
        ),
        say("Time to gather all weights, and to read a chip's share of them, against chips."),
    )


def _table(view: ShardingView) -> str:
    s, read = view.scenario, float(view.step.weight_read)
    size = sharding.gathered(s)
    links = {Network.of(s).path(s.n_chips).bandwidth: say("these chips")}
    if s.chip.fabric.kind == "torus":
        for limit in sharding.limits(s):
            links.setdefault(limit.bandwidth, limit.label)
    rows = [
        [name, text.si(rate, "B/s"), text.si(size / rate, "s"), text.times(size / rate / read)]
        for rate, name in links.items()
        if math.isfinite(rate)
    ]
    head = [say("Links"), say("Into each chip"), say("FSDP gather"), say("Over the weight read")]
    return tables.markdown(head, rows, " rrr")


def tab(view: ShardingView) -> None:
    """The gather beside the read that it stands in for."""
    st.markdown(sentence(view))
    shown = chart(view)
    if shown is None or view.scenario.n_chips == 1:
        return
    with st.grid(2, min_column_width=400):
        shown.draw("sharding-gather")
        with st.container():
            st.markdown(_table(view))
            st.caption(
                say(
                    "Times are in the limit of many chips, as for one matmul above; each of "
                    "{n:,} chips already holds 1/{n:,}.",
                    n=view.scenario.n_chips,
                )
            )
    explained.formula("gather_time", view.scenario)
