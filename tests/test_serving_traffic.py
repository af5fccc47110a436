"""Traffic that is steady from its first request, and figures of the steady part of a run."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scenarios import constant, scenario, with_room

from calc import serving
from calc.serving import window

LENGTHS = serving.Lognormal(1000), serving.Lognormal(300)
# 70B in FP8 on four H100.
FOUR = scenario(chip="h100-sxm", n_chips=4, w="fp8", kv="fp8", c="fp8")


def between_turns(traffic: serving.Traffic) -> float:
    """Mean time from one turn of a session to its next [s]."""
    order = np.lexsort((traffic.arrival, traffic.session))
    session, arrival = traffic.session[order], traffic.arrival[order]
    return float(np.diff(arrival)[session[1:] == session[:-1]].mean())


@pytest.mark.parametrize("arrivals", [serving.Poisson(8.0), serving.Even(8.0)])
def test_turns_come_at_the_rate_that_was_asked(arrivals: serving.Poisson) -> None:
    """8 a second with 10 turns and 30 s between them: 8, not 0.6."""
    rates = [
        serving.generate(400, arrivals, *LENGTHS, turns=10, seed=seed).realised_rate
        for seed in range(20)
    ]
    assert_allclose(np.mean(rates), 8.0, rtol=0.03)
    traffic = serving.generate(20_000, arrivals, *LENGTHS, turns=10)
    assert_allclose(traffic.realised_rate, 8.0, rtol=0.03)
    assert_allclose(between_turns(traffic), 30.0, rtol=0.03)
    # A turn finds 4.5 others before it on average, at the start as at the end.
    for part in (traffic.prompt[:4000], traffic.prompt[-4000:]):
        assert_allclose(part.mean(), 1000 + 4.5 * 1300, rtol=0.05)


def test_a_sweep_leaves_the_time_between_turns() -> None:
    traffic = serving.generate(40_000, serving.Poisson(8.0), *LENGTHS, turns=10)
    fast = traffic.at_rate(32.0)
    assert_allclose(fast.realised_rate, 32.0, rtol=0.05)
    assert_allclose(between_turns(fast), 30.0, rtol=0.05)
    assert len(fast) == len(traffic)
    # Of a trace more sessions begin, and each goes on as it did.
    trace = serving.Traffic(
        np.array([0.0, 10.0, 30.0, 50.0]), np.full(4, 9), np.full(4, 9), 0.06,
        np.array([0, 1, 0, 1]),
    )  # fmt: skip
    again = trace.at_rate(0.12)
    assert_allclose(again.arrival, [0.0, 5.0, 30.0, 45.0])
    assert_array_equal(again.session, [0, 1, 0, 1])


def test_more_of_the_same_requests() -> None:
    traffic = constant(50, serving.Poisson(2.0), 100, 10, turns=3)
    assert len(traffic.enough(200)) == 200
    assert_array_equal(traffic.enough(20).arrival, traffic.arrival[:20])
    alone = serving.generate(50, serving.Poisson(2.0), *LENGTHS)
    assert_array_equal(alone.enough(80).prompt[:50], alone.prompt)


def test_rates_are_of_the_steady_part() -> None:
    """40 a second are more than it can do: what it does shows after 400 requests as after 6,000."""
    found = []
    for requests in (400, 6000):
        traffic = serving.generate(requests, serving.Poisson(40.0), *LENGTHS)
        run = serving.simulate(FOUR, traffic, serving.Continuous(64))
        figures = serving.summary(run)
        assert not figures.window.settled
        found.append(figures)
        whole = run.produced.sum() / run.duration
        assert figures.throughput > whole
    assert_allclose(found[0].throughput, found[1].throughput, rtol=0.07)
    assert_allclose(found[0].usd_per_million_tokens, found[1].usd_per_million_tokens, rtol=0.07)


def test_a_service_that_keeps_up_is_steady() -> None:
    traffic = serving.generate(3000, serving.Poisson(5.0), *LENGTHS)
    figures = serving.summary(serving.simulate(FOUR, traffic, serving.Continuous(64)))
    assert figures.window.settled
    assert figures.window.requests > 1500
    assert_allclose(figures.requests, 5.0, rtol=0.05)
    assert_allclose(figures.throughput, 1500, rtol=0.05)
    once = constant(100, serving.AtOnce(), 100, 10)
    assert serving.summary(serving.simulate(FOUR, once, serving.Continuous())).window.whole


def test_the_interval_of_a_share() -> None:
    """Of independent requests that of a binomial share; of alike ones more."""
    random = np.random.default_rng(2)
    widths = [window.half_width(random.random(2000) < 0.9) for _ in range(200)]
    assert_allclose(np.mean(widths), 1.96 * math.sqrt(0.09 / 2000), rtol=0.05)
    alike = np.repeat(random.random(100) < 0.9, 20)
    assert window.half_width(alike) > 2.5 * np.mean(widths)
    assert math.isinf(window.half_width(np.ones(19, bool)))
    assert window.half_width(np.ones(2000, bool)) > 0


def test_gaps_show_what_a_mean_hides() -> None:
    """One answer of 500 tokens that a prompt of 100,000 interrupts once."""
    s = scenario()
    traffic = serving.Traffic(
        np.array([0.0, 1.0]), np.array([1000, 100_000]), np.array([500, 1]), 1.0, np.arange(2)
    )
    figures = serving.summary(serving.simulate(s, traffic, serving.Continuous()))
    reading = float(serving.Clock(s, 100_000, 1).prompts.alone(100_000))
    assert_allclose(figures.longest_gap, reading, rtol=0.01)
    assert figures.itl.percentiles[99] < 0.02 * reading
    assert_allclose(figures.itl.mean, figures.tpot.mean)


@pytest.mark.parametrize("relief", [serving.Recompute(), serving.Swap(1e8)])
@pytest.mark.parametrize("samples", [1, 3])
@pytest.mark.parametrize(
    "policy", [serving.Continuous(), serving.ChunkedPrefill(64, 128), serving.Disaggregated()]
)
def test_gaps_add_up(relief: serving.Swap, samples: int, policy: serving.Continuous) -> None:
    """As many as tokens but the first, and as long as all answers from first to last."""
    s = with_room(scenario("llama-3-8b", n_chips=1), 100)
    traffic = serving.generate(
        60, serving.Poisson(10.0), serving.Lognormal(200), serving.Lognormal(100), samples=samples
    )
    run = serving.simulate(s, traffic, policy, relief=relief)
    times, counts = run.gaps
    done = run.finished
    assert run.preemptions.sum() > 0
    assert counts.sum() == samples * (traffic.output - 1)[done].sum()
    assert_allclose(times @ counts, samples * (run.ended - run.first)[done].sum())


def test_prompts_read_together_come_together() -> None:
    s = scenario()
    traffic = constant(4, serving.AtOnce(), 1000, 1)
    alone = serving.simulate(s, traffic, serving.Continuous())
    both = serving.simulate(s, traffic, serving.Continuous(budget=2000))
    assert len(np.unique(alone.first)) == 4
    assert_allclose(both.first, np.sort(alone.first)[[1, 1, 3, 3]], rtol=1e-6)
    # A longer one than the budget is read by itself.
    assert_allclose(serving.simulate(s, traffic, serving.Continuous(budget=10)).first, alone.first)
    # Short ones share one pass over the weights.
    short = constant(10, serving.AtOnce(), 10, 1)
    pass_ = serving.simulate(s, short, serving.Continuous(budget=100)).first.max()
    assert pass_ < 0.25 * serving.simulate(s, short, serving.Continuous()).first.max()


@pytest.mark.parametrize("fidelity", ["bound", "operators"])
@pytest.mark.parametrize("model", ["llama-3-70b", "deepseek-v3"])
def test_parts_read_together_take_what_they_take_in_one_piece(fidelity: str, model: str) -> None:
    """Two halves of one prompt in one pass are that prompt."""
    s = scenario(model, "h200", w="fp8", c="fp8", n_chips=8, fidelity=fidelity)
    prompts = serving.Clock(s, 8192, 1).prompts
    for size in (64, 4096):
        halves = prompts.together([(0, size), (size, size)])
        assert_allclose(halves, prompts.alone(2 * size), rtol=0.02)


@pytest.mark.parametrize("pause", [0.0, 5.0])
def test_clients_that_wait(pause: float) -> None:
    """F8.19: N / (response + pause), by Little's law."""
    traffic = serving.closed_loop(1500, 24, *LENGTHS, pause=pause)
    for policy in (serving.Continuous(16), serving.ChunkedPrefill(16), serving.Disaggregated(1, 1)):
        run = serving.simulate(FOUR, traffic, policy)
        assert run.finished.all()
        assert run.intervals.running()[1].max() <= 24
        pair = serving.theory.closed_loop(run)
        assert_allclose(pair.run, pair.theory, rtol=0.05)


def test_as_many_clients_as_slots_keep_them_full() -> None:
    """Without a pause: each of N reads N prompts and makes G - 1 steps of N."""
    s = scenario()
    traffic = serving.closed_loop(600, 32, serving.Constant(1000), serving.Constant(200))
    figures = serving.summary(serving.simulate(s, traffic, serving.Continuous(32)))
    clock = serving.Clock(s, 1200, 32)
    steps = sum(clock.step(np.full(32, 1000 + made)) for made in range(1, 200))
    assert_allclose(figures.requests, 32 / (32 * clock.prompts.alone(1000) + steps), rtol=0.02)
    with pytest.raises(serving.ServingError, match="no rate to change"):
        traffic.at_rate(2.0)


def test_clients_fill_no_static_batch() -> None:
    """Four clients before a batch of eight: it starts with those there are."""
    traffic = serving.closed_loop(20, 4, serving.Constant(100), serving.Constant(10))
    run = serving.simulate(FOUR, traffic, serving.Colocated(serving.Static(8), 2))
    assert run.finished.all()
    assert len(np.unique(run.traffic.arrival)) > 4
