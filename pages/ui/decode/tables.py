"""The table of a step's operators."""

from __future__ import annotations

from calc.decode import StepTime
from calc.words import say
from pages.ui.frame.section import Table
from pages.ui.writing import text


def breakdown(step: StepTime) -> Table:
    """Each operator and each message with its time, and what binds it."""
    head = [say("Operator"), say("Reading"), say("Computing"), say("Takes"), say("Bound by")]
    rows = [
        [
            text.plain(say(row.name)),
            text.si(row.read, "s"),
            text.si(row.compute, "s"),
            text.si(row.time, "s"),
            say("compute") if row.compute_bound else say("memory"),
        ]
        for row in step.work.by_name()
    ]
    rows += [
        [text.plain(say(name)), "", "", text.si(float(time), "s"), say("links")]
        for name, time in step.work.transfers.items()
    ]
    if float(step.overhead):
        rows.append([say("overhead"), "", "", text.si(float(step.overhead), "s"), ""])
    return Table(head, rows)
