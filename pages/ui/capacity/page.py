"""The Capacity page: what is resident, topologies, every chip, replicas on devices."""

from __future__ import annotations

import streamlit as st

from calc import known, memory
from calc.words import marked, say
from pages.ui.capacity import engine, figures, packing, tables, words
from pages.ui.capacity.view import METRICS, CapacityView
from pages.ui.charts import kit
from pages.ui.frame import draw, groups, link
from pages.ui.frame.page import Exhibit, Page, Shown
from pages.ui.frame.switches import Switch
from pages.ui.writing import checklist, fit, layout, printed, text, written
from pages.ui.writing import tables as shared

QUESTION = marked("Does it fit, and on how many?")


def head(view: CapacityView) -> None:
    """The answer, what to know beside it, and its figures."""
    answer = words.verdict(view.scenario, view.ledger, view.fewest, *view.topologies[0])
    draw.head(answer, layout.caveats(view.scenario))
    draw.metrics(METRICS, view)


def by_context(view: CapacityView) -> Shown:
    """Sequences that fit against context."""
    return Shown(
        figures.against_context(view.scenario, view.largest, view.crossing),
        say(
            "Sequences that memory holds against context; {n} at this context.",
            n=written.batches(view.scenario, view.largest),
        ),
    )


def charts(view: CapacityView) -> None:
    """What fills the memory, and how much context leaves room for."""
    with st.grid(2, min_column_width=400):
        kit.show(
            figures.resident(view.ledger, view.scenario.n_chips),
            key="capacity-resident",
            alt=say(
                "What fills the memory of all chips and of one: {parts}.",
                parts=text.quantities(view.ledger.parts(), "B"),
            ),
        )
        by_context(view).draw("capacity-context")
    st.caption(fit.seen(view.scenario))


def topologies(view: CapacityView) -> None:
    """The smallest slices, and their doubles."""
    st.table(tables.topologies(view.scenario, view.topologies), hide_index=True)
    filled = say(
        "Each slice filled with sequences of {context}. A request reads {prompt} and generates "
        "{output}, and the same chips do both. Doubled: the next slice with at least twice the "
        "chips.",
        context=text.tokens(view.scenario.context),
        prompt=text.tokens(view.scenario.prompt),
        output=text.count(view.scenario.output),
    )
    other = printed.slices(view.scenario, [one for pair in view.topologies for one in pair])
    st.caption(text.sentences(filled, *tables.basis(view.scenario), other))


def every_chip(view: CapacityView) -> None:
    """The scenario on all other kinds."""
    st.caption(say("This batch and context on the fewest chips of every kind, as one group."))
    tables.every_chip(view.scenario)


def engines_view(view: CapacityView) -> None:
    """What a paged engine makes of the memory, and what its log says."""
    engine.section(view)


def replicas(view: CapacityView) -> None:
    """Replicas of several models on a pool of devices."""
    packing.section(view.scenario)


def before_launch(view: CapacityView) -> None:
    """What has to be fixed before it is launched, with what the scenario fixes."""
    # What is not published stays a blank, as in a report.
    s = known.stated(view.scenario)
    st.markdown(checklist.table(s, link.widget_values()))
    st.caption(say("The report has the same list with its blanks."))


def room(view: CapacityView) -> str:
    """What the memory holds."""
    return text.sentences(
        shared.memory_sentence(view.ledger),
        say("It holds **any number** of sequences.")
        if memory.any_batch(view.scenario)
        else say(
            "It holds **{sequences}** of {tokens}.",
            sequences=text.sequences(view.largest),
            tokens=text.tokens(view.scenario.context),
        ),
    )


PAGE = Page(
    name="capacity",
    title=marked("Capacity"),
    question=QUESTION,
    view=CapacityView,
    groups=(*groups.COMMON, groups.PREFILL),
    parts={"head": head, "charts": charts},
    switches=(
        Switch(packing.GOAL, "goal", "most", tuple(packing.GOALS)),
        Switch(tables.ORDER, "chips", tables.ORDERS[0], tables.ORDERS),
    ),
    tabs={
        marked("Smallest topologies"): topologies,
        marked("Every chip"): every_chip,
        marked("Engine's view"): engines_view,
        marked("Replica packing"): replicas,
        marked("Before deployment"): before_launch,
    },
    metrics=METRICS,
    exhibits=(Exhibit("capacity", QUESTION, room, by_context),),
)
