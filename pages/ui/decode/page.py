"""The Decode page: one step, its curves, the levers."""

from __future__ import annotations

from collections.abc import Iterator

import streamlit as st

from calc.aims import AIMS
from calc.explain import EXPLANATIONS, bounds
from calc.words import marked, say
from pages.ui.charts import kit, rooflines, scrubber, sweeps
from pages.ui.decode import levers, operator_figures, tables, techniques, utilisation, words
from pages.ui.decode import start as first
from pages.ui.decode.view import MEASURED, METRICS, SCALE, SCALES, DecodeView, by_batch, by_context
from pages.ui.frame import draw, groups, taking
from pages.ui.frame.page import Exhibit, Page, Shown, exhibited
from pages.ui.frame.section import Section
from pages.ui.frame.switches import Switch
from pages.ui.writing import better_layout, explained, fit, text, written
from pages.ui.writing import tables as shared

QUESTION = marked("How long is one decode step?")


def verdict(view: DecodeView) -> str:
    """The answer."""
    return words.verdict(view.scenario, view.step, view.largest, view.crossing, view.reached)


def head(view: DecodeView) -> None:
    """The answer, what to know beside it, and its figures."""
    draw.head(verdict(view), words.caveats(view.scenario, view.step))
    draw.metrics(METRICS, view, words.beside(view.scenario, view.reached))


def start(view: DecodeView) -> None:
    """Ways into the other pages, and examples."""
    first.section()


def layout(view: DecodeView) -> None:
    """A better layout, if there is one."""
    better_layout.section(view.scenario, float(view.step.total))


def step_time(view: DecodeView) -> Shown:
    """The step against batch."""
    said = say("Step time and its terms against batch.")
    return Shown(view.step_chart(), text.sentences(said, shared.step_sentence(view.step)))


def frontier(view: DecodeView) -> Shown:
    """Throughput against latency."""
    said = say("Throughput per chip against time per token as the batch grows.")
    return Shown(view.frontier_chart(), text.sentences(said, shared.memory_sentence(view.ledger)))


def charts(view: DecodeView) -> None:
    """The scrubbers, and what they move."""
    scrubber.show("decode-scrub", [by_batch(view), by_context(view)])
    with st.grid(2, min_column_width=400):
        step_time(view).draw("step-time", revision=f"step-{view.log}")
        frontier(view).draw("frontier", revision=f"frontier-{view.log}", on_click=taking.use_batch)


def scale(view: DecodeView) -> None:
    """What the charts say in words, and the scale that they are drawn in."""
    s, step = view.scenario, view.step
    with st.container(horizontal=True, horizontal_alignment="distribute"):
        st.caption(
            text.sentences(shared.step_sentence(step), shared.utilisation_sentence(s, step))
            + f"  \n{text.sentences(shared.memory_sentence(view.ledger), fit.seen(s))}"
            + (f"  \n{words.measured(view.measured)}" if view.marked else ""),
            width=760,
        )
        with st.container(horizontal=True, width="content", vertical_alignment="center"):
            st.toggle(
                say("Measured"), key=MEASURED, persist_state="session",
                help=say("Public measurements of this model on this chip or its class."),
            )  # fmt: skip
            st.segmented_control(
                say("Scale of the charts"),
                SCALES,
                format_func=say,
                default=SCALES[0],
                required=True,
                key=SCALE,
                label_visibility="collapsed",
                persist_state="session",
            )


def details(view: DecodeView) -> None:
    """The operators beyond the bound, and the experts of a model that has some."""
    fine, routed = view.scenario.fidelity != "bound", view.scenario.model.routed_params > 0
    with st.grid(2, min_column_width=400) if fine and routed else st.container():
        if fine:
            said = say("Both sides of each operator.")
            kit.show(
                operator_figures.operators(view.step),
                key="operators",
                alt=text.sentences(said, shared.operators_sentence(view.step)),
            )
        if routed:
            kit.show(
                operator_figures.expert_traffic(
                    *sweeps.expert_traffic(view.scenario, view.batches)
                ),
                key="experts",
                alt=say("Share of the routed experts that a step reads, against batch."),
            )


