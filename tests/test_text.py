"""Numbers as people read them."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pages.ui.writing import text


@pytest.mark.parametrize(
    ("value", "unit", "shown"),
    [(0.00857109, "s", "8.57 ms"), (70.55e9, "B", "70.6 GB"), (0.0009996, "s", "1.00 ms"),
     (1, "s", "1.00 s"), (0, "B", "0 B"), (2.18e-4, "s", "218 µs"), (-1.09e12, "B", "−1.09 TB"),
     (math.nan, "s", "not published"), (math.inf, "s", "not published"), (1.6e10, "B", "16.0 GB")],
)  # fmt: skip
def test_si(value: float, unit: str, shown: str) -> None:
    assert text.si(value, unit) == shown


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (3733.48, "3,730"),
        (233.34, "233"),
        (9.996, "10.0"),
        (0.5, "0.500"),
        (12345678, "12,300,000"),
    ],
)
def test_significant(value: float, shown: str) -> None:
    assert text.significant(value) == shown


def test_rates_prices_and_shares() -> None:
    assert text.rate(3733.48) == "3,730"
    assert text.rate(1.234e6) == "1.23 M"
    assert text.usd(1.4285) == "$1.43"
    assert text.percent(0.618) == "62 %"
    assert text.change(5.92, 8.57) == "−31\u00a0%"
    assert text.change(math.nan, 1) == ""
    assert text.change(1.0001, 1) == "±0\u00a0%"
    assert text.change(0.993, 1) == "−0.7\u00a0%"
    assert text.percent(0.999) == ">99 %"


@given(st.floats(1e-11, 1e19), st.sampled_from(["s", "B"]))
def test_si_stays_within_half_a_digit(value: float, unit: str) -> None:
    number, prefixed = text.si(value, unit).split(" ")
    scale = {"p": 1e-12, "n": 1e-9, "µ": 1e-6, "m": 1e-3, "": 1, "k": 1e3, "M": 1e6, "G": 1e9,
             "T": 1e12, "P": 1e15, "E": 1e18}[prefixed.removesuffix(unit)]  # fmt: skip
    assert float(number.replace(",", "")) * scale == pytest.approx(value, rel=6e-3)


def test_plain_text_cannot_become_markup() -> None:
    shown = text.plain("<b>*x*</b> [a](javascript:1) $y$ `z` :material/x:\n# h")
    assert "\n" not in shown
    assert all(f"\\{mark}" in shown for mark in "<*[]($`:#")


def test_one_is_singular() -> None:
    assert (text.tokens(1), text.tokens(8192)) == ("1 token", "8,192 tokens")
    assert (text.sequences(1), text.sequences(0)) == ("1 sequence", "0 sequences")
