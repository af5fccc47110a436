"""Memory of a service: shared prompts, prefix caches, and what happens when it is full."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scenarios import constant, scenario, with_room

from calc import serving
from calc.serving import State
from calc.serving.trie import Chain, Trie


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
    trie, blocks = Trie(), set[tuple[int, int]]()
    held: list[tuple[int, int]] = []

    def key(session: int, block: int) -> tuple[int, int]:
        return (-1 if block < 3 else session, block)

    def chain(session: int) -> Chain:
        return ((-1, 3), (session, 1 << 30))

    for session, length, keep in moves:
        known = 0
        while known < length and key(session, known) in blocks:
            known += 1
        assert trie.find(chain(session), length) == known
        if keep:
            assert trie.extend(chain(session), known, length) >= known
            blocks |= {key(session, block) for block in range(length)}
            trie.hold(chain(session), length)
            held.append((session, length))
        else:
            if held:
                one, count = held.pop(0)
                trie.release(chain(one), count)
            trie.shrink(length)
            kept = {key(one, b) for one in range(4) for b in range(trie.find(chain(one), 12))}
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
