"""Speculative decoding: published figures, limits, and exactness by drawing.

Sources: LEV = Leviathan et al. 2022 (arXiv 2211.17192); F7.2 = docs/method.md; OURS =
arithmetic shown.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scenarios import scenario

from calc import sampling, speculative
from calc.sampling import DistributionError
from calc.speculative import SpeculationError
from presets import models

EIGHT_H100 = scenario(chip="h100-sxm", w="bf16", kv="bf16", n_chips=8, context=1024)

# LEV table 1: speed at c = 0 and operations at c_hat = 0.
TABLE_1 = [
    (0.6, 2, 1.96, 1.53), (0.7, 3, 2.53, 1.58), (0.8, 2, 2.44, 1.23), (0.9, 2, 2.71, 1.11),
    (0.9, 10, 6.86, 1.60),
]  # fmt: skip


@pytest.mark.parametrize(("alpha", "n_draft", "speed", "operations"), TABLE_1)
def test_published_table(alpha: float, n_draft: int, speed: float, operations: float) -> None:
    assert_allclose(speculative.speedup(alpha, n_draft, 0), speed, rtol=3e-3)
    assert_allclose(speculative.operations_factor(alpha, n_draft, 0), operations, rtol=5e-3)


def test_worked_examples() -> None:
    assert_allclose(speculative.expected_tokens(0.8, 4), 3.36, rtol=1e-3)  # F7.2
    assert_allclose(speculative.expected_tokens(0.8, 10**6), 5)  # F7.2, the ceiling
    assert_allclose(speculative.expected_tokens(0.2, 3), 1.25, rtol=3e-3)  # LEV, bigram draft
    assert_allclose(speculative.expected_tokens(0.85, 1), 1.85)  # DeepSeek-V3, one token ahead
    assert_allclose(speculative.speedup(0.8, 4, 0.05), 2.80, rtol=1e-3)
    assert_allclose(speculative.speedup(0.8, 4, 0.1), 2.401, rtol=1e-3)
    assert speculative.best_n_draft(0.8, 0.1) == 6
    assert_allclose(speculative.speedup(0.8, 6, 0.1), 2.47, rtol=1e-3)
    assert speculative.best_n_draft(0.8, 0.05) == 8
    assert_allclose(speculative.speedup(0.8, 1, 0.05), 1.8 / 1.05)  # LEV corollary 3.9
    assert_allclose(1.8e-3 / 14.1e-3, 0.128, rtol=5e-3)  # Chinchilla 70B and its 4B draft
    assert_allclose(speculative.reported_acceptance(0.8, 4), 0.59, rtol=2e-3)


def test_batch_takes_the_gain_away() -> None:
    # OURS: Llama 3 70B in bf16 on 8 H100, alpha 0.8, 4 drafted at 5 % each, 1k context.
    batch = np.array([1, 59, 128, 256, 512])
    found = speculative.batch_speedup(EIGHT_H100, batch=batch).speedup
    assert_allclose(found, [2.80, 2.80, 1.61, 1.03, 0.95], rtol=5e-3)
    long = speculative.batch_speedup(EIGHT_H100, batch=256, context=np.array([8192, 32768]))
    assert_allclose(long.speedup, [1.91, 2.47], rtol=5e-3)
    assert speculative.max_batch(EIGHT_H100, 32768) < 256
    assert speculative.free_batch(EIGHT_H100, 295.2) == pytest.approx(59.04, abs=0.01)


# OURS: p = (.5, .3, .2), q = (.6, .3, .1) at several temperatures.
ACCEPTANCE = [(2, 0.930), (1, 0.900), (0.5, 0.875), (0.3, 0.906), (0.1, 0.995), (0, 1.0)]
P, Q = sampling.distribution([0.5, 0.3, 0.2]), sampling.distribution([0.6, 0.3, 0.1])


@pytest.mark.parametrize(("temperature", "alpha"), ACCEPTANCE)
def test_acceptance_at_temperatures(temperature: float, alpha: float) -> None:
    p, q = (sampling.processed(x, temperature) for x in (P, Q))
    assert sampling.acceptance(p, q) == pytest.approx(alpha, abs=5e-4)


def test_trees_and_positions() -> None:
    assert speculative.expected_tokens_by_position([0.8] * 4) == pytest.approx(3.3616)
    assert speculative.expected_tokens_of_tree([0.8] * 4, [1] * 4) == pytest.approx(3.3616)
    wide = speculative.expected_tokens_of_tree([0.8] * 4, [2] * 4)
    assert wide == pytest.approx(1 + sum(0.96**i for i in range(1, 5)))


def test_a_tree_of_one_branch_is_a_chain() -> None:
    chain = speculative.batch_speedup(EIGHT_H100)
    tokens, nodes, gain = speculative.tree_speedup(EIGHT_H100, [1, 1, 1, 1])
    assert nodes == 4
    assert tokens == pytest.approx(float(chain.tokens))
    assert gain == pytest.approx(float(chain.speedup))
    assert speculative.tree_speedup(EIGHT_H100, [3, 2, 1])[1] == 3 + 6 + 6


def test_a_draft_model_brings_its_own_time_and_memory() -> None:
    with_draft = scenario(chip="h100-sxm", w="bf16", kv="bf16", n_chips=8, context=1024,
                          draft=models["llama-3.2-1b"])  # fmt: skip
    ratio = speculative.effective_cost_ratio(with_draft)
    assert 0.01 < ratio < 0.1
    assert speculative.max_batch(with_draft) < speculative.max_batch(EIGHT_H100)
    cycle = speculative.batch_speedup(with_draft)
    assert cycle.draft == pytest.approx(4 * float(speculative.draft_time(with_draft)))


def test_experts_make_verification_dear() -> None:
    small = scenario("deepseek-v3", "h100-sxm", w="fp8", kv="fp8", c="fp8", n_chips=16, batch=1)
    dense = scenario(chip="h100-sxm", w="fp8", kv="fp8", c="fp8", n_chips=16, batch=1)
    assert speculative.batch_speedup(small).speedup < 0.6 * speculative.batch_speedup(dense).speedup


@given(st.floats(0, 1), st.integers(0, 64))
def test_tokens_stay_within_bounds(alpha: float, n_draft: int) -> None:
    tokens = float(speculative.expected_tokens(alpha, n_draft))
    assert 1 - 1e-9 <= tokens <= n_draft + 1 + 1e-9
    assert_allclose(tokens, 1 + sum(alpha**j for j in range(1, n_draft + 1)), rtol=1e-9)


@given(st.floats(0, 0.99), st.floats(0, 0.01), st.integers(0, 63))
def test_tokens_grow_with_acceptance_and_length(alpha: float, more: float, n_draft: int) -> None:
    tokens = float(speculative.expected_tokens(alpha, n_draft))
    assert speculative.expected_tokens(alpha + more, n_draft) >= tokens * (1 - 1e-12)
    assert speculative.expected_tokens(alpha, n_draft + 1) >= tokens * (1 - 1e-12)


@given(st.floats(0, 1), st.floats(0, 3))
def test_without_a_draft_nothing_changes(alpha: float, cost: float) -> None:
    assert speculative.speedup(alpha, 0, cost) == 1
    assert speculative.batch_speedup(EIGHT_H100, n_draft=0).speedup == pytest.approx(1)


@given(st.floats(0.01, 0.99), st.integers(1, 20))
def test_reported_acceptance_can_be_undone(alpha: float, n_draft: int) -> None:
    rate = float(speculative.reported_acceptance(alpha, n_draft))
    assert speculative.alpha_of_reported(rate, n_draft) == pytest.approx(alpha, abs=1e-6)


WEIGHTS = st.lists(st.floats(0, 1), min_size=3, max_size=8)


@given(WEIGHTS, WEIGHTS, st.floats(0, 2), st.integers(0, 8), st.floats(0.05, 1))
def test_processing_keeps_distributions(
    a: list[float], b: list[float], temperature: float, top_k: int, top_p: float
) -> None:
    size = min(len(a), len(b))
    if not sum(a[:size]) or not sum(b[:size]):
        return
    p, q = (
        sampling.processed(sampling.distribution(x[:size]), temperature, top_k, top_p)
        for x in (a, b)
    )
    for x in (p, q, sampling.residual(p, q)):
        assert x.sum() == pytest.approx(1)
        assert (x >= 0).all()
    alpha = sampling.acceptance(p, q)
    assert 0 <= alpha <= 1 + 1e-12
    assert alpha == pytest.approx(1 - np.abs(p - q).sum() / 2)
    # What comes out, in closed form: accepted plus residual is the target.
    emitted = np.minimum(p, q) + (1 - alpha) * sampling.residual(p, q)
    assert_allclose(emitted, p, atol=1e-9)


@given(st.integers(0, 10**6))
@settings(max_examples=25)
def test_the_sampler_is_exact_and_the_heuristic_is_not(seed: int) -> None:
    random = np.random.default_rng(seed)
    p, q = (sampling.distribution(random.random(5) + 0.02) for _ in range(2))
    exact = sampling.simulate(p, q, seed=seed)
    # Chi-square with 4 degrees of freedom exceeds 35 once in two million.
    assert exact.chi_square < 35
    assert exact.accepted == pytest.approx(sampling.acceptance(p, q), abs=0.01)
    if sampling.acceptance(p, q) < 0.9:
        assert sampling.simulate_threshold(p, q, seed=seed).chi_square > 100


def test_equal_distributions_are_never_rejected() -> None:
    same = sampling.simulate(P, P)
    assert same.accepted == 1
    assert_allclose(sampling.residual(P, P), P)


@pytest.mark.parametrize(
    ("weights", "reason"),
    [([], "no weights"), ([0, 0], "all weights are 0"), ([-1, 2], "negative"),
     ([math.nan, 1], "finite")],
)  # fmt: skip
def test_no_distribution_is_refused(weights: list[float], reason: str) -> None:
    with pytest.raises(DistributionError, match=reason):
        sampling.distribution(weights)


@pytest.mark.parametrize(("alpha", "n_draft"), [(-0.1, 4), (1.1, 4), (math.nan, 4), (0.5, -1)])
def test_bad_arguments_are_refused(alpha: float, n_draft: int) -> None:
    with pytest.raises(SpeculationError):
        speculative.expected_tokens(alpha, n_draft)
