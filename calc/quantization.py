"""Affine quantization of a sample tensor: the grid of codes, what it costs in bits and in error.

A tensor is an array of rows and columns; a row is what practice calls a channel. One scale serves
the whole tensor, a row, or a group of neighbouring values within a row.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Literal, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from calc.errors import LedgerError
from calc.words import marked, say

Array = NDArray[np.float64]
Codes = NDArray[np.int32]
Granularity = Literal["tensor", "row"] | int
_Number = TypeVar("_Number", np.float64, np.int32)

SAMPLES = (marked("normal"), marked("outliers"), marked("one-sided"), marked("constant"))

FEWEST_BITS, MOST_BITS = 2, 8
MOST_VALUES = 100_000
MOST_CHARACTERS = 30 * MOST_VALUES
# About the largest bfloat16; beyond it is no tensor, and squares of errors would overflow.
LARGEST = 1e38


class QuantizationError(LedgerError):
    """Values that cannot be quantized, or a grid that cannot be."""


def effective_bits(
    bits: ArrayLike, group: ArrayLike, scale_bits: ArrayLike = 16, zero_bits: ArrayLike = 0
) -> Array:
    """Bits that one value costs in memory, its share of scale and zero point included [bit].

    .. math:: b + (b_s + b_z) / g

    Parameters
    ----------
    bits, scale_bits, zero_bits : array_like
        Width of a code, of a scale, and of a zero point [bit].
    group : array_like
        Values that share them; for a square tile its side squared.

    References
    ----------
    F9.2.

    Examples
    --------
    Four bits in groups of 128 with fp16 scales, without and with 4-bit and fp16 zero points:

    >>> [float(effective_bits(4, 128, 16, zero_bits)) for zero_bits in (0, 4, 16)]
    [4.125, 4.15625, 4.25]

    NVFP4, MXFP4, MXFP8, and FP8 in tiles of 128 by 128 with fp32 scales:

    >>> effective_bits([4, 4, 8, 8], [16, 32, 32, 128**2], [8, 8, 8, 32]).round(3).tolist()
    [4.5, 4.25, 8.25, 8.002]
    """
    width, share, *extra = (
        np.asarray(value, dtype=float) for value in (bits, group, scale_bits, zero_bits)
    )
    if not (np.isfinite(share) & (share > 0)).all():
        raise QuantizationError("a group holds no value")
    if not all((np.isfinite(value) & (value >= 0)).all() for value in (width, *extra)):
        raise QuantizationError("a number of bits is negative or not finite")
    return np.asarray(width + sum(extra) / share)


@dataclass(frozen=True)
class Grid:
    """The values that codes stand for, ``scale * (q - zero_point)``, group by group.

    Parameters
    ----------
    scale, zero_point : array of shape (rows or 1, groups)
        Distance of two neighbouring values, and the code of 0.
    q_min, q_max : int
        Smallest and largest code.
    group : int
        Columns that share a scale; the last group of a row may be shorter.
    exact : array of bool, of the same shape
        Groups of one repeated value, which comes back without error.
    """

    scale: Array
    zero_point: Codes
    q_min: int
    q_max: int
    group: int
    exact: NDArray[np.bool_]

    @property
    def bound(self) -> Array:
        """Largest error of a value that was calibrated for: s/2, or 0 where exact."""
        return np.where(self.exact, 0.0, self.scale / 2)

    def spread(self, by_group: NDArray[_Number], shape: tuple[int, ...]) -> NDArray[_Number]:
        """What each group has, given to each of its values."""
        rows, columns = shape
        groups = -(-columns // self.group)
        if by_group.shape[0] not in (1, rows) or by_group.shape[1] not in (1, groups):
            raise QuantizationError("the grid belongs to a tensor of another shape")
        if by_group.shape[1] > 1:
            by_group = np.repeat(by_group, self.group, axis=1)[:, :columns]
        return np.broadcast_to(by_group, (rows, columns))


def code_range(bits: int, symmetric: bool = False, signed: bool = False) -> tuple[int, int]:
    """Smallest and largest code.

    Symmetric codes are signed and leave out the most negative one, which nothing maps to.

    >>> code_range(8), code_range(8, signed=True), code_range(8, symmetric=True)
    ((0, 255), (-128, 127), (-127, 127))
    """
    if bits not in range(FEWEST_BITS, MOST_BITS + 1):
        raise QuantizationError(f"bits are not a whole number from {FEWEST_BITS} to {MOST_BITS}")
    half = 1 << (int(bits) - 1)
    if symmetric:
        return 1 - half, half - 1
    return (-half, half - 1) if signed else (0, 2 * half - 1)


def calibrate(
    values: ArrayLike,
    bits: int,
    symmetric: bool = False,
    granularity: Granularity = "tensor",
    signed: bool = False,
) -> Grid:
    """The grid that covers the values: all of them, each row's, or each group's.

    .. math:: s = \\frac{x_{max} - x_{min}}{q_{max} - q_{min}}, \\quad
              z = clip(round(q_{min} - x_{min} / s))

    and for symmetric codes ``s = max|x| / (2^(b-1) - 1)``, ``z = 0``.

    Parameters
    ----------
    values : array_like of shape (rows, columns)
        What to cover; one row if flat.
    bits : int
        Width of a code, 2 to 8 [bit].
    symmetric : bool
        Whether 0 is in the middle of the codes.
    granularity : "tensor", "row" or int
        What shares a scale; a number is a group of so many values within a row.
    signed : bool
        Whether asymmetric codes start at ``-2^(b-1)`` and not at 0.

    Raises
    ------
    QuantizationError
        If there is no value, one is not finite or beyond `LARGEST`, or an option cannot be.

    Notes
    -----
    The range is first extended to hold 0: z is clipped, so a grid for [5, 6] as it stands would
    end at 1. Then s is 0 only if all values are, and any scale serves. A group of one repeated
    value gets a power of two as its distance from z, so that it is exact to the last bit.

    References
    ----------
    F9.1; Jacob et al. 2018.

    Examples
    --------
    >>> grid = calibrate([-1, 0.5, 3], 8)
    >>> round(float(grid.scale[0, 0]), 6), int(grid.zero_point[0, 0])
    (0.015686, 64)
    """
    tensor = _tensor(values)
    q_min, q_max = code_range(bits, symmetric, signed)
    group = tensor.shape[1] if granularity in ("tensor", "row") else granularity
    if not isinstance(group, int) or group < 1:
        raise QuantizationError("a scale serves no tensor, row or whole number of values")
    starts = np.arange(0, tensor.shape[1], group)
    least = np.minimum.reduceat(tensor, starts, axis=1)
    largest = np.maximum.reduceat(tensor, starts, axis=1)
    if granularity == "tensor":
        least, largest = least.min(0, keepdims=True), largest.max(0, keepdims=True)
    low, high = np.minimum(least, 0.0), np.maximum(largest, 0.0)
    reach = np.maximum(-low, high) if symmetric else high - low
    steps = q_max if symmetric else q_max - q_min
    exact = least == largest
    # Dividing and multiplying by a power of two loses nothing.
    scale = reach / np.where(exact, 1 << (steps.bit_length() - 1), steps)
    # The floor keeps subnormal values, which lose precision when divided, inside the grid.
    scale = np.where(reach > 0, np.maximum(scale, np.finfo(float).tiny), 1.0)
    zero = np.zeros_like(low) if symmetric else np.clip(np.rint(q_min - low / scale), q_min, q_max)
    return Grid(scale, zero.astype(np.int32), q_min, q_max, group, exact)


def quantize(values: ArrayLike, grid: Grid) -> Codes:
    """Nearest codes, ``clip(round(x / s) + z)``; values beyond the grid get its ends (F9.1)."""
    tensor = _tensor(values)
    # Values that the grid was not calibrated for may overflow, to be clipped like all beyond it.
    with np.errstate(over="ignore"):
        steps = np.rint(tensor / grid.spread(grid.scale, tensor.shape))
    codes = np.clip(steps + grid.spread(grid.zero_point, tensor.shape), grid.q_min, grid.q_max)
    return codes.astype(np.int32)


def dequantize(codes: Codes, grid: Grid) -> Array:
    """Values that the codes stand for, ``s (q - z)`` (F9.1)."""
    steps = codes - grid.spread(grid.zero_point, codes.shape)
    return np.asarray(grid.spread(grid.scale, codes.shape) * steps)


def beyond(value: ArrayLike, low: float, high: float, bits: int) -> Quantized:
    """Values quantized on a grid that was calibrated for others, from `low` to `high` (F9.1).

    >>> clipped = beyond(5.0, -1.0, 1.0, 8)
    >>> round(clipped.reconstructed.item(), 3), round(clipped.max_error, 3)
    (0.996, 4.004)
    """
    grid = calibrate([low, high], bits)
    tensor = _tensor(value)
    codes = quantize(tensor, grid)
    return Quantized(tensor, grid, codes, dequantize(codes, grid))


@dataclass(frozen=True)
class Quantized:
    """A tensor, its codes, and what comes back; all of shape (rows, columns) but the grid."""

    values: Array
    grid: Grid
    codes: Codes
    reconstructed: Array

    @property
    def error(self) -> Array:
        """Reconstructed less original."""
        return np.asarray(self.reconstructed - self.values)

    @property
    def bound(self) -> Array:
        """Largest error that each value may have, half the step of its group."""
        return self.grid.spread(self.grid.bound, self.values.shape)

    @property
    def max_error(self) -> float:
        """Largest error of any value, without its sign."""
        return float(np.abs(self.error).max())

    @property
    def mean_square_error(self) -> float:
        """Mean of the squared errors."""
        return float(np.square(self.error).mean())

    @property
    def uniform_noise(self) -> float:
        """Mean squared error if errors were spread evenly over a step, s²/12 (F9.1).

        A model for steps that are small against the spread of the values.
        """
        return float(np.square(self.bound).mean() / 3)

    @property
    def sqnr(self) -> float:
        """Mean square of the values over that of the errors [dB]; infinite without error."""
        return decibel(float(np.square(self.values).mean()), self.mean_square_error)

    @property
    def uniform_sqnr(self) -> float:
        """Mean square of the values over `uniform_noise` [dB]."""
        return decibel(float(np.square(self.values).mean()), self.uniform_noise)

    @property
    def values_per_scale(self) -> float:
        """Values that share a scale on average, for `effective_bits`."""
        return self.values.size / self.grid.scale.size


def apply(
    values: ArrayLike,
    bits: int,
    symmetric: bool = False,
    granularity: Granularity = "tensor",
    signed: bool = False,
) -> Quantized:
    """Calibrate for the values, quantize them and take them back; arguments of `calibrate`.

    >>> result = apply([5, 5.5, 6], 8)
    >>> round(result.max_error, 4), round(float(result.bound.max()), 4)
    (0.0118, 0.0118)
    """
    tensor = _tensor(values)
    grid = calibrate(tensor, bits, symmetric, granularity, signed)
    codes = quantize(tensor, grid)
    return Quantized(tensor, grid, codes, dequantize(codes, grid))


def sample(kind: str, rows: int = 64, columns: int = 256, seed: int = 0) -> Array:
    """A tensor to try things on, the same for the same seed.

    `kind` is one of `SAMPLES`: standard normal; heavy tails (Student's t, 4 degrees of freedom)
    with every sixteenth row 20 times as large; a normal cut off below 0; 0.1 throughout.

    >>> sample("one-sided", 2, 3).min() >= 0
    np.True_
    """
    if kind not in SAMPLES:
        raise QuantizationError("there is no such sample")
    if rows < 1 or columns < 1:
        raise QuantizationError("a sample has no row or no column")
    shape, random = (rows, columns), np.random.default_rng(seed)
    if kind == "constant":
        return np.full(shape, 0.1)
    if kind == "outliers":
        return random.standard_t(4, shape) * np.where(np.arange(rows) % 16, 1.0, 20.0)[:, None]
    normal = random.standard_normal(shape)
    return np.maximum(normal, 0.0) if kind == "one-sided" else normal


_SEPARATOR = re.compile(r"\s*,\s*|\s+")


def parse_values(text: str) -> Array:
    """Pasted numbers, between commas or blanks: a row per line if lines agree, else one row.

    Raises
    ------
    QuantizationError
        If there is no value or more than `MOST_VALUES`, or, with its place, if one is missing, no
        number, not finite or beyond `LARGEST`.

    Examples
    --------
    >>> parse_values("1, 2\\n3, 4").tolist(), parse_values("1 2\\n3").tolist()
    ([[1.0, 2.0], [3.0, 4.0]], [[1.0, 2.0, 3.0]])
    """
    if len(text) > MOST_CHARACTERS:
        raise QuantizationError(
            say("the text is longer than {most:,} characters", most=MOST_CHARACTERS)
        )
    # Counted roughly before anything is read, so that far too many are refused at once.
    if len(text.replace(",", " ").split()) > MOST_VALUES:
        raise QuantizationError(say("there are more than {most:,} values", most=MOST_VALUES))
    rows: list[list[float]] = []
    for number, line in enumerate(text.splitlines(), 1):
        # A comma may end a line, as programs print them.
        parts = _SEPARATOR.split(line.strip().removesuffix(",").rstrip())
        if parts != [""]:
            rows.append([_value(part, number, place) for place, part in enumerate(parts, 1)])
    if not rows:
        raise QuantizationError(say("there are no values"))
    if len({len(row) for row in rows}) > 1:
        rows = [[value for row in rows for value in row]]
    return np.array(rows)


def _value(part: str, line: int, place: int) -> float:
    where = {"place": place, "line": line}
    if not part:
        raise QuantizationError(say("value {place} of line {line} is missing", **where))
    try:
        value = float(part)
    except ValueError:
        raise QuantizationError(
            say("value {place} of line {line} is not a number", **where)
        ) from None
    if not math.isfinite(value):
        raise QuantizationError(say("value {place} of line {line} is not finite", **where))
    if abs(value) > LARGEST:
        raise QuantizationError(
            say("value {place} of line {line} is beyond {largest:g}", **where, largest=LARGEST)
        )
    return value


def _tensor(values: ArrayLike) -> Array:
    tensor = np.atleast_2d(np.asarray(values, dtype=float))
    if tensor.ndim != 2 or not tensor.size:
        raise QuantizationError("there are no values in rows and columns")
    # Not "any above", so that NaN fails too.
    if not -LARGEST <= tensor.min() <= tensor.max() <= LARGEST:
        raise QuantizationError(f"a value is not finite or is beyond {LARGEST:g}")
    return tensor


def decibel(signal: float, noise: float) -> float:
    """A mean square over that of an error [dB]; infinite without error."""
    if noise == 0:
        return math.inf
    return 10 * math.log10(signal / noise) if signal else -math.inf
