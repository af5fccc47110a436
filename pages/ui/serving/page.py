"""The Serving page: requests that arrive, wait, are batched, run out of cache and finish."""

from __future__ import annotations

from collections.abc import Iterator

import streamlit as st

from calc import serving
from calc.words import marked, say
from pages.ui.charts import kit
from pages.ui.frame import draw, groups
from pages.ui.frame.page import Exhibit, Page, Shown, exhibited
from pages.ui.frame.section import Section, Table, settings
from pages.ui.serving import by_class, day, figures, load, prefixes, simulations, traces, words
from pages.ui.serving.simulations import Outcome, Simulated
from pages.ui.serving.view import ServingView
from pages.ui.writing import text, written

QUESTION = marked("Does the service meet its latency targets?")
# Rows of the timeline.
DRAWN = 48


def known(view: ServingView) -> tuple[Simulated, Outcome]:
    """What parts are drawn of, once there is something."""
    assert view.simulated and view.shown
    return view.simulated, view.shown


def head(view: ServingView) -> None:
    """The answer, what to know beside it, and the figures of the policy that is shown."""
    simulated, shown = known(view)
    told = [
        *words.pools(shown.run), *simulated.setup.notices, *simulated.traffic.notices,
        *shown.run.notices, *traces.notice(),
    ]  # fmt: skip
    draw.head(
        view.verdict,
        [
            written.steps(view.scenario),
            *map(text.plain, dict.fromkeys(told)),
            *(
                f"**{simulations.name(policy)}**: {text.plain(problem)}"
                for policy, problem in simulated.problems.items()
            ),
        ],
    )
    draw.cards(words.headline(shown.figures))


def instead(view: ServingView) -> None:
    """Why there is nothing to draw."""
    if view.shown is not None:
        head(view)
        st.caption(say("No request was answered, so there is no latency to draw."))
        return
    st.markdown(view.verdict)
    simulations.offer()
    if view.simulated is None:
        traces.control()


def first_tokens(view: ServingView) -> Shown | None:
    """Times to a first token; none where nobody got one."""
    if not view.answered:
        return None
    simulated, _ = known(view)
    return Shown(
        figures.distribution(
            simulated, lambda run: run.ttft, say("Time to first token (s)"),
            simulations.limits(simulated, lambda one: one.ttft),
        ),
        say("Share of requests within a time to first token, for all policies."),
    )  # fmt: skip


def charts(view: ServingView) -> None:
    """What the first requests did, and how long all waited."""
    simulated, shown = known(view)
    with st.grid(2, min_column_width=400):
        kit.show(
            figures.timeline(shown.run, min(DRAWN, len(simulated.traffic))),
            key="service-timeline",
            revision=f"timeline-{simulated.setup.shown}",
            alt=say("What the first requests did: waiting, prefill, decoding, preempted."),
        )
        waited = first_tokens(view)
        assert waited
        waited.draw("service-ttft")
    st.caption(
        text.sentences(words.described(simulated.traffic), words.steady(shown.figures.window))
    )


def others(view: ServingView) -> bool:
    """The policies that are not shown, one more at each run; whether there is news to draw."""
    return simulations.others(view.scenario)


def policies(view: ServingView) -> None:
    """All policies on the same traffic."""
    words.policies(known(view)[0])
    st.caption(
        say(
            "All policies serve the same traffic on as many replicas. A rejected request counts "
            "as an endless wait in every percentile; a percentile that reaches one is a dash."
        )
    )


def percentiles(view: ServingView) -> None:
    """Latencies of the policy that is shown, and the time of an output token for all."""
    simulated, shown = known(view)
    st.table(words.percentiles(shown.figures), hide_index=True)
    kit.show(
        figures.distribution(
            simulated, lambda run: kit.MILLI * run.tpot,
            say("Time per output token (ms)"),
            simulations.limits(simulated, lambda one: kit.MILLI * one.tpot), "ms",
        ),
        key="service-tpot",
        alt=say("Share of requests within a time per output token, for all policies."),
    )  # fmt: skip


def over_time(view: ServingView) -> None:
    """Requests and cache, from the first arrival to the last end."""
    run = known(view)[1].run
    with st.grid(2, min_column_width=400):
        kit.show(
            figures.occupancy(run),
            key="service-occupancy",
            alt=say("Requests that decode and wait over time."),
        )
        kit.show(
            figures.memory(run),
            key="service-memory",
            alt=say("Cache in use over time, and what of it holds tokens."),
        )


