"""Tables of the Sharding page, and the layout that a click applies."""

from __future__ import annotations

import math
from collections.abc import Sequence

import streamlit as st

from calc import Scenario, candidates, known, sharding
from calc.decode import StepTime
from calc.layout import Layout
from calc.words import say
from pages.ui.writing import published, row_choice, sortable, tables, text, written


def limits(scenario: Scenario) -> str:
    """Where links pass memory and compute, by the axes used."""
    rows = [
        [
            say(limit.label),
            text.si(limit.bandwidth, "B/s"),
            _ways(limit.hbm),
            _ways(limit.compute),
        ]
        for limit in sharding.limits(scenario)
    ]
    head = [say("Links of a group"), say("Into each chip"), say("Pass memory at"),
            say("Pass compute at")]  # fmt: skip
    return tables.markdown(head, rows, " rrr")


def _ways(width: float) -> str:
    if not math.isfinite(width):
        return text.unknown()
    return say("{n} ways", n=text.round_count(width))


def messages(scenario: Scenario) -> str:
    """How large a message is, and from where on it only waits for hops."""
    s = scenario
    if sharding.width(s) == 1:
        return say("A group of one chip sends nothing.")
    sent, limit = sharding.message(s), sharding.waits_below(s)
    if math.isnan(limit):
        return say(
            "A matmul sends {size} of activations over links not published.",
            size=text.si(sent, "B"),
        )
    rule = sharding.latency_bound_below(sharding.width(s), s.chip.link_one_way, s.hop_latency)
    waits = say(
        "below {size} a collective of {n:,} chips only waits for its hops",
        size=text.si(limit, "B"),
        n=sharding.width(s),
    )
    if s.chip.fabric.kind == "torus":
        waits = say(
            "{statement} (chips × one-way bandwidth × hop: {size})",
            statement=waits,
            size=text.si(rule, "B"),
        )
    return text.sentences(
        say(
            "A matmul sends {size} of activations; {waits}, and this one is {side} that.",
            size=text.si(sent, "B"),
            waits=waits,
            side=say("below") if sent < limit else say("above"),
        ),
        say(
            "The hops of all reductions add up to {time} a step.",
            time=text.si(sharding.latency_floor(s), "s"),
        ),
    )


def layer_sentence(scenario: Scenario, step: StepTime) -> str:
    """What a whole layer takes, side by side."""
    layer = sharding.layer(scenario, step)
    return say(
        "A whole layer takes {read} to read its weights, {compute} to multiply by them and {send} "
        "to send.",
        read=text.si(layer.hbm, "s"),
        compute=published.least(scenario, text.si(layer.math, "s")),
        send=published.least(scenario, text.si(layer.link, "s")),
    )


def two_axes(scenario: Scenario) -> str:
    """Where splitting both dimensions pays, in both models of a network."""
    d, columns = scenario.model.d_model, sharding.mlp_columns(scenario.model)
    rows = [
        [say("Each collective has the links of its own axes"),
         text.count(sharding.two_axis_crossover(d, columns))],
        [say("Each collective has all links of a chip (Pope et al.)"),
         text.count(sharding.two_axis_crossover(d, columns, uniform=True))],
    ]  # fmt: skip
    return tables.markdown([say("2-D sends less beyond"), say("Chips")], rows, " r")


def widths(scenario: Scenario) -> str:
    """Which widths the model's shapes allow."""
    rows = [
        [f"{width:,}", text.clauses(map(text.plain, faults)) or say("legal")]
        for width, faults in sharding.legal_widths(scenario).items()
    ]
    head = [say("Tensor-parallel width"), say("What it does not divide")]
    return tables.markdown(head, rows, "r ")


def per_chip(scenario: Scenario) -> str:
    """What the fullest chip holds, and what of it are copies."""
    fullest = sharding.per_chip(scenario)
    room = scenario.chip.memory * scenario.usable_memory
    free = room - fullest.expert_weights - fullest.other_weights - fullest.kv_cache
    rows = [
        [say("Routed experts"), text.si(fullest.expert_weights, "B"), ""],
        [
            say("Other weights"),
            text.si(fullest.other_weights, "B"),
            text.si(fullest.weight_copies, "B"),
        ],
        [say("KV cache"), text.si(fullest.kv_cache, "B"), text.si(fullest.kv_copies, "B")],
        [say("Free") if free >= 0 else say("Missing"), text.si(abs(free), "B"), ""],
    ]
    head = [say("The fullest chip"), say("Holds"), say("Of it copies")]
    return tables.markdown(head, rows, " rr")


def layouts(scenario: Scenario) -> None:
    """Every legal layout, sortable; choosing one applies it."""
    rows = candidates.layouts(scenario)
    if not rows:
        st.caption(say("No width that divides these chips is legal for the model."))
        return
    now, timed = _own(scenario), sharding.with_links(scenario).fidelity
    step, rate, price = say("Step (ms)"), say("Token/s per chip"), say("USD / Mtok")
    if known.bounded(scenario):
        step, rate = say("Step, at least (ms)"), say("Token/s per chip, at most")
        price = say("USD / Mtok, at least")
    row_choice.table(
        "layouts",
        {
            say("Layout"): [_mark(row, _widths(row) == now) for row in rows],
            say("Tensor"): [row.tp for row in rows],
            say("Data"): [row.dp for row in rows],
            say("Expert"): [row.ep for row in rows],
            say("Pipeline"): [row.pp for row in rows],
            say("KV when TP > KV heads"): [row.kv_sharding for row in rows],
            step: [sortable.known(1e3 * row.total) for row in rows],
            **_usual(scenario, rows),
            rate: [sortable.known(row.throughput_per_chip) for row in rows],
            price: [sortable.known(row.usd_per_million_tokens) for row in rows],
            say("Links (%)"): [sortable.known(100 * row.communication) for row in rows],
            say("Largest batch"): sortable.batches(
                sharding.with_links(scenario), [row.max_batch for row in rows]
            ),
            say("Fits"): [row.fits for row in rows],
        },
        lambda chosen: {**rows[chosen].settings, "fidelity": timed},
        column_config={
            say("Layout"): st.column_config.TextColumn(width=80),
            **sortable.formats(
                {step: "%.4g", rate: "%.4g", price: "%.3g", say("Links (%)"): "%.0f"}
            ),
        },
        height=min(38 + 35 * len(rows), 440),
    )


def _usual(scenario: Scenario, rows: Sequence[candidates.LayoutRow]) -> dict[str, list[str]]:
    """A column of where their steps usually lie; none without any."""
    told = [written.ranged("step_time", row.total, scenario, chips=row.tp * row.dp) for row in rows]
    return {say("Usually"): told} if any(told) else {}


Widths = tuple[int, int, int, int, str]


def _widths(row: candidates.LayoutRow) -> Widths:
    return row.tp, row.dp, row.ep, row.pp, row.kv_sharding


def _own(scenario: Scenario) -> Widths:
    """The layout in use."""
    chosen = Layout.of(scenario)
    sizes = (chosen.tp, chosen.dp, chosen.ep, chosen.pp)
    tp, dp, ep, pp = (int(size) for size in sizes)
    return tp, dp, ep, pp, scenario.kv_sharding


def _mark(row: candidates.LayoutRow, now: bool) -> str:
    marks = ((say("best"), row.best), (say("now"), now))
    return text.listed(word for word, is_so in marks if is_so)
