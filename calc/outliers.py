"""What a few large channels of activations do to quantized products, and what is done about it.

A layer's product is taken of sample weights, an output a row, and sample activations, a channel a
row and a token a column. Each method rounds one or both of them; what counts is the error of the
product, beside the bits that a weight takes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache

import numpy as np
from numpy.typing import ArrayLike, NDArray

from calc import decode
from calc.formats import NumberFormat
from calc.quantization import Granularity, apply, decibel, effective_bits, sample
from calc.scenario import Scenario
from calc.words import marked

Array = NDArray[np.float64]

CHANNELS, TOKENS, GROUP = 64, 128, 32
# From so many times the usual size a channel counts as an outlier: LLM.int8 takes magnitudes of 6.
OUTLIER = 6.0
# Of activations against weights, as SmoothQuant has it; AWQ tries as many exponents.
SMOOTHING, TRIED = 0.5, 20


@dataclass(frozen=True)
class Method:
    """A way to round a product.

    Parameters
    ----------
    name : str
        What the field calls it, marked for translation.
    activations : bool
        Whether they are rounded as well as the weights.
    bits : float
        Of a weight, its share of scales and of channels that stay wide included [bit].
    sqnr : float
        Mean square of the product over that of its error [dB].
    """

    name: str
    activations: bool
    bits: float
    sqnr: float


def activations(kind: str) -> Array:
    """Sample activations of a layer, channels by tokens."""
    return sample(kind, CHANNELS, TOKENS)


def weights() -> Array:
    """Sample weights of a layer, outputs by channels: normal, as those of trained layers nearly."""
    return sample("normal", CHANNELS, CHANNELS, seed=1)


def outlying(values: ArrayLike) -> NDArray[np.bool_]:
    """Which rows are `OUTLIER` times as large as the median one, or more, in the mean square.

    >>> int(outlying(activations("outliers")).sum()), int(outlying(activations("normal")).sum())
    (4, 0)
    """
    size = np.sqrt(np.square(np.asarray(values, dtype=float)).mean(axis=1))
    return np.asarray((size > 0) & (size >= OUTLIER * np.median(size)))


@cache
def methods(kind: str, bits: int) -> tuple[Method, ...]:
    """Each method at a width of codes, on activations of a kind of `quantization.SAMPLES`.

    References
    ----------
    F9.4; Dettmers et al. 2022; Xiao et al. 2022; Lin et al. 2023.
    """
    x, w = activations(kind), weights()
    exact = w @ x

    def error(product: Array) -> float:
        wrong = float(np.square(product - exact).mean())
        return decibel(float(np.square(exact).mean()), wrong)

    tried = (*_weights_alone(w, x, bits), *_both(w, x, bits))
    return tuple(replace(one, sqnr=error(product)) for one, product in tried)


def _rounded(values: Array, bits: int, granularity: Granularity) -> Array:
    return apply(values, bits, symmetric=True, granularity=granularity).reconstructed


def _weights_alone(w: Array, x: Array, bits: int) -> Iterator[tuple[Method, Array]]:
    grains: tuple[tuple[str, Granularity, int], ...] = (
        (marked("one scale for the tensor"), "tensor", w.size),
        (marked("one scale for each channel"), "row", w.shape[1]),
        (marked("one scale for each group of 32"), GROUP, GROUP),
    )
    for name, grain, shared in grains:
        yield Method(name, False, _bits(bits, shared), 0.0), _rounded(w, bits, grain) @ x
    yield (
        Method(marked("groups, scaled by activations (AWQ)"), False, _bits(bits, GROUP), 0.0),
        (_protected(w, x, bits)),
    )


def _protected(w: Array, x: Array, bits: int) -> Array:
    """Weights of large activations are stored larger, by the best of some exponents."""
    size, exact = np.abs(x).mean(axis=1), w @ x
    size = np.where(size > 0, size, 1.0)
    found = []
    for exponent in np.arange(TRIED) / TRIED:
        scale = size**exponent
        found.append((_rounded(w * scale, bits, GROUP) / scale) @ x)
    return min(found, key=lambda product: float(np.square(product - exact).mean()))


def _both(w: Array, x: Array, bits: int) -> Iterator[tuple[Method, Array]]:
    each = _bits(bits, w.shape[1])
    plain = _rounded(w, bits, "row")
    yield (
        Method(marked("one scale for all activations"), True, each, 0.0),
        plain @ _rounded(x, bits, "tensor"),
    )
    yield (
        Method(marked("one scale for each token"), True, each, 0.0),
        plain @ _rounded(x.T, bits, "row").T,
    )
    wide = outlying(x)
    mixed = each + float(wide.mean()) * (16 - each)
    kept = w[:, wide].astype(np.float16) @ x[wide].astype(np.float16).astype(float)
    usual = np.where(wide[:, None], 0.0, x)
    narrow = _rounded(np.where(wide, 0.0, w), bits, "row") @ _rounded(usual, bits, "tensor")
    yield Method(marked("outlier channels in fp16 (LLM.int8)"), True, mixed, 0.0), narrow + kept
    scale = _smoothing(w, x)
    smoothed = _rounded(w * scale, bits, "row") @ _rounded(x / scale[:, None], bits, "tensor")
    yield Method(marked("scaled by activations (SmoothQuant)"), True, each, 0.0), smoothed


def _smoothing(w: Array, x: Array) -> Array:
    """By how much each channel of activations is divided, and its weights are multiplied."""
    far = np.abs(x).max(axis=1) ** SMOOTHING / np.abs(w).max(axis=0) ** (1 - SMOOTHING)
    return np.where(far > 0, far, 1.0)


def _bits(bits: int, shared: int) -> float:
    return float(effective_bits(bits, shared, 16))


def stored(scenario: Scenario, bits: float) -> Scenario:
    """The scenario with all weights in so many bits, multiplied as before."""
    wide = NumberFormat(f"{bits:g}-bit", f"{bits:g}-bit", bits, uses=("weights",))
    return replace(scenario, weight_format=wide)


def step_time(scenario: Scenario, bits: float) -> float:
    """A decode step with weights of so many bits [s] (F9.3)."""
    return float(decode.step_time(stored(scenario, bits)).total)


def weight_bytes(scenario: Scenario, bits: float) -> float:
    """All weights in so many bits [byte]."""
    return scenario.model.weight_bytes(stored(scenario, bits).stored)
