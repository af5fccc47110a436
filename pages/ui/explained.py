"""The explanation of a number: formula, the same with values, and where they come from."""

from __future__ import annotations

import streamlit as st

from calc import Scenario
from calc.explain import EXPLANATIONS, Explanation
from calc.expression import Expression, Symbol, number_latex
from calc.words import say
from pages.ui import tables, text


def section(scenario: Scenario) -> None:
    """Pick a number, see how it comes about."""
    with st.expander(say("Explain a number"), key="explain-open", on_change="rerun") as expander:
        if expander.open:
            _explanation(scenario)


def _explanation(scenario: Scenario) -> None:
    id = st.selectbox(
        say("Number"),
        list(EXPLANATIONS),
        format_func=lambda id: say(EXPLANATIONS[id].label),
        key="explain",
        persist_state="session",
        label_visibility="collapsed",
    )
    st.markdown(say(EXPLANATIONS[id].reading))
    formula(EXPLANATIONS[id], scenario)


def formula(entry: Explanation, scenario: Scenario) -> None:
    """One formula, with symbols and with numbers, and what its symbols are."""
    written = entry.build(scenario)
    st.latex(f"{entry.symbol} = {written.latex()}")
    st.latex(f"{entry.symbol} = {written.latex(numbers=True)} = {_result(entry, written)}")
    st.markdown(_glossary(written))
    st.caption(say("Source: {source}. SI units throughout.", source=text.plain(entry.source)))


def _result(entry: Explanation, formula: Expression) -> str:
    return rf"{number_latex(formula.value)}\ \text{{{say(entry.unit)}}}"


def _glossary(formula: Expression) -> str:
    """Each symbol once: what it means, its value, its unit."""
    symbols: dict[str, Symbol] = {symbol.name: symbol for symbol in formula.symbols()}
    return tables.markdown(
        [say("Symbol"), say("Meaning"), say("Value"), say("Unit")],
        [
            [
                f"${symbol.name}$",
                say(symbol.meaning),
                f"${number_latex(symbol.value)}$",
                say(symbol.unit),
            ]
            for symbol in symbols.values()
        ],
    )
