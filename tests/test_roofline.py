"""The roofline: what each operator does for a byte, and what it attains.

Sources: HTSYM = How To Scale Your Model (Austin et al. 2025); F3.3 and the like = docs/method.md.
"""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from hypothesis import given, settings
from scenarios import NOMINAL_70B, scenario
from strategies import scenarios

from calc import Model, Scenario, decode, metrics, prefill, roofline, variants
from calc.scenario import FIDELITIES
from pages.ui.prefill.page import PAGE, bound_by
from presets import chips, formats


def ridges(s: Scenario) -> dict[str, int]:
    return {one.id: round(roof.ridge) for one, roof in roofline.roofs(s).items()}


def test_ridges() -> None:
    """HTSYM part 1: TPU v5e 240; HTSYM part 12: H100 295; FP8 beside it is twice that."""
    assert ridges(scenario()) == {"bf16": 240}
    assert ridges(scenario(chip="h100-sxm")) == {"bf16": 295}
    mixed = scenario(chip="h100-sxm", w="fp8", c="fp8", fidelity="operators",
                     attention_format=formats["bf16"])  # fmt: skip
    assert ridges(mixed) == {"fp8": 591, "bf16": 295}


@pytest.mark.parametrize("fidelity", FIDELITIES)
def test_attention_s_intensity(fidelity: str) -> None:
    """HTSYM part 4: 1 for MHA, G for groups; F3.3: 242 for MLA of 128 heads. All in bf16."""
    for model, told in (("llama-2-13b", 1), ("llama-3-70b", 8), ("deepseek-v3", 242)):
        s = scenario(model, kv="bf16", n_chips=1, context=8192, fidelity=fidelity)
        found = roofline.intensity(decode.step_time(s).work, cache=True)
        assert found == pytest.approx(told, rel=2e-3)
    assert roofline.intensity(decode.step_time(scenario()).work, cache=True) == 16


def test_a_prompt_s_attention_does_half_its_length_for_a_byte() -> None:
    """HTSYM part 4: T/2 for MHA, 4,096 of 8,192 tokens; a group of G shares each byte."""
    for model, groups in (("llama-2-13b", 1), ("llama-3-70b", 8)):
        s = scenario(model, kv="bf16")
        found = roofline.intensity(prefill.by_operator(s), cache=True)
        assert found == pytest.approx(groups * 4096, rel=2e-4)


def test_linear_layers_do_twice_the_batch_over_a_weight_s_bytes() -> None:
    """F3.13: 2 · 32 / 1 in int8, 2 · 8,192 / 2 for a prompt in bf16."""
    assert roofline.intensity(decode.step_time(scenario()).work, cache=False) == 64
    prompt = prefill.by_operator(scenario(w="bf16"))
    assert roofline.intensity(prompt, cache=False) == pytest.approx(8192, rel=0.02)


@given(scenarios() | scenarios(operators=True))
@settings(max_examples=60)
def test_no_point_is_above_its_roofs_and_all_bytes_and_flops_are_there(s: Scenario) -> None:
    for work in (decode.step_time(s).work, prefill.by_operator(s)):
        reached = roofline.reached(work)
        for row in work.by_name():
            if math.isfinite(row.attained):
                most = max(roof.attainable(row.intensity) for roof in reached)
                assert row.attained <= most * (1 + 1e-9)
    apart, whole = prefill.by_operator(s), prefill.prompt_time(s).work
    for side in ("moved", "done"):
        both = [sum(float(getattr(one, side)) for one in work.operators) for work in (apart, whole)]
        assert both[0] == pytest.approx(both[1], rel=1e-9)


def test_calibrated_roofs_lie_below() -> None:
    s = scenario(chip="h100-sxm", fidelity="calibrated")
    (kept,) = roofline.reached(decode.step_time(s).work)
    (whole,) = roofline.roofs(s).values()
    assert kept.bandwidth < whole.bandwidth and kept.rate < whole.rate
    unknown = roofline.roofs(replace(s, chip=chips["t4"]))
    assert all(math.isnan(roof.ridge) for roof in unknown.values())


def test_variants_differ_in_attention_alone() -> None:
    """F3.3 in 8 bit: 2 for MHA, 16 for groups of 8, 128 for MQA of 64 heads."""
    s = scenario()
    found = [
        roofline.intensity(decode.step_time(replace(s, model=model)).work, cache=True)
        for model in variants.compare(s.model).values()
    ]
    assert found[1:4] == [2, 16, 128]


def test_no_side_is_said_of_an_unknown_rate() -> None:
    told = bound_by(PAGE.slide(scenario(chip="t4")))
    assert "not published" in told
    assert "Waiting" not in told


@pytest.mark.parametrize(
    ("model", "kv", "shares", "overtakes"),
    [
        # HTSYM part 7: P = 70e9 and 160 KiB a token in int8, on TPU v5e.
        (NOMINAL_70B, "int8", (63.5, 30.3, 9.8), 3557),
        (NOMINAL_70B, "bf16", (46.5, 17.8, 5.15), 1778),
        # F4.4: the same of the preset's own 69.5e9.
        ("llama-3-70b", "int8", (63.3, 30.1, 9.7), 3532),
        ("llama-3-70b", "bf16", (46.3, 17.7, 5.1), 1766),
    ],
)
def test_the_most_mfu_at_a_context(
    model: Model | str, kv: str, shares: tuple[float, ...], overtakes: float
) -> None:
    s = scenario(model, kv=kv)
    found = 100 * metrics.mfu_ceiling(s, [2048, 8192, 32768])
    assert found == pytest.approx(shares, abs=0.051)
    assert roofline.kv_overtakes(s) == pytest.approx(overtakes, abs=0.5)


@given(scenarios() | scenarios(operators=True))
@settings(max_examples=60)
def test_no_batch_passes_the_most_mfu(s: Scenario) -> None:
    most = float(metrics.mfu_ceiling(s))
    step = decode.step_time(s, batch=[1.0, s.batch, 1e6, 1e15])
    reached = metrics.mfu(s, step)
    assert not (reached > most * (1 + 1e-9)).any()
    if s.fidelity == "bound" and math.isfinite(most):
        assert reached[-1] == pytest.approx(most, rel=1e-3)
