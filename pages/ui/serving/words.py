"""Sentences and tables of the Serving page."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace

import streamlit as st

from calc import Scenario, layout, serving
from calc.serving import Knee, Limits, Run, Service, Traffic, Window
from calc.words import marked, say
from pages.ui.serving.searches import Loads
from pages.ui.serving.simulations import Outcome, Simulated, name, seconds
from pages.ui.writing import sortable, tables, text


def cannot(reason: str) -> str:
    """In place of the verdict."""
    return say("**This cannot be served.** {reason}", reason=text.plain(reason))


def verdict(simulated: Simulated, shown: Outcome, *, bounded: bool = False) -> str:
    """How many of the requests were answered in time, and what the best policy would do."""
    limits, figures = simulated.setup.limits, shown.figures
    count = len(simulated.traffic)
    answers = (
        marked(
            "With {policy} batching, **{good}** of {requests} are answered within the limits of "
            "their class: a goodput of **{goodput} requests/s**."
        )
        if simulated.traffic.classified
        else marked(
            "With {policy} batching, **{good}** of {requests} get the first token within {ttft} "
            "and each further one within {tpot}: a goodput of **{goodput} requests/s**."
        )
    )
    sentence = say(
        answers,
        requests=_requests(count),
        policy=name(simulated.setup.shown),
        good=text.percent(figures.good / count),
        ttft=text.si(limits.ttft, "s"),
        tpot=text.si(limits.tpot, "s"),
        goodput=text.significant(figures.goodput),
    )
    best = max(simulated.outcomes, key=lambda id: simulated.outcomes[id].figures.good)
    better = simulated.outcomes[best].figures.good - figures.good
    other = (
        say(
            "{policy} would answer {n:,} more within both limits.",
            policy=name(best).capitalize(),
            n=better,
        )
        if better > 0
        else ""
    )
    if simulated.coming:
        # In its place, so that nothing below moves when it comes.
        other = say("The other policies are being simulated.")
    # A queue may end elsewhere, but never a step earlier.
    least = (
        say("Every step takes the least that it can: a real service answers later.")
        if bounded
        else ""
    )
    lost = [
        text.plural(n, one, many)
        for one, many, n in (
            (marked("{n} was rejected."), marked("{n} were rejected."), figures.rejected),
            (marked("{n} gave up."), marked("{n} gave up."), figures.cancelled),
            (marked("{n} timed out."), marked("{n} timed out."), figures.timed_out),
            (
                marked("{n} was lost with a failed replica."),
                marked("{n} were lost with a failed replica."),
                figures.lost,
            ),
        )
        if n
    ]
    run = shown.run
    on = say(
        "It runs on {replicas}, {chips} in all.",
        replicas=_replicas(len(run.memory) + run.readers),
        chips=text.plural(run.chips, marked("{n} chip"), marked("{n} chips")),
    )
    return text.sentences(sentence, least, on, other, *lost)


def pools(run: Run) -> list[str]:
    """What prefill replicas are, where they are unlike those that decode."""
    one, other = run.reader, run.scenario
    if replace(one, batch=other.batch, context=other.context) == other:
        return []
    told = say(
        "Prefill pool: {n} of {reader}; decode pool: {m} of {decoder}.",
        n=_replicas(run.readers), reader=_replica(one),
        m=_replicas(len(run.memory)), decoder=_replica(other),
    )  # fmt: skip
    wrong = [] if one.fidelity == "bound" else layout.problems(one)
    return [told, *(say("Prefill replicas: {reason}", reason=each) for each in wrong)]


def _replicas(count: int) -> str:
    return text.plural(count, marked("{n} replica"), marked("{n} replicas"))


def _replica(s: Scenario) -> str:
    return text.listed([f"{s.n_chips} × {s.chip.name}", *tables.widths(s)])


def headline(figures: Service) -> list[tuple[str, str, str]]:
    """The figures of the policy that is shown, each with what it means."""
    return [
        (
            say("p99 TTFT"),
            seconds(figures.ttft.percentiles[99]),
            say("From arrival to the first token, the queue included: 99 of 100 requests wait no "
                "longer. A rejected one counts as an endless wait. Formula F8.1."),
        ),
        (
            say("p99 TPOT"),
            seconds(figures.tpot.percentiles[99]),
            say("Time from the first token to the last over the N − 1 gaps between them. "
                "Formula F8.1 (A)."),
        ),
        (
            say("Goodput"),
            say("{n}/s", n=text.significant(figures.goodput)),
            say("Requests per second within both limits, of those that came in the steady part. "
                "Formulas F8.5, F8.16."),
        ),
        (
            say("Token/s"),
            text.rate(figures.throughput),
            say("Tokens of finished answers made in the steady part, without the time in which "
                "the service fills and that in which it drains. Formulas F8.2, F8.16."),
        ),
        (
            say("USD/M in SLO"),
            _usd(figures.usd_per_million_good_tokens),
            say("Price of all chips over the steady part, for a million tokens of answers within "
                "both limits. Formula F8.12."),
        ),
        (
            say("Cache in use"),
            text.percent(figures.kv_used),
            say("Share of the cache's blocks that are handed out, over time. Formula F8.11."),
        ),
    ]  # fmt: skip


def _requests(count: int) -> str:
    return text.plural(count, marked("{n} request"), marked("{n} requests"))


def _usd(value: float) -> str:
    return say("none good") if math.isinf(value) else text.usd(value)


def policies(simulated: Simulated) -> None:
    """All policies on the same traffic, one row each, sortable by any figure."""
    compared = simulated.compared
    figures = [
        simulated.outcomes[id].figures if id in simulated.outcomes else None for id in compared
    ]
    shown: dict[str, tuple[Callable[[Service], float], str]] = {
        say("Goodput (requests/s)"): (lambda s: s.goodput, "%.3g"),
        say("USD/M in SLO"): (lambda s: s.usd_per_million_good_tokens, "%.2f"),
        say("TTFT p50 (s)"): (lambda s: s.ttft.percentiles[50], "%.3g"),
        say("TTFT p99 (s)"): (lambda s: s.ttft.percentiles[99], "%.3g"),
        say("TPOT p50 (ms)"): (lambda s: 1e3 * s.tpot.percentiles[50], "%.3g"),
        say("TPOT p99 (ms)"): (lambda s: 1e3 * s.tpot.percentiles[99], "%.3g"),
        say("ITL p99 (ms)"): (lambda s: 1e3 * s.itl.percentiles[99], "%.3g"),
        say("Token/s"): (lambda s: s.throughput, "%.4g"),
        say("Mean batch"): (lambda s: s.mean_batch, "%.3g"),
        say("Slots used (%)"): (lambda s: 100 * s.slot_efficiency, "%.0f"),
        say("Rejected"): (lambda s: s.rejected, "%d"),
        say("Gave up"): (lambda s: s.cancelled, "%d"),
        say("Timed out"): (lambda s: s.timed_out, "%d"),
        say("Preempted"): (lambda s: s.preempted, "%d"),
        say("MFU (%)"): (lambda s: 100 * s.mfu, "%.0f"),
        say("MBU (%)"): (lambda s: 100 * s.mbu, "%.0f"),
    }
    st.dataframe(
        {
            say("Policy"): [name(id) for id in compared],
            **{head: [sortable.known(of(one)) if one else None for one in figures]
               for head, (of, _) in shown.items()},
        },
        column_config={
            say("Policy"): st.column_config.TextColumn(pinned=True),
            **sortable.formats({head: form for head, (_, form) in shown.items()}),
        },
        hide_index=True,
        placeholder=sortable.MISSING,
    )  # fmt: skip


def percentiles(figures: Service) -> dict[str, list[str]]:
    """Latencies of the shown policy: mean of those that finished, percentiles of all."""
    spreads = {
        "TTFT": figures.ttft,
        say("TPOT, over N − 1 gaps"): figures.tpot,
        say("TPOT, over N tokens"): figures.tpot_per_token,
        say("ITL, each gap"): figures.itl,
        say("End to end"): figures.e2e,
    }
    columns = {
        say("Latency"): list(spreads),
        say("Mean"): [seconds(s.mean) for s in spreads.values()],
    }
    for percent in serving.service.PERCENTS:
        columns[f"p{percent}"] = [seconds(s.percentiles[percent]) for s in spreads.values()]
    return columns


# Each quantity that theory knows, and how it is written.
_PAIRS: Mapping[str, tuple[str, Callable[[float], str]]] = {
    "little": (marked("Requests in the system, λ · E2E (Little)"), text.significant),
    "closed": (marked("Requests each second of clients, N / (E2E + pause)"), text.significant),
    "static": (marked("Slots used by a static batch, mean over longest"), text.percent),
    "wait": (marked("Mean wait for a replica that only reads prompts, M/G/1"), seconds),
    "servers": (marked("Prefill : decode, T_prefill · B / (T_step · G)"), text.ratio),
    "retired": (marked("Cached tokens that leave in a step, B (P + G) / G"), text.round_count),
    "filled": (marked("Of the cache handed out, holds tokens"), text.percent),
}


def closed_forms(simulated: Simulated) -> dict[str, list[str]]:
    """What theory says beside what the simulation gave."""
    runs = {id: outcome.run for id, outcome in simulated.outcomes.items()}
    slots = simulated.setup.deployments["static"].batching.slots
    pairs = serving.theory.beside(
        runs,
        simulated.setup.shown,
        simulated.setup.memory,
        slots,
        independent=simulated.independent,
    )
    return {
        say("Quantity"): [say(_PAIRS[id][0]) for id in pairs],
        say("Closed form"): [_PAIRS[id][1](pair.theory) for id, pair in pairs.items()],
        say("Simulated"): [_PAIRS[id][1](pair.run) for id, pair in pairs.items()],
    }


def knees(loads: Loads, limits: Limits) -> str:
    """What each policy serves within the limits, and how sure that is."""
    highest = (
        marked(
            "The highest rate that this deployment serves with at least 90 % of the requests "
            "within the limits of their class: {policies}."
        )
        if loads.traffic.classified
        else marked(
            "The highest rate that this deployment serves with at least 90 % of the requests "
            "within {ttft} and {tpot}: {policies}."
        )
    )
    return say(
        highest,
        ttft=text.si(limits.ttft, "s"),
        tpot=text.si(limits.tpot, "s"),
        policies=text.clauses([_knee(name(id), knee) for id, knee in loads.known.items()]),
    )


def _knee(policy: str, knee: Knee) -> str:
    if knee.low is None:
        tried = min((one.realised for one in knee.tried), default=math.nan)
        return (
            say("{policy} not even {n} requests/s", policy=policy, n=text.significant(tried))
            if knee.done
            else say("{policy} is being searched", policy=policy)
        )
    share = say(
        "{share} ± {half}",
        share=text.percent(knee.low.good),
        half=text.percent(knee.low.half) if math.isfinite(knee.low.half) else text.unknown(),
    )
    if knee.high is None:
        return say(
            "{policy} at least **{n} requests/s** ({share} good)",
            policy=policy, n=text.significant(knee.rate), share=share,
        )  # fmt: skip
    return say(
        "{policy} **{n} requests/s** ({share} good; at {more} fewer than 90 %)",
        policy=policy,
        n=text.significant(knee.rate),
        share=share,
        more=text.significant(knee.high.realised),
    )


def steady(window: Window) -> str:
    """Which part of the run rates and prices are of."""
    start, end = (text.significant(at) for at in (window.start, window.end))
    if window.whole:
        return say("Rates and prices are of the whole run, {time} s.", time=end)
    part = say(
        "Rates and prices are of the steady part, from {start} to {end} s, in which {n:,} requests "
        "came.",
        start=start, end=end, n=window.requests,
    )  # fmt: skip
    if window.settled:
        return part
    return text.sentences(
        part,
        say(
            "The queue grows to the end: this rate cannot be served, and latencies rise with the "
            "requests simulated."
        ),
    )


def described(traffic: Traffic) -> str:
    """The traffic in numbers."""
    return say(
        "{requests}, prompts of {prompt} and outputs of {output} tokens on average.",
        requests=_requests(len(traffic)),
        prompt=text.count(float(traffic.prompt.mean())),
        output=text.count(float(traffic.output.mean())),
    )
