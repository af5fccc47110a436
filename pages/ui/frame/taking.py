"""What a click or a pick gives the scenario, whichever control holds it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import streamlit as st

from calc.fields import Quantity
from calc.link import TEXTS, dump_value
from pages.ui.frame.link import carried, has_room
from pages.ui.frame.presentation import BY_NAME as FIELDS


def use_batch(batch: float) -> None:
    """Make a batch the scenario's, if it can be."""
    field = FIELDS["batch"]
    assert isinstance(field, Quantity)
    if field.problem(batch) is None:
        st.session_state[field.key] = int(batch)


_TEXT_KEYS = {text.name: text.key for text in TEXTS}


def use(values: Mapping[str, Any]) -> None:
    """Make plain values, by the names of fields and texts, the scenario's, if the link has room.

    A control that was folded away starts with the value it is given, and would not tell the link.
    """
    texts = {_TEXT_KEYS[name]: text for name, text in values.items() if name in _TEXT_KEYS}
    if texts and not has_room(texts):
        return
    for name, value in values.items():
        field = FIELDS.get(name)
        key = field.key if field else _TEXT_KEYS[name]
        if key not in st.session_state:
            st.query_params[key] = dump_value(field, value) if field else value
        st.session_state[key] = value


# What goes into the link when somebody picks a model or a chip, unless it holds another already:
# weights as the model is published, and the share of memory that engines take by default.
PUBLISHED = "pub"
SUGGESTED: Mapping[str, Mapping[str, Any]] = {
    "model": {"weight_format": PUBLISHED, "usable_memory": 0.9},
    "chip": {"usable_memory": 0.9},
}


def suggest(picked: str) -> None:
    """Suggest what goes with a pick; defaults of the schema stay what absent keys mean."""
    there = carried()
    suggested = SUGGESTED.get(picked, {}).items()
    use({name: value for name, value in suggested if FIELDS[name].key not in there})
