"""Deployments: steps, chunks and transfers of the other pages, and what is refused in words.

F8.9 and the like = docs/method.md.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scenarios import constant, scenario

from calc import decode, prefill, serving
from calc.serving import ServingError, State


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
                step + work + links,
                prefill.chunked_step(s, size, before, math.inf).total,
                rtol=1e-9,
            )


def test_transfers() -> None:
    """F8.9: layers but the last hide behind the reading."""
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


def test_groups_read_prompts_at_the_same_time() -> None:
    one = scenario("llama-3-8b", fidelity="operators", attention_dp=4)
    run = serving.simulate(one, constant(40, serving.AtOnce(), 1000, 20), serving.Continuous())
    assert run.finished.all()
    assert serving.Clock(one, 100, 8).lanes == 4
    assert len(np.unique(run.first)) == 10


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


def test_deployments_that_cannot_be() -> None:
    traffic = constant(3, serving.AtOnce(), 10, 10)
    with pytest.raises(ServingError, match=r"does not fit on 1 × .*70.* GB of 16\.9 GB"):
        serving.simulate(scenario(n_chips=1), traffic, serving.Continuous())
    with pytest.raises(ServingError, match="no published rate"):
        serving.simulate(scenario(chip="t4", n_chips=8), traffic, serving.Continuous())
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