def loads(view: ServingView) -> bool:
    """Other arrival rates, one more at each run; whether there are some left."""
    return load.tab(view.scenario, view.values, known(view)[0])


def classes(view: ServingView) -> None:
    """What becomes of the requests of each class."""
    by_class.tab(*known(view))


def classified(view: ServingView) -> bool:
    """Whether there are classes to show."""
    return view.answered and known(view)[0].traffic.classified is not None


def class_shares(view: ServingView) -> Shown | None:
    """Good answers of each class, for all policies."""
    return by_class.chart(known(view)[0]) if classified(view) else None


def class_sentence(view: ServingView) -> str:
    """How much of each class is good."""
    return by_class.sentence(*known(view)) if classified(view) else view.verdict


def reused(view: ServingView) -> None:
    """What a prefix cache finds, and what it is worth."""
    prefixes.tab(view.scenario, view.values, *known(view))


def hours(view: ServingView) -> None:
    """The run by the hour."""
    day.tab(view.scenario, *known(view))


def staffed(view: ServingView) -> bool:
    """Whether there is a day to show."""
    return view.answered and day.offered(known(view)[1])


def closed_forms(view: ServingView) -> None:
    """Theory beside the simulation."""
    st.table(words.closed_forms(known(view)[0]), hide_index=True)


def trace(view: ServingView) -> None:
    """Requests of one's own."""
    traces.control()


EXHIBITS: tuple[Exhibit[ServingView], ...] = (
    Exhibit("serving", QUESTION, lambda view: view.verdict, first_tokens),
    Exhibit("serving-classes", by_class.QUESTION, class_sentence, class_shares, offered=classified),
    Exhibit(
        "serving-prefixes",
        prefixes.QUESTION,
        lambda view: (
            prefixes.sentence(view.scenario, *known(view)) if view.answered else view.verdict
        ),
        lambda view: prefixes.chart(view.scenario, known(view)[0].setup) if view.answered else None,
        offered=lambda view: view.answered and known(view)[0].setup.prefix is not None,
    ),
    Exhibit(
        "serving-day",
        day.QUESTION,
        lambda view: day.sentence(known(view)[1]) if staffed(view) else view.verdict,
        lambda view: day.chart(*known(view)) if staffed(view) else None,
        offered=staffed,
    ),
)


def sections(view: ServingView) -> Iterator[Section]:
    """The chart, what was asked of the service, and the latencies of the policy that is shown."""
    yield from exhibited(EXHIBITS, view)
    yield Section(say("Traffic and service"), table=settings(serving.asked.FIELDS, view.values))
    if view.shown is not None:
        simulated, shown = known(view)
        yield Section(
            say("Latencies, {policy}", policy=simulations.name(simulated.setup.shown)),
            [words.described(simulated.traffic)],
            Table.turned(words.percentiles(shown.figures)),
        )
        if classified(view):
            yield Section(
                say("Classes, {policy}", policy=simulations.name(simulated.setup.shown)),
                table=by_class.table(simulated, shown),
            )
        if simulated.setup.prefix is not None:
            yield Section(
                say("Memories that keep prefixes"),
                table=prefixes.table(view.scenario, view.values, simulated.setup),
            )
        if staffed(view):
            yield Section(
                say("By the hour, {policy}", policy=simulations.name(simulated.setup.shown)),
                [day.sentence(shown)],
                table=day.table(simulated, shown),
            )


PAGE = Page(
    name="serving",
    title=marked("Serving"),
    question=QUESTION,
    view=ServingView.here,
    detached=ServingView.detached,
    groups=(
        *groups.COMMON,
        groups.PREFILL,
        groups.TRAFFIC,
        groups.SERVING,
        groups.STAFFING,
        groups.SPECULATION,
    ),
    unfolded=(groups.TRAFFIC, groups.SERVING),
    unused=("batch", "context", "temperature", "top_k", "top_p"),
    ready=lambda view: view.answered,
    otherwise=instead,
    parts={"head": head, "others": others, "charts": charts},
    last="others",
    tabs={
        marked("Policies"): policies,
        marked("Percentiles"): percentiles,
        marked("Over time"): over_time,
        marked("Load"): loads,
        marked("Prefixes"): reused,
        marked("By class"): classes,
        marked("Over the day"): hours,
        marked("Closed forms"): closed_forms,
        marked("Trace"): trace,
    },
    explained=("prefill_time", "step_time", "end_to_end", "servers_ratio", "kv_tokens_retired"),
    exhibits=EXHIBITS,
    sections=sections,
)
