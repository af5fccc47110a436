"""Simulated services against closed forms of batches, queues and contexts.

F8.1 and the like = docs/method.md.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scenarios import constant, scenario

from calc import decode, metrics, paging, prefill, serving
from calc.serving import State, queueing

LONG_RUN = 40_000


# F8.6: slots that make a token when a batch leaves together.
@pytest.mark.parametrize(
    ("batch", "answers", "expected"),
    [(8, serving.Exponential(1000), 0.368), (32, serving.Exponential(1000), 0.246),
     (8, serving.Uniform(1, 2000), 0.5625), (64, serving.Mix((10, 2000)), 0.5025)],
)  # fmt: skip
def test_static_batches_leave_slots_idle(batch: int, answers: Any, expected: float) -> None:
    traffic = serving.generate(
        max(20_000, 300 * batch), serving.AtOnce(), serving.Constant(100), answers, seed=1
    )
    run = serving.simulate(scenario("llama-3-8b"), traffic, serving.Static(batch))
    assert_allclose(run.slot_efficiency, expected, rtol=0.02)
    assert run.finished.all()


def test_static_closed_forms() -> None:
    assert_allclose(queueing.static_efficiency_exponential(8), 0.3679, rtol=1e-3)
    assert round(queueing.static_efficiency_exponential(32), 2) == 0.25
    assert queueing.static_efficiency_uniform(8) == 0.5625
    # 10 and 2,000 tokens in one batch of two: 1005 / 2000 = 50.3 %.
    traffic = serving.Traffic(
        np.zeros(2), np.array([100, 100]), np.array([11, 2001]), math.inf, np.arange(2)
    )
    run = serving.simulate(scenario("llama-3-8b"), traffic, serving.Static(2))
    assert_allclose(run.slot_efficiency, 0.5025)
    uniform = np.arange(1, 20_001)
    assert_allclose(queueing.static_efficiency(uniform, 8), 0.5625, rtol=1e-3)


def test_continuous_batches_do_not() -> None:
    traffic = serving.generate(
        2000, serving.AtOnce(), serving.Constant(100), serving.Exponential(300)
    )
    run = serving.simulate(scenario("llama-3-8b"), traffic, serving.Continuous(32))
    assert run.slot_efficiency == 1.0
    assert run.mean_batch > 30
    static = serving.simulate(scenario("llama-3-8b"), traffic, serving.Static(32))
    assert run.duration < 0.6 * static.duration


def test_dynamic_batches() -> None:
    """F8.6: min(4, 1 + those of a window) where the replica is idle."""
    assert_allclose(queueing.dynamic_batch(4, 20, 0.1), 2.782, rtol=1e-3)
    traffic = constant(LONG_RUN, serving.Poisson(20.0), 10, 2)
    s = scenario("llama-3-8b", "h100-sxm", n_chips=64, mfu=1.0)
    run = serving.simulate(s, traffic, serving.Dynamic(4, 0.1))
    assert_allclose(run.mean_batch, 2.782, rtol=0.02)
    waited = run.admitted - traffic.arrival
    assert waited.max() <= 0.1 + 2 * (run.ended - run.admitted).max()


# F8.4: prompts alone, Poisson arrivals, one replica.
# The fuller the queue, the longer it remembers.
@pytest.mark.parametrize(("load", "requests"), [(0.5, 25_000), (0.8, 100_000)])
def test_prompts_wait_as_in_a_queue(load: float, requests: int) -> None:
    s = scenario()
    time = float(prefill.prompt_time(s, 1000, 0).total)
    traffic = constant(requests, serving.Poisson(load / time), 1000, 1, seed=2)
    run = serving.simulate(s, traffic, serving.Continuous(64))
    wait = float((run.admitted - traffic.arrival).mean())
    assert_allclose(wait, queueing.wait_md1(load / time, time), rtol=0.05)
    assert_allclose(run.ttft.mean(), queueing.ttft_md1(load / time, time), rtol=0.05)
    assert np.isnan(run.tpot).all()
    assert queueing.wait_md1(1.01 / time, time) == math.inf


def test_littles_law() -> None:
    """F8.3: 10 a second, 0.5 s and 511 gaps of 20 ms: 107.2; and of a run."""
    assert_allclose(queueing.in_system(10, 0.5 + 511 * 0.02), 107.2, rtol=1e-3)
    traffic = serving.generate(
        20_000, serving.Poisson(3.0), serving.Lognormal(1000), serving.Lognormal(300)
    )
    run = serving.simulate(scenario(), traffic, serving.Continuous())
    decoding = run.intervals.of(State.DECODE)
    times, counts = decoding.running()
    mean = float((counts[:-1] * np.diff(times)).sum() / run.duration)
    # F8.3: λ (G − 1) TPOT, with the rate that was asked for.
    law = 3.0 * float(np.nanmean(run.tpot * (traffic.output - 1)))
    assert_allclose(mean, law, rtol=0.02)
    assert_allclose(mean, run.intervals.of(State.DECODE).running()[1].mean(), rtol=0.2)


def test_contexts_average_over_time() -> None:
    """F8.3, F8.7, F8.11: P + E[G²] / 2 E[G], and what contiguous pieces leave empty."""
    s = scenario("llama-3-8b")
    traffic = serving.generate(
        10_000, serving.Poisson(20.0), serving.Constant(161), serving.Exponential(338), seed=3
    )
    fits = traffic.output <= 2048 - 161
    assert_allclose(queueing.mean_context(161, traffic.output), 161 + 338, rtol=0.02)
    run = serving.simulate(s, traffic, serving.Continuous(), memory=serving.Contiguous(2048))
    assert run.finished.sum() == fits.sum()
    found = run.memory[0].utilisation
    kept = queueing.mean_context(161, traffic.output[fits])
    assert_allclose(found, paging.contiguous_utilisation(kept, 2048), rtol=0.02)
    # F8.11: 499 / 2048 = 24 %, of answers of any length.
    assert_allclose(paging.contiguous_utilisation(161 + 338, 2048), 0.244, rtol=2e-3)
    paged = serving.simulate(s, traffic, serving.Continuous())
    expected = paging.paged_utilisation(queueing.mean_context(161, traffic.output), 16)
    assert_allclose(paged.memory[0].utilisation, expected, rtol=0.01)


def test_blocks_come_free_as_they_are_taken() -> None:
    """F8.7: B (P + G) / G tokens a step."""
    assert metrics.kv_tokens_retired(32, 8192, 4096) == 96
    s = scenario("llama-3-8b", n_chips=16)
    traffic = constant(1500, serving.AtOnce(), 800, 400)
    run = serving.simulate(s, traffic, serving.Continuous(32))
    steps = sum(run.steps.values())
    assert_allclose(len(traffic) * 1200 / steps, metrics.kv_tokens_retired(32, 800, 400), rtol=0.03)


# F8.8 with constant lengths: the split of eight replicas that serves the most.
@pytest.mark.parametrize(("slots", "output"), [(8, 100), (16, 100), (32, 100), (64, 512)])
def test_the_best_split_of_pools(slots: int, output: int) -> None:
    s = scenario()
    rates = {}
    for readers in range(1, 8):
        pools = serving.Disaggregated(
            readers, 8 - readers, 1e12, batching=serving.Continuous(slots)
        )
        run = serving.simulate(s, constant(1000, serving.AtOnce(), 2000, output), pools)
        rates[readers] = serving.summary(run).requests
    step = float(decode.step_time(s, batch=slots, context=2000 + output / 2).total)
    time = float(prefill.prompt_time(s, 2000, 0).total)
    ratio = prefill.servers_ratio(time, slots, step, output)
    best = max(rates, key=lambda readers: rates[readers])
    # Of the splits on both sides of the ratio the better one.
    exact = 8 * ratio / (1 + ratio)
    near = {max(1, math.floor(exact)), min(7, math.ceil(exact))}
    assert best in near
