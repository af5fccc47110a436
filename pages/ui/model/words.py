"""The sentences of the Model page."""

from __future__ import annotations

import math
from typing import Any

from calc import compare, known
from calc.design import edits, table
from calc.words import inside, marked, say
from pages.ui.model.view import ModelView
from pages.ui.writing import palette, published, text

_MOST_CHANGES = 6


def billions(params: float) -> str:
    """Parameters as the field says them."""
    return say("{n} B", n=text.significant(params / 1e9))


def verdict(view: ModelView) -> str:
    """How large the model is, and what the edits did to its step, its cache and the batch."""
    model = view.model
    size = say(
        "{model} has **{total:,}** parameters, {active} of them active",
        model=text.plain(model.name),
        total=model.total_params,
        active=billions(model.active_params),
    )
    if not view.edited:
        return text.sentences(
            text.sentence(size),
            say("Change any figure below, and every page follows."),
        )
    return text.sentences(text.sentence(size), _effect(view), _changes(view))


def _effect(view: ModelView) -> str:
    """What changed against the origin."""
    now, before = view.now, view.before
    kv = view.scenario.kv_format
    pairs = (
        (say("parameters"), view.model.total_params, view.origin.total_params),
        (say("step time"), float(now.step.total), float(before.step.total)),
        (
            say("cache per sequence"),
            float(view.model.kv_bytes(view.scenario.context, kv)),
            float(view.origin.kv_bytes(view.scenario.context, kv)),
        ),
        (say("largest batch"), now.largest, before.largest),
        (say("USD per Mtoken"), now.usd, before.usd),
    )
    # To or from a bound there is no difference.
    told = pairs if not known.bounded(view.scenario) else pairs[:1] + pairs[2:4]
    moved = [f"{name} {change}" for name, new, old in told if (change := text.change(new, old))]
    return say(
        "Against {origin}: {moved}.",
        origin=text.plain(view.origin.name),
        moved=text.listed(moved),
    )


def why(view: ModelView) -> str:
    """Which terms of the step made it longer or shorter, and what the batch hangs on."""
    now, before = view.now, view.before
    if known.bounded(view.scenario) or not math.isfinite(float(now.step.total)):
        return published.taken(view.scenario)
    grown = [
        f"{say(palette.QUANTITIES[name].label)} {_signed(by)}"
        for name, by in compare.moved(before.step, now.step)
        if abs(by) > 1e-3 * float(before.step.total)
    ]
    parts = _parts(view)
    return text.sentences(
        say("The step changes by {terms}.", terms=text.listed(grown)) if grown
        else say("The step stays as long as it was."),
        say("Parameters change by {parts}.", parts=text.listed(parts)) if parts else "",
    )  # fmt: skip


def _signed(seconds: float) -> str:
    return f"{'−' if seconds < 0 else '+'}{text.si(abs(seconds), 's')}"


def _parts(view: ModelView) -> list[str]:
    """Parts of the model that grew or shrank, the largest change first."""
    now, before = view.model.params_by_part, view.origin.params_by_part
    grown = {name: now.get(name, 0) - before.get(name, 0) for name in {**before, **now}}
    ranked = sorted(grown.items(), key=lambda item: -abs(item[1]))
    return [f"{say(name)} {'−' if by < 0 else '+'}{billions(abs(by))}" for name, by in ranked if by]


def _changes(view: ModelView) -> str:
    """What was edited."""
    was, now = table.written(view.origin), view.content
    found = edits.differences(was, now)
    several = len(now["blocks"]) > 1
    said = [_change(label, several * block, *pair) for label, block, *pair in found][:_MOST_CHANGES]
    if len(was["blocks"]) != len(now["blocks"]):
        said.append(
            text.plural(len(now["blocks"]), marked("{n} block"), marked("{n} blocks"))
            + f" ({len(was['blocks'])})"
        )
    if len(found) > _MOST_CHANGES:
        said.append(say("{n} more", n=len(found) - _MOST_CHANGES))
    return say("Edited: {changes}.", changes=text.listed(said)) if said else ""


def _change(label: str, block: int, old: Any, new: Any) -> str:
    words = f"{inside(label)} {valued(old)} → {valued(new)}"
    return say("{change} in block {n}", change=words, n=block) if block else words


def valued(value: Any) -> str:
    """A figure as people read it."""
    match value:
        case None:
            return "–"
        case bool():
            return say("yes") if value else say("no")
    return text.count(value)
