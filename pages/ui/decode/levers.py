"""What one lever would do: the levers by what they gain, a click that pulls one, the tornado."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import streamlit as st

from calc import Scenario, known, levers, sensitivity
from calc import scenario as scenarios
from calc.aims import AIMS, Aim
from calc.explain import bounds
from calc.levers import Lever
from calc.sensitivity import Sensitivities
from calc.words import inside, marked, say
from pages.ui.charts import kit
from pages.ui.decode import lever_figures
from pages.ui.writing import row_choice, sortable, text, written
from presets import formats

# A column's heading as a change in per cent, what that is, and the figure's own heading with its
# scale and form.
_COLUMNS = {
    "step_time": (
        marked("Step (%)"), marked("Change of the time per step."),
        marked("Step (ms)"), 1e3, "%.4g",
    ),
    "throughput_per_chip": (
        marked("Per chip (%)"), marked("Change of the tokens per second and chip."),
        marked("Token/s per chip"), 1, "%.4g",
    ),
    "usd_per_million_tokens": (
        marked("USD (%)"), marked("Change of the price of a million tokens."),
        marked("USD / Mtok"), 1, "%.3g",
    ),
    "max_batch": (
        marked("Batch (%)"), marked("Change of the largest batch that fits."),
        marked("Largest batch"), 1, "%d",
    ),
}  # fmt: skip


# The control of what is to be improved, and what it holds at first.
AIM, FIRST_AIM = "levers-aim", "step_time"

# What is said of a figure that is only bounded, before and after.
_BOUNDED = {
    bounds.LEAST: marked("{moved}, each at least"),
    bounds.MOST: marked("{moved}, each at most"),
}


def aim(title: str) -> str:
    """A heading, beside it what is to be improved; the same of levers and of techniques."""
    with st.container(
        horizontal=True, horizontal_alignment="distribute", vertical_alignment="center"
    ):
        st.header(title, anchor=False, width="content")
        chosen: str = st.segmented_control(
            say("What to improve"),
            list(AIMS),
            format_func=lambda figure: say(AIMS[figure].name),
            default=FIRST_AIM,
            required=True,
            key=AIM,
            label_visibility="collapsed",
            persist_state="session",
        )
    return chosen


def section(scenario: Scenario) -> None:
    """The aim, the levers ranked for it, and what its figure hangs on."""
    wanted = AIMS[aim(say("What one lever would do"))]
    pulled = levers.ranked(levers.pull_all(scenario, formats), wanted)
    st.markdown(best(pulled, wanted))
    with st.grid(2, min_column_width=400):
        with st.container():
            _table(scenario, pulled, wanted)
            st.caption(_beside(pulled))
        with st.container():
            _tornado(sensitivity.sensitivities(scenario, wanted))


def best(pulled: Sequence[Lever], aim: Aim) -> str:
    """What the first of ranked levers gains, in words."""
    first = pulled[0]
    gain = first.gain(aim)
    figure = inside(aim.label)
    if first.outcome is None or math.isnan(gain):
        return say("What a lever would do to {figure} is not known here.", figure=figure)
    aimed = inside(aim.name)
    if gain <= text.UNMOVED:
        return say("No lever that fits does anything for {aim}.", aim=aimed)
    before, after = aim.value(first.before), aim.value(first.outcome)
    moved = f"{figure} {written.moved(aim.figure, before, after)}"
    if known.bounded(first.before.scenario) and aim.figure in bounds.BOUNDS:
        moved = say(_BOUNDED[bounds.BOUNDS[aim.figure]], moved=moved)
    told = {"lever": text.plain(first.label), "aim": aimed, "moved": text.plain(moved)}
    if first.outcome.fits:
        return say("**{lever}** does most for {aim}: {moved}.", **told)
    return say(
        "**{lever}** would do most for {aim}, but with no lever alone does it fit: {moved}.", **told
    )


def _beside(pulled: Sequence[Lever]) -> str:
    """What a click does, and which levers cannot be pulled."""
    idle = [
        say("{lever} ({reason})", lever=lever.label, reason=lever.why_not)
        for lever in pulled
        if lever.outcome is None
    ]
    return text.sentences(
        say("A row you choose is applied in the sidebar."),
        say("Not here: {levers}.", levers=text.plain(text.listed(idle))) if idle else "",
    )


def _table(scenario: Scenario, pulled: Sequence[Lever], aim: Aim) -> None:
    """Levers that can be pulled; choosing one pulls it."""
    shown = [(lever, lever.outcome) for lever in pulled if lever.outcome is not None]
    aims = [aim, *(other for other in AIMS.values() if other is not aim)]
    columns: dict[str, list[Any]] = {say("Lever"): [lever.label for lever, _ in shown]}
    config: dict[str, Any] = {say("Lever"): st.column_config.TextColumn(pinned=True, width=165)}
    fitting = [outcome.fits for _, outcome in shown]
    if not all(fitting):
        columns[say("Fits")] = fitting
    for each in aims:
        heading, meaning, *_ = _COLUMNS[each.figure]
        columns[say(heading)] = [
            _change(each.value(outcome), each.value(lever.before)) for lever, outcome in shown
        ]
        config[say(heading)] = st.column_config.NumberColumn(
            format="%+.3g", help=say(meaning), width=84
        )
    for each in aims:
        _, _, heading, scale, form = _COLUMNS[each.figure]
        figures = [scale * each.value(outcome) for _, outcome in shown]
        columns[say(heading)] = (
            sortable.batches(scenario, [int(one) for one in figures])
            if each.figure == "max_batch"
            else [sortable.known(one) for one in figures]
        )
        config[say(heading)] = st.column_config.NumberColumn(format=form)
    row_choice.table(
        "levers",
        columns,
        lambda row: scenarios.differences(scenario, shown[row][1].scenario),
        column_config=config,
        height="content",
    )


def _change(after: float, before: float) -> float | None:
    """In per cent; nothing to or from the unknown, or from nothing."""
    if not (math.isfinite(after) and math.isfinite(before)) or before == 0:
        return None
    # No minus before a zero.
    return round(100 * (after / before - 1), 1) + 0.0


def _tornado(found: Sensitivities) -> None:
    """The chart, or why there is none, and what has no bar in it."""
    figure = inside(found.aim.label)
    if not math.isfinite(found.now):
        st.caption(say("What moves {figure} is not known here.", figure=figure))
        return
    if found.now == 0:
        st.caption(say("Nothing fits now, so there is no change in per cent."))
        return
    moved = found.reach > text.UNMOVED
    if not np.any(moved):
        st.caption(say("Nothing that is halved or doubled moves {figure}.", figure=figure))
        return
    kit.show(
        lever_figures.tornado(found),
        key="sensitivities",
        revision=f"sensitivities-{found.aim.figure}",
        alt=lever_figures.described(found),
    )
    still = [inside(label) for label, moves in zip(found.labels, moved, strict=True)
             if not moves]  # fmt: skip
    st.caption(
        text.sentences(
            say("Each input is halved and doubled on its own; the axis is a ratio."),
            say("Without effect: {things}.", things=text.listed(still)) if still else "",
        )
    )
