"""Affine quantization: worked examples, bounds of the error, and values that are refused.

Sources: F9.1 and the like = docs/method.md; OURS = arithmetic shown.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from numpy.testing import assert_allclose, assert_array_equal

from calc import quantization
from calc.quantization import SAMPLES, Array, Granularity, QuantizationError, apply, effective_bits

# bits, group, bits of scale and zero point, effective bits.
EFFECTIVE = [
    (4, 128, 16, 0, 4.125),  # F9.2
    (4, 128, 16, 4, 4.15625),  # F9.2
    (4, 128, 16, 16, 4.25),  # F9.2
    (4, 64, 16, 0, 4.25),  # F9.2
    (4, 64, 16, 16, 4.5),  # F9.2
    (4, 32, 16, 0, 4.5),  # F9.2, Kimi-K2
    (4, 16, 8, 0, 4.5),  # F9.2, NVFP4
    (4, 32, 8, 0, 4.25),  # F9.2, MXFP4
    (8, 32, 8, 0, 8.25),  # F9.2, MXFP8
    (8, 128**2, 32, 0, 8.001953125),  # F9.2, FP8 in tiles
    (4, 32, 16, 0, 4.5),  # F9.2, GGUF Q4_0
    (8, 32, 16, 0, 8.5),  # F9.2, GGUF Q8_0
    (8, 128, 32, 0, 8 * 1.03125),  # F2.8: 3.1 %
]


@pytest.mark.parametrize(("bits", "group", "scale", "zero", "expected"), EFFECTIVE)
def test_effective_bits(
    bits: float, group: float, scale: float, zero: float, expected: float
) -> None:
    assert_allclose(effective_bits(bits, group, scale, zero), expected, rtol=1e-12)


def test_the_worked_example() -> None:
    # F9.1: 4 / 255 and round(63.75).
    result = apply([-1, -0.2, 0, 1, 3], 8)
    assert_allclose(result.grid.scale, 0.01568627450980392, rtol=1e-12)
    assert result.grid.zero_point.item() == 64
    assert result.max_error <= 0.00784313725490197
    # OURS: -1/s = -63.75 -> -64 + 64; -0.2/s = -12.75; 1/s = 63.75; 3/s = 191.25 -> 191 + 64.
    assert result.codes.tolist() == [[0, 51, 64, 128, 255]]


def test_a_range_without_zero_is_extended() -> None:
    # F9.1: as it stands, [5, 6] gets z = 0 and a grid that ends at 1.
    for values in (np.linspace(5, 6, 1001), -np.linspace(5, 6, 1001)):
        result = apply(values, 8)
        assert_allclose(result.grid.scale, 6 / 255)
        assert result.max_error <= 3 / 255 * (1 + 1e-12)


def test_symmetric_codes() -> None:
    result = apply([-1, 0.5, 3], 8, symmetric=True)
    assert_allclose(result.grid.scale, 3 / 127)  # F9.1
    assert result.grid.zero_point.item() == 0
    assert result.codes.tolist() == [[-42, 21, 127]]  # OURS: -42.33, 21.17, 127
    assert apply([-1, 0.2, 1], 2, symmetric=True).codes.tolist() == [[-1, 0, 1]]


def test_signed_codes_are_shifted() -> None:
    values = quantization.sample("normal")
    unsigned, signed = apply(values, 8), apply(values, 8, signed=True)
    assert_array_equal(unsigned.codes - 128, signed.codes)
    assert_allclose(unsigned.reconstructed, signed.reconstructed)


@pytest.mark.parametrize("value", [0.0, 0.1, -0.1, 5.5, -math.pi, 1e-30, 1e38])
@pytest.mark.parametrize("symmetric", [False, True])
@pytest.mark.parametrize("bits", [2, 5, 8])
def test_a_constant_is_exact(value: float, symmetric: bool, bits: int) -> None:
    result = apply(np.full((3, 5), value), bits, symmetric, "row")
    assert_array_equal(result.reconstructed, result.values)
    assert (result.grid.scale > 0).all()
    assert result.max_error == result.mean_square_error == result.uniform_noise == 0
    assert result.sqnr == result.uniform_sqnr == math.inf
    # F9.1: the code is beside z, on the side of the sign.
    assert (np.sign(result.codes - result.grid.zero_point) == np.sign(value)).all()


def test_groups_end_with_their_row() -> None:
    result = apply([[1, 2, 3, 4, 10], [0, 0, 0, 0, 0]], 4, granularity=2)
    assert result.grid.scale.shape == (2, 3)
    # OURS: 2/15 and 4/15; a single value, and zeros, are constants.
    assert_allclose(result.grid.scale[0, :2], [2 / 15, 4 / 15])
    assert result.grid.exact.tolist() == [[False, False, True], [True, True, True]]
    assert_allclose(result.bound[0], [1 / 15, 1 / 15, 2 / 15, 2 / 15, 0])
    assert result.values_per_scale == pytest.approx(10 / 6)


def test_noise_is_uniform_when_steps_are_small() -> None:
    # F9.1: s²/12; with 8 bits a normal spreads over enough codes.
    result = apply(quantization.sample("normal", 256, 1024), 8)
    assert_allclose(result.mean_square_error, result.grid.scale.item() ** 2 / 12, rtol=0.01)
    assert_allclose(result.uniform_noise, result.grid.scale.item() ** 2 / 12)
    assert result.sqnr == pytest.approx(result.uniform_sqnr, abs=0.05)
    # A bit more halves the step: 6.02 dB.
    finer = apply(result.values, 7)
    assert result.sqnr - finer.sqnr == pytest.approx(20 * math.log10(255 / 127), abs=0.1)


def test_outliers_want_finer_scales() -> None:
    values = quantization.sample("outliers")
    granularities: list[Granularity] = ["tensor", "row", 64, 16]
    found = [apply(values, 8, True, granularity).mean_square_error for granularity in granularities]
    assert found == sorted(found, reverse=True)
    assert found[1] < found[0] / 20


def test_samples_are_what_they_say() -> None:
    for kind in SAMPLES:
        tensor = quantization.sample(kind, 32, 48)
        assert tensor.shape == (32, 48)
        assert_array_equal(tensor, quantization.sample(kind, 32, 48))
    assert quantization.sample("one-sided").min() == 0
    assert np.ptp(quantization.sample("constant")) == 0


TENSORS = arrays.arrays(
    float,
    st.tuples(st.integers(1, 5), st.integers(1, 12)),
    elements=st.floats(-1e37, 1e37) | st.floats(-8, 8) | st.integers(-2, 2),
)
BITS = st.integers(2, 8)
GRANULARITIES = st.sampled_from(["tensor", "row"]) | st.integers(1, 15)


@given(TENSORS, BITS, st.booleans(), GRANULARITIES, st.booleans())
def test_errors_stay_within_half_a_step(
    values: Array, bits: int, symmetric: bool, granularity: Granularity, signed: bool
) -> None:
    result = apply(values, bits, symmetric, granularity, signed)
    # Rounding of the product, and of subnormal numbers.
    slack = 1e-13 * np.abs(values) + 1e-300
    assert (np.abs(result.error) <= result.bound * (1 + 1e-12) + slack).all()
    assert result.codes.min() >= result.grid.q_min
    assert result.codes.max() <= result.grid.q_max
    assert (result.reconstructed[values == 0] == 0).all()


@given(TENSORS, BITS, st.booleans(), GRANULARITIES, st.booleans())
def test_quantizing_again_changes_nothing(
    values: Array, bits: int, symmetric: bool, granularity: Granularity, signed: bool
) -> None:
    result = apply(values, bits, symmetric, granularity, signed)
    assert_array_equal(quantization.quantize(result.reconstructed, result.grid), result.codes)


@given(TENSORS, BITS, st.booleans(), GRANULARITIES)
def test_codes_follow_the_order_of_values(
    values: Array, bits: int, symmetric: bool, granularity: Granularity
) -> None:
    result = apply(values, bits, symmetric, granularity)
    group = result.grid.group
    for start in range(0, values.shape[1], group):
        part, codes = (x[:, start : start + group] for x in (values, result.codes))
        rise = np.take_along_axis(codes, np.argsort(part, axis=1), axis=1)
        assert (np.diff(rise, axis=1) >= 0).all()


@given(TENSORS, BITS, st.booleans(), st.integers(1, 6), st.integers(1, 4))
def test_finer_groups_never_take_larger_steps(
    values: Array, bits: int, symmetric: bool, group: int, times: int
) -> None:
    chain: list[Granularity] = ["tensor", "row", group * times, group]
    grids = [quantization.calibrate(values, bits, symmetric, granularity) for granularity in chain]
    # A group of one value is exact at whatever step.
    worst = [float(grid.bound.max()) for grid in grids]
    assert worst == sorted(worst, reverse=True)


@given(st.lists(st.floats(-1e38, 1e38), min_size=1, max_size=9))
def test_values_beyond_the_grid_get_its_ends(values: list[float]) -> None:
    grid = quantization.calibrate([1e-308, 3e-308], 4)
    codes = quantization.quantize([values], grid)
    assert codes.min() >= 0
    assert codes.max() <= 15


@given(arrays.arrays(float, st.tuples(st.integers(1, 4), st.integers(1, 6)),
                     elements=st.floats(-1e38, 1e38)),
       st.sampled_from([",", ", ", " ", "\t", " ,\t"]))  # fmt: skip
def test_printed_values_are_read_back(values: Array, separator: str) -> None:
    text = "\n".join(separator.join(map(repr, row)) for row in values.tolist())
    assert_array_equal(quantization.parse_values(text), values)


def test_pasted_layouts() -> None:
    assert quantization.parse_values("\n 1, 2,\r\n\n3 4 \n").tolist() == [[1, 2], [3, 4]]
    assert quantization.parse_values("1 2 3\n4").tolist() == [[1, 2, 3, 4]]
    assert quantization.parse_values("-1e-3").tolist() == [[-0.001]]
    assert quantization.parse_values("1\n" * 100_000).shape == (100_000, 1)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "there are no values"),
        (" \n\t\n", "there are no values"),
        ("1, 2\n3, nan", "value 2 of line 2 is not finite"),
        ("1 -inf", "value 2 of line 1 is not finite"),
        ("1e999", "value 1 of line 1 is not finite"),
        ("0 1e39", r"value 2 of line 1 is beyond 1e\+38"),
        ("1, 2\n\n<script>", "value 1 of line 3 is not a number"),
        ("1,,2", "value 2 of line 1 is missing"),
        (",1", "value 1 of line 1 is missing"),
        (",", "there are no values"),
        ("1 " * 100_001, "there are more than 100,000 values"),
        ("1," * 1_000_000, "there are more than 100,000 values"),
        (" " * 3_000_001, "the text is longer than 3,000,000 characters"),
    ],
    ids=lambda part: part[:20],
)
def test_text_is_refused_in_one_sentence(text: str, reason: str) -> None:
    with pytest.raises(QuantizationError, match=f"^{reason}$"):
        quantization.parse_values(text)


GRID = quantization.calibrate([[1, 2, 3]], 8, granularity=2)


@pytest.mark.parametrize(
    ("call", "reason"),
    [
        (lambda: apply([], 8), "no values"),
        (lambda: apply(np.zeros((2, 2, 2)), 8), "rows and columns"),
        (lambda: apply([1, math.nan], 8), "not finite"),
        (lambda: apply([1, math.inf], 8), "not finite"),
        (lambda: apply([1, 2e38], 8), "beyond"),
        (lambda: apply([1], 1), "bits are not"),
        (lambda: apply([1], 9), "bits are not"),
        (lambda: apply([1], 8, granularity=0), "whole number of values"),
        (lambda: quantization.quantize([[1, 2, 3, 4, 5]], GRID), "another shape"),
        (lambda: quantization.quantize([[1, 2, 3]], quantization.calibrate(np.ones((2, 3)), 8,
                                                                           granularity="row")),
         "another shape"),
        (lambda: effective_bits(4, 0), "holds no value"),
        (lambda: effective_bits(-4, 128), "negative"),
        (lambda: effective_bits(4, 128, math.nan), "not finite"),
        (lambda: quantization.sample("nothing"), "no such sample"),
        (lambda: quantization.sample("normal", 0), "no row"),
    ],
)  # fmt: skip
def test_what_cannot_be_is_refused(call: Callable[[], object], reason: str) -> None:
    with pytest.raises(QuantizationError, match=reason):
        call()
