"""Tables of the Sharding page, and the layout that a click applies."""

from __future__ import annotations

import math

import streamlit as st

from calc import Scenario, sharding
from calc.scenario import FIELDS
from pages.ui import tables, text

_ROWS = "_layout_rows"
_TABLE = "layouts"


def limits(scenario: Scenario) -> str:
    """Where links pass memory and compute, by the axes used."""
    rows = [
        [
            limit.label,
            text.si(limit.bandwidth, "B/s"),
            _ways(limit.hbm),
            _ways(limit.compute),
        ]
        for limit in sharding.limits(scenario)
    ]
    head = ["Links of a group", "Into each chip", "Pass memory at", "Pass compute at"]
    return tables.markdown(head, rows, " rrr")


def _ways(width: float) -> str:
    return f"{text.round_count(width)} ways" if math.isfinite(width) else text.UNKNOWN


def messages(scenario: Scenario) -> str:
    """How large a message is, and from where on it only waits for hops."""
    s = scenario
    if sharding.width(s) == 1:
        return "A group of one chip sends nothing."
    sent = sharding.message(s)
    floor = sharding.latency_floor(s)
    limit = sharding.waits_below(s)
    bound = "below" if sent < limit else "above"
    return (
        f"A matmul sends {text.si(sent, 'B')} of activations; on {sharding.width(s):,} chips "
        f"messages below {text.si(limit, 'B')} only wait for their hops, and this one is {bound} "
        f"that. The hops of all reductions add up to {text.si(floor, 's')} a step."
    )


def two_axes(scenario: Scenario) -> str:
    """Where splitting both dimensions pays, in both models of a network."""
    d, columns = scenario.model.d_model, sharding.mlp_columns(scenario.model)
    rows = [
        ["Each collective has the links of its own axes",
         text.count(sharding.two_axis_crossover(d, columns))],
        ["Each collective has all links of a chip (Pope et al.)",
         text.count(sharding.two_axis_crossover(d, columns, uniform=True))],
    ]  # fmt: skip
    return tables.markdown(["2-D sends less beyond", "Chips"], rows, " r")


def widths(scenario: Scenario) -> str:
    """Which widths the model's shapes allow."""
    rows = [
        [f"{width:,}", "; ".join(map(text.plain, faults)) or "legal"]
        for width, faults in sharding.legal_widths(scenario).items()
    ]
    return tables.markdown(["Tensor-parallel width", "What it does not divide"], rows, "r ")


def per_chip(scenario: Scenario) -> str:
    """What the fullest chip holds, and what of it are copies."""
    held = sharding.per_chip(scenario)
    room = scenario.chip.memory * scenario.usable_memory
    free = room - held.expert_weights - held.other_weights - held.kv_cache
    rows = [
        ["Routed experts", text.si(held.expert_weights, "B"), ""],
        ["Other weights", text.si(held.other_weights, "B"), text.si(held.weight_copies, "B")],
        ["KV cache", text.si(held.kv_cache, "B"), text.si(held.kv_copies, "B")],
        ["Free" if free >= 0 else "Missing", text.si(abs(free), "B"), ""],
    ]
    return tables.markdown(["The fullest chip", "Holds", "Of it copies"], rows, " rr")


def layouts(scenario: Scenario) -> None:
    """Every legal layout, sortable; choosing one applies it."""
    found = sharding.layouts(scenario)
    rows = found.rows()
    st.session_state[_ROWS] = [(r.tp, r.dp, r.ep, r.pp) for r in rows]
    st.dataframe(
        {
            "Best": ["best" if r.best else "" for r in rows],
            "Tensor": [r.tp for r in rows],
            "Data": [r.dp for r in rows],
            "Expert": [r.ep for r in rows],
            "Pipeline": [r.pp for r in rows],
            "Step (ms)": [1e3 * r.total for r in rows],
            "Token/s per chip": [r.throughput_per_chip for r in rows],
            "USD / Mtok": [
                r.usd_per_million_tokens if r.usd_per_million_tokens > 0 else None for r in rows
            ],
            "Links (%)": [100 * r.communication for r in rows],
            "Largest batch": [r.max_batch for r in rows],
            "Fits": [r.fits for r in rows],
        },
        column_config={
            name: st.column_config.NumberColumn(format=form)
            for name, form in (
                ("Step (ms)", "%.4g"),
                ("Token/s per chip", "%.4g"),
                ("USD / Mtok", "%.3g"),
                ("Links (%)", "%.0f"),
            )
        },
        hide_index=True,
        key=_TABLE,
        on_select=_apply,
        selection_mode="single-row",
        height=min(38 + 35 * len(rows), 440),
    )


def _apply() -> None:
    """Make the chosen row the scenario's layout."""
    chosen = st.session_state[_TABLE]["selection"]["rows"]
    if not chosen:
        return
    names = ("tensor_parallel", "attention_dp", "expert_parallel", "pipeline")
    for name, width in zip(names, st.session_state[_ROWS][chosen[0]], strict=True):
        st.session_state[FIELDS[name].key] = width
    st.session_state[FIELDS["fidelity"].key] = "operators"
