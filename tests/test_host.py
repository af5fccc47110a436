"""Weights in the memory of the host: what a step pays, and what the chips have room for."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from computed import computed
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from pages_app import PAGES, notes, tour
from scenarios import scenario
from strategies import ANY, hosts

from calc import Scenario, decode, host, levers, memory, pool, prefill, speculative
from presets import formats, models

GIB = 2**30


def gpt_oss(**more: Any) -> Scenario:
    """gpt-oss-120b as published on one RTX 3090, all experts on a host with DDR5-5600."""
    s = scenario("gpt-oss-120b", "rtx-3090", w="bf16", kv="bf16", n_chips=1, batch=1, context=2048)
    given = {"weight_format": None, "host_share": 1.0, "host_bandwidth": 89.6e9, **more}
    return replace(s, **given)


@settings(max_examples=6)
@given(ANY, hosts())
def test_with_nothing_on_the_host_it_does_not_matter(s: Scenario, more: dict[str, Any]) -> None:
    near = replace(s, host_share=0.0)
    idle = replace(near, **{**more, "host_share": 0.0})
    np.testing.assert_equal(computed(idle), computed(near))


@given(ANY, st.floats(0, 1), st.floats(0, 1), st.sampled_from(host.PLACES))
def test_more_on_the_host_takes_less_of_the_chips_and_is_never_faster(
    s: Scenario, one: float, other: float, place: str
) -> None:
    rate = min(s.chip.peaks.values()) * min(s.constants.compute_efficiency, s.constants.mfu)
    assume(rate >= 1e11)
    slow = replace(
        s,
        host_compute=place,
        host_rate=min(1e15, rate),
        host_bandwidth=min(s.chip.bandwidth * s.constants.bandwidth_efficiency, 1e13),
    )
    few, many = (replace(slow, host_share=share) for share in sorted((one, other)))
    assert memory.weights(many) <= memory.weights(few) * (1 + 1e-9)
    assert memory.max_batch(many) >= memory.max_batch(few)
    assert host.weights(many) >= host.weights(few)
    # Unknown links leave times unknown, which are neither.
    for time in (decode.step_time, prefill.prompt_time):
        assert not time(many).total < time(few).total * (1 - 1e-9)


@pytest.mark.parametrize("model", models)
def test_chips_and_host_hold_each_weight_once(model: str) -> None:
    s = scenario(model, w="bf16", n_chips=1, host_share=0.5)
    for fine in (s, replace(s, fidelity="operators")):
        together = memory.weights(fine) + host.weights(fine)
        assert_allclose(together, s.model.weight_bytes(s.stored))


def test_llama_cpp_with_all_experts_on_the_host() -> None:
    """gpt-oss-120b by hand, and 25.6 token/s that a reader of LocalLLaMA measured (i9-14900K)."""
    # 36 layers, 4 of 128 experts of 3 · 2880 · 2880 weights and 3 · 2880 biases, 4.25 and 16 bit.
    experts = 36 * 4 * (3 * 2880 * 2880 * 4.25 + 3 * 2880 * 16) / 8
    at_host = experts / 89.6e9
    assert 0.02 < at_host < 0.022
    for fidelity in ("bound", "operators"):
        step = decode.step_time(gpt_oss(fidelity=fidelity))
        [there] = [o for o in step.work.by_name() if o.name == host.ON_HOST]
        assert_allclose(there.time, at_host, rtol=0.02)
        assert 25.62 < float(step.throughput) < 1.6 * 25.62
    # The guide of the option says 5 to 8 GB of the card with all experts on the host.
    assert 2 < memory.weights(gpt_oss()) / 1e9 < 5
    assert_allclose(host.weights(gpt_oss()) / GIB, 57, rtol=0.03)
    # Twelve of 36 layers back on the card take a third of them along.
    assert_allclose(host.weights(gpt_oss(host_share=24 / 36)) / host.weights(gpt_oss()), 2 / 3)


@pytest.mark.parametrize(("channels", "measured"), [(8, 8.73), (16, 11.26)])
def test_ktransformers_is_slower_than_its_memory(channels: int, measured: float) -> None:
    """DeepSeek-V3 in q4_k_m on one RTX 4090: 8.73 token/s on one socket with 8 channels of
    DDR5-4800, 11.26 on two; 14 GB of the card and 382 GiB of the host (tutorial, February 2025)."""
    s = scenario("deepseek-v3", "rtx-4090", w="q4-k-m", kv="bf16", n_chips=1, batch=1, context=512)
    hybrid = replace(s, host_share=1.0, host_bandwidth=channels * 4800e6 * 8)
    assert measured < float(decode.step_time(hybrid).throughput) < 3 * measured
    assert 10 < memory.weights(hybrid) / 1e9 < 14
    assert_allclose(host.weights(hybrid) / GIB, 382, rtol=0.02)
    assert not memory.weights_fit(s) and memory.weights_fit(hybrid)


def test_what_is_sent_takes_the_slower_of_memory_and_link() -> None:
    sent = gpt_oss(host_compute=host.CHIP)
    assert host.bandwidth(sent) == sent.chip.host_link < sent.host_bandwidth
    slow = replace(sent, host_bandwidth=1e10)
    assert host.bandwidth(slow) == 1e10
    # Nobody published the link of a TPU: only the host's memory counts.
    assert host.bandwidth(scenario(host_share=1.0, host_compute=host.CHIP)) == 90e9
    # A long prompt is read faster by the chip, to which experts are sent, than by the host.
    assert prefill.prompt_time(sent).total < prefill.prompt_time(gpt_oss()).total / 5


def test_a_draft_stays_on_the_chips() -> None:
    s = gpt_oss(draft=models["llama-3.2-1b"])
    assert speculative.draft_scenario(s).host_share == 0
    near = replace(s, host_share=0.0)
    assert speculative.draft_time(s) == speculative.draft_time(near)


def test_the_engine_s_pool_grows_by_what_lies_on_the_host() -> None:
    s = gpt_oss()
    there, near = pool.of(s, 2048), pool.of(replace(s, host_share=0.0), 2048)
    # And by the padding of the experts, which only kernels of the chip need.
    padded = near.loaded - there.loaded
    assert_allclose(there.cache - near.cache, host.weights(s) + padded)
    assert padded > 0 and there.loaded < 0.1 * GIB


def test_levers_move_weights_to_the_host_and_back() -> None:
    def pulled(s: Scenario) -> levers.Lever | None:
        found = [one for one in levers.pull_all(s, formats) if one.id == "host_weights"]
        return found[0] if found else None

    there, back = pulled(gpt_oss(host_share=0.0)), pulled(gpt_oss())
    assert there and there.outcome and there.outcome.scenario.host_share == 1
    assert there.outcome.fits and there.before.max_batch == 0
    assert back and back.outcome and not back.outcome.fits
    assert pulled(scenario()) is None


def test_pages_say_what_lies_on_the_host() -> None:
    query = {"model": "gpt-oss-120b", "chip": "rtx-3090", "n": "1", "w": "pub", "hs": "1"}
    for page, test in tour([name for name in PAGES if name not in ("compare", "about")], **query):
        assert "Host memory holds 60.9 GB, 100 % of the routed experts" in notes(test), page.name
