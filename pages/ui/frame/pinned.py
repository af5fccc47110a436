"""Pinned scenarios: kept in a text that is bound to the link, read into scenarios to compare."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import streamlit as st

from calc import Scenario, known, link, pins
from calc import scenario as scenarios
from calc.fields import Choice, Field, Option, Quantity
from calc.pins import Pin
from calc.words import inside, marked, say
from pages.ui.frame import taking
from pages.ui.frame.link import PRESETS, has_room, of_pin, widget_values
from pages.ui.frame.page import ROOT
from pages.ui.frame.presentation import FIELDS, SETTINGS, VIEWING
from pages.ui.writing import text

KEY = "pins"
# Which contender differences are taken from, by name.
BASELINE = "compare-baseline"
# A name that was typed and for which the link has no room, by the pin's place.
_UNTAKEN = "_pin-untaken"
# Without these keys a pin is none.
_DECISIVE = ("model", "chip", *(text.key for text in link.TEXTS if text.catalogue))


@dataclass(frozen=True)
class Contender:
    """A scenario to compare, under a name: the one of the sidebar, or a pinned one.

    `values` are its settings as the controls hold them.
    """

    name: str
    scenario: Scenario
    values: dict[str, Any]


def given() -> list[Pin]:
    """The pins that the controls or the link hold."""
    given = str(st.session_state.get(KEY, st.query_params.get(KEY, "")))
    try:
        return pins.read(given)[0]
    except pins.PinError:
        return []


def contenders(scenario: Scenario) -> tuple[list[Contender], list[str]]:
    """The sidebar's scenario and the pinned ones, and what of the pins could not be used."""
    found = []
    said: list[str] = []
    listed = given()
    # What is pinned already needs no second line, unless there would be no other.
    if len(listed) < 2 or _query() not in [pin.query for pin in listed]:
        name = pins.fitting(say("now"), listed)
        found.append(Contender(name, known.least(scenario), widget_values()))
    for pin in given():
        values, problems = of_pin(pin)
        name = text.plain(pin.name)
        gone = [problem for problem in problems if problem.key in _DECISIVE]
        if gone:
            said += [
                say(
                    "**{pin}** is left out, but stays in the link: {label} ({key}) is {reason}.",
                    pin=name, label=say(problem.label), key=problem.key, reason=problem.reason,
                )
                for problem in gone
            ]  # fmt: skip
            continue
        said += [
            say("**{pin}**: {problem}", pin=name, problem=problem.sentence) for problem in problems
        ]
        offered, _ = link.with_custom(PRESETS, {t.key: values[t.name] for t in link.TEXTS})
        found.append(Contender(pin.name, known.least(scenarios.build(values, offered)), values))
    return found, said


def control(_: Scenario) -> None:
    """Pin the sidebar's scenario with one click, and the way to where the pins stand."""
    number = len(given())
    full = number >= pins.MOST
    st.button(
        say("Pin"),
        icon=":material/keep:",
        key="pin-add",
        on_click=add,
        disabled=full,
        help=say("{most} scenarios are pinned: remove one first.", most=pins.MOST)
        if full
        else say("The link holds the pins; Compare shows them side by side and edits their names."),
    )
    if number:
        label = text.plural(number, marked("Compare {n} pin"), marked("Compare {n} pins"))
        st.page_link(ROOT / "pages" / "compare.py", label=label, width="content")


def suggestion() -> str:
    """A name for the sidebar's scenario: what tells it from those that are pinned.

    From the defaults, where nothing is pinned; its model and machine, where nothing differs.
    """
    values = widget_values()
    others = [of_pin(pin)[0] for pin in given()]
    parts = [
        _part(field, values)
        for field in SETTINGS
        if any(values[field.name] != other[field.name] for other in others)
        or (not others and (values[field.name] != field.absent or field.name in _ALWAYS))
    ]
    name = ""
    for part in parts or [_part(_BY_NAME[name], values) for name in _ALWAYS]:
        longer = f"{name}, {part}" if name else part
        # Whole, or not at all.
        if len(longer) <= pins.LONGEST_NAME:
            name = longer
    return name


_BY_NAME = {field.name: field for field in SETTINGS}
# Told where there is nothing to be told apart from.
_ALWAYS = ("model", "chip", "n_chips")
_USES = {
    "weight_format": marked("{format} weights"),
    "kv_format": marked("{format} KV"),
    "compute_format": marked("{format} compute"),
}


