"""Captions where literature prints another figure: what they say, and where they say nothing."""

from __future__ import annotations

import pytest
from scenarios import NOMINAL_70B, scenario

from calc import capacity, cost, decode, prefill
from calc.capacity import topology
from pages.ui.writing import printed
from presets import formats, models


def test_each_stands_beside_its_scenario_only() -> None:
    s = scenario()
    step = decode.step_time(s)
    ratio = prefill.servers_ratio(float(prefill.prompt_time(s).total), 32, float(step.total), 512)
    assert "at 1,766 tokens, an int8 cache at 3,532" in printed.kv_overtakes(s)
    assert "takes 8.57 ms, hence 7.00 : 1" in printed.servers(s, step, ratio)
    assert "36.9 × cheaper at 8,192 tokens of context, 76.4 × at 2,048" in printed.cheaper(s)
    small = scenario(w="int4", kv="int4", n_chips=8, batch=138)
    assert "longer than reading weights" in printed.int4_step(small, decode.step_time(small))
    other = scenario(chip="h100-sxm")
    again = decode.step_time(other)
    assert not any(
        [printed.kv_overtakes(other), printed.servers(other, again, 1.0), printed.cheaper(other),
         printed.int4_step(other, again), printed.cache(other), printed.slices(other, [])]
    )  # fmt: skip


def test_latent_against_grouped_caches() -> None:
    """DeepSeek-AI 2024a: 93.3 %, with V2's cache in 6 bit; 82.2 % at equal precision."""
    said = printed.cache(scenario("deepseek-v2"))
    assert "93.3 % with V2 in 6 bit" in said and "At equal precision it is 82.2 %." in said
    assert formats["kv-q5-1"].bits == 6 and "kv" in formats["kv-q5-1"].uses
    latent = models["deepseek-v2"].kv_bytes_per_token(formats["bf16"])
    assert latent / models["deepseek-67b"].kv_bytes_per_token(formats["bf16"]) == pytest.approx(
        1 - 0.822, abs=5e-4
    )


def test_doubled_int4_slices_wait_for_compute() -> None:
    """HTSYM part 8 counts reading alone, 19 ms and 1.78; F3.1 gives 26.4 ms and 1.28."""
    s = scenario(NOMINAL_70B, w="int4", kv="int4", n_chips=8, batch=138)
    step = decode.step_time(s)
    assert float(step.total) == pytest.approx(26.4e-3, abs=5e-5)
    assert float(step.kv_read + step.weight_read) == pytest.approx(19.4e-3, abs=1e-4)
    rate = capacity.requests_per_second_per_chip(138, float(step.total), 512, 8)
    assert rate == pytest.approx(1.28, abs=5e-3)
    # The preset's weights and the memory that a chip shows leave room for 149.
    doubled = topology(scenario(w="int4", kv="int4"), doubled=True)
    assert "28.4 ms and 1.28." in printed.slices(scenario(), [doubled])


def test_tokens_of_large_batches_are_cheaper() -> None:
    """HTSYM part 7 prints about 100 times; F8.12 gives 37 to 77 within 20 ms."""
    found = [cost.batch_saving(scenario(NOMINAL_70B, context=c), 0.02) for c in (8192, 2048)]
    assert found == pytest.approx([37, 77], abs=0.5)
