"""The figures that an explicit link was made with, and what they have become since."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any
from zlib import crc32

import streamlit as st

from calc import Scenario, link
from calc.explain import EXPLANATIONS, bounds
from calc.words import say
from pages.ui.frame.presentation import SETTINGS
from pages.ui.writing import text, written

# In links: never rename or reuse. The order of the figures is that of their ids.
KEY = "made"
FIGURES = ("step_time", "max_batch", "usd_per_million_tokens")
_BETWEEN, _UNKNOWN = "*", "-"
_GIVEN = "_made"
# Pins and traces are no settings of the scenario.
_NOTHING = {"pins": "", "trace": ""}
# Figures as close as this read the same.
_SAME = 5e-3


def parameter(scenario: Scenario, values: Mapping[str, Any]) -> dict[str, str]:
    """The figures of a scenario as its explicit link keeps them, and which settings they are of."""
    words = [_of(values), *(_word(value) for value in _figures(scenario))]
    return {KEY: _BETWEEN.join(words)}


def _of(values: Mapping[str, Any]) -> str:
    """Settings in a few letters: an address that was edited is not what its figures are of."""
    return f"{crc32(link.query_string({**values, **_NOTHING}, SETTINGS).encode()):x}"


def _word(value: float) -> str:
    return f"{value:.4g}" if math.isfinite(value) else _UNKNOWN


def _figures(scenario: Scenario) -> list[float]:
    return [bounds.written(id, EXPLANATIONS[id], scenario)[1].value for id in FIGURES]


def keep(scenario: Scenario, values: Mapping[str, Any]) -> None:
    """Once per session: what the link says of the scenario that it opens, while that is open."""
    if _GIVEN in st.session_state:
        return
    given = _read(st.query_params.get(KEY, ""), _of(values))
    st.session_state[_GIVEN] = given and list(zip(given, _figures(scenario), strict=True))


def _read(words: str, of: str) -> list[float]:
    """The figures of a link; nothing where they are none, or of other settings."""
    settings, *parts = words[:100].split(_BETWEEN)
    if settings != of or len(parts) != len(FIGURES):
        return []
    try:
        figures = [None if part == _UNKNOWN else float(part) for part in parts]
    except ValueError:
        return []
    if not all(math.isfinite(figure) for figure in figures if figure is not None):
        return []
    return [math.nan if figure is None else figure for figure in figures]


def changes() -> Iterable[str]:
    """Each figure that today's facts and formulas give otherwise than the link was made with."""
    kept: list[tuple[float, float]] = st.session_state.get(_GIVEN) or []
    for id, (before, now) in zip(FIGURES, kept, strict=False):
        if before == now or (math.isnan(before) and math.isnan(now)):
            continue
        if math.isclose(before, now, rel_tol=_SAME):
            continue
        label = say(EXPLANATIONS[id].title)
        yield say("{label}: {moved}", label=text.plain(label), moved=written.moved(id, before, now))


def dismiss() -> None:
    """The reader has seen it."""
    st.session_state[_GIVEN] = []
