"""Every metric on a page has an explanation that gives the number shown."""

from __future__ import annotations

import math
from collections.abc import Mapping

import pytest
from arithmetic import evaluated
from pages_app import PAGES, asked, expected, metrics, prepared, tour
from scenarios import scenario
from streamlit.testing.v1 import AppTest

from calc import known
from calc.explain import EXPLANATIONS, bounds
from calc.scenario import FIDELITIES
from pages.ui.writing import explained

# Pages with a row of explained figures.
SHOWN = [name for name, page in PAGES.items() if page.metrics]
CASES: Mapping[str, Mapping[str, str]] = {
    **{
        f"{model}-{fidelity}": {"model": model, "n": "64", "f": fidelity}
        for model in ("llama-3-70b", "deepseek-v3")
        for fidelity in FIDELITIES
    },
    "misfit": {"n": "1"},
    "unknown": {"chip": "t4", "n": "8", "f": "operators"},
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_every_metric_is_its_explanation_s_value(case: Mapping[str, str]) -> None:
    s = asked(**case)
    for page, test in tour(SHOWN, **case):
        assert list(metrics(test).items()) == list(expected(page, s).items()), page.name
        assert len(test.metric) == 6


def explaining(page: str, **query: str) -> AppTest:
    test = prepared(page, **query)
    test.session_state[f"explain-{page}-open"] = True
    test.run()
    assert not test.exception
    return test


# The figures of a plan are explained among themselves: they are of no one scenario.
@pytest.mark.parametrize("name", [name for name in PAGES if name not in ("compare", "plan")])
def test_every_page_explains_its_own_numbers_first(name: str) -> None:
    test = explaining(name)
    picker = test.selectbox(key=f"explain-{name}")
    page = PAGES[name]
    own = page.explained or [id for id in page.metrics if id != "missing"]
    assert picker.options[: len(own)] == [EXPLANATIONS[id].label for id in own]
    assert len(picker.options) == len(EXPLANATIONS)
    test.session_state[f"explain-{name}-open"] = False
    assert not test.run().code


def test_an_explanation_can_be_copied() -> None:
    test = explaining("decode")
    latex, plain = (code.value for code in test.code)
    assert latex.startswith(r"T_\mathrm{step} = \frac{B\,\kappa_S}{N\,W} + \max\left(")
    assert latex.endswith(r"= 0.008571\ \text{s}")
    formula, *symbols, source = plain.splitlines()
    assert formula.startswith("T_step = B·κ_S/(N·W) + max(P_read·b_w/(N·W), 2·B·P_act/(N·C)) = ")
    assert formula.endswith(" = 0.00857109 s")
    assert evaluated(formula.split(" = ")[2]) == pytest.approx(0.00857109, rel=1e-4)
    assert "N = 16 chips (chips sharing one replica)" in symbols
    assert source.startswith(
        "Source: F3.1, F3.2, F3.12; Austin et al. 2025, How To Scale Your Model"
    )


def test_no_two_explanations_are_called_the_same() -> None:
    titles = [entry.title for entry in EXPLANATIONS.values()]
    assert len(titles) == len(set(titles))
    labels = [entry.label for entry in EXPLANATIONS.values()]
    assert len(labels) == len(set(labels))


@pytest.mark.parametrize("fidelity", FIDELITIES)
def test_every_plain_text_is_one_line_a_fact(fidelity: str) -> None:
    s = scenario("deepseek-v3", n_chips=64, fidelity=fidelity)
    for entry in EXPLANATIONS.values():
        formula = entry.build(s)
        lines = explained.plain(entry, formula).splitlines()
        assert len(lines) == 2 + len({symbol.name for symbol in formula.symbols()})


def test_what_is_unknown_has_no_unit() -> None:
    s = scenario("llama-3-70b", chip="t4", n_chips=8, fidelity="operators")
    entry = EXPLANATIONS["step_time"]
    written = entry.build(s)
    assert math.isnan(written.value)
    first, *_ = explained.plain(entry, written).split("\n")
    assert first.endswith("= not published")


def test_what_is_taken_as_unlimited_is_called_that() -> None:
    s = known.least(scenario("llama-3-70b", chip="t4", n_chips=8))
    sense, formula = bounds.written("step_time", EXPLANATIONS["step_time"], s)
    said = explained.plain(EXPLANATIONS["step_time"], formula, sense)
    assert said.startswith("T_step ≥ B·κ_S/(N·W) + max(")
    assert "C = not published, taken as unlimited (dense peak" in said
    # What has no meaning then stays unknown.
    for id in ("compute_bound_batch", "ridge_point", "mfu", "linear_compute", "free_batch"):
        assert math.isnan(bounds.written(id, EXPLANATIONS[id], s)[1].value)