def pulled(view: DecodeView) -> None:
    """What one lever would do."""
    levers.section(view.scenario)


def roofline(view: DecodeView) -> None:
    """Each operator of the step under the chip's roofs."""
    rooflines.tab("decode", view.scenario, view.step.work, ("weight_intensity", "cache_intensity"))


def under_roofs(view: DecodeView) -> Shown:
    """The same as an exhibit."""
    work = view.step.work
    return rooflines.shown(view.scenario, work, work.by_name())


def bound_by(view: DecodeView) -> str:
    """What of the step waits for memory, and what for compute."""
    return rooflines.sentence(view.scenario, view.step.work.by_name())


def bought(view: DecodeView) -> None:
    """What serving techniques buy."""
    techniques.section(view.scenario)


def most_bought(view: DecodeView) -> str:
    """The technique that gains most for latency."""
    return techniques.best(view.techniques, AIMS[levers.FIRST_AIM])


def gains(view: DecodeView) -> Shown | None:
    """All of them."""
    return techniques.bars(view.techniques, AIMS[levers.FIRST_AIM])


def trade(view: DecodeView) -> str:
    """What the frontier says of the scenario."""
    return say(
        "At batch {batch:,} a sequence gets a token every **{time}**, and a chip makes **{rate}** "
        "tokens per second.",
        batch=view.scenario.batch,
        time=written.told("step_time", float(view.step.total), view.scenario),
        rate=written.told(
            "throughput_per_chip", float(view.step.throughput_per_chip), view.scenario
        ),
    )


EXHIBITS = (
    Exhibit("decode", QUESTION, verdict, step_time),
    Exhibit("frontier", marked("How does latency trade for throughput?"), trade, frontier),
    Exhibit("roofline", marked("What waits for memory, what for compute?"), bound_by, under_roofs),
    Exhibit(
        "utilisation",
        marked("How much of the chip is used?"),
        utilisation.sentence,
        utilisation.shown,
    ),
    Exhibit("techniques", marked("Which technique buys most here?"), most_bought, gains),
)


def sections(view: DecodeView) -> Iterator[Section]:
    """The verdict that opens a report, the charts, and how the step comes about."""
    s, step = view.scenario, view.step
    yield Section(
        say("Verdict"),
        [
            verdict(view),
            *words.caveats(s, step),
            shared.step_sentence(step),
            shared.memory_sentence(view.ledger),
        ],
    )
    yield from exhibited(EXHIBITS, view)
    yield Section(
        say("What the step is made of"),
        [shared.utilisation_sentence(s, step)],
        tables.breakdown(step),
    )
    entry = EXPLANATIONS["step_time"]
    sense, formula = bounds.written("step_time", entry, s)
    yield Section(
        say("How the step time comes about"),
        [say(entry.reading), say("Source: {source}.", source=text.plain(entry.source))],
        code=explained.plain(entry, formula, sense),
    )


PAGE = Page(
    name="decode",
    title=marked("Decode"),
    question=QUESTION,
    view=DecodeView,
    groups=groups.COMMON,
    parts={
        "head": head,
        "layout": layout,
        "start": start,
        "charts": charts,
        "scale": scale,
        "details": details,
    },
    tabs={
        marked("Levers"): pulled,
        marked("Roofline"): roofline,
        marked("Utilisation"): utilisation.tab,
        marked("Techniques"): bought,
    },
    controls="scale",
    last="layout",
    fold="details",
    lead=marked("How fast, how many users, what cost: any LLM on any chip."),
    switches=(
        Switch(SCALE, "scale", SCALES[0], SCALES),
        Switch(MEASURED, "marks", False, (False, True)),
        Switch(levers.AIM, "aim", levers.FIRST_AIM, tuple(AIMS)),
    ),
    metrics=METRICS,
    exhibits=EXHIBITS,
    sections=sections,
)
