"""Replicas of several models on a pool of devices, placed as an integer program."""

from __future__ import annotations

import math
from typing import Any

import streamlit as st

from calc import Scenario, cost, memory, packing
from calc.words import marked, say
from pages.ui.capacity import figures, solver
from pages.ui.charts import kit
from pages.ui.writing import text

GOALS: dict[packing.Objective, str] = {
    "most": marked("most replicas served"),
    "fewest": marked("all, on the fewest devices"),
    "cheapest": marked("all, on the cheapest devices"),
}
GOAL = "packing-goal"
Columns = dict[str, list[Any]]


def _models(s: Scenario) -> Columns:
    """Replicas of the scenario, by the messages that the columns are called by."""
    ledger = memory.ledger(s)
    return {
        marked("Model"): [f"{s.model.name}, {s.stored.id}"],
        marked("Size (GB)"): [_gigabytes(ledger.weights + ledger.kv_cache)],
        marked("Replicas"): [3.0],
    }


def _devices_of(s: Scenario) -> Columns:
    """The scenario's chips as one device; what nobody publishes is left empty."""
    price = cost.price(s)
    return {
        marked("Device"): [f"{s.n_chips} × {s.chip.name}"],
        marked("Memory (GB)"): [_gigabytes(memory.capacity(s))],
        marked("USD per hour"): [round(price * s.n_chips, 2) if math.isfinite(price) else None],
        marked("Devices"): [2.0],
    }


def _gigabytes(size: float) -> float:
    return round(text.GIGA * size, 1)


Rows = list[dict[str, Any]]
# A pool is solved well within it; beyond it the best found is shown and said to be so.
SECONDS = 3.0


def section(scenario: Scenario) -> None:
    """Two tables to type into, which start from the scenario, a goal, and the placement."""
    st.caption(
        say("Three replicas of this scenario on two such groups of chips. Type your own; rows can "
            "be added.")
    )  # fmt: skip
    left, right = st.columns(2)
    with left:
        models = _edited(_models(scenario), "packing-models")
    with right:
        devices = _edited(_devices_of(scenario), "packing-devices")
    goal = st.segmented_control(
        say("Goal"),
        list(GOALS),
        format_func=lambda goal: say(GOALS[goal]),
        default="most",
        required=True,
        key=GOAL,
        persist_state="session",
    )
    try:
        items, pool = _items(models), _devices(devices)
        packing.check(items, pool)
    except packing.PackingError as error:
        st.warning(say("Nothing is placed: {reason}.", reason=text.plain(str(error))))
        return
    lost = [item for item in packing.hopeless(items, pool) if item.replicas]
    if lost:
        names = text.plain(text.listed(item.name for item in lost))
        st.warning(say("Fits on no device: {names}.", names=names))
        if goal != "most":
            return
    try:
        with st.spinner(say("Placing replicas …")):
            placed = _solved(items, pool, goal)
    except packing.PackingError as error:
        st.warning(say("No placement: {reason}.", reason=text.plain(str(error))))
        return
    st.markdown(_verdict(placed, pool))
    if placed.loads:
        kit.show(
            figures.placement(placed),
            key="packing-chart",
            alt=text.sentences(
                say("Replicas on each device."), _verdict(placed, pool).replace("*", "")
            ),
        )


def _edited(start: Columns, key: str) -> Rows:
    """An editable table that keeps what was typed when its page is left.

    While nothing is typed it starts as the scenario gives it.
    """
    begun, last, offered = f"_{key}-start", f"_{key}-last", f"_{key}-offered"
    before = st.session_state.get(last, start)
    if before == st.session_state.get(offered, start):
        st.session_state[begun] = start
    elif key not in st.session_state:
        # The widget is new on the page and its own edits are gone: it starts from the last state.
        st.session_state[begun] = before
    st.session_state[offered] = start
    edited = st.data_editor(
        st.session_state[begun],
        num_rows="dynamic",
        key=key,
        column_config={name: st.column_config.Column(say(name)) for name in start},
    )
    columns = {name: list(edited[name]) for name in start}
    st.session_state[last] = columns
    return [dict(zip(columns, cells, strict=True)) for cells in zip(*columns.values(), strict=True)]


def _number(row: dict[str, Any], column: str) -> float:
    value = row[column]
    if value is None or (isinstance(value, float) and math.isnan(value)):
        raise packing.PackingError(
            say("{name}: {column} is empty", name=_name(row), column=say(column))
        )
    return float(value)


def _positive(row: dict[str, Any], column: str) -> float:
    value = _number(row, column)
    if value <= 0:
        raise packing.PackingError(
            say("{name}: {column} is not above 0", name=_name(row), column=say(column))
        )
    return value


def _whole(row: dict[str, Any], column: str) -> int:
    value = _number(row, column)
    if value % 1:
        raise packing.PackingError(
            say("{name}: {column} is not a whole number", name=_name(row), column=say(column))
        )
    return int(value)


def _name(row: dict[str, Any]) -> str:
    first = next(iter(row.values()))
    return str(first) if first else say("a row without a name")


def _items(rows: Rows) -> tuple[packing.Item, ...]:
    return tuple(
        packing.Item(_name(row), 1e9 * _positive(row, "Size (GB)"), _whole(row, "Replicas"))
        for row in rows
    )


def _devices(rows: Rows) -> tuple[packing.Device, ...]:
    return tuple(
        packing.Device(
            _name(row),
            1e9 * _positive(row, "Memory (GB)"),
            _number(row, "USD per hour"),
            _whole(row, "Devices"),
        )
        for row in rows
    )


# The program is solved again only when a table or the goal changes, not at every slider move.
@st.cache_data(show_spinner=False, max_entries=200)
def _solved(
    items: tuple[packing.Item, ...], devices: tuple[packing.Device, ...], goal: packing.Objective
) -> packing.Placement:
    return solver.solve(packing.build(items, devices, goal), SECONDS)


def _verdict(placed: packing.Placement, devices: tuple[packing.Device, ...]) -> str:
    wanted = sum(item.replicas for item in placed.items)
    number = sum(device.count for device in devices)
    proof = (
        ""
        if placed.proven
        else say("Best found in {seconds:g} s, not proven to be the best.", seconds=SECONDS)
    )
    missing = {
        item.name: count for item, count in zip(placed.items, placed.unplaced, strict=True) if count
    }
    lie = say(
        "**{served} of {wanted} replicas** lie on {used} of {n} devices, {price} an hour",
        served=placed.served,
        wanted=wanted,
        used=len(placed.loads),
        n=number,
        price=text.usd(placed.cost),
    )
    without = text.plain(text.listed(f"{count} × {name}" for name, count in missing.items()))
    if missing:
        lie = text.clauses([lie, say("without a place: {replicas}", replicas=without)])
    return text.sentences(say("{statements}.", statements=lie), proof)
