"""Explanations evaluate to the numbers on screen."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from functools import partial

import pytest
from arithmetic import evaluated
from computed import computed
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scenarios import scenario
from strategies import scenarios

from calc import Model, Scenario, memory
from calc.explain import EXPLANATIONS
from calc.explain.expression import (
    Expression,
    Floor,
    Maximum,
    Minimum,
    Number,
    Power,
    Symbol,
    name_plain,
    number_latex,
    number_plain,
    total,
)
from calc.explain.sought import Best, Edge
from calc.scenario import FIDELITIES
from presets import chips, models


def test_every_quantity_is_explained() -> None:
    assert set(EXPLANATIONS) == set(computed(scenario()))


DRAFTS = (None, models["llama-3.2-1b"])


def filled_in(formula: Expression) -> str:
    """Plain text with symbols, their values put in by name."""
    values = {name_plain(symbol.name): symbol.value for symbol in formula.symbols()}
    named = "|".join(re.escape(name) for name in sorted(values, key=len, reverse=True))
    if not named:
        return formula.plain()
    return re.sub(
        rf"(?<!\w)(?:{named})(?!\w)",
        lambda found: number_plain(values[found[0]], 17),
        formula.plain(),
    )


@given(
    scenarios() | scenarios(operators=True),
    st.integers(0, 100),
    st.integers(0, 20),
    st.sampled_from(DRAFTS),
)
@settings(max_examples=120)
def test_formulas_give_the_numbers_shown(
    given: Scenario, accepted: int, drafted: int, draft: Model | None
) -> None:
    s = replace(given, acceptance=accepted / 100, n_draft=drafted, draft=draft)
    # A quotient that lands on a whole number may be floored to its neighbour.
    slack: dict[str, float] = {"max_batch": s.attention_dp, "sequences_that_fit": s.attention_dp}
    # What is left of large sums.
    rest = 1e-12 * memory.ledger(s).total
    slack |= {"free_batch": 1, "free": rest, "missing": rest, "attention_share": 1e-12}
    for id, shown in computed(s).items():
        formula = EXPLANATIONS[id].build(s)
        close = partial(assert_allclose, rtol=1e-9, atol=slack.get(id, 0))
        if id.startswith("best_length") and math.isnan(formula.value):
            # Where nothing is known the page says so.
            continue
        close(formula.value, shown, equal_nan=True)
        assert formula.latex().count("{") == formula.latex().count("}")
        assert formula.latex(numbers=True).count(r"\left") == formula.latex(True).count(r"\right")
        if not math.isnan(formula.value):
            close(evaluated(formula.plain(True, digits=17)), formula.value)
        assert not set(formula.plain()) & set("\\{}$")
        if not (math.isnan(formula.value) or isinstance(formula, (Best, Edge))):
            close(evaluated(filled_in(formula)), formula.value)


def test_plain_text_keeps_the_order_of_operations() -> None:
    a, b, c = (Symbol(name, value, "", "") for name, value in (("a", 7), ("b", 3), ("c", 2)))
    for formula, plain in (
        (a / (b * c), "a/(b·c)"),
        (a / (b / c), "a/(b/c)"),
        (a - (b - c), "a - (b - c)"),
        (a - (b + c), "a - (b + c)"),
        ((a + b) * c, "(a + b)·c"),
        (total([a, b, c]) * a / (b + c), "(a + b + c)·a/(b + c)"),
        (Power(a, b + c), "a^(b + c)"),
        (Power(a * b, c) / Power(a, c), "(a·b)^c/a^c"),
        (Power(Power(a, b), c), "(a^b)^c"),
        (Floor(a / b) - Minimum(a, b), "floor(a/b) - min(a, b)"),
        (Maximum(a, b - a) * c, "max(a, b - a)·c"),
        (Floor(b - a), "max(0, floor(b - a))"),
    ):
        assert formula.plain() == plain
        assert evaluated(formula.plain(True)) == formula.value
        assert evaluated(filled_in(formula)) == formula.value
    negative = Symbol("n", -2, "", "")
    assert (a - negative).plain(True) == "7 - (-2)"
    assert (a + negative).plain(True) == "7 + (-2)"
    assert (a * negative).latex(True) == r"7 \cdot \left(-2\right)"
    assert Power(negative, b).plain(True) == "(-2)^3"
    assert Power(Symbol("x", 8.2e11, "", ""), c).latex(True) == (
        r"\left(8.2\times 10^{11}\right)^{2}"
    )


def test_what_is_looked_for_is_shown_beside_what_it_is_not() -> None:
    def sides(n: int) -> tuple[Expression, Expression]:
        return Number(10), Symbol("n", n, "", "") * 3

    first = Edge("n", [2, 4], sides, last=False)
    assert (first.value, first.plain()) == (4, "first(n: 10 ≤ n·3)")
    assert first.plain(True) == "first{2: 10 ≰ 2·3, 4: 10 ≤ 4·3}"
    assert r"2: & 10 \nleq 2 \cdot 3" in first.latex(True)
    assert Edge("n", [1, 2], sides, last=False).value == 0
    last = Edge("n", [4, 5, 6], lambda n: (Number(n), Number(5)), last=True)
    assert (last.value, evaluated(last.plain(True))) == (5, 5)
    assert Edge("n", [6], lambda n: (Number(n), Number(5)), last=True).value == 0
    unknown = Edge("n", [1], lambda n: (Number(math.nan), Number(5)), last=True)
    assert math.isnan(unknown.value)
    best = Best("k", range(3), lambda k: Symbol("f", (1.0, 3.0, 2.0)[k], "", ""))
    assert (best.value, best.plain(True)) == (1, "argmax{0: 1, 1: 3, 2: 2}")
    assert [symbol.value for symbol in best.symbols()] == [3]
    assert math.isnan(Best("k", range(3), lambda k: Number(math.nan)).value)


@pytest.mark.parametrize("model", models)
@pytest.mark.parametrize("fidelity", FIDELITIES)
def test_every_model_is_explained(model: str, fidelity: str) -> None:
    s = scenario(model, "h100-sxm", fidelity=fidelity)
    for entry in EXPLANATIONS.values():
        assert entry.build(s).latex(numbers=True)


@pytest.mark.parametrize("chip", chips)
@pytest.mark.parametrize("fidelity", FIDELITIES)
def test_every_chip_is_explained(chip: str, fidelity: str) -> None:
    s = scenario("deepseek-v3", chip, fidelity=fidelity)
    for entry in EXPLANATIONS.values():
        assert entry.build(s).latex(numbers=True)


def test_expressions_print_and_evaluate() -> None:
    a, b = Symbol("a", 6, "m", "a length"), Symbol("b", 4, "s", "a time")
    speed = (a + 2) * b / (b - 1)
    assert speed.value == pytest.approx(32 / 3)
    assert speed.latex() == r"\frac{\left(a + 2\right)\,b}{b - 1}"
    assert speed.latex(numbers=True) == r"\frac{\left(6 + 2\right) \cdot 4}{4 - 1}"
    assert [s.name for s in speed.symbols()] == ["a", "b", "b"]
    assert Maximum(a, b).value == 6
    assert Floor(a / b).value == 1
    assert Floor(b - a).value == 0
    assert (3 * a).value == 18


def test_unknown_stays_unknown() -> None:
    unknown = Symbol("x", math.nan, "", "")
    assert math.isnan(Maximum(unknown, Number(1)).value)
    assert math.isnan(Floor(unknown).value)
    assert math.isnan((Number(1) / Number(0)).value)
    assert number_latex(math.nan) == r"\text{not published}"


@pytest.mark.parametrize(
    ("value", "shown"),
    [(16, "16"), (163840, "163840"), (8.2e11, r"8.2\times 10^{11}"), (1e6, "10^{6}"),
     (0.008571090419, "0.008571"), (120.1219, "120.1"), (1.5e-7, r"1.5\times 10^{-7}")],
)  # fmt: skip
def test_numbers_in_formulas(value: float, shown: str) -> None:
    assert number_latex(value) == shown
