"""The sentence of the Quantization page."""

from __future__ import annotations

import math
from collections.abc import Mapping

from calc import Scenario, known, precision
from calc.words import marked, say
from pages.ui.writing import text

_MOVED = {
    "weight_read": marked("the weight read"),
    "linear_compute": marked("the FLOPs"),
    "kv_read": marked("the KV read"),
    "critical_batch": marked("the critical batch"),
    "max_batch": marked("the largest batch"),
}
# What is said of a switch that moves something, and of one that stays.
_SWITCH = {
    "weight_format": (
        marked("**{id}** weights move {what} (step {change})"), marked("**{id}** weights stay")
    ),
    "kv_format": (
        marked("a KV cache in **{id}** moves {what} (step {change})"),
        marked("a KV cache in **{id}** stays"),
    ),
    "compute_format": (
        marked("**{id}** compute moves {what} (step {change})"), marked("**{id}** compute stays")
    ),
}  # fmt: skip


def verdict(
    scenario: Scenario,
    changed: Mapping[str, Scenario],
    now: precision.Figures,
    figures: Mapping[str, precision.Figures],
) -> str:
    """What each switch moves, in words, and what it does to the step."""
    found = []
    for switch, then in changed.items():
        moves, stays = _SWITCH[switch]
        after, id = figures[switch], text.plain(getattr(then, switch).id)
        if getattr(then, switch) is getattr(scenario, switch):
            found.append(say(stays, id=id))
            continue
        lost = math.isnan(after.step_time) and not math.isnan(now.step_time)
        if switch == "compute_format" and known.bounded(scenario):
            lost = bool(known.unknown(then).rates)
            if not lost:
                time = text.si(after.step_time, "s")
                found.append(say("**{id}** compute has a rate: a step of {time}", id=id, time=time))
                continue
        if lost:
            chip = text.plain(scenario.chip.name)
            found.append(
                say("{chip} publishes no dense {format} rate to compute in", chip=chip, format=id)
            )
            continue
        moved = [
            say(words)
            for name, words in _MOVED.items()
            if precision.differ(getattr(after, name), getattr(now, name))
        ]
        change = text.change(after.step_time, now.step_time) or say("unknown")
        found.append(say(moves, id=id, what=text.listed(moved) or say("nothing"), change=change))
    return text.sentence(*found)
