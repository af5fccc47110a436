"""Tables of the Capacity page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import streamlit as st

from calc import Scenario, calibration, capacity, known
from calc.words import say
from pages.ui.writing import published, sortable, tables, text, written
from presets import chips, formats

# The precisions that are compared.
COMPARED = ("bf16", "int8", "int4")


Pair = tuple[capacity.Topology, capacity.Topology]


def compared(scenario: Scenario) -> list[Pair]:
    """The smallest slice for the weights and its double: as the scenario stores, and in others."""
    s = scenario
    own = (capacity.topology(s), capacity.topology(s, doubled=True))
    both = (s.stored, s.kv_format)
    others = [formats[id] for id in COMPARED if both != (formats[id], formats[id])]
    return [own, *capacity.topologies(s, others)]


def topologies(scenario: Scenario, pairs: Sequence[Pair]) -> tables.Table:
    """Smallest slices and their doubles, with memory full."""
    rows = []
    for small, double in pairs:
        for i, found in enumerate((small, double)):
            weighs = [text.si(found.weights, "B"), text.significant(found.chips_raw)]
            name = say("doubled") if i else _stored(found)
            rows.append([name, *_cells(scenario, found), *(["", ""] if i else weighs)])
    head = [say("Weights and KV"), say("Slice"), say("Request/s per chip"),
            say("Decoding alone"), say("USD / Mtok"),
            say("Sequences"), say("Step"), say("Left for KV"), say("Weights"),
            say("Weights ÷ chip memory")]  # fmt: skip
    return tables.table(head, rows)


def _stored(found: capacity.Topology) -> str:
    weights, cache = found.stored.id, found.kv_format.id
    if weights == cache:
        return text.plain(weights)
    return text.plain(say("{weights}, {cache} KV", weights=weights, cache=cache))


def _cells(s: Scenario, found: capacity.Topology) -> list[str]:
    if not found.n_chips:
        return [say("none"), "", "", "", "", "", ""]
    made = ["–", "–", "–"]
    if found.sequences:
        made = [
            published.upper(s, found.requests_per_second, text.significant),
            published.upper(s, found.decoded_per_second, text.significant),
            published.lower(s, found.usd_per_million_tokens, text.usd),
        ]
    return [
        text.count(found.n_chips),
        *made,
        written.batches(s, found.sequences),
        _step(s, found) if found.sequences else "–",
        text.si(found.free, "B"),
    ]


def basis(scenario: Scenario) -> list[str]:
    """What the ranges in brackets stand on: slices that are full decode a batch."""
    several = replace(scenario, batch=2)
    return [] if calibration.no_class(scenario) else written.basis(several, ["step_time"])


def _step(s: Scenario, found: capacity.Topology) -> str:
    """Its time, and between what it usually lies."""
    batch, chips = found.sequences, found.n_chips
    usual = written.ranged("step_time", found.step_time, s, batch=batch, chips=chips)
    time = published.seconds(s, found.step_time)
    return f"{time} ({usual})" if usual else time


# The order of `every_chip`, and what links call its columns.
ORDER = "every-chip-order"
ORDERS = sortable.orders(
    ("chip", "vendor", "chips", "batch", "step", "usually", "rate", "usd", "bounds", "unknown")
)


def every_chip(scenario: Scenario) -> None:
    """The scenario on the fewest chips of every kind, sortable."""
    found = capacity.fits(scenario, chips)
    held = [fit for fit in found if fit.n_chips]
    column = sortable.Column
    shown = [
        column("chip", say("Chip"), [fit.chip.name for fit in held]),
        column("vendor", say("Vendor"), [fit.chip.vendor for fit in held]),
        column("chips", say("Chips"), [fit.n_chips for fit in held]),
        column("batch", say("Largest batch"),
               sortable.batches(scenario, [fit.max_batch for fit in held])),
        column("step", say("Step (ms)"),
               [sortable.known(1e3 * fit.step_time) for fit in held], "%.3g"),
        column("usually", say("Usually"), _usual(held)),
        column("rate", say("Token/s per chip"),
               [sortable.known(fit.throughput_per_chip) for fit in held], "%.4g"),
        column("usd", say("USD / Mtok"),
               [sortable.known(fit.usd_per_million_tokens) for fit in held], "%.3g"),
        # The figures of a column are plain numbers: what they are stands beside them.
        column("bounds", say("Time and price"),
               [say("at least") if fit.bounded else "" for fit in held]),
        column("unknown", say("Not published"), [_missing(fit) for fit in held]),
    ]  # fmt: skip
    sortable.table(ORDER, [one for one in shown if any(one.cells)], height=420)
    left = [fit.chip.name for fit in found if not fit.n_chips]
    if left:
        st.caption(text.plain(say("No slice holds it: {chips}.", chips=text.listed(left))))


def _missing(fit: capacity.Fit) -> str:
    """Why a figure of a chip is none, or a bound."""
    assert fit.scenario
    missing = known.unknown(fit.scenario)
    return text.listed([
        *(say("{format} rate", format=one.id) for one in missing.rates),
        *([say("memory bandwidth")] if missing.bandwidth else []),
        *([say("link bandwidth")] if missing.links else []),
        *([say("price")] if fit.chip.price is None else []),
    ])  # fmt: skip


def _usual(fits: Sequence[capacity.Fit]) -> list[str]:
    """Where the steps of chips usually lie, each by its own class."""
    return [
        written.span("step_time", fit.step_time, fit.scenario) if fit.scenario else ""
        for fit in fits
    ]
