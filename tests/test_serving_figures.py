"""Figures of a run: latencies, goodput, utilisation and price.

F8.1 and the like = docs/method.md.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scenarios import constant, scenario, with_room

from calc import cost, decode, prefill, serving


def test_means_mislead() -> None:
    """Nine of 100 ms and one of 3,000 ms."""
    spread = serving.spread(np.array([0.1] * 9 + [3.0]))
    assert_allclose(spread.mean, 0.39)
    assert spread.percentiles[50] == 0.1
    assert spread.percentiles[99] == 3.0


def test_goodput_counts_what_keeps_both_limits() -> None:
    """F8.5: 30 of 100 a minute are 30 a minute."""
    limits = serving.Limits(0.2, 0.1)
    ttft, tpot = np.full(100, 0.1), np.full(100, 0.05)
    ttft[:40], tpot[30:70] = 0.3, 0.2
    good = serving.meets(ttft, tpot, limits)
    assert good.sum() == 30
    assert serving.goodput(int(good.sum()), 1.0) == 30
    assert serving.goodput(int(good.sum()), 60.0) == 0.5
    alone = serving.meets(np.array([0.1, np.inf]), np.array([np.nan, np.inf]), limits)
    assert_array_equal(alone, [True, False])


def test_failures_count() -> None:
    """Requests that find no room have waited for ever, in every percentile."""
    s = with_room(scenario("llama-3-8b", n_chips=1), 40)
    traffic = constant(100, serving.AtOnce(), 100, 100)
    run = serving.simulate(s, traffic, serving.Continuous(), relief=serving.Reject())
    figures = serving.summary(run)
    assert figures.rejected + figures.finished == 100
    assert figures.rejected > 50
    assert math.isinf(figures.ttft.percentiles[50])
    assert math.isinf(figures.e2e.percentiles[99])
    assert math.isfinite(figures.ttft.mean)
    assert figures.requests == pytest.approx(figures.finished / run.duration)
    values, share = serving.cdf(run.e2e)
    assert share[-1] == figures.finished / 100
    assert np.isfinite(values).all()


def test_both_conventions_of_tpot() -> None:
    """F8.1: 101 tokens, 100 gaps."""
    run = serving.simulate(
        scenario(), constant(1, serving.AtOnce(), 1000, 101), serving.Continuous()
    )
    span = float(run.ended[0] - run.first[0])
    assert_allclose(run.tpot, span / 100)
    assert_allclose(run.tpot_per_token, span / 101)
    assert_allclose(run.ttft + run.tpot * 100, run.e2e)
    assert_allclose(run.ttft + run.tpot_per_token * 101, run.e2e)
    contexts = np.arange(1000, 1100)
    steps = decode.step_time(scenario(), batch=1, context=contexts).total
    assert_allclose(span, steps.sum())
    assert_allclose(run.ttft, prefill.prompt_time(scenario(), 1000, 0).total)


def test_utilisation_and_price() -> None:
    s = scenario()
    traffic = constant(400, serving.AtOnce(), 1000, 300)
    for policy in (serving.Continuous(), serving.ChunkedPrefill(), serving.Static(32)):
        run = serving.simulate(s, traffic, policy)
        figures = serving.summary(run, serving.Limits(1e3, 1e3))
        assert 0 < figures.mfu < 1
        assert 0 < figures.mbu < 1
        tokens = 400 * 300 / run.duration
        assert_allclose(figures.throughput, tokens)
        price = cost.per_million(cost.price(s) * 16, tokens)
        assert_allclose(figures.usd_per_million_good_tokens, price)
    none = serving.summary(run, serving.Limits(1e-9, 1e-9))
    assert none.goodput == 0
    assert math.isinf(none.usd_per_million_good_tokens)


def test_utilisation_of_one_request() -> None:
    """F4.2, F4.3: 1,000 tokens read and 100 more that pass the model, one at a time."""
    s = scenario()
    run = serving.simulate(s, constant(1, serving.AtOnce(), 1000, 101), serving.Continuous())
    figures = serving.summary(run)
    flops = 2 * s.model.active_params * 1100
    assert_allclose(figures.mfu, flops / (run.duration * 16 * s.chip.peak(s.compute_format)))
    weights = 101 * float(s.model.bytes_read(1, s.stored))
    cache = s.model.kv_bytes_read(np.arange(1000, 1100), s.kv_format).sum()
    cache += s.model.kv_bytes(1000, s.kv_format)
    assert_allclose(figures.mbu, (weights + cache) / (run.duration * 16 * s.chip.bandwidth))


def test_what_is_found_is_no_work() -> None:
    s = scenario()
    traffic = constant(2, serving.Even(0.1), 100, 5, system=1000)
    run = serving.simulate(s, traffic, serving.Continuous(), prefix=serving.SpareMemory())
    # The second finds 992 of the 1,000 tokens that both begin with, 62 blocks of 16.
    assert run.found == 992
    flops = 2 * s.model.active_params * (2 * 1104 - 992)
    mfu = serving.summary(run).mfu
    assert_allclose(mfu, flops / (run.duration * 16 * s.chip.peak(s.compute_format)))
