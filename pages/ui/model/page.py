"""The Model page: blocks that can be edited, and what that costs beside where it came from."""

from __future__ import annotations

import streamlit as st

from calc.design import table
from calc.design.dimensions import IDS
from calc.design.held import HOLDS
from calc.design.measures import MEASURES
from calc.words import marked, say
from pages.ui.charts import frontiers
from pages.ui.frame import draw, groups
from pages.ui.frame.page import Exhibit, Page, Shown
from pages.ui.frame.switches import Switch
from pages.ui.model import editor, figures, out, tables, varying, words
from pages.ui.model.editing import BLOCK
from pages.ui.model.view import METRICS, Costs, ModelView
from pages.ui.writing import palette, text

QUESTION = marked("What if the architecture were different?")


def verdict(view: ModelView) -> str:
    """The answer."""
    return words.verdict(view)


def head(view: ModelView) -> None:
    """The answer and its figures."""
    draw.head(verdict(view))
    draw.metrics(METRICS, view)


def step(view: ModelView) -> Shown:
    """What fills the step, beside the origin's."""
    rows = {
        name: {term: float(time) for term, time in costs.step.charged().items()}
        for name, costs in _both(view).items()
    }
    return Shown(
        figures.stacked(
            rows, palette.QUANTITIES, say("Time of a step (ms)"), 1e-3, tables.FORMS["step_time"]
        ),
        say("What fills a decode step, of the model and of what it was edited from."),
    )


def parameters(view: ModelView) -> Shown:
    """Parameters by part, beside the origin's."""
    rows = {name: costs.scenario.model.params_by_part for name, costs in _both(view).items()}
    return Shown(
        figures.stacked(rows, figures.PARTS, say("Parameters (billions)"), 1e9, words.billions),
        say("Parameters by part, of the model and of what it was edited from."),
    )


def _both(view: ModelView) -> dict[str, Costs]:
    """The model and, if it was edited, what it came from, by name."""
    if not view.edited:
        return {view.model.name: view.now}
    return {say("edited"): view.now, view.origin.name: view.before}


def design(view: ModelView) -> None:
    """The controls, and beside them what they cost."""
    with st.grid(2, min_column_width=400, vertical_alignment="top"):
        with st.container():
            editor.draw(view)
        with st.container():
            step(view).draw("model-step")
            parameters(view).draw("model-parameters")
            if view.edited:
                st.caption(words.why(view))
            editor.origin(view)


def beside(view: ModelView) -> None:
    """Every figure against the origin's, and both frontiers."""
    with st.grid(2, min_column_width=400, vertical_alignment="top"):
        st.markdown(tables.beside(view))
        frontier(view).draw("model-frontier")


def frontier(view: ModelView) -> Shown:
    """Both frontiers."""
    names = _both(view)
    return Shown(
        frontiers.frontiers(
            [frontiers.Curve.of(name, costs.scenario) for name, costs in names.items()], []
        ),
        say("The frontiers of all scenarios: {names}.", names=text.listed(names)),
    )


PAGE = Page(
    name="model",
    title=marked("Model"),
    question=QUESTION,
    view=ModelView,
    groups=groups.COMMON,
    parts={"head": head, "design": design},
    controls="design",
    tabs={
        marked("Side by side"): beside,
        marked("Hold and move"): varying.hold,
        marked("Families"): varying.ladder,
        marked("Map"): varying.heat,
        marked("Take it along"): out.take,
    },
    switches=(
        Switch(BLOCK, "edit", 0, range(table.MOST_BLOCKS)),
        *(
            Switch(key, short, varying.FIRST[key], options)
            for key, short, options in (
                (varying.HOLD, "hold", tuple(HOLDS)),
                (varying.MOVE, "move", IDS),
                (varying.GIVE, "give", IDS),
                (varying.SHOW, "held", tuple(MEASURES)),
                (varying.ACROSS, "across", IDS),
                (varying.UP, "up", IDS),
                (varying.MAPPED, "map", tuple(MEASURES)),
            )
        ),
    ),
    metrics=METRICS,
    exhibits=(Exhibit("model", QUESTION, verdict, step),),
)
