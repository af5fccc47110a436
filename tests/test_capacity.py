"""Capacity, cost and metrics: figures that must come out, and what may be missing.

Sources as in test_golden.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given
from numpy.testing import assert_allclose
from scenarios import NOMINAL_70B, scenario
from strategies import scenarios

from calc import Scenario, capacity, cost, decode, memory, metrics, precision, prefill
from presets import chips, formats, models


def nominal(stored: str) -> Scenario:
    """70e9 parameters; the cache of a token scales with the format, as in HTSYM part 8."""
    return scenario(NOMINAL_70B, w=stored, kv=stored, memory=16e9)


def small_prompt(stored: str, n_chips: int) -> float:
    """Seconds that a replica spends on one prompt."""
    return float(prefill.prompt_time(replace(nominal(stored), n_chips=n_chips)).total)


# F6.2: weights, raw chips, slice, free, sequences, doubled.
TOPOLOGIES = [
    ("bf16", 140e9, 8.75, 16, 116e9, 43, 138, 0.276, 0.443),
    ("int8", 70e9, 4.375, 8, 58e9, 43, 138, 0.553, 0.887),
    ("int4", 35e9, 2.1875, 4, 29e9, 43, 138, 1.105, 1.773),
]


@pytest.mark.parametrize(
    ("stored", "weights", "raw", "slice_", "free", "held", "doubled", "rate", "rate_doubled"),
    TOPOLOGIES,
)
def test_smallest_topologies(
    stored: str, weights: float, raw: float, slice_: int, free: float, held: int, doubled: int,
    rate: float, rate_doubled: float,
) -> None:  # fmt: skip
    small = capacity.topology(nominal(stored))
    double = capacity.topology(nominal(stored), doubled=True)
    assert_allclose((small.weights, small.chips_raw, small.free), (weights, raw, free))
    assert (small.n_chips, small.sequences) == (slice_, held)
    assert (double.n_chips, double.sequences) == (2 * slice_, doubled)
    # The seed takes 19 ms for reading all of a chip's memory, which is 19.5 ms.
    per_chip = capacity.requests_per_second_per_chip
    assert_allclose(per_chip(held, 0.019, 512, slice_), rate, rtol=2e-3)
    assert_allclose(per_chip(doubled, 0.019, 512, 2 * slice_), rate_doubled, rtol=2e-3)
    assert_allclose(small.step_time, 16e9 / 8.2e11, rtol=0.02)
    assert_allclose(small.decoded_per_second, rate, rtol=0.04)
    # With prompts a request takes the chips for both.
    both = 1 / small.decoded_per_second + slice_ * small_prompt(stored, slice_)
    assert_allclose(1 / small.requests_per_second, both)
    assert double.usd_per_million_tokens < small.usd_per_million_tokens


def test_a_doubled_slice_of_int4_is_compute_bound() -> None:
    """F6.2: 14.1 ms of cache and 12.3 ms of FLOPs for 138 sequences: 26.4 ms and 1.28/s a chip.

    Austin et al. print 19 ms and 1.78: a chip's memory over its bandwidth, 19.5 ms.
    """
    s = nominal("int4")
    double = capacity.topology(s, doubled=True)
    assert_allclose(double.step_time, 26.4e-3, rtol=2e-3)
    assert_allclose(double.decoded_per_second, 1.28, rtol=5e-3)


def test_chips_for_a_large_batch() -> None:
    """F6.2: 85 v5e for 240 sequences of 32k."""
    s = scenario(NOMINAL_70B, batch=240, context=32768, memory=16e9)
    assert_allclose(memory.chips_needed(s), 85, rtol=3e-3)


def test_prices() -> None:
    """F8.12: $2 an hour at 100 token/s; 1,000 requests of 200 tokens, 100 prompts a minute."""
    assert_allclose(cost.per_million(2.0, 100.0), 5.556, rtol=1e-4)
    assert_allclose(cost.per_thousand_requests(2.0, 200, 100.0), 1.111, rtol=1e-3)
    assert_allclose(
        cost.per_thousand_requests(2.0, 200, 100.0, 100 / 60)
        - cost.per_thousand_requests(2.0, 200, 100.0),
        0.333,
        rtol=2e-3,
    )
    assert_allclose(cost.per_thousand_requests(2.0, 200, 100.0, 100 / 60), 1.444, rtol=1e-3)


# HTSYM part 8, with the chip's figures of the presets (H100 990e12 there).
@pytest.mark.parametrize(
    ("chip", "price", "flops"),
    [("h100-sxm", 10.8, 3.30e17), ("tpu-v5p", 4.2, 3.93e17), ("tpu-v5e", 1.2, 5.91e17)],
)
def test_flops_per_dollar(chip: str, price: float, flops: float) -> None:
    assert_allclose(cost.flops_per_usd(price, chips[chip], formats["bf16"]), flops, rtol=2e-3)


def test_utilisation() -> None:
    """F4.2, F4.3: 7e9 fp16 at 100 token/s on 2 TB/s is 70 %; 20 of 100 token/s is 20 %."""
    assert_allclose(metrics.bandwidth_share(7e9 * 2, 0.01, 2e12), 0.7)
    assert_allclose(7e9 * 2 * 100, 1.4e12)
    assert_allclose(metrics.flops_share(20, 1, 100), 0.2)
    # F4.2: 1,850 token/s a chip of DeepSeek-V3 at 4,989 tokens, attention in.
    v3 = models["deepseek-v3"]
    useful = 1850 * (2 * v3.active_params + float(v3.attention_flops(4989)))
    assert_allclose(metrics.flops_share(useful, 1, 1.979e15), 0.148, rtol=5e-3)


def test_energy() -> None:
    """F8.13: 700 W at 1,850 token/s; 800 W for a year."""
    assert_allclose(700 / 1850, 0.378, rtol=2e-3)
    s = scenario(chip="h100-sxm", power=700.0)
    step = decode.step_time(s)
    assert_allclose(cost.tokens_per_joule(s, step), step.throughput_per_chip / 700)
    assert_allclose(cost.kilowatt_hours_per_year(800), 7000, rtol=2e-3)


def test_latency_conventions() -> None:
    """F8.1: 100 gaps between 101 tokens; (A) and (B)."""
    assert_allclose(metrics.time_per_output_token(0.2, 10.2, 101), 0.1)
    assert metrics.end_to_end(1, 0.1, 11) == 2
    assert_allclose(metrics.end_to_end(1, 0.1, 11, per_token=True), 2.1)
    # F8.7: 32 (8192 + 4096) / 4096.
    assert metrics.kv_tokens_retired(32, 8192, 4096) == 96


def test_mixed_checkpoints() -> None:
    """CARD: gpt-oss-120b 60.8 GiB, 20b 12.8 GiB, experts in MXFP4 and the rest in bf16."""
    for id, gib in (("gpt-oss-120b", 60.8), ("gpt-oss-20b", 12.8)):
        size = capacity.mixed_weights(models[id], formats["mxfp4"], formats["bf16"])
        assert_allclose(size / 2**30, gib, rtol=2e-3)
    dense = models["llama-3-8b"]
    assert capacity.mixed_weights(dense, formats["int4"], formats["bf16"]) == 2 * dense.total_params


def test_effective_bits_of_presets() -> None:
    """F9.2."""
    bits = {"int4-g128": 4.125, "nvfp4": 4.5, "mxfp4": 4.25, "int4-g32": 4.5, "mxfp8": 8.25}
    for id, expected in bits.items():
        assert formats[id].bits == expected
    # The FP8 cache of latent attention: 512 + 16 + 128 bytes for a token and layer.
    latent = models["deepseek-v3"]
    assert latent.kv_bytes_per_token(formats["fp8-mla"]) == 61 * 656


def test_own_price_and_power_go_before_the_presets() -> None:
    s = scenario(price=2.5, power=300.0)
    assert (cost.price(s), cost.power(s)) == (2.5, 300.0)
    assert cost.price(scenario()) == 1.2
    assert math.isnan(cost.price(scenario(chip="wse-3")))
    assert math.isnan(cost.power(scenario()))
    step = decode.step_time(s)
    assert_allclose(cost.per_million_tokens(s, step), 2.5 / 3600 / step.throughput_per_chip * 1e6)


@given(scenarios() | scenarios(operators=True))
def test_utilisation_is_a_share(s: Scenario) -> None:
    step = decode.step_time(s)
    assume(not math.isnan(float(step.total)))
    # Of what the chips can do: a host may do more.
    assume(not s.host_share)
    assert 0 < metrics.mbu(s, step) <= 1 + 1e-9
    assert 0 < metrics.mfu(s, step) <= 1 + 1e-9


@given(scenarios() | scenarios(operators=True))
def test_the_ledger_of_memory_adds_up(s: Scenario) -> None:
    held = memory.ledger(replace(s, runtime_memory=1e9))
    assert_allclose(held.total, s.n_chips * s.chip.memory)
    assert_allclose(sum(held.parts().values()), held.total)


@given(scenarios() | scenarios(operators=True))
def test_topologies_hold_what_they_say(s: Scenario) -> None:
    found = capacity.topology(s)
    if found.n_chips and found.sequences:
        full = replace(s, n_chips=found.n_chips, tensor_parallel=0)
        assert found.sequences <= int(memory.max_batch(full))
        assert found.free >= 0


def test_runtime_memory_takes_room() -> None:
    s = scenario(runtime_memory=2e9, memory=16e9)
    assert memory.max_batch(s) < memory.max_batch(scenario(memory=16e9))
    assert memory.min_chips(replace(s, runtime_memory=20e9)) == 0
    for taken in (16e9, 20e9):
        assert capacity.topology(replace(s, runtime_memory=taken)).n_chips == 0
    assert math.isinf(memory.chips_needed(replace(s, runtime_memory=16e9)))


def test_copies_do_not_vanish_from_the_fewest_chips() -> None:
    """16 groups hold 16 copies of 70.6 GB: 1,129 GB of weights want 128 chips of 16 GB."""
    s = scenario(fidelity="operators", attention_dp=16, batch=16)
    assert memory.min_chips(s) == 128
    assert capacity.topology(s).n_chips == 128


def test_a_doubled_slice_can_be_had() -> None:
    small = capacity.topology(scenario("llama-3-8b"))
    double = capacity.topology(scenario("llama-3-8b"), doubled=True)
    assert (small.n_chips, double.n_chips) == (1, 4)


def test_unknown_figures_do_not_differ() -> None:
    assert not precision.differ(math.nan, math.nan)
    assert precision.differ(math.nan, 1.0)


def test_every_chip_is_asked() -> None:
    found = capacity.fits(scenario(), chips)
    assert [fit.chip for fit in found] == list(chips.values())
    # The textbook counts 16e9 bytes a chip, and gets 42; a device shows 15.75 GiB.
    [v5e] = [fit for fit in found if fit.chip.id == "tpu-v5e"]
    assert (v5e.n_chips, v5e.max_batch) == (8, 48)
    alone = [fit for fit in found if fit.n_chips]
    assert all(fit.max_batch >= 32 for fit in alone)


def test_largest_batches_shrink_with_context() -> None:
    held = capacity.largest_batches(scenario(), np.array([1024.0, 8192.0, 65536.0]))
    assert held[1] == 149
    assert (np.diff(held) < 0).all()


def test_each_precision_moves_its_own_line() -> None:
    """F9.3."""
    s = scenario()
    now = precision.figures(s)
    moved = {
        switch: {
            name
            for name, value in vars(precision.figures(precision.switched(s, switch, to))).items()
            if value != getattr(now, name)
        }
        for switch, to in (
            ("weight_format", formats["int4"]),
            ("kv_format", formats["int4"]),
            ("compute_format", formats["int8"]),
        )
    }
    later = {"step_time", "throughput_per_chip"}
    assert moved["weight_format"] == {"weight_read", "critical_batch", "max_batch", *later}
    assert moved["kv_format"] == {"kv_read", "max_batch", *later}
    assert moved["compute_format"] == {"linear_compute", "critical_batch"}


def test_suggestions_can_be_had() -> None:
    assert precision.suggestion(scenario(), "compute_format", formats) == "int8"
    assert precision.suggestion(scenario(chip="h100-sxm"), "compute_format", formats) in (
        "fp8", "int8",
    )  # fmt: skip
    none = replace(scenario(), chip=chips["a100-80-sxm"], compute_format=formats["int4"])
    assert precision.suggestion(none, "compute_format", formats) == "int4"
