"""The scenario's controls. They live in the frame, so that every page shares them and the link."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any

import streamlit as st

from calc.scenario import FIELDS, Catalogues, Choice, Field, Quantity
from pages.ui import customs
from pages.ui.link import held

# What stands under which heading, row by row.
GROUPS: dict[str, tuple[tuple[str, ...], ...]] = {
    "Model": (("model",),),
    "Hardware": (("chip", "usable_memory"), ("n_chips",)),
    "Precision": (("weight_format", "kv_format"), ("compute_format",)),
    "Workload": (("batch",), ("context",)),
    "Speculation": (
        ("acceptance", "n_draft"),
        ("draft", "cost_ratio"),
        ("temperature", "top_k"),
        ("top_p",),
    ),
}

# Of one page only: folded away on the others, and left out where it holds nothing.
FOLDED = "Speculation"


def ladder(low: int, high: int) -> list[int]:
    """Stops of a logarithmic slider: four to an octave, every power of two among them."""
    stops = {low, high}
    octave = 1
    while octave <= high:
        stops.update(octave * quarter // 4 for quarter in (4, 5, 6, 7))
        octave *= 2
    return sorted(stop for stop in stops if low <= stop <= high)


def _exact_values(field: Quantity) -> set[int]:
    """Values that the slider must offer though they are no stops: the current one, the link's."""
    given = [st.session_state.get(field.key), st.query_params.get(field.key)]
    return {
        int(value)
        for value in given
        if value is not None and str(value).isdecimal() and field.problem(int(value)) is None
    }


def _logarithmic(field: Quantity) -> int:
    """A slider on a logarithmic scale beside a box for any exact integer.

    The slider is bound to the link. The box follows it, and sets it when somebody types: that is
    one step in the browser's history, so Back undoes it.
    """
    exact = f"{field.key}-exact"
    stops = sorted({*ladder(int(field.low), int(field.high)), *_exact_values(field)})
    slide, box = st.columns([6, 7], vertical_alignment="bottom", wrap=False)
    value: int = slide.select_slider(
        field.label,
        stops,
        value=int(field.default),
        key=field.key,
        help=field.help,
        bind="query-params",
    )
    st.session_state[exact] = value
    box.number_input(
        f"{field.label}, exact",
        int(field.low),
        int(field.high),
        step=1,
        key=exact,
        label_visibility="collapsed",
        on_change=_use_exact,
        args=(field.key, exact),
    )
    return value


def _use_exact(key: str, exact: str) -> None:
    # An emptied box holds None: the slider keeps its value.
    if st.session_state[exact] is not None:
        st.session_state[key] = st.session_state[exact]


def _control(field: Field, offered: Catalogues) -> Any:
    if isinstance(field, Choice):
        ids = field.ids(offered)
        return st.selectbox(
            field.label,
            ids,
            index=ids.index(field.default),
            key=field.key,
            help=field.help,
            bind="query-params",
        )
    if field.whole and field.low > 0:
        return _logarithmic(field)
    number = int if field.whole else float
    return st.slider(
        field.label,
        number(field.low),
        number(field.high),
        number(field.default),
        step=1 if field.whole else 0.01,
        key=field.key,
        help=field.help,
        bind="query-params",
    )


def controls(used: Collection[str], offered: Catalogues) -> dict[str, Any]:
    """Draw the controls and return the field values.

    What a page does not use is said beside the heading. Every control stays in its place: a bound
    one that is left out, or drawn elsewhere, may lose its value from the link.
    """
    values: dict[str, Any] = {}
    with st.sidebar:
        for group, rows in GROUPS.items():
            if group == FOLDED and not _needed(rows, used):
                values |= {name: FIELDS[name].default for row in rows for name in row}
                continue
            with _heading(group, rows, used):
                for names in rows:
                    for column, name in zip(_cells(len(names)), names, strict=True):
                        with column:
                            values[name] = _control(FIELDS[name], offered)
                if group == FOLDED:
                    customs.weights()
            if group in customs.EDITORS:
                customs.EDITORS[group]()
    return values


def _needed(rows: Iterable[Iterable[str]], used: Collection[str]) -> bool:
    """Whether a folded group must be drawn: for the page, or to keep what the link holds of it."""
    keys = [FIELDS[name].key for row in rows for name in row]
    return any(name in used for row in rows for name in row) or held([*keys, customs.WEIGHTS])


def _heading(group: str, rows: Iterable[Iterable[str]], used: Collection[str]) -> Any:
    if group == FOLDED:
        return st.expander(group, expanded=any(name in used for row in rows for name in row))
    st.caption(f"**{group}**{_unused(rows, used)}")
    return st.container()


def _unused(rows: Iterable[Iterable[str]], used: Collection[str]) -> str:
    names = [name for row in rows for name in row]
    here = [FIELDS[name].label.lower() for name in names if name in used]
    if len(here) == len(names):
        return ""
    return f" · this page uses {', '.join(here)} only" if here else " · not used on this page"


def _cells(count: int) -> list[Any]:
    return [st.container()] if count == 1 else list(st.columns(count, wrap=False))


assert {name for rows in GROUPS.values() for row in rows for name in row} == set(FIELDS)
