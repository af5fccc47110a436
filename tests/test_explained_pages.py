"""Every metric on a page has an explanation that gives the number shown."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import pytest
from arithmetic import evaluated
from pages_app import metrics, opened
from scenarios import scenario
from streamlit.testing.v1 import AppTest

from calc.explain import EXPLANATIONS
from calc.scenario import FIDELITIES
from calc.sharding import with_links
from pages.ui.writing import explained, text

Written = Mapping[str, Callable[[float], str]]


def seconds(value: float) -> str:
    return text.si(value, "s")


def size(value: float) -> str:
    return text.si(value, "B")


def length(value: float) -> str:
    return text.unknown() if math.isnan(value) else text.at_least(int(value))


def whole(value: float) -> str:
    return text.count(value // 1)


# Each page's metrics in their order, and how the page writes them.
SHOWN: Mapping[str, Written] = {
    "decode": {
        "step_time": seconds,
        "throughput": text.rate,
        "throughput_per_chip": text.rate,
        "compute_bound_batch": text.count,
        "max_batch": text.count,
        "usd_per_million_tokens": text.usd,
    },
    "prefill": {
        "prefill_time": seconds,
        "prompt_token_rate": text.rate,
        "attention_share": text.percent,
        "free_tokens": whole,
        "largest_chunk": text.count,
        "servers_ratio": text.ratio,
    },
    "kv_cache": {
        "kv_per_token": text.kibibytes,
        "kv_alone": size,
        "sequences_that_fit": text.count,
        "equal_reads": lambda value: f"batch {text.significant(value)}",
        "attention_intensity": text.intensity,
        "ridge_point": text.intensity,
    },
    "sharding": {
        "step_time": seconds,
        "matmul_hbm": seconds,
        "matmul_math": seconds,
        "matmul_link": seconds,
        "hbm_limit": text.ways,
        "compute_limit": text.ways,
    },
    "capacity": {
        "weights": size,
        "kv_cache": size,
        "free": size,
        "fewest_chips": lambda value: text.count(value) if value else "none",
        "max_batch": text.count,
        "compute_bound_batch": whole,
    },
    "cost": {
        "usd_per_million_output_tokens": text.usd,
        "usd_per_million_input_tokens": text.usd,
        "usd_per_thousand_requests": text.usd,
        "tokens_per_joule": text.significant,
        "mbu": text.percent,
        "mfu": text.percent,
    },
    "speculative": {
        "speedup_here": text.times,
        "speedup_free": text.times,
        "tokens_per_check": text.significant,
        "best_length_here": length,
        "best_length_free": length,
        "free_batch": text.count,
    },
}
CASES: Mapping[str, Mapping[str, Any]] = {
    **{
        f"{model}-{fidelity}": {"model": model, "n_chips": 64, "fidelity": fidelity}
        for model in ("llama-3-70b", "deepseek-v3")
        for fidelity in FIDELITIES
    },
    "misfit": {"n_chips": 1},
    "unknown": {"chip": "rtx-5090", "n_chips": 8, "fidelity": "operators"},
}
KEYS = {"model": "model", "chip": "chip", "n_chips": "n", "fidelity": "f"}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
@pytest.mark.parametrize("page", SHOWN)
def test_every_metric_is_its_explanation_s_value(page: str, case: Mapping[str, Any]) -> None:
    s = scenario(**case)
    if page == "sharding":
        s = with_links(s)
    written = dict(SHOWN[page])
    if page == "capacity" and EXPLANATIONS["free"].build(s).value < 0:
        written = {{"free": "missing"}.get(id, id): write for id, write in written.items()}
    expected = {}
    for id, write in written.items():
        shown = write(EXPLANATIONS[id].build(s).value)
        expected[EXPLANATIONS[id].label] = "unknown" if shown == text.unknown() else shown
    query = {KEYS[name]: str(value) for name, value in case.items()}
    assert list(metrics(opened(f"pages/{page}.py", **query)).items()) == list(expected.items())


def explaining(page: str, key: str, **query: str) -> AppTest:
    test = AppTest.from_file("../app.py", default_timeout=30)
    test.query_params.update(query)
    test.switch_page(f"pages/{page}.py")
    test.session_state[f"explain-{key}-open"] = True
    test.run()
    assert not test.exception
    return test


@pytest.mark.parametrize(
    ("page", "key"), [(page, {"kv_cache": "kv", "speculative": "speculation"}.get(page, page))
                      for page in (*SHOWN, "quantization", "about")],
)  # fmt: skip
def test_every_page_explains_its_own_numbers_first(page: str, key: str) -> None:
    test = explaining(page, key)
    picker = test.selectbox(key=f"explain-{key}")
    own = list(SHOWN.get(page, ()))
    assert picker.options[: len(own)] == [EXPLANATIONS[id].label for id in own]
    assert len(picker.options) == len(EXPLANATIONS)
    assert not opened(f"pages/{page}.py").code


def test_an_explanation_can_be_copied() -> None:
    test = explaining("decode", "decode")
    latex, plain = (code.value for code in test.code)
    assert latex.startswith(r"T_\mathrm{step} = \frac{B\,\kappa_S}{N\,W} + \max\left(")
    assert latex.endswith(r"= 0.008571\ \text{s}")
    formula, *symbols, source = plain.splitlines()
    assert formula.startswith("T_step = B·κ_S/(N·W) + max(P_read·b_w/(N·W), 2·B·P_act/(N·C)) = ")
    assert formula.endswith(" = 0.00857109 s")
    assert evaluated(formula.split(" = ")[2]) == pytest.approx(0.00857109, rel=1e-4)
    assert "N = 16 chips (chips sharing one replica)" in symbols
    assert source.startswith("Source: How To Scale Your Model")


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
    s = scenario("llama-3-70b", chip="rtx-5090", n_chips=8, fidelity="operators")
    entry = EXPLANATIONS["step_time"]
    written = entry.build(s)
    assert math.isnan(written.value)
    first, *_ = explained.plain(entry, written).split("\n")
    assert first.endswith("= not published")
