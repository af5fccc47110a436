"""The tables of the Measured page."""

from __future__ import annotations

from typing import Any

from calc.engine import PHASES
from calc.words import say
from pages.ui.measured import public, words
from pages.ui.measured.view import MeasuredView
from pages.ui.writing import sortable, tables, text

# Of what lies outside the band the farthest.
MOST = 40


def by_phase(view: MeasuredView) -> tables.Table:
    """Errors of each fidelity by what was timed."""
    found = view.errors("rows_phase")
    head = [say("What was timed"), say("Rows / sources")]
    head += [
        say("Error, {fidelity}", fidelity=say(words.CALLED[name])) for name in public.FIDELITIES
    ]
    shown = view.scenario.fidelity
    head += [say("Measured over {fidelity}, 10 to 90 %", fidelity=say(words.CALLED[shown]))]
    rows = []
    for phase, label in PHASES.items():
        if phase in found:
            own = found[phase][shown]
            rows.append(
                [say(label), f"{text.count(own.rows)} / {own.sources}",
                 *(words.errors(found[phase][name]) for name in public.FIDELITIES),
                 f"{text.significant(own.low)}–{text.significant(own.high)}" if own.rows else "–"]
            )  # fmt: skip
    return tables.table(head, rows)


def by_source(view: MeasuredView) -> dict[str, list[Any]]:
    """Errors of each fidelity by who published, and where: columns of figures."""
    found = view.errors("source")
    first = {row.source: row for row in reversed(public.rows())}
    columns: dict[str, list[Any]] = {
        say("Source"): list(found),
        say("Rows"): [one["operators"].rows for one in found.values()],
    }
    for name in public.FIDELITIES:
        called = say(words.CALLED[name])
        columns[say("{fidelity}: median error (%)", fidelity=called)] = [
            sortable.known(100 * one[name].median) for one in found.values()
        ]
        columns[say("{fidelity}: nine in ten (%)", fidelity=called)] = [
            sortable.known(100 * one[name].worst) for one in found.values()
        ]
    columns[say("Date")] = [first[source].date for source in found]
    columns[say("Where")] = [first[source].reference for source in found]
    return columns


def outside(view: MeasuredView) -> dict[str, list[Any]]:
    """Rows outside the band, the farthest first, with a cause where one is known."""
    found = [(view.rows[at], float(view.seconds[at] / view.predicted[at])) for at in view.outside]
    shown = found[:MOST]
    return {
        say("Row"): [row.id for row, _ in shown],
        say("What was run"): [words.described(row) for row, _ in shown],
        say("Engine"): [row.engine_name for row, _ in shown],
        say("Measured over predicted"): [ratio for _, ratio in shown],
        say("Cause"): [words.cause(row, ratio) for row, ratio in shown],
        say("Source"): [row.source for row, _ in shown],
    }


def left() -> str:
    """What could not be mapped to presets, and why."""
    rows = [[one.name, text.plain(one.reason)] for one in public.left()]
    return tables.markdown([say("Row"), say("Why not")], rows)
