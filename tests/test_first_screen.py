"""What a reader meets first: the answers, the ways in, examples that hold what they say."""

from __future__ import annotations

from typing import Any

import pytest
from pages_app import asked, metrics, opened, words

from calc import decode, memory
from calc.scenario import values_of
from pages.ui.decode import start
from pages.ui.writing import better_layout

LLAMA = "Llama 3.3 70B on 8 × H100"
LONG: dict[str, Any] = {
    "model": "deepseek-v3", "chip": "h200", "n": "16", "w": "fp8", "kv": "fp8", "c": "fp8",
    "s": "131072", "b": "64", "f": "operators",
}  # fmt: skip


def test_the_answers_stand_first() -> None:
    test = opened()
    assert list(metrics(test))[:3] == ["Step time", "Largest batch", "USD per Mtoken"]
    assert "any LLM on any chip" in words(test)
    assert "at least 8.57 ms" in words(test)


@pytest.mark.parametrize("query", start.EXAMPLES.values())
def test_an_example_fits_and_is_a_link(query: str) -> None:
    scenario = asked(**dict(pair.split("=") for pair in query.split("&")))
    assert values_of(scenario) == start.settings(query)
    assert memory.fits(scenario)
    # Nothing that the page itself would do better.
    assert better_layout.found(scenario, float(decode.step_time(scenario).total)) is None


def test_what_engines_take_stands_beside_the_bound() -> None:
    test = opened(**dict(pair.split("=") for pair in start.EXAMPLES[LLAMA].split("&")))
    assert "engines reach about **7.8–14 ms**" in words(test)
    assert test.metric[0].delta == "engines 7.8–14 ms"
    # Nobody measured this one.
    assert "engines reach" not in words(opened(chip="groqchip1"))


def test_an_example_is_one_click() -> None:
    test = opened(b="7", px="16")
    test.button(key="example-0").click().run()
    assert "Llama 3.3 70B Instruct · 8 × H100 SXM · fp8 weights" in test.caption[0].value
    assert "batch 64" in test.caption[0].value
    assert not test.exception


def test_the_best_layout_is_named_and_applied() -> None:
    test = opened(**LONG)
    assert "The best layout that fits, TP 16, cache split by batch, takes **13.6 ms**" in words(
        test
    )
    test.button(key="use-best-layout").click().run()
    assert test.metric[0].value == "13.6 ms"
    assert "The best layout" not in words(test)
    # The textbook bound knows no layout.
    assert "layout" not in words(opened(**{**LONG, "f": "bound"}))
