"""The Measured page: how far predictions can be trusted, and one's own measurements."""

from __future__ import annotations

from collections.abc import Iterator

import streamlit as st

from calc import scenario
from calc.words import marked, say
from pages.ui.charts import kit, renderer
from pages.ui.frame import draw, groups, taking
from pages.ui.frame.page import Exhibit, Page, Shown, exhibited
from pages.ui.frame.section import Section, Table
from pages.ui.measured import figures, filters, own, public, tables, words
from pages.ui.measured.view import CHOSEN, MeasuredView
from pages.ui.writing import reference, sortable, text

QUESTION = marked("How far can this be trusted?")

# Of a measurement's scenario what it says itself; all else stays as the sidebar has it.
SAID = (
    "model", "chip", "n_chips", "weight_format", "kv_format", "compute_format", "batch", "context",
    "prompt", "output", "tensor_parallel", "attention_dp", "expert_parallel", "pipeline",
)  # fmt: skip


def verdict(view: MeasuredView) -> str:
    """The answer."""
    return words.verdict(view)


def head(view: MeasuredView) -> None:
    """The answer."""
    draw.head(verdict(view))


def measured(view: MeasuredView) -> Shown | None:
    """Measured against predicted."""
    if not view.rows:
        return None
    said = say("Measured against predicted time, a point for each public measurement.")
    return Shown(figures.against_prediction(view), text.sentences(said, verdict(view)))


def _open(value: float) -> None:
    """Make a clicked measurement's scenario that of the sidebar."""
    place = int(value)
    if 0 <= place < len(public.rows()):
        row = public.rows()[place]
        values = scenario.values_of(row.scenario)
        taking.use({name: values[name] for name in SAID})
        st.session_state[CHOSEN] = row.id


def charts(view: MeasuredView) -> None:
    """Measured against predicted, and what is left of it against batch."""
    shown = measured(view)
    if shown is None:
        return
    revision = f"{view.scenario.fidelity}-{view.wanted}"
    with st.grid(2, min_column_width=400):
        shown.draw("measured", revision, on_click=_open)
        kit.show(
            figures.against_batch(view),
            key="measured-batch",
            alt=say("Measured over predicted time against batch."),
            revision=revision,
            on_click=_open,
        )
    st.caption(_beside(view))


def _beside(view: MeasuredView) -> str:
    """What is drawn, and which measurement the sidebar has."""
    row = view.picked
    return text.sentences(
        say(
            "Predicted at fidelity {fidelity}, as {formula} says; the area holds eight in ten of "
            "the points shown.",
            fidelity=say(words.CALLED[view.scenario.fidelity]),
            formula=reference.linked("F12.1"),
        ),
        "" if renderer.STOCK else say("Click a point to make its scenario that of the sidebar."),
        say(
            "In the sidebar: {id}, {what}; {source}, {where}.",
            id=row.id,
            what=text.plain(words.described(row)),
            source=text.plain(row.source),
            where=text.plain(row.reference),
        )
        if row
        else "",
    )


def phases(view: MeasuredView) -> None:
    """Errors by what was timed."""
    if view.rows:
        st.table(tables.by_phase(view), hide_index=True)
        st.caption(
            text.sentences(
                say("Error of half of the rows / of nine in ten, as {formula} says.",
                    formula=reference.linked("F12.2")),
                say("Bound and operators count nothing as lost: the full rate, 1 µs a hop."),
            )
        )  # fmt: skip


def sources(view: MeasuredView) -> None:
    """Errors by source."""
    columns = tables.by_source(view)
    shares = [name for name in columns if name.endswith("(%)")]
    st.dataframe(
        columns, hide_index=True, placeholder=sortable.MISSING,
        column_config=sortable.formats(dict.fromkeys(shares, "%.0f")),
    )  # fmt: skip


def outside(view: MeasuredView) -> None:
    """What the band does not hold."""
    st.markdown(
        say(
            "{n} of {rows} rows lie outside the area; the farthest first.",
            n=text.count(len(view.outside)),
            rows=text.count(len(view.rows)),
        )
    )
    st.dataframe(
        tables.outside(view), hide_index=True, placeholder=sortable.MISSING,
        column_config=sortable.formats({say("Measured over predicted"): "%.2f"}),
    )  # fmt: skip


def left(view: MeasuredView) -> None:
    """What could not be mapped."""
    whole = text.count(len(public.left()) + len(public.rows()))
    if not public.left():
        st.markdown(say("All {all} public rows are of presets.", all=whole))
        return
    st.markdown(
        say(
            "{n} of {all} public rows are of something that is no preset:",
            n=text.count(len(public.left())),
            all=whole,
        )
    )
    st.markdown(tables.left())


EXHIBITS = (Exhibit("measured", QUESTION, verdict, measured),)


def sections(view: MeasuredView) -> Iterator[Section]:
    """The chart, and errors by what was timed."""
    yield from exhibited(EXHIBITS, view)
    if view.rows:
        title = say("Error of half of the rows / of nine in ten")
        yield Section(title, table=Table.turned(tables.by_phase(view)))


PAGE = Page(
    name="measured",
    title=marked("Measured"),
    question=QUESTION,
    view=MeasuredView,
    groups=(*groups.COMMON, groups.PREFILL),
    parts={
        "head": head,
        "filters": filters.controls,
        "charts": charts,
        "phases": phases,
        "own": own.section,
    },
    controls="filters",
    fold="phases",
    tabs={
        marked("By source"): sources,
        marked("Outside the area"): outside,
        marked("Not mapped"): left,
    },
    explained=("step_time", "mbu", "mfu"),
    exhibits=EXHIBITS,
    sections=sections,
)
