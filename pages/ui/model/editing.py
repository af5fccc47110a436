"""Edits as the page's controls make them: each makes the scenario's custom model at once.

What cannot be taken yet waits where it was typed, and is tried again with the next edit.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import streamlit as st

from calc import LedgerError, Model, custom, naming
from calc.design import edits, table
from calc.design.reading import Table
from calc.scenario import FIELDS
from calc.words import say
from pages.ui.frame import customs, language, pinned
from presets import models

# What was typed and cannot be taken, by path, with the reason; and of which model.
_WAITING, _OF = "_model-waiting", "_model-waiting-of"
_PROBLEM = "_model-problem"
BLOCK = "model-block"


def key(path: edits.Path) -> str:
    """The control of a figure."""
    return f"model:{path}"


def current() -> Model:
    """The model that the sidebar holds, now."""
    id = st.session_state.get(FIELDS["model"].key, FIELDS["model"].default)
    return custom.model(st.session_state["cfg"]) if id == custom.ID else models[id]


def _identity() -> tuple[str, str]:
    """What tells whether somebody has chosen another model meanwhile."""
    state = st.session_state
    return state.get("model", ""), state.get("cfg", "") if state.get("model") == custom.ID else ""


def waiting() -> dict[edits.Path, tuple[Any, str]]:
    """Values that wait, each with why."""
    if st.session_state.get(_OF) != _identity():
        return {}
    found: dict[edits.Path, tuple[Any, str]] = st.session_state.get(_WAITING, {})
    return found


def problem() -> str:
    """Why the last change of blocks was not made; empty if it was."""
    same = st.session_state.get(_OF) == _identity()
    return str(st.session_state.get(_PROBLEM, "")) if same else ""


def _use(content: Table, name: str = "") -> None:
    """Make a table the scenario's model."""
    before = current()
    origin = before.origin
    if not origin:
        origin = before.id if before.id in models else st.session_state["cfg"]
    named = name or (before.name if before.origin else say("{model}, edited", model=before.name))
    read = table.read(content, id=custom.ID, name=naming.fit(named) or before.name)
    customs.use_edited(replace(read, origin=origin))


def _keep(waits: dict[edits.Path, tuple[Any, str]], why: str = "") -> None:
    st.session_state[_WAITING], st.session_state[_PROBLEM] = waits, why
    st.session_state[_OF] = _identity()


def figure(path: edits.Path) -> None:
    """Take what a control holds for a figure, with what waits."""
    language.speak()
    wanted = {waits: value for waits, (value, _) in waiting().items() if waits != path}
    wanted[path] = st.session_state[key(path)]
    content = table.written(current())
    settled, reasons = edits.settled(content, wanted)
    try:
        if settled != content:
            _use(settled)
    except custom.CustomError as error:
        reasons = {path: str(error)}
    _keep({waits: (wanted[waits], why) for waits, why in reasons.items()})


def change(edit: Callable[[Table], Table], *, block: int | None = None) -> None:
    """Change the blocks, and choose one of them; or say why they stay."""
    language.speak()
    try:
        _use(edit(table.written(current())))
    except LedgerError as error:
        _keep({}, str(error))
        return
    _keep({})
    if block is not None:
        st.session_state[BLOCK] = block


def rename() -> None:
    """Take the name that was typed."""
    language.speak()
    name = str(st.session_state[key("name")]).strip()
    if name:
        try:
            _use(table.written(current()), name)
        except custom.CustomError as error:
            _keep(waiting(), str(error))


def pin_origin() -> None:
    """Pin the scenario with what the model was edited from."""
    origin = current().origin
    if origin in models:
        pinned.add(models[origin].name, model=origin)
    elif origin:
        pinned.add(custom.model(origin).name, custom_model=origin)


def back() -> None:
    """Return to what the model was edited from."""
    origin = current().origin
    if origin in models:
        st.session_state["model"] = origin
    elif origin:
        st.session_state["cfg"] = origin
    _keep({})
