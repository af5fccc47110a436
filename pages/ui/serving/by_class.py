"""The tab By class: what becomes of the requests of each class."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import streamlit as st

from calc import serving
from calc.serving import ClassService
from calc.words import marked, say
from pages.ui.charts import kit
from pages.ui.frame.page import Shown
from pages.ui.frame.section import Table
from pages.ui.serving.simulations import Outcome, Simulated, name, seconds
from pages.ui.writing import palette, text

QUESTION = marked("Which class is kept?")


def found(simulated: Simulated, outcome: Outcome) -> tuple[ClassService, ...]:
    """The figures of each class under one policy."""
    return serving.by_class(outcome.run, simulated.setup.limits, outcome.figures.window)


def sentence(simulated: Simulated, shown: Outcome) -> str:
    """How much of each class is good."""
    return say(
        "Within the limits of their class: {classes}.",
        classes=text.clauses([
            f"**{text.plain(one.name)}** {text.percent(one.good_share)}"
            for one in found(simulated, shown)
        ]),
    )  # fmt: skip


_COLUMNS: Mapping[str, Callable[[ClassService], str]] = {
    marked("Requests"): lambda one: f"{one.requests:,}",
    marked("Good"): lambda one: text.percent(one.good_share),
    marked("Goodput (requests/s)"): lambda one: text.significant(one.goodput),
    marked("p50 TTFT"): lambda one: seconds(one.ttft.percentiles[50]),
    marked("p99 TTFT"): lambda one: seconds(one.ttft.percentiles[99]),
    marked("p99 TPOT"): lambda one: seconds(one.tpot.percentiles[99]),
    marked("p99 end to end"): lambda one: seconds(one.e2e.percentiles[99]),
    marked("Preempted"): lambda one: f"{one.preempted:,}",
    marked("Rejected"): lambda one: f"{one.rejected:,}",
    marked("Gave up"): lambda one: f"{one.cancelled:,}",
    marked("Timed out"): lambda one: f"{one.timed_out:,}",
}


def columns(simulated: Simulated, shown: Outcome) -> dict[str, list[str]]:
    """One row a class."""
    classes = found(simulated, shown)
    return {
        say("Class"): [one.name for one in classes],
        **{say(head): [of(one) for one in classes] for head, of in _COLUMNS.items()},
    }


def chart(simulated: Simulated) -> Shown:
    """Share of good answers of each class, under each policy."""
    data: list[dict[str, Any]] = []
    keys = []
    policies = [name(id) for id in simulated.compared]
    known = [name(id) for id in simulated.outcomes]
    listed = [found(simulated, one) for one in simulated.outcomes.values()]
    # As a chart draws bars from below.
    for place, of in enumerate(zip(*listed, strict=True)):
        colour, _ = kit.LINES[place + 1]
        label = text.plain_html(of[0].name)
        keys.append(kit.key(label, colour, "■"))
        data.append({
            "type": "bar", "orientation": "h", "name": label, "y": known,
            "x": [100 * one.good_share for one in of],
            "text": [text.percent(one.good_share) for one in of], "textposition": "auto",
            "marker": {"color": colour}, "textfont": {"size": kit.FONT_SIZE},
            "hovertemplate": kit.hovered(label, "%{y}", "%{text}"),
        })  # fmt: skip
    rows = kit.wrapped(keys)
    layout = {
        **kit.frame(130, legend_rows=len(rows)), "height": 400,
        "barmode": "group", "bargap": 0.25,
        "xaxis": {"title": {"text": say("Within the limits of their class (%)"), "standoff": 8},
                  "range": [0, 104], "dtick": 20, "automargin": False},
        "yaxis": {"categoryorder": "array", "categoryarray": policies, "automargin": False,
                  "range": [len(policies) - 0.5, -0.5], "ticksuffix": "  ", "showgrid": False},
        "shapes": [kit.rule("x", 90, "dash"), kit.legend(*rows, [
            kit.key(say("90 %"), palette.RULE, "╍╍")])],
    }  # fmt: skip
    return Shown(
        kit.figure(data, layout), say("Share of good answers of each class, under each policy.")
    )


def tab(simulated: Simulated, shown: Outcome) -> None:
    """The table of the policy shown and the chart of all."""
    if not simulated.traffic.classified:
        st.caption(say("All requests are alike. Split them into classes under Traffic."))
        return
    st.table(Table.escaped(columns(simulated, shown)), hide_index=True)
    chart(simulated).draw("service-classes")
    st.caption(
        say(
            "Higher priorities start first and preempt lower ones (F8.20), but for batches "
            "that leave together and replicas that only read prompts. A request that gave up "
            "or timed out counts as an endless wait."
        )
    )


def table(simulated: Simulated, shown: Outcome) -> Table:
    """The same in a report."""
    return Table.turned(columns(simulated, shown))
