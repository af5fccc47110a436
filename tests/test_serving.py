"""Serving: figures that must come out, closed forms, and what is refused in words.

GOLDEN = reference/golden.json; FORMULAS = reference/formulas.md; OURS = arithmetic shown.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scenarios import scenario
from test_serving_steps import with_room

from calc import cost, decode, metrics, paging, prefill, serving
from calc.serving import ServingError, State, queueing
from calc.serving.trie import Trie

LONG_RUN = 40_000


def constant(requests: int, arrivals: Any, prompt: int, output: int, **more: Any) -> Any:
    """Traffic of constant lengths."""
    return serving.generate(
        requests, arrivals, serving.Constant(prompt), serving.Constant(output), **more
    )


# FORMULAS F8.6, GOLDEN static_eff_exp_b8: slots that make a token when a batch leaves together.
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
    assert round(1005 / 2000, 4) == 0.5025
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


# FORMULAS F8.4: prompts alone, Poisson arrivals, one replica.
@pytest.mark.parametrize("load", [0.5, 0.8])
def test_prompts_wait_as_in_a_queue(load: float) -> None:
    s = scenario()
    time = float(prefill.prompt_time(s, 1000, 0).total)
    traffic = constant(100_000, serving.Poisson(load / time), 1000, 1, seed=2)
    run = serving.simulate(s, traffic, serving.Continuous(64))
    wait = float((run.admitted - traffic.arrival).mean())
    assert_allclose(wait, queueing.wait_md1(load / time, time), rtol=0.05)
    assert_allclose(run.ttft.mean(), queueing.ttft_md1(load / time, time), rtol=0.05)
    assert np.isnan(run.tpot).all()
    assert queueing.wait_md1(1.01 / time, time) == math.inf


def test_littles_law() -> None:
    """GOLDEN little_law: 10 a second, 0.5 s and 511 gaps of 20 ms: 107.2; and of a run."""
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
    """FORMULAS F8.3, F8.7, F8.11: P + E[G²] / 2 E[G], and what contiguous pieces leave empty."""
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
    # GOLDEN pa_util_model: 499 / 2048 = 24 %, of answers of any length.
    assert_allclose(paging.contiguous_utilisation(161 + 338, 2048), 0.244, rtol=2e-3)
    paged = serving.simulate(s, traffic, serving.Continuous())
    expected = paging.paged_utilisation(queueing.mean_context(161, traffic.output), 16)
    assert_allclose(paged.memory[0].utilisation, expected, rtol=0.01)


def test_blocks_come_free_as_they_are_taken() -> None:
    """GOLDEN s001_evict_96: B (P + G) / G tokens a step."""
    assert metrics.kv_tokens_retired(32, 8192, 4096) == 96
    s = scenario("llama-3-8b", n_chips=16)
    traffic = constant(1500, serving.AtOnce(), 800, 400)
    run = serving.simulate(s, traffic, serving.Continuous(32))
    steps = sum(run.steps.values())
    assert_allclose(len(traffic) * 1200 / steps, metrics.kv_tokens_retired(32, 800, 400), rtol=0.03)


def test_means_mislead() -> None:
    """GOLDEN s004_ttft_mean: nine of 100 ms and one of 3,000 ms."""
    spread = serving.spread(np.array([0.1] * 9 + [3.0]))
    assert_allclose(spread.mean, 0.39)
    assert spread.percentiles[50] == 0.1
    assert spread.percentiles[99] == 3.0


def test_goodput_counts_what_keeps_both_limits() -> None:
    """GOLDEN s004_goodput: 30 of 100 a minute are 30 a minute."""
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
    """FORMULAS F8.1: 101 tokens, 100 gaps."""
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


def test_a_full_batch_makes_what_the_decode_page_says() -> None:
    """32 sequences of 8k for 4 tokens: the step of 8.57 ms."""
    traffic = constant(32, serving.AtOnce(), 8192, 2)
    run = serving.simulate(scenario(), traffic, serving.Static(32))
    assert_allclose(run.ended - run.first.max(), decode.step_time(scenario()).total)


def test_chunks_take_the_time_of_the_prefill_page() -> None:
    for fidelity in ("bound", "operators"):
        s = scenario(fidelity=fidelity, batch=32, context=8192)
        clock = serving.Clock(s, 20_000, 64)
        for before, size in [(0, 512), (512, 512), (7680, 512), (100, 7)]:
            work, links = clock.chunks(32, [(before, size)])
            step = clock.step(np.full(32, 8192))
            assert_allclose(
                step + work + links, prefill.chunked_step(s, size, before).total, rtol=1e-9
            )


# FORMULAS F8.8 with constant lengths: the split of eight replicas that serves the most.
@pytest.mark.parametrize(("slots", "output"), [(8, 100), (16, 100), (32, 100), (64, 512)])
def test_the_best_split_of_pools(slots: int, output: int) -> None:
    s = scenario()
    rates = {}
    for readers in range(1, 8):
        pools = serving.Disaggregated(
            readers, 8 - readers, 1e12, batching=serving.Continuous(slots)
        )
        run = serving.simulate(s, constant(3000, serving.AtOnce(), 2000, output), pools)
        rates[readers] = serving.summary(run).requests
    step = float(decode.step_time(s, batch=slots, context=2000 + output / 2).total)
    time = float(prefill.prompt_time(s, 2000, 0).total)
    ratio = prefill.servers_ratio(time, slots, step, output)
    best = max(rates, key=lambda readers: rates[readers])
    # Of the splits on both sides of the ratio the better one.
    exact = 8 * ratio / (1 + ratio)
    near = {max(1, math.floor(exact)), min(7, math.ceil(exact))}
    assert best in near


def test_transfers() -> None:
    """FORMULAS F8.9: layers but the last hide behind the reading."""
    s = scenario(kv="bf16", prompt=8192)
    traffic = constant(1, serving.AtOnce(), 8192, 10)
    for streaming in (False, True):
        run = serving.simulate(
            s, traffic, serving.Disaggregated(1, 1, s.scale_out, streaming=streaming)
        )
        moved = run.intervals.of(State.TRANSFER)
        reading = float(prefill.prompt_time(s).total)
        exposed = prefill.exposed_transfer(s, reading) if streaming else prefill.transfer_time(s)
        assert_allclose(float((moved.end - moved.start).sum()), exposed, atol=1e-12)


def test_transfers_of_one_replica_follow_each_other() -> None:
    """Two prompts at once: the second cache waits for the first when the network is slow."""
    s = scenario()
    pools = serving.Disaggregated(1, 1, 1e8, streaming=False)
    moved = serving.simulate(s, constant(2, serving.AtOnce(), 1000, 10), pools).intervals.of(
        State.TRANSFER
    )
    transfer = float(s.model.kv_bytes(1000, s.kv_format)) / 1e8
    reading = float(prefill.prompt_time(s, 1000, 0).total)
    assert transfer > reading
    assert_allclose(moved.end, [reading + transfer, reading + 2 * transfer])


def test_dynamic_batches() -> None:
    """GOLDEN dyn_batch_expected: min(4, 1 + those of a window) where the replica is idle."""
    assert_allclose(queueing.dynamic_batch(4, 20, 0.1), 2.782, rtol=1e-3)
    traffic = constant(LONG_RUN, serving.Poisson(20.0), 10, 2)
    s = scenario("llama-3-8b", "h100-sxm", n_chips=64, mfu=1.0)
    run = serving.simulate(s, traffic, serving.Dynamic(4, 0.1))
    assert_allclose(run.mean_batch, 2.782, rtol=0.02)
    waited = run.admitted - traffic.arrival
    assert waited.max() <= 0.1 + 2 * (run.ended - run.admitted).max()


def test_samples_share_their_prompt() -> None:
    s = scenario("llama-3-8b", n_chips=1, chip="h100-sxm", w="bf16", kv="bf16")
    one = serving.simulate(s, constant(1, serving.AtOnce(), 1000, 17), serving.Continuous())
    four = serving.simulate(
        s, constant(1, serving.AtOnce(), 1000, 17, samples=4), serving.Continuous()
    )
    # 62 full blocks shared; of the 63rd each has its own, and of a 64th for the last tokens.
    assert one.memory[0].peak == 64
    assert four.memory[0].peak == 62 + 4 * 2
    assert_allclose(four.ttft, one.ttft)
    assert four.produced[0] == 68


def test_sessions_find_their_prefix() -> None:
    s = scenario()
    traffic = serving.generate(
        600, serving.Poisson(0.5), serving.Constant(100), serving.Constant(50), system=1000,
        turns=3, think=20.0,
    )  # fmt: skip
    assert sorted(set(traffic.prompt.tolist())) == [1100, 1250, 1400]
    none = serving.simulate(s, traffic, serving.Continuous())
    spare = serving.simulate(s, traffic, serving.Continuous(), prefix=serving.SpareMemory())
    host = serving.simulate(s, traffic, serving.Continuous(), prefix=serving.HostMemory(1e12, 1e9))
    # All but the first find the system prompt in 62 whole blocks, later turns all but their own.
    assert spare.hit_rate == pytest.approx(host.hit_rate, abs=0.01)
    assert spare.hit_rate > 0.85
    assert none.hit_rate == 0
    assert spare.ttft.mean() < host.ttft.mean()
    assert spare.ttft.mean() < 0.4 * none.ttft.mean()
    apart = serving.Colocated(serving.Continuous(), 4, affinity=False)
    kept = serving.Colocated(serving.Continuous(), 4, affinity=True)
    rates = [
        serving.simulate(s, traffic, way, prefix=serving.SpareMemory()).hit_rate
        for way in (apart, kept)
    ]
    assert rates[0] < rates[1]
    pools = serving.simulate(s, traffic, serving.Disaggregated(1, 1), prefix=serving.SpareMemory())
    # Prefill replicas never see the answers: a turn finds the prompt before it, not what followed.
    assert rates[0] < pools.hit_rate < spare.hit_rate


def test_small_host_memory_forgets() -> None:
    s = scenario()
    traffic = constant(300, serving.Poisson(1.0), 100, 50, turns=3, think=20.0)
    rates = [
        serving.simulate(
            s, traffic, serving.Continuous(), prefix=serving.HostMemory(room, 1e9)
        ).hit_rate
        for room in (1e8, 1e9, 1e12)
    ]
    assert rates == sorted(rates)
    assert rates[0] < rates[-1]


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 12), st.booleans()), max_size=60))
def test_trie_against_a_set_of_blocks(moves: list[tuple[int, int, bool]]) -> None:
    """Texts of four sessions that share three blocks, kept, held, let go and thrown away."""
    trie, blocks = Trie(3), set[tuple[int, int]]()
    held: list[tuple[int, int]] = []

    def key(session: int, block: int) -> tuple[int, int]:
        return (-1 if block < 3 else session, block)

    for session, length, keep in moves:
        known = 0
        while known < length and key(session, known) in blocks:
            known += 1
        assert trie.find(session, length) == known
        if keep:
            assert trie.extend(session, known, length) >= known
            blocks |= {key(session, block) for block in range(length)}
            trie.hold(session, length)
            held.append((session, length))
        else:
            if held:
                trie.release(*held.pop(0))
            trie.shrink(length)
            kept = {key(one, b) for one in range(4) for b in range(trie.find(one, 12))}
            assert kept <= blocks
            blocks = kept
        needed = {key(one, b) for one, count in held for b in range(count)}
        assert needed <= blocks
        assert trie.held == len(needed)
        assert trie.cached == len(blocks)


def test_swapping_costs_time_and_recomputing_tokens() -> None:
    s = with_room(scenario("llama-3-8b", n_chips=1), 100)
    traffic = constant(40, serving.AtOnce(), 100, 300)
    again = serving.simulate(s, traffic, serving.Continuous(), relief=serving.Recompute())
    fast = serving.simulate(s, traffic, serving.Continuous(), relief=serving.Swap(1e12))
    slow = serving.simulate(s, traffic, serving.Continuous(), relief=serving.Swap(1e8))
    assert again.reread > 0
    assert fast.reread == slow.reread == 0
    assert min(run.preemptions.sum() for run in (again, fast, slow)) > 0
    assert fast.duration < again.duration
    assert fast.duration < slow.duration
    assert again.intervals.of(State.PREEMPTED).request.size > 0


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
    """FORMULAS F4.2, F4.3: 1,000 tokens read and 100 more that pass the model, one at a time."""
    s = scenario()
    run = serving.simulate(s, constant(1, serving.AtOnce(), 1000, 101), serving.Continuous())
    figures = serving.summary(run)
    flops = 2 * s.model.active_params * 1100
    assert_allclose(figures.mfu, flops / (run.duration * 16 * s.chip.peak(s.compute_format)))
    weights = 101 * float(s.model.params_read(1)) * s.weight_format.bytes
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


def test_groups_read_prompts_at_the_same_time() -> None:
    one = scenario("llama-3-8b", fidelity="operators", attention_dp=4)
    run = serving.simulate(one, constant(40, serving.AtOnce(), 1000, 20), serving.Continuous())
    assert run.finished.all()
    assert serving.Clock(one, 100, 8).lanes == 4
    assert len(np.unique(run.first)) == 10


# What is refused, and the words that must be in the reason.


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: serving.Poisson(0), "arrival rate is 0 requests per second"),
        (lambda: serving.Bursty(math.nan), "arrival rate is nan"),
        (lambda: serving.Limits(0, 0.1), "first token is 0 s"),
        (lambda: serving.Limits(1, 0), "per output token is 0 s"),
        (lambda: serving.Constant(0), "A length is 0 tokens"),
        (lambda: serving.Lognormal(math.inf), "A length is inf"),
        (lambda: serving.Lognormal(10, 0), "spread of lengths is 0"),
        (lambda: serving.Uniform(10, 5), "run backwards"),
        (lambda: serving.Mix(()), "names none"),
        (lambda: serving.Static(0), "The batch is 0"),
        (lambda: serving.Dynamic(4, -1), "window is -1 s"),
        (lambda: serving.ChunkedPrefill(64, budget=32), "at least the 64 sequences"),
        (lambda: serving.Swap(0), "bandwidth to the host is 0"),
        (lambda: serving.Contiguous(0), "longest sequence is 0"),
        (lambda: serving.HostMemory(0, 1), "host memory of the prefix cache is 0"),
        (lambda: serving.Disaggregated(0, 1), "prefill replicas is 0"),
        (lambda: serving.Colocated(serving.Continuous(), 0), "number of replicas is 0"),
        (lambda: constant(0, serving.AtOnce(), 1, 1), "number of requests is 0"),
        (lambda: constant(1, serving.AtOnce(), 1, 1, samples=0), "number of samples is 0"),
        (lambda: constant(100, serving.AtOnce(), 1000, 100_000, turns=100), "fewer turns"),
        (lambda: constant(1, serving.AtOnce(), 1, 1_000_000, samples=100), "over all its samples"),
        (lambda: constant(9, serving.AtOnce(), 1, 1).at_rate(2), "no rate to change"),
        (lambda: constant(9, serving.Poisson(1), 1, 1).at_rate(0), "arrival rate is 0"),
    ],
)
def test_numbers_that_cannot_be(make: Any, words: str) -> None:
    with pytest.raises(ServingError, match=words):
        make()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "no column arrival or prompt or output"),
        ("arrival,prompt\n0,1", "no column output"),
        ("arrival,prompt,output\n", "no row"),
        ("arrival,prompt,output\n0,5,5\n-1,5,5", "Line 3 .* -1 in column arrival"),
        ("arrival,prompt,output\n0,5,5\n1,nan,5", "Line 3 .* no number in column prompt"),
        ("arrival,prompt,output\n0,5,5\n\n1,5", "Line 4 .* no number in column output"),
        ("arrival,prompt,output\n0,0,5", "0 in column prompt, outside 1"),
        ("arrival,prompt,output\n0,1.5,5", "1.5 in column prompt, not whole"),
        ("arrival,prompt,output\n0,inf,5", "inf in column prompt"),
        ("arrival,prompt,output\n0,1e30,5", "outside 1"),
        ('arrival,prompt,output\n0,"' + "1" * 200_000, "no CSV"),
    ],
)
def test_traces_that_cannot_be_read(text: str, words: str) -> None:
    with pytest.raises(ServingError, match=words):
        serving.read_trace(text)


def test_traces() -> None:
    traffic = serving.read_trace("\ufeffOutput, prompt ,arrival,note\n20,100,7\n10,300,5.5,x\n")
    assert traffic.arrival.tolist() == [0, 1.5]
    assert traffic.prompt.tolist() == [300, 100]
    assert traffic.output.tolist() == [10, 20]
    assert len(traffic.notices) == 2
    assert "sorted" in traffic.notices[0]
    assert "5.5 s" in traffic.notices[1]
    run = serving.simulate(scenario(), traffic, serving.Continuous())
    assert run.notices == traffic.notices


@pytest.mark.parametrize("row", ["1,2,3\n", "1.25,1000,300\n"])
def test_a_trace_of_a_million_rows(row: str) -> None:
    traffic = serving.read_trace("arrival,prompt,output\n" + row * 1_000_000)
    assert len(traffic) == 50_000
    assert any("50,000 rows" in notice for notice in traffic.notices)


@given(st.text(max_size=60) | st.text("0123456789.,-en\n\"' ", max_size=60))
def test_any_text_is_refused_in_words(text: str) -> None:
    for body in (text, "arrival,prompt,output\n" + text):
        try:
            serving.read_trace(body)
        except ServingError as error:
            assert str(error).endswith(".")


def test_requests_longer_than_the_memory() -> None:
    s = with_room(scenario("llama-3-8b", n_chips=1), 10)
    traffic = serving.Traffic(
        np.zeros(3), np.array([100, 170, 10]), np.array([10, 10, 10]), math.inf, np.arange(3)
    )
    run = serving.simulate(s, traffic, serving.Continuous())
    assert_array_equal(run.fate, [1, 2, 1])
    assert run.notices == (
        "Rejected for want of cache: 1 of 3 requests. Request 2 needs 12 blocks of 16 tokens, "
        "and the replica has 10.",
    )
    short = serving.simulate(s, traffic, serving.Continuous(), memory=serving.Contiguous(100))
    assert_array_equal(short.fate, [2, 2, 1])
    wide = serving.simulate(s, replace(traffic, samples=5), serving.Continuous(4))
    assert wide.rejected.all()
    assert math.isnan(serving.summary(wide).throughput)
    pools = serving.simulate(s, replace(traffic, samples=20), serving.Disaggregated())
    assert pools.rejected.all()
    assert "5 samples do not fit into 4 slots" in wide.notices[0]


def test_deployments_that_cannot_be() -> None:
    traffic = constant(3, serving.AtOnce(), 10, 10)
    with pytest.raises(ServingError, match=r"does not fit on 1 × .*70.* GB of 16\.0 GB"):
        serving.simulate(scenario(n_chips=1), traffic, serving.Continuous())
    with pytest.raises(ServingError, match="no published rate"):
        serving.simulate(scenario(chip="rtx-5090", n_chips=8), traffic, serving.Continuous())
    with pytest.raises(ServingError, match="windows or a constant state"):
        serving.simulate(
            scenario("gemma-3-27b"),
            constant(3, serving.AtOnce(), 2000, 10),
            serving.Continuous(),
            prefix=serving.SpareMemory(),
        )
    with pytest.raises(ServingError, match="they need paged memory"):
        serving.simulate(
            scenario(), traffic, serving.Continuous(), memory=serving.Contiguous(100),
            prefix=serving.SpareMemory(),
        )  # fmt: skip
    with pytest.raises(ServingError, match="not in order"):
        serving.Traffic(np.array([1.0, 0.0]), np.array([1, 1]), np.array([1, 1]), 1.0, np.arange(2))


@pytest.mark.parametrize("model", [
    "gemma-3-27b", "gpt-oss-120b", "deepseek-v3", "deepseek-v4-pro", "jamba-1.5-mini", "minimax-m1",
    "llama-4-scout",
])  # fmt: skip
@pytest.mark.parametrize("fidelity", ["bound", "operators"])
def test_every_kind_of_cache_is_served(model: str, fidelity: str) -> None:
    s = scenario(model, "h200", w="fp8", kv="fp8", c="fp8", n_chips=32, fidelity=fidelity)
    traffic = serving.generate(
        60, serving.Poisson(5.0), serving.Lognormal(2000), serving.Lognormal(300)
    )
    for policy in (serving.ChunkedPrefill(64), serving.Continuous(16)):
        run = serving.simulate(s, traffic, policy)
        assert run.finished.all()
        assert serving.summary(run).mbu < 1
