"""A whole answer with a KV cache and without one.

Sources: HTSYM = How To Scale Your Model (Austin et al. 2025), part 7; OURS = arithmetic shown.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from pages_app import prepared, words
from scenarios import scenario
from strategies import ANY

from calc import Scenario, answer, decode, prefill

MODEL = scenario().model
BODY, HEAD = MODEL.active_params - MODEL.head_params, MODEL.head_params
# Llama 3 70B: 80 layers of 64 heads, 2 · (128 + 128) FLOP a pair.
PAIR = 80 * 64 * 2 * 256


@pytest.mark.parametrize("n", [1, 100, 200_000])
def test_sums_over_a_text_from_nothing(n: int) -> None:
    """HTSYM: n and n² of linear layers, n² and n³ of attention; the sums are exact (OURS)."""
    s = scenario(prompt=1)
    kept, again = answer.with_cache(s, n), answer.without_cache(s, n)
    assert_allclose(kept.linear[-1], 2 * BODY * n + 2 * HEAD * n)
    assert_allclose(kept.attention[-1], PAIR * n * (n + 1) / 2)
    assert_allclose(again.linear[-1], 2 * BODY * n * (n + 1) / 2 + 2 * HEAD * n)
    assert_allclose(again.attention[-1], PAIR * n * (n + 1) * (n + 2) / 6)


def test_exponents() -> None:
    """OURS: doubling gives 2 and 4 of linear layers, 4 and 8 of attention; 157,000 tokens cross."""
    s = scenario(prompt=1)
    kept, again = answer.with_cache(s, 400_000), answer.without_cache(s, 400_000)
    half = 199_999
    for sums, factor in (
        (kept.linear, 2), (again.linear, 4), (kept.attention, 4), (again.attention, 8),
    ):  # fmt: skip
        assert_allclose(sums[-1] / sums[half], factor, rtol=1e-4)
    crossing = int(np.argmax(again.attention > again.linear))
    assert_allclose(crossing, 3 * 2 * BODY / PAIR, rtol=1e-3)
    assert_allclose(crossing, 157e3, rtol=3e-3)


def test_the_answer_of_the_ledger() -> None:
    """OURS: 8,192 + 511 passes with a cache; without, 512 passes over 8,192 and up."""
    s = scenario()
    kept, again = answer.with_cache(s, 1024), answer.without_cache(s, 1024)
    passes = 512 * 8192 + 512 * 511 / 2
    assert_allclose(kept.linear[511], 2 * BODY * (8192 + 511) + 2 * HEAD * 512)
    assert_allclose(again.linear[511], 2 * BODY * passes + 2 * HEAD * 512)
    assert_allclose([kept.flops[511], again.flops[511]], [1.292e15, 6.400e17], rtol=1e-3)
    assert_allclose([kept.doubled(512), again.doubled(512)], [1.064, 2.065], rtol=1e-3)
    reading = float(prefill.prompt_time(s).total)
    steps = decode.step_time(s, batch=1, context=np.arange(8193, 8193 + 511)).total.sum()
    assert_allclose(kept.time[511], reading + steps)


@given(ANY, st.integers(2, 64))
def test_a_cache_saves_flops(s: Scenario, n: int) -> None:
    kept, again = answer.with_cache(s, n), answer.without_cache(s, n)
    assert kept.flops[0] == again.flops[0] == prefill.flops(s.model, s.prompt)
    assert (np.diff(kept.flops) > 0).all()
    assert kept.linear[-1] <= again.linear[-1]


def test_the_tab() -> None:
    test = prepared("prefill", x="prefill_without-a-kv-cache").run()
    assert not test.exception
    said = words(test)
    assert "takes 1.29 PFLOP with a cache and 640 PFLOP without: **495 ×**." in said
    assert "takes 1.06 × the FLOPs with a cache and 2.07 × without." in said
    assert "| Time alone | 3.72 s | 508 s | 136 × |" in said
