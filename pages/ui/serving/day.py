"""The tab Over the day: a run by the hour, and what its fleet costs beside a fixed one."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import streamlit as st

from calc import Scenario, serving
from calc.serving import Shift, hours
from calc.serving.hours import Part
from calc.words import marked, say
from pages.ui.charts import kit
from pages.ui.frame.page import Shown
from pages.ui.frame.section import Table
from pages.ui.serving import simulations
from pages.ui.serving.simulations import Outcome, Simulated, seconds
from pages.ui.writing import palette, text

QUESTION = marked("What does the day cost?")
_FIXED = "_fixed_fleet"
# From how long on an hour is the unit of a chart [s].
_HOURS = 3 * 3600.0


def offered(shown: Outcome) -> bool:
    """Whether a run has anything that changes over its time."""
    return shown.run.shifts is not None or shown.run.traffic.varies


def found(simulated: Simulated, shown: Outcome) -> tuple[Part, ...]:
    """The run that is shown, by the hour."""
    return hours.parts(shown.run, simulated.setup.limits)


def sentence(shown: Outcome) -> str:
    """What the fleet costs, and what failed."""
    bill = hours.bill(shown.run)
    figures = shown.figures
    paid = say(
        "**{hours} replica-hours** are paid for, {usd}.",
        hours=text.significant(bill.replica_hours), usd=_usd(bill.usd),
    )  # fmt: skip
    fixed = say(
        "As many replicas all the time take {hours}, {usd}: scaling saves {share}.",
        hours=text.significant(bill.fixed_hours), usd=_usd(bill.fixed_usd),
        share=text.percent(1 - bill.replica_hours / bill.fixed_hours),
    )  # fmt: skip
    retried = int((shown.run.retries > 0).sum())
    failed = say(
        "Failures sent {retried:,} requests again and lost {lost:,}; {reread} prompt and answer "
        "tokens were read again.",
        retried=retried, lost=figures.lost, reread=text.round_count(figures.reread),
    )  # fmt: skip
    return text.sentences(
        paid,
        fixed if bill.replica_hours < bill.fixed_hours * (1 - 1e-9) else "",
        failed if retried or figures.lost else "",
    )


def _usd(usd: float) -> str:
    return text.usd(usd) if usd > 0 else say("price unknown")


def chart(simulated: Simulated, shown: Outcome) -> Shown:
    """Replicas that serve and the requests that come, one above the other."""
    run = shown.run
    each = found(simulated, shown)
    unit, scale = _unit(run)
    middle = np.array([(one.start + one.end) / 2 for one in each]) / scale
    rate = np.array([one.rate for one in each])
    if run.shifts is None:
        times, serves = np.array([each[0].start, each[-1].end]), np.full(2, len(run.memory))
    else:
        times, serves = run.shifts.running(Shift.SERVING)
        # Those that serve to the end do not stop with it.
        serves = np.concatenate([serves[:-1], serves[-2:-1]])
    replicas, requests = say("replicas that serve"), say("requests/s")
    data: list[dict[str, Any]] = [
        {
            "type": "scatter", "mode": "lines", "name": replicas, "x": times / scale,
            "y": serves.astype(float), "yaxis": "y",
            "line": {"color": "#0072B2", "width": 2.5, "shape": "hv"},
            "hovertemplate": kit.hovered(replicas, f"%{{x:.3~r}} {unit}", "%{y:.0f}"),
        },
        {
            "type": "scatter", "mode": "lines+markers", "name": requests, "x": middle, "y": rate,
            "yaxis": "y2", "line": {"color": "#D55E00", "dash": "dash", "width": 2},
            "marker": {"size": 5},
            "hovertemplate": kit.hovered(requests, f"%{{x:.3~r}} {unit}", "%{y:.3~r}"),
        },
    ]  # fmt: skip
    keys = [kit.key(replicas, "#0072B2", "━━"), kit.key(requests, "#D55E00", "╍╍")]
    layout = {
        **kit.frame(58), "height": 400,
        "xaxis": {"title": {"text": say("Time ({unit})", unit=unit), "standoff": 8},
                  "range": [0, float(times.max()) / scale], "automargin": False, "nticks": 9,
                  "anchor": "y2"},
        "yaxis": {"title": {"text": say("Replicas")}, "domain": [0.53, 1.0], "nticks": 4,
                  "range": [0, 1.1 * max(float(serves.max(initial=1)), 1)], "automargin": False},
        "yaxis2": {"title": {"text": say("Requests/s")}, "domain": [0.0, 0.47], "nticks": 4,
                   "range": [0, 1.1 * float(rate.max(initial=0.0)) or 1.0], "automargin": False},
        "shapes": [kit.legend(keys)],
    }  # fmt: skip
    return Shown(
        kit.figure(data, layout), say("Replicas that serve and requests that come, over time.")
    )


def waits(simulated: Simulated, shown: Outcome) -> Shown:
    """Percentiles of the time to first token by the hour."""
    each = found(simulated, shown)
    unit, scale = _unit(shown.run)
    middle = np.array([(one.start + one.end) / 2 for one in each]) / scale
    limits = simulations.limits(simulated, lambda one: one.ttft)
    data: list[dict[str, Any]] = []
    keys, known = [], list(limits)
    for percent, colour, dash in ((50, "#56B4E9", "dash"), (99, "#0072B2", "solid")):
        label = f"p{percent} TTFT"
        values = np.array([one.ttft.percentiles[percent] for one in each])
        values = np.where(np.isfinite(values), values, np.nan)
        known += [float(value) for value in values if value > 0]
        keys.append(kit.key(label, colour, kit.DASH_GLYPHS[dash]))
        data.append({
            "type": "scatter", "mode": "lines+markers", "name": label, "x": middle, "y": values,
            "line": {"color": colour, "dash": dash, "width": 2.5}, "marker": {"size": 5},
            "hovertemplate": kit.hovered(label, f"%{{x:.3~r}} {unit}", "%{y:.3~r} s"),
        })  # fmt: skip
    low, high = min(known), max(known)
    layout = {
        **kit.frame(62), "height": 400,
        "xaxis": {"title": {"text": say("Arrival ({unit})", unit=unit), "standoff": 8},
                  "range": [0, each[-1].end / scale], "automargin": False, "nticks": 9},
        "yaxis": {"type": "log", "title": {"text": say("Time to first token (s)")},
                  "range": [np.log10(low) - 0.1, np.log10(high) + 0.1], "automargin": False,
                  **kit.ticks(low, high, True)},
        "shapes": [*(kit.rule("y", limit, "dash") for limit in limits),
                   kit.legend([*keys, kit.key(say("limit"), palette.RULE, "╍╍")])],
    }  # fmt: skip
    return Shown(
        kit.figure(data, layout), say("Percentiles of the time to first token, by hour of arrival.")
    )


def _unit(run: serving.Run) -> tuple[str, float]:
    return ("h", 3600.0) if run.duration > _HOURS else ("s", 1.0)


def columns(simulated: Simulated, shown: Outcome) -> dict[str, list[str]]:
    """One row for each part of the run."""
    each = found(simulated, shown)
    unit, scale = _unit(shown.run)
    return {
        say("From ({unit})", unit=unit): [text.significant(one.start / scale) for one in each],
        say("Requests"): [f"{one.requests:,}" for one in each],
        say("Replicas"): [text.significant(one.serving) for one in each],
        say("Good"): [_share(one.good_share) for one in each],
        say("p50 TTFT"): [seconds(one.ttft.percentiles[50]) for one in each],
        say("p99 TTFT"): [seconds(one.ttft.percentiles[99]) for one in each],
        say("p99 TPOT"): [seconds(one.tpot.percentiles[99]) for one in each],
    }


def _share(share: float) -> str:
    return text.percent(share) if share == share else text.unknown()


def tab(scenario: Scenario, simulated: Simulated, shown: Outcome) -> None:
    """What the fleet costs, two charts and the hours; beside a fixed fleet if it scales."""
    if not found(simulated, shown):
        st.caption(say("All requests come at once: there is no time to look at."))
        return
    st.markdown(sentence(shown))
    with st.grid(2, min_column_width=400):
        chart(simulated, shown).draw("service-day")
        waits(simulated, shown).draw("service-day-ttft")
    if shown.run.shifts is not None:
        st.table(Table.escaped(_beside(scenario, simulated, shown)), hide_index=True)
    st.table(Table.escaped(columns(simulated, shown)), hide_index=True)
    st.caption(
        say(
            "By arrival, in {n} equal parts. Arrivals by a daily curve, scaling and failures are "
            "set in the sidebar (F8.22, F8.23, F8.24).",
            n=hours.PARTS,
        )
    )


def _beside(scenario: Scenario, simulated: Simulated, shown: Outcome) -> dict[str, list[str]]:
    """This fleet and one whose replicas all serve all the time."""
    fixed = _fixed(scenario, simulated)
    # Paid for as long as this fleet is, as the sentence above has it.
    paid = hours.bill(shown.run)
    fleets: dict[str, tuple[Outcome, float, float]] = {
        say("this fleet"): (shown, paid.replica_hours, paid.usd),
        say("all replicas, without failures"): (fixed, paid.fixed_hours, paid.fixed_usd),
    }
    rows = list(fleets.values())
    return {
        say("Fleet"): list(fleets),
        say("Replica-hours"): [text.significant(of) for _, of, _ in rows],
        say("Price"): [_usd(usd) for _, _, usd in rows],
        say("Good"): [text.percent(one.figures.good_share) for one, *_ in rows],
        say("p50 TTFT"): [seconds(one.figures.ttft.percentiles[50]) for one, *_ in rows],
        say("p99 TTFT"): [seconds(one.figures.ttft.percentiles[99]) for one, *_ in rows],
        say("Lost"): [f"{one.figures.lost:,}" for one, *_ in rows],
    }


def _fixed(scenario: Scenario, simulated: Simulated) -> Outcome:
    """The same requests before all replicas, simulated once."""
    kept = st.session_state.get(_FIXED)
    if kept is None or kept[0] is not simulated.setup:
        setup = simulated.setup
        deployments = {id: one.unstaffed() for id, one in setup.deployments.items()}
        kept = (
            setup,
            simulations.outcome(
                scenario, simulated.traffic, replace(setup, deployments=deployments)
            ),
        )
        st.session_state[_FIXED] = kept
    fixed: Outcome = kept[1]
    return fixed


def table(simulated: Simulated, shown: Outcome) -> Table:
    """The hours in a report."""
    return Table.turned(columns(simulated, shown))
