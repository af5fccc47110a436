"""The model to take along: a configuration, a preset's table, Python."""

from __future__ import annotations

import re
from dataclasses import replace

import streamlit as st

from calc.design import config, python, table, toml
from calc.words import say
from pages.ui.model.view import ModelView


def take(view: ModelView) -> None:
    """What other programs read."""
    model = view.model
    st.markdown("**config.json**")
    if table.is_stated(view.content):
        st.caption(say("Only totals are known of this model: no file can describe it."))
        return
    found = config.written(model)
    if found is None:
        st.caption(
            say("No family known here can express this model: a config.json would say less.")
        )
    else:
        _shown(found, "json", "config.json")
    st.markdown(say("**A preset**"))
    slug = re.sub(r"[^a-z0-9]+", "-", model.name.lower()).strip("-") or model.id
    named = replace(model, id=slug, sources=model.sources or (say("edited on the Model page"),))
    _shown(toml.written(named), "toml", f"{slug}.toml")
    st.markdown(say("**Python**"))
    _shown(python.written(model), "python", f"{slug}.py")


def _shown(content: str, language: str, name: str) -> None:
    """A file, and a way to save it."""
    st.code(content, language=language, height=260)
    st.download_button(say("Save {file}", file=name), content, name, key=f"model-save-{language}")
