"""An explicit link says what has changed since it was made."""

from __future__ import annotations

from urllib.parse import parse_qs

import pytest
from pages_app import opened, words

from pages.ui.frame import made
from pages.ui.frame.presentation import FIELDS


def explicit(**query: str) -> dict[str, str]:
    """What Share offers for a scenario, as parameters."""
    test = opened(**query)
    test.session_state["share"] = True
    test.run()
    address = test.code[-1].value
    return {
        key: values[0]
        for key, values in parse_qs(address.partition("?")[2], keep_blank_values=True).items()
    }


def test_what_a_link_was_made_with_is_kept_and_compared() -> None:
    link = explicit(b="64")
    assert link["b"] == "64"
    assert {field.key for field in FIELDS if field.absent is not None} <= link.keys()
    assert "since this link was made" not in words(opened(**link))
    of, step, _, price = link[made.KEY].split("*")
    test = opened(**{**link, made.KEY: f"{of}*{step}*138*{price}"})
    said = words(test)
    assert "since this link was made" in said
    assert "Largest batch: 138 → 149 (+8" in said
    assert "Step time:" not in said
    test.button(key="moved-dismiss").click().run()
    assert "since this link was made" not in words(test)


@pytest.mark.parametrize("given", ["", "1*2*3", "x*1*2*3", "*" * 200, "0*nan*inf*-", "☃"])
def test_what_are_no_figures_is_left_alone(given: str) -> None:
    assert "since this link was made" not in words(opened(**{made.KEY: given}))
