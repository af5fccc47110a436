"""The best layout that fits, where it beats the one in use: named, and applied with a click."""

from __future__ import annotations

import math

import streamlit as st

from calc import Scenario, candidates, memory
from calc.words import marked, say
from pages.ui.frame import taking
from pages.ui.writing import text, written

# Layouts that are this close are as good.
_CLOSE = 0.98


def found(scenario: Scenario, total: float) -> candidates.LayoutRow | None:
    """The best layout, if it is faster than a step of `total` or holds what this one does not."""
    if scenario.fidelity == "bound" or scenario.n_chips == 1:
        return None
    rows = candidates.layouts(scenario)
    if not rows or not rows[0].best:
        return None
    better = not math.isfinite(total) or rows[0].total < _CLOSE * total
    return rows[0] if better or not memory.fits(scenario) else None


def section(scenario: Scenario, total: float) -> None:
    """What it would take, beside the step in use, and a button that applies it."""
    best = found(scenario, total)
    if best is None:
        return
    with st.container(horizontal=True, vertical_alignment="center"):
        st.markdown(sentence(scenario, total, best), width="content")
        st.button(
            say("Use this layout"), key="use-best-layout", on_click=taking.use,
            args=(best.settings,),
        )  # fmt: skip


def sentence(scenario: Scenario, total: float, best: candidates.LayoutRow) -> str:
    """The best layout beside the one in use."""
    told = {
        "layout": named(best),
        "time": written.told("step_time", best.total, scenario),
        "now": text.si(total, "s"),
    }
    holds = text.plural(
        best.max_batch, marked("memory holds {n} sequence"), marked("memory holds {n} sequences")
    )
    if not memory.fits(scenario):
        return say("The best layout that fits, {layout}, takes **{time}**; {holds}.",
                   **told, holds=holds)  # fmt: skip
    return say("The best layout, {layout}, takes **{time}** instead of {now}; {holds}.",
               **told, holds=holds)  # fmt: skip


def named(row: candidates.LayoutRow) -> str:
    """The widths of a layout, and where its cache is kept."""
    sizes = {"TP": row.tp, "DP": row.dp, "EP": row.ep, "PP": row.pp}
    widths = text.listed(f"{name} {size}" for name, size in sizes.items() if size > 1)
    kept = {"batch": say("cache split by batch"), "sequence": say("cache split by sequence")}
    return text.listed([widths or say("one group"), *filter(None, [kept.get(row.kv_sharding)])])
