"""The Quantization page: one precision changed at a time, what formats cost, what rounding does."""

from __future__ import annotations

import streamlit as st

from calc import decode, precision
from calc.words import marked, say
from pages.ui.charts import frontiers, kit
from pages.ui.frame import draw, sidebar
from pages.ui.frame.page import Exhibit, Page, Shown
from pages.ui.quantization import affine, figures, tables, words
from pages.ui.quantization.view import QuantizationView, offered
from pages.ui.writing import fit, text

QUESTION = marked("What does precision buy?")


def controls(view: QuantizationView) -> None:
    """What each precision is changed to."""
    columns = st.columns(len(precision.SWITCHES))
    for column, (switch, suggested) in zip(columns, view.suggested.items(), strict=True):
        ids = offered(switch)
        column.selectbox(
            say("{what} to", what=say(tables.LABELS[switch])),
            ids,
            index=ids.index(suggested),
            key=view.key(switch),
            persist_state="session",
        )


def verdict(view: QuantizationView) -> str:
    """The answer."""
    return words.verdict(view.scenario, view.changed, view.now, view.then)


def head(view: QuantizationView) -> None:
    """The answer, and whether it fits."""
    draw.head(verdict(view), [fit.misfit(view.scenario)])


def charts(view: QuantizationView) -> None:
    """The step's terms and the frontier, now and with each change."""
    with st.grid(3, min_column_width=260):
        for switch, then in view.changed.items():
            name = view.names[switch]
            kit.show(
                figures.step_lines(view.step, decode.step_time(then, batch=view.batches), name),
                key=f"quantization-{switch}",
                alt=say(
                    "Weight read, linear FLOPs and KV read against batch, now and with {change}.",
                    change=name,
                ),
            )
        for switch, then in view.changed.items():
            name = view.names[switch]
            kit.show(
                figures.frontiers(view.frontier, decode.frontier(then, view.batches), name),
                key=f"frontier-{switch}",
                alt=say(
                    "Throughput per chip against time per token, now and with {change}.",
                    change=name,
                ),
            )


def together(view: QuantizationView) -> Shown:
    """The frontiers of all changes in one chart."""
    drawn = {
        say("now"): view.scenario,
        **{view.names[switch]: one for switch, one in view.changed.items()},
    }
    curves = [frontiers.Curve.of(name, one) for name, one in drawn.items()]
    return Shown(
        frontiers.frontiers(curves, []),
        say("The frontiers of all scenarios: {names}.", names=text.listed(drawn)),
    )


def moves(view: QuantizationView) -> None:
    """What each change moves."""
    st.markdown(tables.moves(view.scenario, view.changed, view.now, view.then))
    caption = say("Dotted: now; solid: then, as far as memory holds the batch.")
    st.caption(text.sentences(caption, tables.mixed(view.scenario)))


def rounding(view: QuantizationView) -> None:
    """The bench of affine quantization."""
    affine.section()


def bits(view: QuantizationView) -> None:
    """What every format takes."""
    st.table(tables.format_bits(view.scenario), hide_index=True)
    st.caption(say("Bits: those of a value, and its share of scales and zero points."))


PAGE = Page(
    name="quantization",
    title=marked("Quantization"),
    question=QUESTION,
    view=QuantizationView,
    groups=sidebar.COMMON,
    parts={"controls": controls, "head": head, "charts": charts},
    controls="controls",
    tabs={
        marked("What moves"): moves,
        marked("Affine quantization"): rounding,
        marked("Bits of every format"): bits,
    },
    explained=tables.EXPLAINED,
    exhibits=(Exhibit("quantization", QUESTION, verdict, together),),
)
