"""The Sharding page: widths, layouts, and what links take of a step."""

from __future__ import annotations

import streamlit as st

from calc.words import marked, say
from pages.ui.charts import kit
from pages.ui.frame import draw, groups
from pages.ui.frame.page import Exhibit, Page, Shown
from pages.ui.sharding import bubble, figures, gathering, tables, words
from pages.ui.sharding.view import METRICS, ShardingView
from pages.ui.writing import better_layout, fit, text

QUESTION = marked("How wide may it be sharded?")


def verdict(view: ShardingView) -> str:
    """The answer."""
    return words.verdict(view.scenario, view.step)


def head(view: ShardingView) -> None:
    """The answer, what to know beside it, and its figures."""
    draw.head(verdict(view), words.caveats(view.scenario), fit.misfit(view.scenario))
    draw.metrics(METRICS, view)


def better(view: ShardingView) -> None:
    """A better layout, if there is one."""
    better_layout.section(view.scenario, view.total)


def by_width(view: ShardingView) -> Shown:
    """The step against the width of a group."""
    return Shown(
        figures.against_width(view.scenario, view.total),
        say(
            "Step time against the chips of a replica in one group; {time} in this layout.",
            time=text.si(view.total, "s"),
        ),
    )


def charts(view: ShardingView) -> None:
    """The step and one product against the width."""
    s = view.scenario
    with st.grid(2, min_column_width=400):
        by_width(view).draw("sharding-width")
        kit.show(
            figures.matmul(s),
            key="sharding-matmul",
            alt=say("Memory, FLOPs and links of one MLP product against width."),
        )
    st.caption(text.sentences(tables.layer_sentence(s, view.step), tables.messages(s)))


def layouts(view: ShardingView) -> None:
    """Every legal layout; a click applies it."""
    st.caption(
        say(
            "Ways to divide these chips that the model's shapes allow; a row you choose "
            "becomes the layout."
        )
    )
    tables.layouts(view.scenario)


def axes(view: ShardingView) -> None:
    """Where links take over, by the axes of a ring."""
    st.markdown(tables.limits(view.scenario))
    st.caption(
        say(
            "A ring sends both ways at once; an axis without wraparound is a line and sends "
            "one way. Compute is passed at M F W / C, memory at F W / (B W_HBM) with the bytes "
            "of weights over those of activations."
        )
    )


def dimensions(view: ShardingView) -> None:
    """One dimension of a matrix split, or both."""
    with st.grid(2, min_column_width=400):
        kit.show(
            figures.two_axes(view.scenario),
            key="sharding-two",
            alt=say("Messages of one MLP against chips, with one and with both dimensions split."),
        )
        with st.container():
            st.markdown(tables.two_axes(view.scenario))
            st.caption(
                say(
                    "As the book has it, 1-D spreads its messages over three axes of a torus, each "
                    "link with its one-way bandwidth; the step charges the axes that the group has."
                )
            )


def widths(view: ShardingView) -> None:
    """What the model's shapes allow."""
    st.markdown(tables.widths(view.scenario))


def per_chip(view: ShardingView) -> None:
    """What the fullest chip holds."""
    st.markdown(tables.per_chip(view.scenario))
    st.caption(say("Copies: what this chip would not hold if everything were split evenly."))


PAGE = Page(
    name="sharding",
    title=marked("Sharding"),
    question=QUESTION,
    view=ShardingView.of,
    groups=groups.COMMON,
    unfolded=(groups.LAYOUT,),
    unused=("fidelity",),
    parts={"head": head, "better": better, "charts": charts},
    last="better",
    tabs={
        marked("Layouts"): layouts,
        marked("Axes and rings"): axes,
        marked("One or two dimensions"): dimensions,
        marked("Legal widths"): widths,
        marked("Per chip"): per_chip,
        marked("FSDP"): gathering.tab,
        marked("Pipeline bubble"): bubble.tab,
    },
    switches=(bubble.STAGES, bubble.PARTS),
    metrics=METRICS,
    exhibits=(
        Exhibit("sharding", QUESTION, verdict, by_width),
        Exhibit("sharding-fsdp", gathering.QUESTION, gathering.sentence, gathering.chart),
        Exhibit("sharding-bubble", bubble.QUESTION, bubble.sentence, bubble.chart),
    ),
)
