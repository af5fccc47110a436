"""The Quantization page: one precision changed at a time, what formats cost, what rounding does."""

from __future__ import annotations

import streamlit as st

from calc import decode, precision
from calc.words import marked, say
from pages.ui.charts import frontiers, kit
from pages.ui.frame import draw, groups
from pages.ui.frame.page import Exhibit, Page, Shown
from pages.ui.frame.switches import Switch
from pages.ui.quantization import affine, beyond, figures, outliers, tables, words
from pages.ui.quantization.view import TO, QuantizationView, offered
from pages.ui.writing import fit, text, written

QUESTION = marked("What does precision buy?")
# Of each switch in links.
_SHORT = {"weight_format": "tow", "kv_format": "tokv", "compute_format": "toc"}


def controls(view: QuantizationView) -> None:
    """What each precision is changed to."""
    columns = st.columns(len(precision.SWITCHES))
    for column, (switch, id) in zip(columns, view.to.items(), strict=True):
        st.session_state[view.key(switch)] = id
        column.selectbox(
            say("{what} to", what=say(tables.LABELS[switch])),
            offered(switch),
            key=view.key(switch),
            on_change=_change,
            args=(switch, view.key(switch)),
        )


def _change(switch: str, key: str) -> None:
    st.session_state[TO[switch]] = st.session_state[key]


def verdict(view: QuantizationView) -> str:
    """The answer."""
    return words.verdict(view.scenario, view.changed, view.now, view.then)


def head(view: QuantizationView) -> None:
    """The answer, and whether it fits."""
    basis = written.basis(view.scenario, tables.EXPLAINED)
    draw.head(verdict(view), basis, failure=fit.misfit(view.scenario))


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
    groups=groups.COMMON,
    parts={"controls": controls, "head": head, "charts": charts},
    controls="controls",
    tabs={
        marked("What moves"): moves,
        marked("Affine quantization"): rounding,
        marked("Bits of every format"): bits,
        marked("Outside the range"): beyond.tab,
        marked("Outlier channels"): outliers.tab,
    },
    switches=(
        *(
            Switch(TO[switch], _SHORT[switch], "", ("", *offered(switch)))
            for switch in precision.SWITCHES
        ),
        *beyond.SWITCHES,
        *outliers.SWITCHES,
    ),
    explained=tables.EXPLAINED,
    exhibits=(
        Exhibit("quantization", QUESTION, verdict, together),
        Exhibit("quantization-range", beyond.QUESTION, beyond.sentence, beyond.chart),
        Exhibit("quantization-outliers", outliers.QUESTION, outliers.sentence, outliers.chart),
    ),
)
