"""Replicas of several models on a pool of devices, placed as an integer program."""

from __future__ import annotations

import math
from typing import Any

import streamlit as st

from calc import packing
from pages.ui import capacity_figures, figures, solver, text

GOALS: dict[packing.Objective, str] = {
    "most": "most replicas served",
    "fewest": "all, on the fewest devices",
    "cheapest": "all, on the cheapest devices",
}
Columns = dict[str, list[Any]]

_MODELS: Columns = {
    "Model": ["13B int8", "70B int8", "8B bf16"],
    "Size (GB)": [13.0, 70.6, 16.1],
    "Replicas": [4.0, 2.0, 3.0],
}
_DEVICES: Columns = {
    "Device": ["A100 40 GB", "H100 80 GB"],
    "Memory (GB)": [40.0, 80.0],
    "USD per hour": [1.2, 2.95],
    "Devices": [3.0, 3.0],
}

Rows = list[dict[str, Any]]
# A pool is solved well within it; beyond it the best found is shown and said to be so.
SECONDS = 3.0


def section() -> None:
    """Two tables to type into, a goal, and the placement."""
    st.caption("Sizes with cache and runtime, as you mean to reserve them. Rows can be added.")
    left, right = st.columns(2)
    with left:
        models = _edited(_MODELS, "packing-models")
    with right:
        devices = _edited(_DEVICES, "packing-devices")
    goal = st.segmented_control(
        "Goal",
        list(GOALS),
        format_func=GOALS.__getitem__,
        default="most",
        required=True,
        key="packing-goal",
        persist_state="session",
    )
    try:
        items, pool = _items(models), _devices(devices)
        packing.check(items, pool)
    except packing.PackingError as error:
        st.warning(f"Nothing is placed: {text.plain(str(error))}.")
        return
    lost = [item for item in packing.hopeless(items, pool) if item.replicas]
    if lost:
        names = text.plain(", ".join(item.name for item in lost))
        st.warning(f"Fits on no device: {names}.")
        if goal != "most":
            return
    try:
        placed = _solved(items, pool, goal)
    except packing.PackingError as error:
        st.warning(f"No placement: {text.plain(str(error))}.")
        return
    st.markdown(_verdict(placed, pool))
    if placed.loads:
        figures.show(
            capacity_figures.placement(placed),
            key="packing-chart",
            alt=f"Replicas on each device. {_verdict(placed, pool).replace('*', '')}",
        )


def _edited(start: Columns, key: str) -> Rows:
    """An editable table that keeps what was typed when its page is left."""
    begun, last = f"_{key}-start", f"_{key}-last"
    if key not in st.session_state:
        # The widget is new on the page and its own edits are gone: it starts from the last state.
        st.session_state[begun] = st.session_state.get(last, start)
    edited = st.data_editor(st.session_state[begun], num_rows="dynamic", key=key)
    columns = {name: list(edited[name]) for name in start}
    st.session_state[last] = columns
    return [dict(zip(columns, cells, strict=True)) for cells in zip(*columns.values(), strict=True)]


def _number(row: dict[str, Any], column: str) -> float:
    value = row[column]
    if value is None or (isinstance(value, float) and math.isnan(value)):
        raise packing.PackingError(f"{_name(row)}: {column} is empty")
    return float(value)


def _positive(row: dict[str, Any], column: str) -> float:
    value = _number(row, column)
    if value <= 0:
        raise packing.PackingError(f"{_name(row)}: {column} is not above 0")
    return value


def _whole(row: dict[str, Any], column: str) -> int:
    value = _number(row, column)
    if value % 1:
        raise packing.PackingError(f"{_name(row)}: {column} is not a whole number")
    return int(value)


def _name(row: dict[str, Any]) -> str:
    first = next(iter(row.values()))
    return str(first) if first else "a row without a name"


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
@st.cache_data(show_spinner="Placing replicas …", max_entries=200)
def _solved(
    items: tuple[packing.Item, ...], devices: tuple[packing.Device, ...], goal: packing.Objective
) -> packing.Placement:
    return solver.solve(packing.build(items, devices, goal), SECONDS)


def _verdict(placed: packing.Placement, devices: tuple[packing.Device, ...]) -> str:
    wanted = sum(item.replicas for item in placed.items)
    number = sum(device.count for device in devices)
    proof = "" if placed.proven else f" Best found in {SECONDS:g} s, not proven to be the best."
    missing = {
        item.name: count for item, count in zip(placed.items, placed.unplaced, strict=True) if count
    }
    without = text.plain(", ".join(f"{count} × {name}" for name, count in missing.items()))
    left = f"; without a place: {without}" if missing else ""
    return (
        f"**{placed.served} of {wanted} replicas** lie on {len(placed.loads)} of {number} devices, "
        f"{text.usd(placed.cost)} an hour{left}.{proof}"
    )
