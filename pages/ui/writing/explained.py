"""The explanation of a number: formula, the same with values, and where they come from."""

from __future__ import annotations

import math
from collections.abc import Iterable

import streamlit as st

from calc import Scenario
from calc.explain import EXPLANATIONS, Explanation, bands, bounds
from calc.explain.expression import Expression, Symbol, name_plain, number_latex, number_plain
from calc.words import say
from pages.ui.frame import language
from pages.ui.writing import reference, tables, text

_NOMENCLATURE = "_nomenclature"


def section(scenario: Scenario, ids: Iterable[str], *, key: str) -> None:
    """Pick a number, see how it comes about: those that the page shows, then all others.

    Nothing is computed while it is closed.
    """
    with st.expander(
        say("Explain a number"), key=f"explain-{key}-open", on_change="rerun"
    ) as expander:
        if expander.open:
            _explanation(scenario, list(ids), key)


def open_at(page: str, id: str) -> None:
    """Open the explanations of a page at a number; before they are drawn."""
    st.session_state[f"explain-{page}-open"] = True
    st.session_state[f"explain-{page}"] = id


def beneath(id: str, label: str, scenario: Scenario) -> None:
    """What opens the formula of a figure where the figure stands; its help is the meaning."""
    reading = say(EXPLANATIONS[id].reading)
    with st.popover(
        say("Explain {label}", label=label), help=reading, key=f"explain-card-{id}",
        on_change="rerun",
    ) as popover:  # fmt: skip
        if popover.open:
            st.markdown(reading)
            formula(id, scenario)


def _explanation(scenario: Scenario, own: list[str], key: str) -> None:
    def called(id: str) -> str:
        return say(EXPLANATIONS[id].label if id in own else EXPLANATIONS[id].title)

    id = st.selectbox(
        say("Number"),
        list(dict.fromkeys([*own, *EXPLANATIONS])),
        format_func=called,
        key=language.renamed(f"explain-{key}"),
        persist_state="session",
        label_visibility="collapsed",
    )
    st.markdown(say(EXPLANATIONS[id].reading))
    formula(id, scenario)


def formula(id: str, scenario: Scenario) -> None:
    """One formula, with symbols and with numbers, what its symbols are, and all of it to copy."""
    entry = EXPLANATIONS[id]
    sense, written = bounds.written(id, entry, scenario)
    shown(entry, written, sense, bands.notes(scenario, [id]))


def shown(
    entry: Explanation, written: Expression, sense: str = "", notes: Iterable[str] = ()
) -> None:
    """A formula that is built, as an equation or as a bound, and what is known of its error."""
    relation = {bounds.LEAST: r"\ge", bounds.MOST: r"\le", "": "="}[sense]
    symbols, numbers = written.latex(), f"{written.latex(numbers=True)} = {_result(entry, written)}"
    st.latex(f"{entry.symbol} {relation} {symbols}")
    st.latex(f"{entry.symbol} {relation} {numbers}")
    st.markdown(_glossary(written))
    basis = map(text.plain, notes)
    source = say("Source: {source}. SI units throughout.", source=reference.linked(entry.source))
    st.caption(text.sentences(source, *basis))
    with st.grid(2, min_column_width=400):
        _to_copy("LaTeX", f"{entry.symbol} {relation} {symbols} = {numbers}", "latex")
        _to_copy(say("Plain text"), plain(entry, written, sense), None)


def _to_copy(title: str, content: str, kind: str | None) -> None:
    with st.container():
        st.caption(title)
        st.code(content, language=kind, wrap_lines=True)


def plain(entry: Explanation, formula: Expression, sense: str = "") -> str:
    """An explanation as plain text: formula, numbers, result, and a line for each symbol."""
    steps = (formula.plain(), formula.plain(numbers=True), number_plain(formula.value))
    symbols = (
        f"{name_plain(one.name)} = {_value_plain(one)}{_unit(one)} ({say(one.meaning)})"
        for one in _symbols(formula)
    )
    source = say("Source: {source}. SI units throughout.", source=entry.source)
    unit = "" if math.isnan(formula.value) else f" {say(entry.unit)}"
    relation = {bounds.LEAST: "≥", bounds.MOST: "≤", "": "="}[sense]
    first = f"{name_plain(entry.symbol)} {relation} {' = '.join(dict.fromkeys(steps))}{unit}"
    return "\n".join([first, *symbols, source])


def _unit(symbol: Symbol) -> str:
    """Behind its value; what is unknown has none."""
    return "" if math.isnan(symbol.value) or _unlimited(symbol) else f" {say(symbol.unit)}"


def _unlimited(symbol: Symbol) -> bool:
    """Whether it stands for a rate that nobody published; a rate is never endless otherwise."""
    return math.isinf(symbol.value) and symbol.unit in ("byte/s", "FLOP/s")


def _value_plain(symbol: Symbol) -> str:
    unlimited = _unlimited(symbol)
    return say("not published, taken as unlimited") if unlimited else number_plain(symbol.value)


def _value_cell(symbol: Symbol) -> str:
    return _value_plain(symbol) if _unlimited(symbol) else f"${number_latex(symbol.value)}$"


def _result(entry: Explanation, formula: Expression) -> str:
    if math.isnan(formula.value):
        return number_latex(formula.value)
    unit = r"\times" if entry.unit == "×" else rf"\text{{{say(entry.unit)}}}"
    return rf"{number_latex(formula.value)}\ {unit}"


def _symbols(formula: Expression) -> Iterable[Symbol]:
    """Each symbol once."""
    return {symbol.name: symbol for symbol in formula.symbols()}.values()


def _glossary(formula: Expression) -> str:
    """Each symbol: what it means, its value, its unit."""
    return tables.markdown(
        [say("Symbol"), say("Meaning"), say("Value"), say("Unit")],
        [
            [
                f"${symbol.name}$",
                say(symbol.meaning),
                _value_cell(symbol),
                say(symbol.unit),
            ]
            for symbol in _symbols(formula)
        ],
    )


def nomenclature(scenario: Scenario) -> tables.Table:
    """All explained quantities and the symbols they are written in; kept for the next rerun."""
    of = (scenario, language.current())
    kept = st.session_state.get(_NOMENCLATURE)
    if kept is None or kept[0] != of:
        rows = [
            [f"${entry.symbol}$", text.plain(say(entry.title)), text.plain(say(entry.unit)),
             entry.source]
            for entry in EXPLANATIONS.values()
        ]  # fmt: skip
        head = [say("Symbol"), say("Quantity"), say("SI unit"), say("Source")]
        kept = st.session_state[_NOMENCLATURE] = (
            of,
            tables.table(head, rows + tables.symbols(scenario)),
        )
    found: tables.Table = kept[1]
    return found
