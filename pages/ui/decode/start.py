"""Where to start: ways into the other pages, and scenarios that people know."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager
from typing import Any
from urllib.parse import parse_qs

import streamlit as st

from calc import link
from calc.scenario import SCHEMA
from calc.words import marked, say
from pages.ui.frame import taking
from pages.ui.frame.link import PRESETS
from pages.ui.frame.page import ROOT

# By the pages that they lead to.
WAYS: Mapping[str, str] = {
    "capacity": marked("Choose hardware"),
    "kv_cache": marked("Size the KV cache"),
    "model": marked("Compare attention"),
    "plan": marked("Meet a latency target"),
}

# As links have them: model and chips as they are served, with what engines leave of memory.
EXAMPLES: Mapping[str, str] = {
    marked("Llama 3.3 70B on 8 × H100"): (
        "model=llama-3.3-70b&chip=h100-sxm&n=8&u=0.9&w=fp8&kv=fp8&c=fp8&b=64&s=4096&f=operators"
    ),
    marked("DeepSeek-V3 on 16 × H200"): (
        "model=deepseek-v3&chip=h200&n=16&u=0.9&w=fp8&kv=bf16&c=fp8&b=256&s=4096&f=operators"
        "&ty=8&dp=2&ep=16&ks=batch"
    ),
    marked("Qwen3 32B on one H100"): (
        "model=qwen3-32b&chip=h100-sxm&n=1&u=0.9&w=fp8&kv=fp8&c=fp8&b=32&s=4096"
    ),
    marked("gpt-oss 120B on a desk"): (
        "model=gpt-oss-120b&chip=dgx-spark-gb10&n=1&u=0.9&w=pub&kv=bf16&b=1&s=8192"
    ),
}


def settings(query: str) -> dict[str, Any]:
    """Every setting of a scenario that a link says, by field name."""
    values, problems = link.parse(parse_qs(query), PRESETS, SCHEMA)
    assert not problems, problems
    return {field.name: values[field.name] for field in SCHEMA}


def section() -> None:
    """Four ways in, and an example a click: its link is then in the address."""
    with st.container(key="ways", gap=None):
        with _row():
            st.caption(say("Start with"), width="content")
            for page, label in WAYS.items():
                st.page_link(ROOT / "pages" / f"{page}.py", label=say(label), width="content")
        with _row():
            st.caption(say("Examples"), width="content")
            for i, (name, query) in enumerate(EXAMPLES.items()):
                st.button(
                    say(name), key=f"example-{i}", type="tertiary", on_click=_show, args=(query,)
                )


def _row() -> AbstractContextManager[object]:
    return st.container(horizontal=True, vertical_alignment="center", gap="xsmall")


def _show(query: str) -> None:
    now = {field.name: st.session_state.get(field.key, field.default) for field in SCHEMA}
    wanted = settings(query)
    taking.use({name: value for name, value in wanted.items() if value != now[name]})
