"""Switches within pages in the link: which tab is open, a scale, a goal, what stands beside.

They are controls of a page, drawn only while it is shown, and no settings of a scenario: one key of
the link holds all that are not as they are at first. A control that no run has drawn yet keeps what
it is given, so nothing here needs to know which page is open.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import streamlit as st

from calc.errors import LedgerError
from calc.link import Problem
from calc.words import marked, say

# In links: never rename or reuse.
KEY = "x"
LABEL = marked("Switches of the pages")
LONGEST = 1000
_BETWEEN, _IS = "*", "_"
_SEEN = "_switches"
_UNREAD = "_switches_unread"
_KEPT = "_switches_kept"


@dataclass(frozen=True)
class Switch:
    """A control of a page that is no setting.

    Parameters
    ----------
    key : str
        Of its widget.
    short : str
        In links: never rename or reuse one.
    default : Any
        What it holds at first; several for `many`.
    options : sequence
        What it may hold: a `range` of whole numbers, or what gives it where that changes.
    many : bool
        Whether it holds several of them.
    tabs : bool
        Whether it is a row of tabs, whose widget holds what its reader sees.
    """

    key: str
    short: str
    default: Any
    options: Sequence[Any] | Callable[[], Sequence[Any]]
    many: bool = False
    tabs: bool = False

    @property
    def offered(self) -> Sequence[Any]:
        """What it may hold now."""
        return self.options() if callable(self.options) else self.options

    def held(self, state: Mapping[Any, Any], kept: dict[str, Any]) -> Any:
        """What its control holds, or held when it was drawn last, or would at first.

        `state` is that of the session, and `kept` what controls held, which it brings up to date.
        """
        value = kept[self.key] = state.get(self.key, kept.get(self.key))
        if self.tabs:
            return self._tab(value, state)
        if self.many:
            return tuple(self.default if value is None else value)
        # Nothing held is looked for nowhere: a range would be gone through from end to end.
        return self.default if value is None or value not in self.offered else value

    def _tab(self, shown: Any, state: Mapping[Any, Any]) -> Any:
        # As the row was labelled when it was drawn last, in whatever language that was.
        drawn = state.get(f"_{self.key}-labels", ())
        if shown in drawn:
            return self.offered[drawn.index(shown)]
        place = state.get(f"_{self.key}", 0)
        return self.offered[place] if place < len(self.offered) else self.default

    def hold(self, value: Any) -> None:
        """Make its control hold a value."""
        if self.tabs:
            st.session_state[f"_{self.key}"] = list(self.offered).index(value)
            st.session_state.pop(self.key, None)
            st.session_state.setdefault(_KEPT, {}).pop(self.key, None)
        else:
            st.session_state[self.key] = list(value) if self.many else value

    def words(self, value: Any) -> Iterable[str]:
        """What the link says of it where it holds a value: nothing while it is as at first."""
        if value == self.default:
            return ()
        return [f"{self.short}{_IS}{_slug(one)}" for one in (value if self.many else [value])]

    def of_words(self, given: Sequence[str]) -> Any:
        """What the words of a link stand for.

        Raises
        ------
        LookupError
            If one stands for nothing.
        """
        if not given:
            return self.default
        found = tuple(self._of_word(word) for word in given)
        return found if self.many else found[0]

    def _of_word(self, word: str) -> Any:
        if isinstance(self.options, range):
            found = [int(word)] if word.isdecimal() and len(word) < 10 else []
            found = [one for one in found if one in self.options]
        else:
            found = [one for one in self.offered if _slug(one) == word]
        if not found:
            raise LookupError(word)
        return found[0]


# What may be typed: numbers, and what stands between them.
_TYPED = re.compile(r"[\d.,;+\-eE]*", re.ASCII)


@dataclass(frozen=True, kw_only=True)
class Typed(Switch):
    """A control that numbers are typed into, with commas between; at first it holds nothing.

    `read` takes what was typed in its `plain` form and raises a `LedgerError` if it cannot be used.
    The link then says nothing of it, and the control keeps it.
    """

    read: Callable[[str], Any]
    default: str = ""
    options: tuple[str, ...] = ()

    def held(self, state: Mapping[Any, Any], kept: dict[str, Any]) -> str:
        typed = kept[self.key] = state.get(self.key, kept.get(self.key))
        return self._usable(str(typed or "")) or self.default

    def words(self, value: Any) -> Iterable[str]:
        return () if value == self.default else [f"{self.short}{_IS}{value}"]

    def _of_word(self, word: str) -> str:
        found = self._usable(word)
        if found is None:
            raise LookupError(word)
        return found

    @staticmethod
    def plain(typed: str) -> str:
        """What was typed with one comma wherever commas, spaces or lines stand between numbers.

        >>> Typed.plain(" [0.7, 0.4\\n0.1] ")
        '0.7,0.4,0.1'
        """
        return re.sub(r"\s*[,;]\s*|\s+", ",", typed.strip().strip("[]").strip())

    def _usable(self, typed: str) -> str | None:
        """What was typed with commas between, if it can be read."""
        text = self.plain(typed)
        if not text:
            return ""
        try:
            self.read(text)
        except LedgerError:
            return None
        return text if _TYPED.fullmatch(text) else None


def _slug(value: Any) -> str:
    return re.sub(r"[^\w.]+", "-", str(value).lower())


def keep(offered: Sequence[Switch]) -> None:
    """Let controls and link agree: whichever of them changed since the last run tells the other."""
    text = str(st.session_state.get(KEY, st.query_params.get(KEY, "")))
    if st.session_state.get(_SEEN, "") != text:
        # A link, or a step in the browser's history.
        st.session_state[_UNREAD] = _read(text, offered)
    held = _held(offered)
    told = _BETWEEN.join(word for one in offered for word in one.words(held[one.key]))
    if told != text:
        st.session_state[KEY] = told
    st.session_state[_SEEN] = told
    st.text_area(KEY, key=KEY, bind="query-params", max_chars=LONGEST)


def _held(offered: Sequence[Switch]) -> Mapping[str, Any]:
    """What all of them hold, by key: the state is read once, since Streamlit takes long over it."""
    state: Mapping[Any, Any] = st.session_state.to_dict()
    kept = st.session_state.setdefault(_KEPT, {})
    return {switch.key: switch.held(state, kept) for switch in offered}


def _read(text: str, offered: Sequence[Switch]) -> bool:
    """Give the controls what a link says; whether something of it could not be used."""
    said: dict[str, list[str]] = {}
    for word in text[:LONGEST].split(_BETWEEN) if text else ():
        short, _, value = word.partition(_IS)
        said.setdefault(short, []).append(value)
    unread = bool(said.keys() - {switch.short for switch in offered})
    held = _held(offered)
    for switch in offered:
        try:
            value = switch.of_words(said.get(switch.short, []))
        except LookupError:
            unread, value = True, switch.default
        if value != held[switch.key]:
            switch.hold(value)
    return unread


def problems() -> list[Problem]:
    """What of the switches of a link could not be used."""
    if not st.session_state.get(_UNREAD):
        return []
    return [Problem(LABEL, KEY, say("not known here"), say("what pages begin with"))]


def dismiss() -> None:
    """The reader has seen what could not be used."""
    st.session_state[_UNREAD] = False


def written() -> Mapping[str, str]:
    """The parameter of the link, if there is anything to say."""
    text = str(st.session_state.get(KEY) or "")
    return {KEY: text} if text else {}
