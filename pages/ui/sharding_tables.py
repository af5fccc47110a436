"""Tables of the Sharding page, and the layout that a click applies."""

from __future__ import annotations

import math

import streamlit as st

from calc import Scenario, candidates, sharding
from calc.decode import StepTime
from calc.layout import Layout
from calc.scenario import FIELDS
from pages.ui import tables, text

_ROWS = "_layout_rows"
_APPLIED = "_layouts_applied"


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
    sent, limit = sharding.message(s), sharding.waits_below(s)
    if math.isnan(limit):
        return f"A matmul sends {text.si(sent, 'B')} of activations over links not published."
    bound = "below" if sent < limit else "above"
    rule = sharding.latency_bound_below(sharding.width(s), s.chip.link_one_way, s.hop_latency)
    textbook = f" (chips × one-way bandwidth × hop: {text.si(rule, 'B')})"
    return (
        f"A matmul sends {text.si(sent, 'B')} of activations; below {text.si(limit, 'B')} a "
        f"collective of {sharding.width(s):,} chips only waits for its hops"
        f"{textbook if s.chip.fabric.kind == 'torus' else ''}, and this one is {bound} that. The "
        f"hops of all reductions add up to {text.si(sharding.latency_floor(s), 's')} a step."
    )


def layer_sentence(scenario: Scenario, step: StepTime) -> str:
    """What a whole layer takes, side by side."""
    layer = sharding.layer(scenario, step)
    return (
        f"A whole layer takes {text.si(layer.hbm, 's')} to read its weights, "
        f"{text.si(layer.math, 's')} to multiply by them and {text.si(layer.link, 's')} to send."
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
    rows = candidates.layouts(scenario)
    if not rows:
        st.caption("No width that divides these chips is legal for the model.")
        return
    st.session_state[_ROWS] = [_widths(row) for row in rows]
    now = _own(scenario)
    st.dataframe(
        {
            "Layout": [_mark(row, _widths(row) == now) for row in rows],
            "Tensor": [row.tp for row in rows],
            "Data": [row.dp for row in rows],
            "Expert": [row.ep for row in rows],
            "Pipeline": [row.pp for row in rows],
            "KV beyond heads": [row.kv_sharding for row in rows],
            "Step (ms)": [_known(1e3 * row.total) for row in rows],
            "Token/s per chip": [_known(row.throughput_per_chip) for row in rows],
            "USD / Mtok": [_known(row.usd_per_million_tokens) for row in rows],
            "Links (%)": [_known(100 * row.communication) for row in rows],
            "Largest batch": [row.max_batch for row in rows],
            "Fits": [row.fits for row in rows],
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
        # A new table after each choice: the tick belongs to a row, and rows move.
        key=_table(),
        on_select=_apply,
        selection_mode="single-row",
        height=min(38 + 35 * len(rows), 440),
    )


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
    return ", ".join(word for word, is_so in (("best", row.best), ("now", now)) if is_so)


def _known(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _table() -> str:
    return f"layouts-{st.session_state.get(_APPLIED, 0)}"


def _apply() -> None:
    """Make the chosen row the scenario's layout."""
    chosen = st.session_state[_table()]["selection"]["rows"]
    if not chosen:
        return
    names = ("tensor_parallel", "attention_dp", "expert_parallel", "pipeline", "kv_sharding")
    for name, width in zip(names, st.session_state[_ROWS][chosen[0]], strict=True):
        st.session_state[FIELDS[name].key] = width
    st.session_state[FIELDS["fidelity"].key] = "operators"
    st.session_state[_APPLIED] = st.session_state.get(_APPLIED, 0) + 1
