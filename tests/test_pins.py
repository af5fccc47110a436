"""Pins: what is written reads back, and what cannot be kept is said."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pages_app import notes, opened, words
from scenarios import scenario
from streamlit.testing.v1 import AppTest

from calc import compare, decode, link, pins
from calc.pins import Pin
from pages.ui.frame.link import PRESETS

names = st.text(min_size=1, max_size=80)


@given(st.lists(names, max_size=9))
def test_names_are_made_fit_once_and_for_all(given_names: list[str]) -> None:
    text = json.dumps([[name, f"b={i + 1}"] for i, name in enumerate(given_names)])
    held, _ = pins.read(text)
    assert [pin.query for pin in held] == [f"b={i + 1}" for i in range(min(len(given_names), 6))]
    assert len({pin.name for pin in held}) == len(held)
    assert all(0 < len(pin.name) <= pins.LONGEST_NAME for pin in held)
    assert pins.read(pins.write(held)) == (held, [])


@pytest.mark.parametrize(
    ("listed", "reason"),
    [
        ([[f"p{i}", ""] for i in range(7)], "there are 7, and 6 can be held"),
        ([["a", ""], ["a", ""]], "the name of pin 2 is empty, taken"),
        ([["x" * 300, ""]], "longer than 60 letters"),
    ],
)
def test_what_does_not_fit_is_said(listed: list[list[str]], reason: str) -> None:
    values, [problem] = link.parse({"pins": [json.dumps(listed)]}, PRESETS)
    assert reason in problem.sentence
    assert values["pins"]
    assert "x" * 61 not in problem.sentence


@given(st.text() | st.lists(st.lists(st.text())).map(json.dumps))
def test_no_text_is_too_odd(text: str) -> None:
    values, _ = link.parse({"pins": [text]}, PRESETS)
    pins.read(values["pins"])


def test_terms_that_moved_add_up() -> None:
    one, other = decode.step_time(scenario()), decode.step_time(scenario(batch=256, n_chips=8))
    grown = compare.moved(one, other)
    assert sum(change for _, change in grown) == pytest.approx(float(other.total - one.total))
    assert grown[0][0] == "kv_read"
    assert abs(grown[0][1]) == max(abs(change) for _, change in grown)


def compared(*kept: Pin, **query: str) -> AppTest:
    return opened("compare", **query, **({"pins": pins.write(kept)} if kept else {}))


def everything(at: AppTest) -> str:
    return f"{words(at)} {notes(at)}"


def test_without_a_pin_the_page_says_how() -> None:
    at = compared()
    assert "Nothing is pinned yet" in everything(at)
    at.button(key="pin-first").click().run()
    assert not at.exception
    [pin] = pins.read(at.session_state["pins"])[0]
    assert pin == Pin("Llama 3 70B, TPU v5e, 16 chips", "")


def test_a_suggested_name_tells_what_differs() -> None:
    at = compared(b="64", kv="bf16")
    at.button(key="pin-first").click().run()
    [pin] = pins.read(at.session_state["pins"])[0]
    assert pin.name == "Llama 3 70B, TPU v5e, 16 chips, bf16 KV, batch 64"


def test_scenarios_stand_side_by_side() -> None:
    at = compared(Pin("half", "n=8"), Pin("<b>small</b>", "w=int4"))
    said = everything(at)
    assert "17.1 ms (+100" in said
    assert r"**\<b\>small\</b\>**" in said
    figures, settings = (frame.value for frame in at.dataframe)
    assert list(figures.columns) == ["Figure", "now", "half", "<b>small</b>"]
    assert figures.loc[0, "half"].startswith("17.1 ms   +8.57 ms, +100")
    assert list(settings["Setting"]) == ["Chips (chips)", "Weights"]
    at.selectbox(key="compare-baseline").select("half").run()
    assert at.dataframe[0].value.loc[0, "now"].startswith("8.57 ms   −8.57 ms, −50")


def test_who_is_level_shares_the_first_place() -> None:
    level = everything(compared(Pin("half", "n=8"), Pin("quarter", "n=4")))
    assert "**now** has the shortest step, 8.57 ms;" in level
    assert "**now**, **half**, **quarter** share the most per chip, 233 token/s;" in level
    assert "**now**, **half**, **quarter** share the lowest price, $1.43 per Mtoken." in level


def test_the_baseline_follows_its_pin() -> None:
    at = compared(Pin("one", "n=8"), Pin("two", "n=4"))
    at.selectbox(key="compare-baseline").select("two").run()
    at.button(key="pin-up-1").click().run()
    assert "against two" in everything(at)
    at.text_input(key="pin-name-0").input("three").run()
    assert at.selectbox(key="compare-baseline").value == "three"
    at.button(key="pin-remove-0").click().run()
    at.select_slider(key="b").set_value(64).run()
    assert not at.exception
    assert at.selectbox(key="compare-baseline").value == "now"


def test_a_pin_of_a_preset_that_has_gone_is_named_and_kept() -> None:
    at = compared(Pin("old", "model=gpt-9"), Pin("half", "n=8"))
    assert "**old** is left out, but stays in the link: Model (model) is not known" in everything(
        at
    )
    assert [pin.name for pin in pins.read(at.session_state["pins"])[0]] == ["old", "half"]


def test_pins_are_renamed_moved_opened_and_removed() -> None:
    at = compared(Pin("half", "n=8"), Pin("small", "w=int4"))
    at.text_input(key="pin-name-0").input("small").run()
    assert [pin.name for pin in pins.read(at.session_state["pins"])[0]] == ["small 2", "small"]
    at.button(key="pin-down-0").click().run()
    assert [pin.name for pin in pins.read(at.session_state["pins"])[0]] == ["small", "small 2"]
    at.button(key="pin-open-1").click().run()
    assert at.session_state["n"] == 8
    at.button(key="pin-remove-0").click().run()
    at.button(key="pin-remove-0").click().run()
    assert not at.exception
    assert at.session_state["pins"] == ""


def test_six_are_enough() -> None:
    at = compared(*(Pin(f"p{i}", f"b={i + 1}") for i in range(6)))
    assert len(at.dataframe[0].value.columns) == 8
    assert at.button(key="pin-add").disabled
