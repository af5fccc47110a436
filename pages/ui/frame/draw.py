"""How a page is drawn: its title, its parts in their places, its tabs, and its explanations."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from functools import partial
from typing import Any, Generic

import streamlit as st

from calc import Scenario, calibration
from calc.explain import EXPLANATIONS
from calc.words import say
from pages.ui.frame import groups, link, redraw, session, sight, tabs, taking
from pages.ui.frame.page import Metrics, Page, Part, V
from pages.ui.writing import explained, hosted, published, tables, text, written

# Of the product, the same in every language.
NAME = "Inference Ledger"

_TABS, _EXPLANATIONS = "tabs", "explanations"
_CARD_HEIGHT, _LINE_HEIGHT = 84, 20


def page(shown: Page[V]) -> None:
    """Draw a page, for the scenario that app.py lends."""
    drawing = _Drawing(shown, session.lent())
    redraw.piece(redraw.BODY, drawing.body)
    if shown.ready(drawing.view):
        redraw.piece(sight.BELOW, drawing.below, apart=[sight.MARK])
    if drawing.unfinished:
        # With what is known on screen meanwhile.
        st.rerun()


class _Drawing(Generic[V]):
    """A page in two pieces, of one view: what is seen at once, and what stands below the fold."""

    def __init__(self, shown: Page[V], lent: session.Lent) -> None:
        self.shown = shown
        self.beside_title = lent.beside_title
        self.values: Mapping[str, Any] | None = None
        self.scenario = lent.scenario
        self.unfinished = False
        self.view = self._seen()

    def _seen(self) -> V:
        return self.shown.view(self.scenario, st.session_state)

    def _follow(self) -> None:
        """Take the scenario that the controls hold, where app.py does not lend it."""
        if not redraw.again():
            return
        values = link.widget_values(redraw.check())
        if values != self.values:
            self.values, self.scenario = values, link.scenario(values)
            self.view = self._seen()

    def body(self) -> None:
        """The title, and the parts above the fold."""
        self._follow()
        st.set_page_config(page_title=tables.tab_title(say(self.shown.title), self.scenario))
        _header(self.shown, self.view, [partial(one, self.scenario) for one in self.beside_title])
        if self.shown.ready(self.view):
            self._draw(_above(self.shown))
        elif self.shown.otherwise:
            self.shown.otherwise(self.view)

    def below(self) -> None:
        """All other parts."""
        self._follow()
        if redraw.BY_NAME:
            with st.container(key=sight.BELOW):
                sight.mark()
                self._draw(_below(self.shown))
        else:
            self._draw(_below(self.shown))

    def _draw(self, parts: Mapping[str, Part[V]]) -> None:
        # What is drawn before the parts above it: frame.css shows a page that has it once it is
        # whole.
        places = {
            name: st.container(key="own-controls" if name == self.shown.controls else None)
            for name in parts
        }
        order = {self.shown.controls: -1, self.shown.last: 1}
        for name in sorted(parts, key=lambda name: order.get(name, 0)):
            with places[name]:
                self.unfinished |= bool(parts[name](self.view))
        if self.unfinished and redraw.again():
            st.rerun()


def parts_of(shown: Page[V]) -> Mapping[str, Part[V]]:
    """All parts of a page below its title, from top to bottom; each can be drawn alone."""
    parts = dict(shown.parts)
    if shown.tabs:
        parts[_TABS] = partial(tabs.show, shown.tabs_key, shown.tabs)
    parts[_EXPLANATIONS] = partial(_explanations, shown)
    return parts


def _above(shown: Page[V]) -> Mapping[str, Part[V]]:
    parts, below = parts_of(shown), _below(shown)
    return {name: part for name, part in parts.items() if name not in below}


def _below(shown: Page[V]) -> Mapping[str, Part[V]]:
    """Where nothing else is said, the tabs and the explanations."""
    parts = parts_of(shown)
    names = [*parts]
    fold = names.index(shown.fold) if shown.fold else len(shown.parts)
    return {name: parts[name] for name in names[fold:]}


def _header(shown: Page[V], view: V, beside: Iterable[Callable[[], None]]) -> None:
    """The title, the scenario in one line, what stands beside, and what a link got wrong."""
    if shown.lead:
        st.markdown(f"**{NAME}** · {say(shown.lead)}")
    with st.container(
        horizontal=True, horizontal_alignment="distribute", vertical_alignment="center"
    ):
        st.title(say(shown.question), anchor=False, width="content")
        with st.container(
            horizontal=True, width="content", vertical_alignment="center", key="beside-title"
        ):
            for control in beside:
                control()
    st.caption(tables.summary(view.scenario, view.load))
    both = groups.fields(shown.groups) - set(shown.unused) >= {"prompt", "context"}
    notes(
        [
            published.taken(view.scenario),
            hosted.told(view.scenario),
            published.lengths(view.scenario) if both else "",
            *_basis(shown, view),
        ]
    )
    _offer(view.scenario)
    # Places of their own, so that charts below stay the same when something is said here or not.
    with st.container():
        link.notices()


def _basis(shown: Page[V], view: V) -> list[str]:
    """What calibrated times of a page stand on, or why they are none."""
    without = text.plain(calibration.no_class(view.scenario))
    return [without] if without else written.basis(view.scenario, shown.metrics)


def _offer(scenario: Scenario) -> None:
    """A format whose rate is known, to take with one click."""
    with st.container():
        known = published.offered(scenario)
        if known:
            st.button(
                say("Compute in {format}", format=text.plain(known.id)),
                key="offered-format",
                type="tertiary",
                on_click=taking.use,
                args=({"compute_format": known.id},),
            )


def _explanations(shown: Page[V], view: V) -> None:
    own = shown.explained or [id for id, of in shown.metrics.items() if of(view) is not None]
    explained.section(view.scenario, own, key=shown.name)


def head(verdict: str, noted: Iterable[str] = (), failure: str = "") -> None:
    """The sentence that answers the question, and what to know beside it.

    A `failure`, such as that it does not fit, goes first: without it the answer is none.
    """
    st.markdown(text.sentences(failure, verdict))
    notes(noted)


def notes(said: Iterable[str]) -> None:
    """What to know beside the verdict, a line each; an empty one says nothing."""
    lines = [f":material/info: {one}" for one in said if one]
    with st.container():
        if lines:
            st.caption("  \n".join(lines))


def metrics(shown: Metrics[V], view: V, beneath: Mapping[str, str] | None = None) -> None:
    """A row of figures by the ids of their explanations; what has none cannot be shown.

    Each card opens its formula. What is said `beneath` some goes by the same ids; a band of what
    engines reach takes its place.
    """
    values = written.values(shown, view)
    under = {**(beneath or {}), **written.bands(values, view.scenario)}
    height = _CARD_HEIGHT + (_LINE_HEIGHT if under else 0)
    with _row_of_cards(len(values)):
        for id, value in values.items():
            words = written.bounded(id, value, view.scenario)
            with _card(id, height):
                label = say(EXPLANATIONS[id].label)
                st.metric(
                    label, text.on_card(words), under.get(id), border=True,
                    delta_color="off", delta_arrow="off", height="stretch",
                )  # fmt: skip
                explained.beneath(id, label, view.scenario)


def cards(shown: Sequence[tuple[str, str, str | None]]) -> None:
    """A row of figures, each a label, a value and its meaning."""
    with _row_of_cards(len(shown)):
        for i, (label, value, meaning) in enumerate(shown):
            with _card(str(i)):
                st.metric(label, text.on_card(value), border=True, help=meaning, height="stretch")


def _row_of_cards(number: int) -> AbstractContextManager[object]:
    """Two to a row on a phone."""
    return st.grid(number, min_column_width=128)


def _card(name: str, height: int = _CARD_HEIGHT) -> AbstractContextManager[object]:
    # Held from the first paint on; frame.css lays what opens the formula over it.
    return st.container(key=f"card-{name}", height=height, border=False)
