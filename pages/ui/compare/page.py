"""The Compare page: scenarios side by side, what differs, and which term makes the difference."""

from __future__ import annotations

from collections.abc import Iterator

import streamlit as st

from calc import compare
from calc.words import marked, say
from pages.ui.charts import frontiers, kit, renderer
from pages.ui.compare import words
from pages.ui.compare.view import CLICKED, CompareView
from pages.ui.frame import draw, groups, pinned
from pages.ui.frame.page import Exhibit, Page, Shown, exhibited
from pages.ui.frame.section import Section, Table
from pages.ui.frame.switches import Switch
from pages.ui.writing import text

QUESTION = marked("Which is better, and why?")
_DRAWN = "_compare_names"


def _choose(value: float) -> None:
    """Keep the last two points that were clicked."""
    i, batch = frontiers.picked(value)
    drawn: list[str] = st.session_state[_DRAWN]
    if i < len(drawn):
        before = st.session_state.get(CLICKED, [])[-1:]
        st.session_state[CLICKED] = [*before, (drawn[i], float(batch))]


def instead(view: CompareView) -> None:
    """How to pin something."""
    draw.notes(view.problems)
    st.markdown(
        say(
            "Nothing is pinned yet. **Pin** the scenario of the sidebar, change something "
            "there, and both stand here side by side, with what differs and why. The link "
            "holds at most six pins."
        )
    )
    st.button(say("Pin this scenario"), key="pin-first", on_click=pinned.add)


def verdict(view: CompareView) -> str:
    """The answer."""
    return words.verdict(view.contenders, view.measured, view.baseline)


def head(view: CompareView) -> None:
    """What of the pins could not be used, and the answer."""
    draw.notes(view.problems)
    draw.head(verdict(view), words.noted(view.contenders))


def _frontiers(view: CompareView, rings: list[frontiers.Ring]) -> Shown:
    return Shown(
        frontiers.frontiers(view.curves, rings),
        say("The frontiers of all scenarios: {names}.", names=text.listed(view.names)),
    )


def all_frontiers(view: CompareView) -> Shown:
    """The frontiers of all."""
    return _frontiers(view, [])


def charts(view: CompareView) -> None:
    """The frontiers with two points on them, the steps, and what sets the two points apart."""
    st.session_state[_DRAWN] = view.names
    (a, b), revision = view.points, "-".join(view.names)
    with st.grid(2, min_column_width=400):
        _frontiers(view, [("A", a[1].step), ("B", b[1].step)]).draw(
            "compare-frontier", revision, on_click=_choose
        )
        kit.show(
            frontiers.steps(view.curves),
            key="compare-steps",
            revision=revision,
            alt=say("Step time against batch of all scenarios."),
        )
    click = say("Click two points of the left chart to compare others.")
    st.caption(text.sentences(words.between(*a, *b), "" if renderer.STOCK else click))


def baseline(view: CompareView) -> None:
    """Which of them differences are taken from."""
    st.selectbox(
        say("Baseline"),
        view.names,
        key=pinned.BASELINE,
        persist_state="session",
        width=320,
    )


def tables(view: CompareView) -> None:
    """Figures and settings side by side, and what each step is made of."""
    st.dataframe(words.measures(view.contenders, view.measured, view.baseline), hide_index=True)
    st.header(say("What differs"), anchor=False)
    st.dataframe(words.settings(view.contenders), hide_index=True)
    kit.show(
        frontiers.breakdowns(view.curves),
        key="compare-breakdown",
        alt=say("What each scenario's step is made of."),
    )


def pins(view: CompareView) -> None:
    """The pins, to rename, reorder, open and remove."""
    st.header(say("Pins"), anchor=False)
    pinned.editor()


EXHIBITS = (
    Exhibit("compare", QUESTION, verdict, all_frontiers, offered=lambda view: view.several),
)


def sections(view: CompareView) -> Iterator[Section]:
    """The chart, and both tables."""
    yield from exhibited(EXHIBITS, view)
    if view.several:
        for title, columns in (
            (say("Side by side"), words.measures(view.contenders, view.measured, view.baseline)),
            (say("What differs"), words.settings(view.contenders)),
        ):
            yield Section(title, table=Table.turned(columns))


def _pinned() -> list[str]:
    """What may be the baseline in the place of the sidebar's scenario."""
    return [pin.name for pin in pinned.given()]


PAGE = Page(
    switches=(Switch(pinned.BASELINE, "baseline", "", _pinned),),
    name="compare",
    title=marked("Compare"),
    question=QUESTION,
    view=CompareView.of,
    groups=(*groups.COMMON, groups.PREFILL),
    ready=lambda view: view.several,
    otherwise=instead,
    parts={
        "head": head,
        "charts": charts,
        "baseline": baseline,
        "tables": tables,
        "pins": pins,
    },
    controls="baseline",
    fold="tables",
    explained=tuple(one.id for one in compare.MEASURES),
    exhibits=EXHIBITS,
    sections=sections,
)
