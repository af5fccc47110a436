"""Which public measurements are shown; the link carries it."""

from __future__ import annotations

import streamlit as st

from calc.fields import Choice, Field, Option
from calc.words import say
from pages.ui.frame.presentation import EVERY, ROWS
from pages.ui.measured import public
from pages.ui.measured.view import MeasuredView


def controls(view: MeasuredView) -> None:
    """One for each feature, which offers what there is."""
    with st.spinner(say("The measurements are read and predicted, once on this server.")):
        public.settle()
    with st.grid(len(ROWS), min_column_width=128):
        for field in ROWS:
            st.selectbox(
                say(field.label), _offered(field), key=field.key, help=say(field.help),
                bind="query-params",
            )  # fmt: skip


def _offered(field: Field) -> list[str]:
    """Everything, and what some row has, or the link asks for."""
    if isinstance(field, Option):
        return list(field.options)
    assert isinstance(field, Choice)
    there = {*public.features()[field.name].tolist()}
    asked = st.session_state.get(field.key, st.query_params.get(field.key, EVERY))
    return [EVERY, *sorted(there | {str(asked)} - {EVERY})]
