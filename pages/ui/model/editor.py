"""The controls of the Model page: the model's own figures, and those of one block at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

import streamlit as st

from calc import custom
from calc.design import checks, edits, starts, table
from calc.design.kinds import LABELS
from calc.design.reading import Table
from calc.words import say
from pages.ui.model import editing, words
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
    _fields(edits.of_whole(content), waits, notes, "whole", 5)
    i = _chosen_block(content)
    _actions(content, i)
    said = editing.problem()
    if said:
        st.warning(say("The blocks stay as they are: {reason}.", reason=text.plain(said)))
    _block(content, i, waits, notes)


def origin(view: ModelView) -> None:
    """The edited model's name, and what may be done with what it came from."""
    if not view.edited:
        st.caption(say("The model that you edit stands here beside what it was."))
        return
    id = key("name")
    st.session_state[id] = view.model.name
    with st.container(horizontal=True, vertical_alignment="bottom"):
        st.text_input(
            say("Name"), key=id, max_chars=custom.LONGEST_NAME, on_change=editing.rename, width=230
        )
        st.button(say("Pin the original"), key="model-pin", on_click=editing.pin_origin)
        st.button(say("Back to it"), key="model-back", on_click=editing.back)


def _chosen_block(content: Table) -> int:
    """The block that is edited, by its number from 0."""
    blocks = table.read(content).blocks
    places = range(len(blocks))
    # What the browser holds is not overwritten unseen: after a restart it knows better.
    if BLOCK in st.session_state and st.session_state[BLOCK] not in places:
        st.session_state[BLOCK] = 0
    chosen = st.pills(
        say("Block"),
        list(places),
        format_func=lambda i: say(
            "{n}: {count:,} × {attention}", n=i + 1, count=blocks[i].count,
            attention=blocks[i].attention.label,
        ),
        default=0,
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
    now = next((one for one in starts.LIMITS if one in attention), "")
    chosen = [
        (say("Attention"), edits.attention_kind, attention.get("kind", ""),
         starts.ATTENTION_KINDS, say("none")),
        *([(say("Sees"), edits.around, now, limits, say("all tokens"))] if limits else []),
        (say("Feed-forward"), edits.feedforward_kind, feedforward.get("kind", ""),
         starts.FEEDFORWARD_KINDS, say("none")),
    ]  # fmt: skip
    with st.grid(3, min_column_width=130, vertical_alignment="bottom"):
        for label, edit, kind, kinds, nothing in chosen:
            _kind(label, edit, i, kind, kinds, nothing)
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


def _kind(
    label: str, edit: Callable[..., Table], i: int, now: str, kinds: Iterable[str], nothing: str
) -> None:
    """A choice of kinds, the present one and none among them."""
    id = key(f"{edit.__name__}-{i}")
    if id not in st.session_state or st.session_state[id] != now:
        st.session_state[id] = now
    st.selectbox(
        label,
        list(dict.fromkeys(["", *kinds, now])),
        format_func=lambda kind: say(LABELS[kind]) if kind else nothing,
        key=id,
        on_change=_change_kind,
        args=(edit, i, id),
    )


def _change_kind(edit: Callable[..., Table], i: int, id: str) -> None:
    kind = st.session_state[id]
    editing.change(lambda content: edit(content, i, kind))


def _fields(
    entries: Sequence[edits.Entry],
    waits: Mapping[edits.Path, tuple[Any, str]],
    notes: Mapping[edits.Path, Sequence[str]],
    name: str,
    columns: int,
) -> None:
    """Controls of figures; those that most models do without are folded away."""
    shown = [one for one in entries if not one.extra or one.path in waits]
    rest = [one for one in entries if one not in shown]
    with st.grid(columns, min_column_width=88, vertical_alignment="bottom"):
        for entry in shown:
            _field(entry, waits, notes)
        if rest:
            _more(rest, waits, notes, name)
    for entry in shown:
        _beside(entry, waits, notes)


def _more(
    entries: Sequence[edits.Entry],
    waits: Mapping[edits.Path, tuple[Any, str]],
    notes: Mapping[edits.Path, Sequence[str]],
    name: str,
) -> None:
    """Figures that most models do without, folded away."""
    with st.popover(say("More figures"), key=f"model-more-{name}", on_change="rerun") as popover:
        if popover.open:
            for entry in entries:
                _field(entry, waits, notes)


def _field(
    entry: edits.Entry,
    waits: Mapping[edits.Path, tuple[Any, str]],
    notes: Mapping[edits.Path, Sequence[str]],
) -> None:
    """One control, and what is to know beside it."""
    id = key(entry.path)
    value, _ = waits.get(entry.path, (entry.value, ""))
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


def _beside(
    entry: edits.Entry,
    waits: Mapping[edits.Path, tuple[Any, str]],
    notes: Mapping[edits.Path, Sequence[str]],
) -> None:
    """Why a figure waits, and what is to know of it."""
    label = say(entry.label)
    if entry.path in waits:
        value, why = waits[entry.path]
        told = say("{label} {value} waits: {reason}.", label=label, value=words.valued(value),
                   reason=why)  # fmt: skip
        st.markdown(f":red[{text.plain(told)}]")
    for said in notes.get(entry.path, ()):
        st.caption(f"{label}: {text.plain(said)}")
