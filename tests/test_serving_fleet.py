"""Several replicas on one clock: who takes a request, and what waits for it.

F8.15 and the like = docs/method.md.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scenarios import constant, scenario

from calc import cost, memory, prefill, serving
from calc.serving import ServingError, queueing
from calc.serving.routing import Routing
from presets import chips

# One sequence at a time.
ONE = serving.Continuous(1)
ROUTINGS: list[Routing] = [
    serving.InTurn(), serving.LeastRequests(), serving.LeastTokens(), serving.PrefixAware()
]  # fmt: skip


def waits(arrival: Any, service: Any, *, in_turn: bool) -> Any:
    """Waits before two servers, in turn or from one queue."""
    free, found = [0.0, 0.0], []
    for turn, (comes, takes) in enumerate(zip(arrival.tolist(), service.tolist(), strict=True)):
        server = turn % 2 if in_turn else int(free[1] < free[0])
        start = max(comes, free[server])
        found.append(start - comes)
        free[server] = start + takes
    return np.array(found)


@pytest.mark.parametrize(("in_turn", "expected"), [(False, 0.1778), (True, 0.2844)])
def test_two_servers_in_closed_form(in_turn: bool, expected: float) -> None:
    """F8.15: 0.1 s on average at 0.8 of what they can do."""
    random = np.random.default_rng(3)
    gaps, service = random.exponential(1.0, (2, 200_000))
    # Of exactly the rate and the mean asked for, so that fewer will do.
    arrival, service = np.cumsum(gaps / gaps.mean() / 16), 0.1 * service / service.mean()
    found = waits(arrival, service, in_turn=in_turn).mean()
    theory = queueing.wait_in_turn if in_turn else queueing.wait_one_queue
    assert_allclose(theory(16, 0.1, 2), expected, atol=5e-5)
    assert_allclose(found, expected, rtol=0.02)


@pytest.mark.parametrize("routing", [serving.InTurn(), serving.LeastTokens()])
def test_replicas_wait_as_two_servers(routing: Any) -> None:
    """Requests go to the replica that is free first, as from one queue, or in turn."""
    s = scenario("llama-3-8b", "h100-sxm", w="bf16", kv="bf16", n_chips=1)
    lengths = serving.Constant(1), serving.Exponential(200)
    alone = serving.simulate(s, serving.generate(1200, serving.Even(1e-3), *lengths), ONE)
    service = alone.e2e
    rate = 1.6 / float(service.mean())
    traffic = serving.generate(1200, serving.Poisson(rate), *lengths)
    run = serving.simulate(s, traffic, serving.Colocated(ONE, 2, routing=routing))
    expected = waits(traffic.arrival, service, in_turn=routing.blind).mean()
    assert_allclose((run.admitted - traffic.arrival).mean(), expected, rtol=0.01)


def test_looking_at_load_shortens_waits() -> None:
    s = scenario("llama-3-8b", "h100-sxm", w="bf16", kv="bf16", n_chips=1)
    traffic = serving.generate(
        500, serving.Poisson(14.0), serving.Lognormal(900, 2.0), serving.Lognormal(200, 2.0), seed=1
    )
    waits = [
        serving.simulate(s, traffic, serving.Colocated(serving.Continuous(4), 4, routing=one))
        .ttft.mean()
        for one in ROUTINGS
    ]  # fmt: skip
    assert waits[1] < 0.9 * waits[0]
    assert waits[2] < 0.9 * waits[0]


def test_prefixes_draw_requests() -> None:
    """Without affinity a router that looks at prefixes finds what one in turn does not."""
    s = scenario()
    traffic = constant(300, serving.Poisson(1.0), 400, 50, turns=6, think=20.0)
    found = [
        serving.simulate(
            s, traffic, serving.Colocated(serving.Continuous(), 4, affinity=False, routing=one),
            prefix=serving.SpareMemory(),
        ).hit_rate
        for one in (ROUTINGS[0], ROUTINGS[2], ROUTINGS[3])
    ]  # fmt: skip
    assert found[2] > 1.3 * max(found[:2])


def test_sessions_stay_where_their_first_request_went() -> None:
    traffic = constant(200, serving.Poisson(20.0), 100, 50, turns=5, think=1.0)
    for routing in ROUTINGS:
        run = serving.simulate(
            scenario(), traffic, serving.Colocated(serving.Continuous(), 3, routing=routing)
        )
        assert set(run.replica.tolist()) == {0, 1, 2}
        for session in np.unique(traffic.session):
            assert len(set(run.replica[traffic.session == session].tolist())) == 1


@pytest.mark.parametrize("routing", ROUTINGS, ids=lambda routing: routing.name)
def test_many_replicas(routing: Any) -> None:
    traffic = constant(400, serving.Poisson(2000.0), 100, 20)
    run = serving.simulate(
        scenario(), traffic, serving.Colocated(serving.Static(2), 256, routing=routing)
    )
    assert run.finished.all()
    assert len(run.memory) == 256
    assert len(np.unique(run.replica)) == 256
    pools = serving.Disaggregated(40, 216, 1e11, routing=routing)
    assert serving.simulate(scenario(), traffic, pools).finished.all()


def test_pools_of_their_own() -> None:
    """Prompts on two H100 in tensor parallel, answers on 16 TPU v5e: each at its own speed."""
    s = scenario()
    reader = scenario(chip="h100-sxm", n_chips=4, w="fp8", kv="int8", fidelity="operators")
    traffic = constant(40, serving.Even(0.2), 4000, 30)
    pools = serving.Disaggregated(2, 1, 1e12, reader=reader)
    run = serving.simulate(s, traffic, pools, prefix=serving.SpareMemory())
    assert_allclose(run.ttft, prefill.prompt_time(reader, 4000, 0).total)
    same = serving.simulate(s, traffic, serving.Disaggregated(2, 1, 1e12))
    assert_allclose(run.ended - run.first, same.ended - same.first, rtol=1e-2)
    assert_array_equal(run.replica, same.replica)
    assert run.memory[0].total == int(
        (memory.capacity(s) - memory.weights(s)) / memory.kv_per_sequence(s, s.kv_block)
    )
    assert run.chips == 2 * 4 + 16
    figures = serving.summary(run)
    price = 8 * cost.price(reader) + 16 * cost.price(s)
    assert_allclose(
        figures.usd_per_million_tokens, price / 3600 / figures.throughput * 1e6, rtol=1e-9
    )
    assert 0 < figures.mfu < 1
    other = replace(reader, model=scenario("llama-3-8b").model)
    with pytest.raises(ServingError, match="same model"):
        serving.simulate(s, traffic, replace(pools, reader=other))


def test_every_group_has_a_budget() -> None:
    """Four groups read four prompts in the time that one takes, a chunk of each in a step."""
    s = scenario("llama-3-8b", fidelity="operators", attention_dp=4, n_chips=16)
    prompts = constant(4, serving.AtOnce(), 1000, 1)
    alone = serving.simulate(s, prompts.upto(1), serving.ChunkedPrefill(64, budget=512))
    whole = serving.simulate(s, prompts, serving.ChunkedPrefill(64, budget=512))
    each = serving.simulate(s, prompts, serving.ChunkedPrefill(64, budget=512, groups=4))
    assert_allclose(each.ttft, alone.ttft[0])
    assert_allclose(whole.ttft.max(), 4 * alone.ttft[0], rtol=0.05)
    serving.ChunkedPrefill(64, budget=16, groups=4)
    with pytest.raises(ServingError, match="at least the 16 sequences"):
        serving.ChunkedPrefill(64, budget=15, groups=4)


def test_groups_beside_a_batch_take_the_longest_of_them() -> None:
    s = scenario("llama-3-8b", fidelity="operators", attention_dp=2, n_chips=8)
    traffic = serving.Traffic(
        np.array([0.0, 0.0, 1.0, 1.0]), np.array([16, 16, 512, 100]), np.array([2000, 2000, 1, 1]),
        1.0, np.arange(4),
    )  # fmt: skip
    run = serving.simulate(s, traffic, serving.ChunkedPrefill(64, budget=600, groups=2))
    clock = serving.Clock(s, 3000, 4)
    links = clock.chunks(2, [(0, 512)])
    step = clock.together(clock.fixed[2] + links[0], clock.links[2] + links[1])
    # Both are read in one step, as long as the larger of them takes.
    assert run.first[2] == run.first[3]
    start = run.admitted[2]
    assert 0 <= start - 1.0 < step
    assert_allclose(run.first[2] - start, step, rtol=0.02)


def test_the_link_says_what_prefill_replicas_are() -> None:
    s = scenario(fidelity="operators")
    assert serving.reader({}, s, {}) is None
    wide = serving.reader({"prefill_chips": 32, "prefill_pipeline": 2}, s, {})
    assert wide and (wide.n_chips, wide.pipeline, wide.chip) == (32, 2, s.chip)
    own = replace(s, price=9.0, power=500.0)
    other = serving.reader({"prefill_chip": "h100-sxm"}, own, {"chips": chips})
    assert other and other.chip.id == "h100-sxm" and other.n_chips == 16
    # What was typed is of the chip that decodes.
    assert other.price == other.power == 0.0
    assert serving.reader(serving.prefill_pool.settings(wide, s), s, {}) == wide
    pools = serving.setup({"policy": "disaggregated"}, s, wide).deployments["disaggregated"]
    assert isinstance(pools, serving.Disaggregated)
    assert pools.reader == wide and pools.bandwidth == 32 * s.scale_out
    small = replace(s, n_chips=1)
    with pytest.raises(serving.ServingError, match=r"Prefill replicas: .* does not fit on 1 ×"):
        serving.simulate(s, constant(1, serving.Even(1.0), 10, 2), replace(pools, reader=small))
