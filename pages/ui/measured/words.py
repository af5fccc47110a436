"""The sentences of the Measured page."""

from __future__ import annotations

from collections.abc import Mapping

from calc.measured import Agreement, Row
from calc.words import marked, say
from pages.ui.measured.view import MeasuredView
from pages.ui.writing import text

# What predictions are of, by fidelity.
CALLED: Mapping[str, str] = {
    "bound": marked("bound"),
    "operators": marked("operators"),
    "calibrated": marked("calibrated"),
}


def verdict(view: MeasuredView) -> str:
    """How far the shown fidelity is from what was measured."""
    found = view.agreement
    if not found.rows:
        return say("No measurement is of all that is asked for: take a filter back.")
    return text.sentences(_ratio(found, view.scenario.fidelity), _error(found))


def _ratio(found: Agreement, fidelity: str) -> str:
    times = {
        "middle": text.times(found.middle),
        "low": text.significant(found.low),
        "high": text.times(found.high),
    }
    rows = say(
        "{rows} public measurements of {sources} sources",
        rows=text.count(found.rows),
        sources=found.sources,
    )
    if fidelity == "bound":
        return say(
            "{rows} took **{middle}** the bound in the median, eight in ten {low} to {high}.",
            rows=rows, **times,
        )  # fmt: skip
    if fidelity == "operators":
        return say(
            "{rows} took **{middle}** the operators' time in the median, eight in ten {low} to "
            "{high}.",
            rows=rows, **times,
        )  # fmt: skip
    return say(
        "{rows} took **{middle}** the calibrated time in the median, eight in ten {low} to {high}, "
        "each predicted without its own source.",
        rows=rows, **times,
    )  # fmt: skip


def _error(found: Agreement) -> str:
    return say(
        "The prediction is off by **{median}** in half of them and by {worst} in nine of ten.",
        median=text.percent(found.median),
        worst=text.percent(found.worst),
    )


def errors(found: Agreement) -> str:
    """Both errors, as a cell."""
    if not found.rows:
        return "–"
    return f"{text.percent(found.median)} / {text.percent(found.worst)}"


def cause(row: Row, ratio: float) -> str:
    """Why a row lies outside, where that is known; empty where it is not."""
    s = row.scenario
    experts = s.model.routed_params > 0
    if ratio < 1 and experts and s.expert_parallel > 1:
        return say("experts: what goes to a node is counted too high")
    if ratio < 1 and experts:
        return say("experts: routing that is even is an expectation, not a bound")
    if row.phase == "prompt":
        return say("a lone prompt: its MFU differs from engine to engine")
    if row.batch > 256:
        return say("batches beyond 256: engines fall back")
    if s.chip.vendor == "AMD" or (row.year or 9999) < 2025:
        return say("an engine of {year}: newer ones are faster", year=row.year)
    return ""


def described(row: Row) -> str:
    """A row in one line."""
    s = row.scenario
    return say(
        "{model} on {n:,} × {chip}, {weights} weights, batch {batch}, context {context}",
        model=s.model.name, n=s.n_chips, chip=s.chip.name, weights=s.stored.id,
        batch=f"{row.batch:,.6g}", context=f"{row.context:,.6g}",
    )  # fmt: skip
