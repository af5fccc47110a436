"""The About page: method, nomenclature, and where every figure comes from."""

from __future__ import annotations

from collections.abc import Iterator

import streamlit as st

from calc.explain import EXPLANATIONS
from calc.words import marked, say
from pages.ui.about import facts, words
from pages.ui.frame import groups
from pages.ui.frame.page import Page, View
from pages.ui.frame.section import Section, Table
from pages.ui.writing import explained, reference, tables, text


def method(view: View) -> None:
    """How the step comes about, and what is counted."""
    st.header(say("Method"), anchor=False)
    st.markdown(say(words.INTRODUCTION))
    bound = EXPLANATIONS["step_time"]
    # Drawn once the browser has what sets formulas: what follows waits for it, see frame.css.
    with st.container(key="formulas-bound"):
        st.latex(f"{bound.symbol} = {bound.build(view.scenario).latex()}")
    with st.container(key="formulas-method"):
        st.markdown(say(words.METHOD))


def formulas(view: View) -> None:
    """Every formula, a section at a time, as the address says."""
    st.header(say("Formulas"), anchor=False)
    st.caption(say("Numbers beside a formula, such as F3.1, lead here. This part is in English."))
    title = st.selectbox(
        say("Section"),
        [title for title in reference.sections() if title != reference.LITERATURE],
        key=reference.KEY,
        bind="query-params",
        label_visibility="collapsed",
    )
    st.markdown(reference.sections()[title])


def nomenclature(view: View) -> None:
    """Every symbol."""
    st.header(say("Nomenclature"), anchor=False)
    # Symbols stand over their boxes by a hair: without this each cell would scroll, out of reach of
    # keys.
    st.html(
        "<style>[data-testid=stTable] [data-testid=stMarkdownContainer] { overflow: visible; }"
        "</style>"
    )
    st.table(explained.nomenclature(view.scenario), hide_index=True)


def chip(view: View) -> None:
    """The chip's figures and their sources."""
    shown = view.scenario.chip
    st.header(say("Figures of this chip"), anchor=False)
    st.markdown(f"**{text.plain(shown.name)}**, {text.plain(shown.topology)}")
    listed = _chip(view)
    st.table(tables.table(listed.head, listed.rows), hide_index=True)
    for note in shown.notes:
        st.caption(text.plain(note))


def model(view: View) -> None:
    """The model's figures and their sources."""
    shown = view.scenario.model
    st.header(say("Figures of this model"), anchor=False)
    st.markdown(f"**{text.plain(shown.name)}**")
    listed = _model(view)
    st.markdown(tables.markdown(listed.head, listed.rows))
    st.caption(text.plain(_sources(view)))
    if shown.note:
        st.caption(text.plain(shown.note))


def _chip(view: View) -> Table:
    head = [say("Figure"), say("Value"), say("Source")]
    return Table(head, facts.chip(view.scenario.chip))


def _model(view: View) -> Table:
    return Table([say("Figure"), say("Value")], facts.model(view.scenario))


def _sources(view: View) -> str:
    return say("Sources: {sources}", sources="; ".join(view.scenario.model.sources))


def literature(view: View) -> None:
    """What the method is taken from."""
    st.header(say("Literature"), anchor=False)
    st.markdown(reference.sections()[reference.LITERATURE])


def sections(view: View) -> Iterator[Section]:
    """What is assumed of the chip and of the model, with sources."""
    shown, used = view.scenario.model, view.scenario.chip
    said = [text.plain(_sources(view))]
    if shown.assumptions:
        assumed = text.plain(text.clauses(shown.assumptions))
        said.append(say("Assumed: {assumptions}.", assumptions=assumed))
    if shown.note:
        said.append(text.plain(shown.note))
    yield Section(
        say("Assumptions: {chip}", chip=text.plain(used.name)),
        [text.plain(note) for note in used.notes],
        _chip(view),
    )
    yield Section(say("Assumptions: {model}", model=text.plain(shown.name)), said, _model(view))


PAGE = Page(
    name="about",
    title=marked("About"),
    question=marked("About the ledger"),
    view=View,
    groups=(groups.MODEL, groups.HARDWARE),
    unused=("n_chips", "usable_memory"),
    parts={
        "method": method,
        "formulas": formulas,
        "nomenclature": nomenclature,
        "chip": chip,
        "model": model,
        "literature": literature,
    },
    sections=sections,
)
