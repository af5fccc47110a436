"""Serving techniques by what each buys here: its bottleneck, its gain, and when it helps."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import streamlit as st

from calc import Scenario, known, techniques
from calc import scenario as scenarios
from calc.aims import AIMS, Aim
from calc.levers import ranked
from calc.techniques import Technique
from calc.words import inside, say
from pages.ui.decode import lever_figures, levers
from pages.ui.frame.page import Shown
from pages.ui.writing import row_choice, sortable, text
from presets import formats


def tried(scenario: Scenario, aim: Aim) -> list[Technique]:
    """All techniques, what gains most for the aim first."""
    # Of two bounds there is no quotient.
    return ranked(techniques.try_all(known.stated(scenario), formats), aim)


def section(scenario: Scenario) -> None:
    """The aim, the techniques ranked for it, and their gains."""
    aim = AIMS[levers.aim(say("Gain of serving techniques"))]
    found = tried(scenario, aim)
    st.markdown(best(found, aim))
    shown = bars(found, aim)
    if shown:
        shown.draw("techniques-gains", revision=f"techniques-{aim.figure}")
    _table(scenario, found, aim)
    st.caption(_beside(found))


def gain(one: Technique, aim: Aim) -> float:
    """The factor by which a technique betters the figure of an aim; nan where it is not known."""
    return math.exp(one.gain(aim))


def best(found: Sequence[Technique], aim: Aim) -> str:
    """What gains most for an aim, of what is not in use and of what is."""
    figure, aimed = inside(aim.label), inside(aim.name)
    able = [one for one in found if math.isfinite(one.gain(aim))]
    if not able:
        return say("What a technique would do to {figure} is not known here.", figure=figure)
    unused, used = (
        _first([one for one in able if one.in_use is in_use], aim) for in_use in (False, True)
    )
    said = (
        say("Of techniques not in use, {technique} would do most for {aim}.", technique=unused,
            aim=aimed) if unused else "",
        say("Of techniques in use, {technique} does most for {aim}.", technique=used, aim=aimed)
        if used else "",
    )  # fmt: skip
    return text.sentences(*said) or say("No technique does anything for {aim} here.", aim=aimed)


def _first(found: Sequence[Technique], aim: Aim) -> str:
    """What gains most of several, and how much; nothing where nothing gains."""
    first = max(found, key=lambda one: one.gain(aim), default=None)
    if first is None or first.gain(aim) <= text.UNMOVED:
        return ""
    return f"**{text.plain(first.label)}** ({text.times(gain(first, aim))})"


def bars(found: Sequence[Technique], aim: Aim) -> Shown | None:
    """Gains as bars; none where none is known."""
    able = [one for one in found if math.isfinite(one.gain(aim))]
    if not able:
        return None
    told = text.listed(f"{one.label} {text.times(gain(one, aim))}" for one in able)
    return Shown(
        lever_figures.gains(
            [one.name for one in able],
            [gain(one, aim) for one in able],
            [one.in_use for one in able],
            say("Gain in {figure} (×)", figure=inside(aim.label)),
        ),
        say("Gain of each technique in {figure}: {gains}.", figure=inside(aim.label), gains=told),
    )


def _table(scenario: Scenario, found: Sequence[Technique], aim: Aim) -> None:
    """Techniques that can be had; choosing one that is not in use takes it."""
    shown = [one for one in found if one.outcome is not None]
    aims = [aim, *(other for other in AIMS.values() if other is not aim)]
    columns: dict[str, list[Any]] = {
        say("Technique"): [one.label for one in shown],
        say("Bottleneck"): [say(one.relieves) for one in shown],
        say("State"): [say("in use") if one.in_use else say("possible") for one in shown],
    }
    config: dict[str, Any] = {say("Technique"): st.column_config.TextColumn(pinned=True, width=230)}
    for each in aims:
        heading = say("{figure} (×)", figure=say(each.label))
        columns[heading] = [sortable.known(gain(one, each)) for one in shown]
        config[heading] = st.column_config.NumberColumn(
            format="%.3g", help=say("How many times better; below 1 it is worse.")
        )
    columns[say("When")] = [one.condition or None for one in shown]

    def settings(row: int) -> dict[str, Any]:
        one = shown[row]
        if one.in_use or one.outcome is None:
            return {}
        return scenarios.differences(known.stated(scenario), one.outcome.scenario)

    row_choice.table("techniques", columns, settings, column_config=config, height="content")


def _beside(found: Sequence[Technique]) -> str:
    """What a click does, what gains are of, and which techniques cannot be had."""
    idle = [
        say("{lever} ({reason})", lever=one.label, reason=one.why_not)
        for one in found
        if one.outcome is None
    ]
    return text.sentences(
        say("A technique in use is compared with the scenario without it, any other with the "
            "scenario as it is."),
        say("A row you choose that changes a format is applied in the sidebar."),
        say("Not here: {levers}.", levers=text.plain(text.listed(idle))) if idle else "",
    )  # fmt: skip
