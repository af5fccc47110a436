"""Sentences and tables of the Serving page."""

from __future__ import annotations

import math
from collections.abc import Mapping

from calc import Scenario, decode, prefill, serving
from calc.serving import Limits, Service, Traffic, queueing
from calc.words import say
from pages.ui import text
from pages.ui.service_view import Loads, Outcome, View, name, seconds


def verdict(view: View) -> str:
    """How many of the requests were answered in time, and what the best policy would do."""
    shown = view.shown
    if shown is None:
        return say("**{policy}** cannot be simulated.", policy=name(view.plan.shown))
    limits, figures = view.plan.limits, shown.figures
    count = len(view.traffic)
    sentence = say(
        "Of {n:,} requests **{policy}** batching answers **{good:.0%}** with a first token within "
        "{ttft} and a token every {tpot}: a goodput of **{goodput} requests/s**.",
        n=count,
        policy=name(view.plan.shown),
        good=figures.good / count,
        ttft=text.si(limits.ttft, "s"),
        tpot=text.si(limits.tpot, "s"),
        goodput=text.significant(figures.goodput),
    )
    best = max(view.outcomes, key=lambda id: view.outcomes[id].figures.good)
    better = view.outcomes[best].figures.good - figures.good
    other = (
        say(
            "{policy} would answer {n:,} more.",
            policy=name(best).capitalize(),
            n=better,
        )
        if better > 0
        else ""
    )
    lost = say("{n:,} were turned away.", n=figures.rejected) if figures.rejected else ""
    return text.sentences(sentence, other, lost)


def headline(figures: Service) -> dict[str, str]:
    """The figures of the policy that is shown."""
    return {
        say("p99 TTFT"): seconds(figures.ttft.percentiles[99]),
        say("p99 TPOT"): seconds(figures.tpot.percentiles[99]),
        say("Goodput"): say("{n}/s", n=text.significant(figures.goodput)),
        say("Token/s"): text.rate(figures.throughput),
        say("USD per M good"): _usd(figures.usd_per_million_good_tokens),
        say("Cache in use"): text.percent(figures.kv_used),
    }


def _usd(value: float) -> str:
    return say("none good") if math.isinf(value) else text.usd(value)


def policies(outcomes: Mapping[str, Outcome]) -> dict[str, list[str]]:
    """All policies on the same traffic, one row each."""
    return {
        say("Policy"): [name(id) for id in outcomes],
        say("TTFT p50"): [seconds(one.figures.ttft.percentiles[50]) for one in outcomes.values()],
        say("TTFT p99"): [seconds(one.figures.ttft.percentiles[99]) for one in outcomes.values()],
        say("TPOT p50"): [seconds(one.figures.tpot.percentiles[50]) for one in outcomes.values()],
        say("TPOT p99"): [seconds(one.figures.tpot.percentiles[99]) for one in outcomes.values()],
        say("Goodput (requests/s)"): [
            text.significant(one.figures.goodput) for one in outcomes.values()
        ],
        say("Token/s"): [text.rate(one.figures.throughput) for one in outcomes.values()],
        say("Mean batch"): [text.significant(one.figures.mean_batch) for one in outcomes.values()],
        say("Slots used"): [text.percent(one.figures.slot_efficiency) for one in outcomes.values()],
        say("Turned away"): [text.count(one.figures.rejected) for one in outcomes.values()],
        say("Put out"): [text.count(one.figures.preempted) for one in outcomes.values()],
        "MFU": [text.percent(one.figures.mfu) for one in outcomes.values()],
        "MBU": [text.percent(one.figures.mbu) for one in outcomes.values()],
        say("USD per M good"): [
            _usd(one.figures.usd_per_million_good_tokens) for one in outcomes.values()
        ],
    }


