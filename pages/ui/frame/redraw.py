"""What is drawn again when a control moves: the pieces that show it, where nothing else changed.

A run of the app draws all of a page in pieces, each a fragment under a name. A control whose move
changes nothing but what some pieces show ends its callback in `moved`, and only they are drawn. A
piece that finds anything else changed since all was drawn (another control, or a setting that no
browser knows of yet) leaves it to a run of the app, which is therefore always right and never
needed for speed.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

import streamlit as st

from pages.ui.frame import language

# Streamlit's own harness sees nothing but what was drawn last: tests let every run draw all.
BY_NAME = True
# The piece of a page that is seen at once.
BODY = "page"
_DRAWN = "_drawn"


@dataclass
class _Drawn:
    """What the browser shows: the state that it was drawn for, by pieces of these names.

    `due` are those that are to be drawn again: it outlives a run that another cut short. The state
    is known once all is drawn.
    """

    state: dict[str, Any] | None = None
    apart: set[str] = field(default_factory=set)
    pieces: list[str] = field(default_factory=list)
    due: list[str] = field(default_factory=list)
    components: list[str] = field(default_factory=list)


def begin() -> None:
    """A run of the app begins: what the browser shows is not known until it is done."""
    st.session_state[_DRAWN] = _Drawn()


def done(absent: Mapping[str, Any]) -> None:
    """All is drawn. Controls that are not there hold what is `absent`, by their keys."""
    drawn = _drawn()
    if drawn:
        drawn.due, drawn.state = [], {**absent, **_held(st.session_state.to_dict())}
        drawn.components = [
            key
            for key, held in drawn.state.items()
            # Tables hold what is selected of them.
            if isinstance(held, dict) and "selection" not in held
        ]


def piece(name: str, draw: Callable[[], None], apart: Collection[str] = ()) -> None:
    """Draw a piece, in a place where it can be drawn again.

    Controls whose keys stand `apart` are none of the state that the others look at.
    """
    drawn = _drawn()
    if not BY_NAME or drawn is None:
        draw()
        return
    drawn.pieces.append(name)
    drawn.apart.update(apart)
    first = True

    @st.fragment(key=name)
    def drawing() -> None:
        nonlocal first
        if first:
            first = False
            draw()
            return
        # app.py does it for all others.
        language.speak()
        if drawn.state is None or name not in drawn.due:
            st.rerun()
        draw()
        drawn.due.remove(name)

    drawing()


def again() -> bool:
    """Whether pieces are drawn again, rather than all."""
    drawn = _drawn()
    return drawn is not None and drawn.state is not None


def _drawn() -> _Drawn | None:
    found: _Drawn | None = st.session_state.get(_DRAWN)
    return found


def _held(state: Mapping[Any, Any]) -> dict[str, Any]:
    """What controls hold; components give a look at what they hold later."""
    return {
        key: dict(value) if isinstance(value, Mapping) else value
        for key, value in state.items()
        if not str(key).startswith("_")
    }


def check() -> Mapping[Any, Any]:
    """The state of the session; all is drawn, if anything changed of which no piece was told.

    What a piece has drawn for the first time is as it is; what is bound to the link is told from
    the beginning.
    """
    drawn, state = _drawn(), st.session_state.to_dict()
    if drawn is not None and drawn.state is not None:
        before, now = drawn.state, _held(state)
        if any(now[key] != before[key] for key in now.keys() & before.keys() - drawn.apart):
            st.rerun()
    return state


def moved(key: str, *names: str) -> None:
    """End the callback of a control: it shows what it holds, and so will pieces of these names.

    Names of pieces that there are not are none to draw. It does not return, unless all will be
    drawn.
    """
    drawn = _drawn()
    if drawn is None or drawn.state is None or any(map(_tells, drawn.components)):
        return
    drawn.state[key] = st.session_state.get(key)
    reached(*names)
    if drawn.due:
        st.rerun(list(drawn.due))


def _tells(component: str) -> bool:
    """Whether a component tells something in this very message.

    Streamlit would tell it again to the run of the pieces, and read what is bound to the link from
    an address that lags behind.
    """
    held = st.session_state.get(component) or {}
    return any(value is not None for value in held.values())


def reached(*names: str) -> None:
    """Pieces of these names are to be drawn in the run that follows."""
    drawn = _drawn()
    if drawn is not None:
        drawn.due += [one for one in drawn.pieces if one in names and one not in drawn.due]
