"""Plans for classes of requests that share replicas."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calc import Scenario, plan
from calc.plan import Ask, replica
from calc.serving.classes import ServiceClass
from presets import chips, formats, models

FP8 = formats["fp8"]
S = Scenario(
    models["llama-3.3-70b"], chips["h200"], 2, FP8, FP8, FP8, 1, 1, usable_memory=0.9
)  # fmt: skip
SPACE = plan.Space(
    (chips["h200"], chips["mi300x"]), (plan.Formats(FP8, FP8, FP8),), most=4,
    batches=(1, 2, 4, 8, 16, 32, 64), budgets=(1024, 4096),
)  # fmt: skip


CHAT = ServiceClass(name="chat", share=0.7, prompt=1000, output=300, ttft=1.0, tpot=0.04)
DOCUMENTS = ServiceClass(
    name="documents", share=0.3, prompt=12_000, output=600, ttft=6.0, tpot=0.08
)  # fmt: skip


def test_classes_that_are_alike_are_one_class() -> None:
    one = Ask(rate=4.0, prompt=3000, output=300, ttft=2.0, tpot=0.04, spread=0.5)
    same = ServiceClass(name="a", share=0.2, prompt=3000, output=300, ttft=2.0, tpot=0.04)
    mixed = Ask.mixed((same, replace(same, name="b", share=0.6)), rate=4.0, spread=0.5)
    assert (mixed.context, mixed.steps) == pytest.approx((one.context, one.steps))
    layout = replica.layout_of(S)
    for found, wanted in (
        (plan.steady(S, layout, 12, 2048, mixed), plan.steady(S, layout, 12, 2048, one)),
        (replica.whole(S, layout, 12, mixed), replica.whole(S, layout, 12, one)),
    ):
        for name in ("rate", "step", "longest", "tpot", "ttft", "mean_tpot", "used", "reading"):
            assert getattr(found, name) == pytest.approx(getattr(wanted, name)), name
    # Of a mix slots are for busy periods as well.
    assert plan.steady(S, layout, 12, 2048, mixed).slots >= 20


def test_a_class_with_long_prompts_waits_longer_and_delays_short_answers_more() -> None:
    found = plan.steady(S, replica.layout_of(S), 12, 2048, Ask.mixed((CHAT, DOCUMENTS), rate=1.0))
    chat, documents = found.ttfts
    assert documents > 2 * chat
    assert found.tpots[0] > found.tpots[1] > found.step
    # By hand: shares 0.7 and 0.3 of 299 and 599 steps.
    assert Ask.mixed((CHAT, DOCUMENTS), rate=1.0).steps == pytest.approx(0.7 * 299 + 0.3 * 599)
    # Simulated with 30 slots: 21.9 and 24.0 ms, 1.14 and 2.25 s.
    assert [float(one) for one in found.tpots] == pytest.approx([0.0219, 0.0240], rel=0.15)
    assert [float(one) for one in found.ttfts] == pytest.approx([1.14, 2.25], rel=0.35)


@settings(max_examples=12, deadline=None)
@given(st.floats(0.05, 0.95), st.integers(200, 20_000), st.sampled_from(["mean", "p95"]))
def test_every_class_keeps_its_own_limits(share: float, prompt: int, percentile: str) -> None:
    other = ServiceClass(
        name="other", share=1 - share, prompt=prompt, output=200, ttft=4.0, tpot=0.1
    )
    ask = Ask.mixed((replace(CHAT, share=share), other), rate=2.0, percentile=percentile)
    for one in plan.search(S, ask, SPACE, refine=False).rows:
        times = plan.class_times(one)
        assert [time.name for time in times] == ["chat", "other"]
        for time, asked in zip(times, ask.parts, strict=True):
            assert time.tpot <= asked.tpot * (1 + 1e-9)
            assert time.ttft <= asked.ttft * (1 + 1e-9)


def test_a_plan_for_classes_holds_before_simulated_requests() -> None:
    ask = Ask.mixed((CHAT, DOCUMENTS), rate=4.0)
    one = plan.search(S, ask, SPACE).best
    assert one
    found = plan.verify(one, 800)
    assert found.holds
    assert [each.name for each in found.classes] == ["chat", "documents"]
    assert found.ttft == max(found.classes[0].ttft.mean, found.classes[1].ttft.mean / 6)