def percentiles(figures: Service) -> dict[str, list[str]]:
    """Latencies of the shown policy: mean of those that finished, percentiles of all."""
    spreads = {
        "TTFT": figures.ttft,
        say("TPOT, over N − 1 gaps"): figures.tpot,
        say("TPOT, over N tokens"): figures.tpot_per_token,
        say("End to end"): figures.e2e,
    }
    columns = {
        say("Latency"): list(spreads),
        say("Mean"): [seconds(s.mean) for s in spreads.values()],
    }
    for percent in serving.service.PERCENTS:
        columns[f"p{percent}"] = [seconds(s.percentiles[percent]) for s in spreads.values()]
    return columns


def closed_forms(view: View, scenario: Scenario, outcome: Outcome) -> dict[str, list[str]]:
    """What theory says beside what the simulation gave."""
    run, figures, traffic = outcome.run, outcome.figures, view.traffic
    mean = float(figures.e2e.mean)
    times, present = run.intervals.running()
    span = float(times[-1] - times[0]) if len(times) > 1 else 0.0
    there = float(((times[1:] - times[:-1]) * present[:-1]).sum() / span) if span else math.nan
    finished = float(run.finished.sum()) / span if span else math.nan
    reading = float(prefill.prompt_time(scenario).total)
    step = float(decode.step_time(scenario).total)
    replicas = len(run.names)
    utilisation = traffic.rate / replicas * reading
    rows: list[tuple[str, str, str]] = [
        (
            say("Little: requests in the system"),
            text.significant(queueing.in_system(finished, mean)),
            text.significant(there),
        ),
        (
            say("Slots used by a static batch, lengths like these"),
            text.percent(
                queueing.static_efficiency(
                    traffic.output, min(view.plan.deployments["static"].batching.slots,
                                        len(traffic)))),
            text.percent(view.outcomes["static"].figures.slot_efficiency)
            if "static" in view.outcomes
            else "",
        ),
        (
            say("M/D/1: mean wait for a prompt, one replica that only reads"),
            text.si(queueing.wait_md1(traffic.rate / replicas, reading), "s")
            if utilisation < 1
            else say("grows without end"),
            text.si(float(_waits(outcome)), "s"),
        ),
        (
            say("Cache that a step retires, B (P + G) / G"),
            say("{n} tokens", n=text.round_count(
                figures.mean_batch * (traffic.prompt.mean() + traffic.output.mean())
                / traffic.output.mean())),
            "",
        ),
        (
            say("Prefill : decode servers, F8.8"),
            text.ratio(prefill.servers_ratio(reading, scenario.batch, step, scenario.output)),
            "",
        ),
        (
            say("Of what is handed out, holds tokens"),
            "",
            text.percent(figures.kv_utilisation),
        ),
    ]  # fmt: skip
    head = (say("Quantity"), say("Closed form"), say("Simulated"))
    return {label: [row[i] for row in rows] for i, label in enumerate(head)}


def _waits(outcome: Outcome) -> float:
    run = outcome.run
    waited = (run.admitted - run.traffic.arrival)[run.finished]
    return float(waited.mean()) if waited.size else math.nan


def knees(loads: Loads, limits: Limits) -> str:
    """What each policy serves within the limits."""
    said = []
    for policy in loads.figures:
        knee = loads.knee(policy)
        said.append(
            say("{policy} none of these rates", policy=name(policy))
            if math.isnan(knee)
            else say("{policy} **{n} requests/s**", policy=name(policy), n=text.significant(knee))
        )
    return say(
        "Within {ttft} and {tpot} for at least 90 % of the requests this deployment serves: "
        "{policies}.",
        ttft=text.si(limits.ttft, "s"),
        tpot=text.si(limits.tpot, "s"),
        policies=text.clauses(said),
    )


def described(traffic: Traffic) -> str:
    """The traffic in numbers."""
    return say(
        "{n:,} requests, prompts of {prompt} and outputs of {output} tokens on average.",
        n=len(traffic),
        prompt=text.round_count(float(traffic.prompt.mean())),
        output=text.round_count(float(traffic.output.mean())),
    )
