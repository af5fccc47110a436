"""The Cost page: prices of tokens and requests, and what the chips get done for them."""

from __future__ import annotations

import streamlit as st

from calc.words import marked, say
from pages.ui.charts import kit
from pages.ui.cost import figures, reader, tables, votes, words
from pages.ui.cost.view import METRICS, CostView
from pages.ui.frame import draw, groups
from pages.ui.frame.page import Exhibit, Page, Shown
from pages.ui.writing import printed, published, text

QUESTION = marked("What does a million tokens cost?")


def verdict(view: CostView) -> str:
    """The answer."""
    return words.verdict(view.scenario, view.step, view.prompts)


def head(view: CostView) -> None:
    """The answer and its figures."""
    draw.head(verdict(view))
    draw.metrics(METRICS, view)


def price(view: CostView) -> Shown:
    """The price of tokens against the time of one."""
    return Shown(
        figures.frontier(view.scenario, view.batches, view.largest, money=True),
        say(
            "USD per million output tokens against time per token; {price}.",
            price=published.least(view.scenario, text.usd(view.per_output)),
        ),
    )


def charts(view: CostView) -> None:
    """Price and throughput against the time of a token."""
    with st.grid(2, min_column_width=400):
        price(view).draw("cost-frontier")
        kit.show(
            figures.frontier(view.scenario, view.batches, view.largest, money=False),
            key="cost-throughput",
            alt=say("Token/s per chip against time per token as the batch grows."),
        )


def measures(view: CostView) -> None:
    """Latency, utilisation and cost as they are defined, and what the chip is said to cost."""
    st.markdown(tables.measures(view.scenario, view.step, view.reading))
    st.markdown(tables.prices(view.scenario))
    st.caption(
        text.sentences(
            say(
                "Every chip is taken as busy all the time. Prices of different chips were printed "
                "at different times and on different terms: type your own price in the sidebar."
            ),
            printed.cheaper(view.scenario),
        )
    )


def several(view: CostView) -> None:
    """Several answers to one question."""
    votes.section(view.scenario, view.per_input, view.per_output)


def voted(view: CostView) -> str:
    """What several answers cost, and how often their vote is right."""
    n, percent = votes.ANSWERS.default, votes.RIGHT.default
    return votes.sentence(view.scenario, view.per_input, view.per_output, n, percent / 100)


def right(view: CostView) -> Shown:
    """How often a vote is right against the number of answers."""
    return votes.shown(votes.ANSWERS.default, votes.RIGHT.default / 100)


PAGE = Page(
    name="cost",
    title=marked("Cost"),
    question=QUESTION,
    view=CostView,
    groups=(*groups.COMMON, groups.PREFILL),
    unfolded=(groups.PRICE,),
    parts={"head": head, "charts": charts},
    tabs={
        marked("Measures"): measures,
        marked("What a user notices"): reader.tab,
        marked("Several answers"): several,
    },
    switches=(reader.HIDDEN, votes.ANSWERS, votes.RIGHT),
    metrics=METRICS,
    exhibits=(
        Exhibit("cost", QUESTION, verdict, price),
        Exhibit("reader", marked("What does a user notice?"), reader.sentence, reader.speed),
        Exhibit("votes", marked("What do several answers buy?"), voted, right),
    ),
)
