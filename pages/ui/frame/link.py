"""The link as the state: what app.py reads from it once, and the control that shares it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, Literal
from urllib.parse import parse_qs, urlencode

import streamlit as st

import presets
from calc import Scenario, link, pins
from calc import scenario as scenarios
from calc.fields import Catalogues, Choice, Option
from calc.words import say
from pages.ui.frame import language, made, switches
from pages.ui.frame.presentation import BY_KEY, FIELDS

PRESETS: Catalogues = {
    "models": presets.models,
    "chips": presets.chips,
    "formats": presets.formats,
}

_CHOICES = [field for field in FIELDS if isinstance(field, Choice)]
# What the link holds where it holds nothing, by key.
DEFAULTS: Mapping[str, Any] = {
    **{text.key: "" for text in link.TEXTS},
    **{key: field.absent for key, field in BY_KEY.items()},
}


def catalogues() -> Catalogues:
    """The presets, and the custom model and chip that the controls or the link hold."""
    return link.with_custom(PRESETS, custom_texts())[0]


def custom_texts() -> dict[str, str]:
    """Texts of the custom model and chip, by link key; the controls go before the link."""
    return {text.key: _text(text.key) for text in link.TEXTS}


def _text(key: str) -> str:
    found = st.session_state.get(key)
    return str(st.query_params.get(key, "") if found is None else found)


def carried() -> Collection[str]:
    """Keys of which the controls or the link hold anything but the default.

    For all keys at once: Streamlit takes long over reading one.
    """
    held: Mapping[Any, Any] = st.session_state.to_dict()
    moved = {key for key, default in DEFAULTS.items() if held.get(key, default) != default}
    return moved | set(st.query_params)


# Texts of the link that no visible control holds.
_OUT_OF_SIGHT = ("pins", "trace")


def keep(switched: Sequence[switches.Switch]) -> None:
    """Draw the texts that no control shows, out of sight: it binds them to the link.

    Always, since a bound widget that is first drawn with a value does not tell the link.
    """
    with st.sidebar, st.container(key="held-texts"):
        for text in link.TEXTS:
            if text.key in _OUT_OF_SIGHT:
                st.text_area(text.key, key=text.key, bind="query-params", max_chars=text.longest)
        switches.keep(switched)


_READ = "_link_read"
_GIVEN = "_link_given"


def canonicalise() -> None:
    """Once per session, replace what a link got wrong, in one history entry.

    The bound widgets would drop each bad parameter on their own, silently and with a history entry
    each. Call it after st.navigation: a rerun before that loses the requested page.
    """
    if st.session_state.get(_READ):
        return
    st.session_state[_READ] = True
    query = {key: st.query_params.get_all(key) for key in st.query_params}
    values, problems = link.parse(query, PRESETS, FIELDS)
    # The query, not the sentences: they are said in whatever language is read now.
    st.session_state[_GIVEN] = query if problems else {}
    if problems:
        kept = {k: v for k, v in query.items() if k not in link.keys(FIELDS)}
        st.query_params.from_dict({**kept, **link.dump(values, FIELDS)})
        st.rerun()


_REFUSED = "_link_refused"


def refusal(texts: Mapping[str, str]) -> str:
    """Why texts, by their keys, cannot be in the link: they, or it with all others, are too long.

    Empty where they can; and where they make a link shorter that was too long already.
    """
    held = custom_texts()
    wanted = _written_out({**held, **texts})
    for text in link.TEXTS:
        if text.key in texts and len(wanted[text.key]) > text.longest:
            return say("it would take more than {most:,} characters of the link", most=text.longest)
    beyond = _beyond(wanted)
    if beyond <= max(0, _beyond(_written_out(held))):
        return ""
    return say(
        "the link would be longer than the {most:,} characters that servers take, by {n:,}; "
        "one pin, custom entry or trace fewer makes room",
        n=beyond,
        most=link.LONGEST_QUERY,
    )


def _written_out(texts: Mapping[str, str]) -> Mapping[str, str]:
    """Texts as the longer of both links has them: pins with every setting."""
    try:
        written = _explicit(texts["pins"])
    except pins.PinError:
        return texts
    return {**texts, "pins": max(texts["pins"], written, key=len)}


def _beyond(texts: Mapping[str, str]) -> int:
    """Characters by which a link with these texts may be too long, whatever else is set."""
    return link.RESERVED + link.texts_length(texts) - link.LONGEST_QUERY


def has_room(texts: Mapping[str, str]) -> bool:
    """Whether texts, by their keys, can be in the link; if not, the page says why."""
    language.speak()
    st.session_state[_REFUSED] = refusal(texts)
    return not st.session_state[_REFUSED]


def notices() -> None:
    """Say what a link got wrong, until it is dismissed."""
    given: dict[str, list[str]] = st.session_state.get(_GIVEN, {})
    _moved()
    refused = st.session_state.get(_REFUSED)
    if refused:
        st.warning(say("Nothing was changed: {reason}.", reason=refused))
    if not given and not switches.problems():
        return
    problems = [*link.parse(given, PRESETS, FIELDS)[1], *switches.problems()]
    with st.container(border=True, key="link-notice"):
        st.markdown(say("**This link was read with changes**"))
        st.markdown("\n".join(f"- {problem.sentence}" for problem in problems))
        st.button(say("Dismiss"), on_click=_dismiss)


def _moved() -> None:
    """Say what has changed since an explicit link was made, until it is dismissed."""
    changes = list(made.changes())
    if not changes:
        return
    with st.container(border=True, key="link-moved"):
        st.markdown(
            say("**Facts or formulas have changed since this link was made**: what it showed → now")
        )
        st.markdown("\n".join(f"- {change}" for change in changes))
        st.button(say("Dismiss"), key="moved-dismiss", on_click=made.dismiss)


def _dismiss() -> None:
    st.session_state[_GIVEN] = {}
    switches.dismiss()


def widget_values(state: Mapping[Any, Any] | None = None) -> dict[str, Any]:
    """Field values as the bound widgets hold them, in a session whose state may be read already."""
    held: Mapping[Any, Any] = st.session_state.to_dict() if state is None else state
    fields = {field.name: held.get(field.key, field.absent) for field in FIELDS}
    for field in _CHOICES:
        # The way back may end where a custom entry was chosen and not yet given.
        if not _there(field, fields[field.name]):
            fields[field.name] = field.default
    given = custom_texts()
    return {**fields, **{text.name: given[text.key] for text in link.TEXTS}}


def scenario(values: Mapping[str, Any] | None = None) -> Scenario:
    """The scenario that the controls hold, whose values may be known already."""
    return scenarios.build(values or widget_values(), catalogues())


def _there(field: Choice, id: str) -> bool:
    found = id == field.none or id in PRESETS[field.catalogue]
    return found or id in catalogues()[field.catalogue]


def of_pin(pin: pins.Pin) -> tuple[dict[str, Any], list[link.Problem]]:
    """Field values of a pin, and what of it could not be used."""
    return link.parse(parse_qs(pin.query), PRESETS, FIELDS)


def _explicit(text: str) -> str:
    """Pins with every setting written out, but for what cannot be read, which stays as it is."""
    written = []
    for pin in pins.read(text)[0]:
        values, problems = of_pin(pin)
        query = pin.query if problems else link.query_string(values, FIELDS, explicit=True)
        written.append(pins.Pin(pin.name, query))
    return pins.write(written)


def explicit_url() -> str:
    """The address of this page with every setting written out."""
    values = widget_values()
    figures = made.parameter(scenario(values), values)
    values["pins"] = _explicit(values["pins"])
    return _address(values, explicit=True, **figures)


def short_url() -> str:
    """The address of this page: what is as by default is left out."""
    return _address(widget_values(), explicit=False)


def other_url(**changed: Any) -> str:
    """The address of this page with other plain values, by field name."""
    return _address({**widget_values(), **changed}, explicit=False)


def _address(values: dict[str, Any], *, explicit: bool, **more: str) -> str:
    query = {**link.dump(values, FIELDS, explicit=explicit), **switches.written(), **more}
    return f"{st.context.url or ''}?{urlencode(query)}" if query else str(st.context.url or "")


def option(
    field: Option,
    options: Sequence[str] | None = None,
    on_change: Callable[[], None] | None = None,
) -> str:
    """A control of how a page is read; the link holds what its buttons say, hence ids."""
    offered = list(options or field.options)
    chosen: str = st.segmented_control(
        say(field.label),
        offered,
        default=offered[0],
        required=True,
        key=field.key,
        label_visibility="collapsed",
        bind="query-params",
        on_change=on_change,
    )
    return chosen


def share(_: Scenario) -> None:
    """The explicit link to this page and scenario, ready to copy."""
    # Built only while it is open: the code block is a heavy thing to redraw at every move.
    with st.popover(
        say("Share"), icon=":material/link:", key="share", on_change="rerun"
    ) as popover:
        if not popover.open:
            return
        st.caption(say("What differs from the defaults. It opens this page as you see it."))
        _copy(short_url())
        st.caption(
            say(
                "Every setting written out, for a document: it keeps its meaning when "
                "defaults change."
            )
        )
        _copy(explicit_url())


# A longer address scrolls in its box, so that what stands below stays in sight.
_FULL, _SCROLLED = 2_000, 160


def _copy(url: str) -> None:
    """An address to copy, and whether it is too long to be opened."""
    beyond = len(url.partition("?")[2]) - link.LONGEST_QUERY
    if beyond > 0:
        st.warning(
            say(
                "This link is too long by {n:,} characters: many servers refuse it. One pin, "
                "custom entry or trace fewer makes it shorter.",
                n=beyond,
            )
        )
    height: int | Literal["content"] = _SCROLLED if len(url) > _FULL else "content"
    st.code(url, language=None, wrap_lines=True, height=height)
