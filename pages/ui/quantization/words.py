"""The sentence of the Quantization page."""

from __future__ import annotations

import math
from collections.abc import Mapping

from calc import Scenario, known, precision
from calc.words import marked, say
from pages.ui.writing import text

_MOVED = {
    "weight_read": marked("weight read"),
    "linear_compute": marked("FLOPs"),
    "kv_read": marked("KV read"),
    "critical_batch": marked("critical batch"),
    "max_batch": marked("largest batch"),
}
# What is said of a switch that moves something, and of one that stays.
_SWITCH = {
    "weight_format": (
        marked("**{id}** weights: step {change}; they change {what}."),
        marked("Weights stay **{id}**."),
    ),
    "kv_format": (
        marked("KV cache in **{id}**: step {change}; it changes {what}."),
        marked("The KV cache stays **{id}**."),
    ),
    "compute_format": (
        marked("**{id}** compute: step {change}; it changes {what}."),
        marked("Compute stays **{id}**."),
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
                told = {"id": id, "time": text.si(after.step_time, "s")}
                found.append(say("**{id}** compute has a rate: a step of {time}.", **told))
                continue
        if lost:
            chip = text.plain(scenario.chip.name)
            found.append(
                say("{chip} publishes no dense {format} rate to compute in.", chip=chip, format=id)
            )
            continue
        moved = [
            say(words)
            for name, words in _MOVED.items()
            if precision.differ(getattr(after, name), getattr(now, name))
        ]
        change = text.change(after.step_time, now.step_time) or say("unknown")
        found.append(say(moves, id=id, what=text.listed(moved) or say("nothing"), change=change))
    return text.sentences(*found)
