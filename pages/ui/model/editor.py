"""The controls of the Model page: the model's own figures, and those of one block at a time."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any

import streamlit as st

from calc.design import checks, edits, starts, table
from calc.design.kinds import LABELS
from calc.design.reading import Table
from calc.words import say
from pages.ui.model import editing
from pages.ui.model.editing import BLOCK, key
from pages.ui.model.view import ModelView
from pages.ui.writing import text

_EVERY = "model-every"


def draw(view: ModelView) -> None:
    """All controls."""
    content, waits = view.content, editing.waiting()
    notes: dict[edits.Path, list[str]] = {}
    for path, said in checks.notes(view.scenario):
        notes.setdefault(path, []).append(said)
    _fields(edits.of_whole(content), waits, notes, "whole", 4)
    i = _chosen_block(content)
    _actions(content, i)
    said = editing.problem()
    if said:
        st.warning(say("The blocks stay as they are: {reason}.", reason=text.plain(said)))
    _block(content, i, waits, notes)


def _chosen_block(content: Table) -> int:
    """The block that is edited, by its number from 0."""
    blocks = table.read(content).blocks
    places = range(len(blocks))
    if st.session_state.get(BLOCK) not in places:
        st.session_state[BLOCK] = 0
    chosen = st.pills(
        say("Block"),
        list(places),
        format_func=lambda i: say(
            "{n}: {count:,} × {attention}", n=i + 1, count=blocks[i].count,
            attention=blocks[i].attention.label,
        ),
        required=True,
        key=BLOCK,
        label_visibility="collapsed",
        persist_state="session",
    )  # fmt: skip
    return int(chosen)


def _actions(content: Table, i: int) -> None:
    """Copy, split and remove."""
    with st.container(horizontal=True):
        st.button(
            say("Copy block"),
            key="model-copy",
            on_click=editing.change,
            args=(partial(edits.copied, i=i),),
            kwargs={"block": i + 1},
        )
        with st.popover(say("Split block"), key="model-split", on_change="rerun") as popover:
            if popover.open:
                every = st.number_input(
                    say("Every so-many-th layer apart"), 2, 4096, 6, key=_EVERY,
                    persist_state="session",
                )  # fmt: skip
                st.button(
                    say("Split"),
                    key="model-split-now",
                    on_click=editing.change,
                    args=(partial(edits.split, i=i, every=int(every)),),
                    kwargs={"block": i},
                )
        st.button(
            say("Remove block"),
            key="model-remove",
            on_click=editing.change,
            args=(partial(edits.removed, i=i),),
            kwargs={"block": max(0, i - 1)},
            disabled=len(content["blocks"]) < 2,
        )


def _block(
    content: Table,
    i: int,
    waits: Mapping[edits.Path, tuple[Any, str]],
    notes: Mapping[edits.Path, Sequence[str]],
) -> None:
    """One block: its layers, its attention, its feed-forward part."""
    attention = edits.taken(content, f"blocks[{i}].attention", {})
    feedforward = edits.taken(content, f"blocks[{i}].feedforward", {})
    limits = edits.limits(content, i)
    with st.grid(3, min_column_width=130, vertical_alignment="top"):
        _kind(say("Attention"), f"attention-{i}", attention.get("kind", ""),
              starts.ATTENTION_KINDS, partial(_change_kind, edits.attention_kind, i))  # fmt: skip
        if limits:
            now = next((one for one in starts.LIMITS if one in attention), "")
            _kind(say("Sees"), f"limit-{i}", now, limits, partial(_change_kind, edits.around, i),
                  nothing=say("all tokens"))  # fmt: skip
        _kind(say("Feed-forward"), f"feedforward-{i}", feedforward.get("kind", ""),
              starts.FEEDFORWARD_KINDS,
              partial(_change_kind, edits.feedforward_kind, i))  # fmt: skip
    entries = [
        *edits.of_block(content, i),
        *edits.of_attention(content, i),
        *edits.of_feedforward(content, i),
    ]
    if attention and "cross" not in attention:
        entries.append(
            edits.Entry(f"blocks[{i}].attention.shared", LABELS["shared"],
                        bool(attention.get("shared")), 0, 1, not attention.get("shared"))
        )  # fmt: skip
    _fields(entries, waits, notes, f"block-{i}", 3)


def _change_kind(edit: Any, i: int, id: str) -> None:
    editing.change(partial(edit, i=i, **{_ARGUMENT[edit]: st.session_state[id]}))


_ARGUMENT = {edits.attention_kind: "kind", edits.feedforward_kind: "kind", edits.around: "key"}


def _kind(
    label: str, id: str, now: str, kinds: Iterable[str], change: Any, nothing: str = ""
) -> None:
    """A choice of kinds, the present one and none among them."""
    id = key(id)
    offered = list(dict.fromkeys(["", *kinds, now]))
    if st.session_state.get(id) != now:
        st.session_state[id] = now
    st.selectbox(
        label,
        offered,
        format_func=lambda kind: say(LABELS[kind]) if kind else nothing or say("none"),
        key=id,
        on_change=change,
        args=(id,),
    )


def _fields(
    entries: Sequence[edits.Entry],
    waits: Mapping[edits.Path, tuple[Any, str]],
    notes: Mapping[edits.Path, Sequence[str]],
    name: str,
    columns: int,
) -> None:
    """Controls of figures; those that most models do without are folded away."""
    shown = [one for one in entries if not one.extra or one.path in waits]
    with st.grid(columns, min_column_width=104, vertical_alignment="top"):
        for entry in shown:
            with st.container(gap="xxsmall"):
                _field(entry, waits, notes)
    rest = [one for one in entries if one not in shown]
    if not rest:
        return
    with st.popover(say("More figures"), key=f"model-more-{name}", on_change="rerun") as popover:
        if popover.open:
            for entry in rest:
                _field(entry, waits, notes)


def _field(
    entry: edits.Entry,
    waits: Mapping[edits.Path, tuple[Any, str]],
    notes: Mapping[edits.Path, Sequence[str]],
) -> None:
    """One control, and what is to know beside it."""
    id = key(entry.path)
    value, why = waits.get(entry.path, (entry.value, ""))
    if id not in st.session_state or st.session_state[id] != value:
        st.session_state[id] = value
    about = {"key": id, "on_change": editing.figure, "args": (entry.path,)}
    if entry.flag:
        st.checkbox(say(entry.label), **about)
    else:
        st.number_input(
            say(entry.label),
            entry.low,
            entry.high,
            step=entry.step,
            placeholder=say("not said"),
            **about,
        )
    if why:
        st.caption(f":red[{text.plain(why)}]")
    for said in notes.get(entry.path, ()):
        st.caption(said)
