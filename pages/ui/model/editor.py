"""The controls of the Model page: the model's own figures, and those of one block at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
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


@dataclass(frozen=True)
class _Told:
    """What stands beside figures, by their paths: values that wait with why, and notes."""

    waits: Mapping[edits.Path, tuple[Any, str]]
    notes: Mapping[edits.Path, Sequence[str]]

    @classmethod
    def of(cls, view: ModelView) -> _Told:
        """Of the model as it is."""
        notes: dict[edits.Path, list[str]] = {}
        for path, said in checks.notes(view.scenario):
            notes.setdefault(path, []).append(said)
        return cls(editing.waiting(), notes)

    def parted(self, entries: Sequence[edits.Entry]) -> tuple[list[edits.Entry], list[edits.Entry]]:
        """Figures that are shown, and those that most models do without."""
        rest = [one for one in entries if one.extra and one.path not in self.waits]
        return [one for one in entries if one not in rest], rest


def draw(view: ModelView) -> None:
    """All controls."""
    content, told = view.content, _Told.of(view)
    shown, rest = told.parted(edits.of_whole(content))
    _fields(shown, told, 4)
    _said(shown, told)
    i = _chosen_block(content)
    with st.container(horizontal=True):
        _actions(content, i)
        _more(rest, told, say("More of the model"), "whole")
    problem = editing.problem()
    if problem:
        st.warning(say("The blocks stay as they are: {reason}.", reason=text.plain(problem)))
    _block(content, i, told)


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


def _block(content: Table, i: int, told: _Told) -> None:
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
    shown, rest = told.parted(entries)
    _fields(shown, told, 3, partial(_more, rest, told, say("More figures"), f"block-{i}"))
    _said(shown, told)


def _kind(
    label: str, edit: Callable[..., Table], i: int, now: str, kinds: Iterable[str], nothing: str
) -> None:
    """A choice of kinds, the present one and none among them."""
    id = key(f"{edit.__name__}-{i}")
    # Written anew each time: browsers hold a choice by its name in the language of before.
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
    told: _Told,
    columns: int,
    last: Callable[[], None] = lambda: None,
) -> None:
    """Controls of figures, and what is drawn behind the last."""
    with st.grid(columns, min_column_width=150, vertical_alignment="bottom"):
        for entry in entries:
            _field(entry, told)
        last()


def _more(entries: Sequence[edits.Entry], told: _Told, label: str, name: str) -> None:
    """Figures that most models do without, folded away."""
    if not entries:
        return
    with st.popover(label, key=f"model-more-{name}", on_change="rerun") as popover:
        if popover.open:
            for entry in entries:
                _field(entry, told)


def _field(entry: edits.Entry, told: _Told) -> None:
    """One control; what was typed stays in it while it waits."""
    id = key(entry.path)
    value, _ = told.waits.get(entry.path, (entry.value, ""))
    if id not in st.session_state or st.session_state[id] != value:
        st.session_state[id] = value
    about: dict[str, Any] = {"key": id, "on_change": editing.figure, "args": (entry.path,)}
    if entry.flag:
        st.checkbox(say(entry.label), **about)
    else:
        st.number_input(
            say(entry.label),
            entry.low,
            entry.high,
            None,
            step=entry.step,
            placeholder=say("not said"),
            **about,
        )


def _said(entries: Sequence[edits.Entry], told: _Told) -> None:
    """Why figures wait, and what is to know of them."""
    for entry in entries:
        label = say(entry.label)
        if entry.path in told.waits:
            value, why = told.waits[entry.path]
            words_of = say("{label} {value} waits: {reason}.", label=label,
                           value=words.valued(value), reason=why)  # fmt: skip
            st.markdown(f":red[{text.plain(words_of)}]")
        for note in told.notes.get(entry.path, ()):
            st.caption(f"{label}: {text.plain(note)}")