def _part(field: Field, values: Mapping[str, Any]) -> str:
    """One setting as a name says it: by what it is called, else as links write it."""
    value = values[field.name]
    if isinstance(field, Choice) and field.catalogue != "formats":
        item = PRESETS[field.catalogue].get(value)
        return str(item.name if item else value)
    if field.name == "n_chips":
        return text.plural(value, marked("{n} chip"), marked("{n} chips"))
    if field.name in _USES:
        return say(_USES[field.name], format=value)
    if isinstance(field, Option):
        return say("{setting} {choice}", setting=inside(field.label), choice=value)
    if isinstance(field, Quantity):
        return f"{inside(field.label)} {link.dump_value(field, value)}"
    return f"{field.key}={link.dump_value(field, value)}"


def add(name: str = "", **other: Any) -> None:
    """Pin the sidebar's scenario; without a name under one that tells what it is.

    `other` are values, by name, in which the pinned scenario is another.
    """
    now = given()
    if len(now) < pins.MOST:
        fit = pins.fitting(name or suggestion(), now)
        _write([*now, Pin(fit, _query(**other))])


def _query(**other: Any) -> str:
    """The sidebar's settings but for others, without what a pin does not hold."""
    values = {**widget_values(), **other}
    for field in VIEWING:
        values[field.name] = field.default
    for one in link.TEXTS:
        chosen = values.get(one.catalogue.removesuffix("s")) == one.id
        if not chosen and one.key != link.PRICES:
            values[one.name] = ""
    return link.query_string(values, FIELDS)


def _write(now: Sequence[Pin]) -> bool:
    written = pins.write(now)
    if not has_room({KEY: written}):
        return False
    st.session_state[KEY] = written
    return True


def editor() -> None:
    """Rename, reorder, open and remove pins."""
    now, untaken = given(), st.session_state.get(_UNTAKEN, {})
    for i, pin in enumerate(now):
        with st.container(horizontal=True, vertical_alignment="center", key=f"pin-row-{i}"):
            st.session_state[f"pin-name-{i}"] = untaken.get(i, pin.name)
            st.text_input(
                say("Name of pin {n}", n=i + 1),
                key=f"pin-name-{i}",
                max_chars=pins.LONGEST_NAME,
                label_visibility="collapsed",
                on_change=_rename,
                args=(i,),
                width=320,
            )
            for key, label, act, idle in (
                ("up", say("Move up"), _move(i, -1), i == 0),
                ("down", say("Move down"), _move(i, 1), i == len(now) - 1),
                ("open", say("Use in the sidebar"), _open(i), False),
                ("take", say("Take from the sidebar"), _take(i), False),
                ("remove", say("Remove"), _remove(i), False),
            ):
                st.button(label, key=f"pin-{key}-{i}", on_click=act, disabled=idle, type="tertiary")


def _rename(i: int) -> None:
    now = given()
    others = now[:i] + now[i + 1 :]
    typed, before = st.session_state[f"pin-name-{i}"], now[i]
    now[i] = Pin(pins.fitting(typed, others), before.query)
    taken = _write(now)
    st.session_state[_UNTAKEN] = {} if taken else {i: typed}
    if taken and st.session_state.get(BASELINE) == before.name:
        st.session_state[BASELINE] = now[i].name


def _move(i: int, by: int) -> Callable[[], None]:
    def act() -> None:
        now = given()
        now.insert(i + by, now.pop(i))
        _write(now)

    return act


def _take(i: int) -> Callable[[], None]:
    def act() -> None:
        now = given()
        now[i] = Pin(now[i].name, _query())
        _write(now)

    return act


def _remove(i: int) -> Callable[[], None]:
    def act() -> None:
        _write([pin for j, pin in enumerate(given()) if j != i])

    return act


def _open(i: int) -> Callable[[], None]:
    def act() -> None:
        values, now = of_pin(given()[i])[0], widget_values()
        texts = {one.key: values[one.name] for one in link.TEXTS
                 if values[one.name] and one.key != KEY}  # fmt: skip
        if not has_room(texts):
            return
        fields = [field for field in FIELDS if field not in VIEWING]
        taking.use(
            {
                field.name: values[field.name]
                for field in fields
                if values[field.name] != now[field.name]
            }
        )
        st.session_state.update(texts)

    return act
