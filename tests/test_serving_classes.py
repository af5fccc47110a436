"""Classes of requests: their text, who goes first, and what becomes of each."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from pages_app import opened
from scenarios import scenario, with_room

from calc import serving
from calc.serving import Fate, ServiceClass, ServingError, classes, queueing


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


# One sequence at a time, of a prompt that takes no longer than a step.
ONE = serving.Continuous(1)
SERVER = scenario("llama-3-8b", "h100-sxm", w="bf16", kv="bf16", n_chips=1)


def asked(*listed: ServiceClass, requests: int, rate: float) -> serving.Traffic:
    lengths = serving.Constant(1), serving.Exponential(200)
    return serving.generate(requests, serving.Poisson(rate), *lengths, classes=listed)


def alone(traffic: serving.Traffic) -> np.ndarray:
    """How long each takes where nobody is in its way."""
    apart = replace(traffic, arrival=1e3 * np.arange(len(traffic), dtype=float))
    return serving.simulate(SERVER, apart, ONE).e2e


def test_a_higher_priority_takes_the_server() -> None:
    """F8.20."""
    first = ServiceClass(name="a", share=0.4, prompt=1, output=200, priority=1)
    traffic = asked(first, replace(first, name="b", share=0.6, priority=0), requests=8000, rate=0.6)
    run = serving.simulate(SERVER, traffic, ONE, relief=serving.Swap(1e18))
    assert traffic.classified
    each = [alone(traffic)[traffic.classified.of == place] for place in (0, 1)]
    theory = queueing.time_by_priority(
        [len(times) / traffic.arrival[-1] for times in each],
        [float(times.mean()) for times in each],
        [float((times**2).mean()) for times in each],
    )
    found = [run.e2e[traffic.classified.of == place].mean() for place in (0, 1)]
    assert_allclose(found, theory, rtol=0.02)
    assert not run.preemptions[traffic.classified.of == 0].any()


def test_requests_give_up() -> None:
    """F8.21."""
    traffic = asked(
        ServiceClass(name="a", prompt=1, output=200, patience=1.0), requests=8000, rate=0.6
    )
    run = serving.simulate(SERVER, traffic, ONE)
    theory = queueing.given_up(8000 / traffic.arrival[-1], float(alone(traffic).mean()), 1.0)
    assert_allclose(run.cancelled.mean(), theory, atol=0.004)
    gone = run.cancelled
    # What is being read is read to its end.
    assert_allclose((run.ended - traffic.arrival)[gone], 1.0, atol=0.01)
    assert (run.ttft[~gone] < 1.0 + 0.01).all()
    assert math.isinf(serving.summary(run).ttft.percentiles[99])


def test_a_lower_class_gives_its_room() -> None:
    """Two of the low class fill the cache; one of the high class needs what one of them holds."""
    s = with_room(scenario("llama-3-8b", n_chips=1), 21)
    low = ServiceClass(name="low", prompt=100, output=60, timeout=2000)
    high = replace(low, name="high", priority=1)
    traffic = asked(low, high, requests=3, rate=1.0)
    traffic = replace(
        traffic, arrival=np.array([0.0, 0.0, 0.1]), prompt=np.full(3, 100),
        output=np.full(3, 60), classified=classes.Classified((low, high), np.array([0, 0, 1])),
    )  # fmt: skip
    run = serving.simulate(s, traffic, serving.Continuous(4))
    assert run.preemptions.tolist() == [0, 1, 0]
    assert run.ended[2] < run.ended[1]
    cut = serving.simulate(s, traffic, serving.Continuous(4), relief=serving.Reject())
    assert cut.fate.tolist() == [Fate.FINISHED, Fate.REJECTED, Fate.FINISHED]
    # The same for want of slots, with blocks to spare.
    slots = serving.simulate(scenario("llama-3-8b", n_chips=1), traffic, serving.Continuous(2))
    assert slots.preemptions.tolist() == [0, 1, 0]
    by = serving.by_class(slots, serving.Limits(), serving.summary(slots).window)
    assert [(one.name, one.requests, one.preempted) for one in by] == [
        ("low", 2, 1), ("high", 1, 0),
    ]  # fmt: skip


def test_lengths_and_limits_are_those_of_the_class() -> None:
    text = "chat_0.75_2000_100_1_50_1*long_0.25_16000_400_60_200"
    traffic = serving.requested({"classes": text, "requests": 4000, "rate": 5}, scenario())
    assert traffic.classified
    of = traffic.classified.of
    assert_allclose((of == 0).mean(), 0.75, atol=0.02)
    assert_allclose([traffic.prompt[of == k].mean() for k in (0, 1)], [2000, 16000], rtol=0.06)
    assert_allclose([traffic.output[of == k].mean() for k in (0, 1)], [100, 400], rtol=0.06)
    again = traffic.at_rate(1.0).upto(50)
    assert again.classified
    assert (again.classified.of == of[:50]).all() and (again.prompt == traffic.prompt[:50]).all()
    run = serving.simulate(scenario(), traffic.upto(100), serving.Continuous(64))
    good = serving.service.good(run, serving.Limits(1e-9, 1e-9))
    mine = of[:100] == 1
    assert (good[mine] == ((run.ttft <= 60) & (run.tpot <= 0.2))[mine]).all()
    assert (good[~mine] == ((run.ttft <= 1) & (run.tpot <= 0.05))[~mine]).all()


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
