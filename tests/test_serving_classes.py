"""Classes of requests: their text, who goes first, and what becomes of each."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pages_app import opened
from scenarios import scenario

from calc import serving
from calc.serving import ServiceClass, ServingError, classes


@st.composite
def listed(draw: st.DrawFn) -> list[ServiceClass]:
    names = draw(st.lists(st.sampled_from(["a", "chat-2", "客服", "x.1"]), unique=True))
    return [
        ServiceClass(
            name=name,
            **{
                one.name: one.resolve(
                    draw(st.integers(int(one.low), int(one.high)))
                    if one.whole
                    else draw(st.integers(int(1000 * one.low), int(1000 * one.high))) / 1000,
                    {},
                )
                for one in classes.COLUMNS
            },
        )
        for name in names
    ]


@given(listed())
def test_classes_read_back(given_classes: list[ServiceClass]) -> None:
    text = classes.write(given_classes)
    assert len(text) <= classes.FIELD.longest
    again = classes.read(text)
    assert classes.write(again) == text
    assert again == tuple(given_classes)
    assert sum(classes.shares(again)) == pytest.approx(1 if again else 0)


@given(st.text(max_size=40))
def test_any_typed_name_gives_a_name_or_nothing(typed: str) -> None:
    name = classes.named(typed)
    assert not name or ServiceClass(name=name).name == name


def test_without_classes_all_requests_are_one() -> None:
    s = scenario()
    [one] = serving.service_classes({}, s)
    assert (one.prompt, one.output, one.ttft, one.tpot) == (s.prompt, s.output, 5.0, 0.05)
    two = serving.service_classes({"classes": "chat_0.7_2000*batch"}, s)
    assert [(each.name, each.prompt) for each in two] == [("chat", 2000), ("batch", 8192)]
    with pytest.raises(ServingError, match="more figures than are known"):
        classes.read("a" + "_1" * 9)


def test_classes_are_added_changed_and_removed() -> None:
    at = opened("serving", req="20", p="1000")
    at.button(key="cls-more").click().run()
    assert not at.exception
    assert at.session_state["cls"] == "class-1_0.5_1000_512_5_50_1*class-2_0.5_1000"

    def opened_again() -> None:
        # What AppTest does not hold: a browser keeps it open.
        at.session_state["cls-1"] = True
        at.run()

    opened_again()
    at.text_input(key="cls-1-name").set_value("over night").run()
    opened_again()
    at.number_input(key="cls-1-timeout").set_value(60.0).run()
    assert at.session_state["cls"].endswith("*over-night_0.5_1000_512_5_50_0_0_60")
    opened_again()
    at.text_input(key="cls-1-name").set_value("class-1").run()
    assert "over-night" in at.session_state["cls"]
    opened_again()
    at.button(key="cls-1-remove").click().run()
    assert not at.exception
    assert at.session_state["cls"] == "class-1_0.5_1000_512_5_50_1"
