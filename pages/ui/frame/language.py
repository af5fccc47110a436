"""The language of the pages: its catalogue, and the control that picks it."""

from __future__ import annotations

import gettext
import io
from functools import cache
from pathlib import Path

import streamlit as st
from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po

from calc import words
from pages.ui.frame.presentation import LANGUAGE

_LOCALES = Path(__file__).parents[3] / "locales"


def current() -> str:
    """The language that the control holds, before it is drawn the link's."""
    asked = st.session_state.get(LANGUAGE.key, st.query_params.get(LANGUAGE.key))
    return asked if asked in LANGUAGE.options else LANGUAGE.default


def speak(reader: str | None = None) -> None:
    """Say everything in this run in the reader's language; in a callback, which runs before.

    A thread of its own knows no session: it is told the language.
    """
    translate = catalogue(reader or current()).gettext
    # gettext keeps its header under the empty message.
    words.speak(lambda message: message and translate(message))


def renamed(key: str) -> str:
    """Key of a choice among translated names, shown in the language of now.

    Browsers hold a choice by its name: in another language that would be none of the choices.
    """
    if key in st.session_state:
        st.session_state[key] = st.session_state[key]
    return key


@cache
def catalogue(language: str) -> gettext.NullTranslations:
    """The translations of a language, compiled from its text: there is no build step to forget."""
    source = _LOCALES / language / "LC_MESSAGES" / "messages.po"
    if language == LANGUAGE.default:
        return gettext.NullTranslations()
    compiled = io.BytesIO()
    write_mo(compiled, read_po(io.BytesIO(source.read_bytes()), locale=language))
    compiled.seek(0)
    return gettext.GNUTranslations(compiled)
