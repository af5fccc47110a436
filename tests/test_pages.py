"""Pages in Streamlit's own harness: every page with every preset, links, notices."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain, cycle
from typing import Any

import pytest
from pages_app import PAGES, asked, expected, metrics, notes, opened, sheets, tour, words
from streamlit.testing.v1 import AppTest

from calc import Scenario
from pages.ui.frame.page import Page
from presets import chips, models


def test_default_numbers() -> None:
    assert metrics(opened()) == {
        "Step time": "8.57 ms",
        "Token/s": "3,730",
        "Token/s per chip": "233",
        "Critical batch": "120",
        "Largest batch": "149",
        "USD per Mtoken": "$1.43",
    }


def test_a_link_sets_every_control() -> None:
    test = opened(model="deepseek-v3", chip="h100-sxm", n="24", w="fp8", kv="fp8", c="fp8", b="37")
    assert test.select_slider(key="b").value == 37
    assert test.number_input(key="b-exact").value == pytest.approx(37)
    assert test.selectbox(key="model").value == "deepseek-v3"
    assert "DeepSeek-V3 / R1 · 24 × H100 SXM" in notes(test)


def test_moving_the_slider_changes_the_numbers() -> None:
    test = opened()
    test.select_slider(key="b").set_value(64).run()
    assert metrics(test)["Step time"] == "11.8 ms"
    assert test.number_input(key="b-exact").value == pytest.approx(64)


def test_an_exact_number_moves_the_slider() -> None:
    test = opened()
    test.number_input(key="s-exact").set_value(8191).run()
    assert not test.exception
    assert test.select_slider(key="s").value == 8191


def test_a_bad_link_shows_a_notice_and_the_defaults() -> None:
    test = opened(b="-5", model="<script>alert(1)</script>", c="q4-k-m")
    text = words(test)
    assert "Batch (b) in the link is outside 1 to 65,536; 32 is used." in text
    assert "Model (model) in the link is not known here; llama-3-70b is used." in text
    assert "Compute (c) in the link is not a format for compute; bf16 is used." in text
    assert "script" not in text
    assert metrics(test)["Step time"] == "8.57 ms"


def test_a_notice_can_be_dismissed() -> None:
    test = opened(b="-5")
    next(one for one in test.button if one.label == "Dismiss").click().run()
    assert "in the link is" not in words(test)


def test_what_does_not_fit_is_said_with_the_chips_it_takes() -> None:
    test = opened(n="1")
    assert "The weights alone do not fit" in words(test)
    assert "it takes 8 × TPU v5e" in words(test)
    assert metrics(test)["Largest batch"] == "0"


def test_an_unpublished_rate_is_said_not_invented() -> None:
    test = opened(chip="t4", n="8")
    shown = metrics(test)
    assert (shown["Step time"], shown["Critical batch"]) == ("≥ 43.9 ms", "unknown")
    assert (shown["Token/s"], shown["Largest batch"]) == ("≤ 728", "40")
    assert "takes **at least 43.9 ms**" in words(test)
    assert "No dense bf16 rate is published for Tesla T4" in notes(test)
    assert "Choose **fp16** compute" in notes(test)
    test.selectbox(key="c").set_value("fp16").run()
    assert metrics(test)["Step time"] == "43.9 ms"
    assert "published for" not in notes(test)


# The usual scenario on few and many chips, with what does not fit, is not published, or is odd.
LIMITS = [
    {"n": "1"},
    {"n": "6"},
    {"n": "16384"},
    {"chip": "rtx-5090"},
    {"chip": "inferentia2"},
    {"chip": "inferentia2", "f": "operators"},
    {"chip": "a10g"},
    {"chip": "wse-3", "model": "llama-3-8b", "n": "1", "c": "fp16"},
    {"model": "deepseek-v3", "n": "4"},
    {"model": "deepseek-v3", "chip": "gb200-nvl72", "n": "72", "f": "operators", "ep": "72",
     "dp": "72", "c": "fp8", "w": "fp8"},
    {"model": "gpt-oss-120b", "w": "mxfp4", "chip": "h100-sxm", "f": "operators"},
    {"b": "65536", "s": "16777216"},
    {"b": "65536", "s": "16777216", "f": "operators"},
    {"p": "1", "ch": "9999", "px": "5", "f": "operators"},
    {"p": "4194304", "px": "4000000"},
    {"rt": "16"},
    {"rt": "64"},
    {"u": "0.5", "rt": "8"},
    {"f": "operators", "dp": "16"},
    {"f": "operators", "dp": "16384"},
    {"a": "0", "k": "0"},
    {"a": "1", "k": "64"},
    {"r": "0"},
    {"r": "2"},
    {"d": "kimi-k2"},
    {"d": "llama-3.2-1b", "n": "1"},
]  # fmt: skip


def show(pages: Iterable[tuple[Page[Any], AppTest]], s: Scenario, *, known: bool = False) -> None:
    """That the cards of pages say what the formulas give for a scenario."""
    for page, test in pages:
        if page.metrics:
            shown = metrics(test)
            assert shown == expected(page, s), page.name
            assert not (known and "unknown" in shown.values()), page.name


# The sidebar is the same on all pages but for what they unfold: each preset meets it on one.
@pytest.mark.parametrize(("model", "name"), [*zip(models, cycle(PAGES), strict=False)])
def test_every_page_shows_every_model_and_all_figures_are_known(model: str, name: str) -> None:
    query = {"model": model, "chip": "h200", "n": "64", "f": "operators", "req": "8"}
    show(chain(sheets(**query), tour([name], **query)), asked(**query), known=True)


@pytest.mark.parametrize(("chip", "name"), [*zip(chips, cycle(PAGES), strict=False)])
def test_every_page_shows_every_chip(chip: str, name: str) -> None:
    query = {"chip": chip, "req": "8"}
    show(chain(sheets(**query), tour([name], **query)), asked(**query))


@pytest.mark.parametrize("query", LIMITS, ids=str)
def test_every_page_survives_the_limits(query: dict[str, str]) -> None:
    # What a service cannot do has tests of its own, and millions of tokens take it minutes.
    names = [name for name in PAGES if name != "serving"]
    show(tour(names, req="8", **query), asked(**query))


def test_about_cites_the_sources_of_the_chosen_chip() -> None:
    facts = opened("about", chip="h100-sxm").table[1].value.set_index("Figure")
    assert facts.loc["bandwidth", "Value"] == "3.35 TB/s"
    assert "NVIDIA H100 product page" in facts.loc["memory", "Source"]


def test_a_page_keeps_the_scenario_it_does_not_use() -> None:
    test = opened("about", b="77")
    assert test.select_slider(key="b").value == 77
    assert "Workload** · not used on this page" in notes(test)


def test_the_fidelity_switch_follows_the_link() -> None:
    test = opened(f="operators")
    assert metrics(test)["Step time"] == "13.8 ms"
    assert metrics(test)["Largest batch"] == "74"
    assert "textbook bound: 8.57 ms" in words(test)
    test.segmented_control(key="f").set_value("bound").run()
    assert metrics(test)["Step time"] == "8.57 ms"


def test_layout_and_losses_travel_while_their_group_is_closed() -> None:
    test = opened(f="operators", ty="8", dp="2", eb="0.8", hop="2.5", os="500")
    assert test.number_input(key="dp").value == 2
    assert "operators, TP 8, DP 2" in notes(test)
    slow = float(metrics(test)["Step time"].split()[0])
    assert slow > float(metrics(opened(f="operators", ty="8", dp="2"))["Step time"].split()[0])


def test_a_layout_of_another_number_of_chips_is_said() -> None:
    test = opened(f="operators", ty="4")
    said = "Tensor × data × pipeline is 4 × 1 × 1, not 16 chips; 16 × 1 × 1 is used"
    assert said in notes(test)
    assert metrics(test)["Step time"] == "13.8 ms"


def test_prefill_page_numbers() -> None:
    test = opened("prefill")
    assert metrics(test) == {
        "Prefill time": "959 ms",
        "Prompt token/s": "8,540",
        "Attention share": "7 %",
        "Tokens riding free": "35",
        "Largest chunk": "361",
        "Prefill : decode": "7.00 : 1",
    }
    assert "is read in **959 ms** at 40 % of the dense rate, bound by compute" in words(test)


def test_sharding_page_numbers() -> None:
    test = opened("sharding", w="bf16", n="32", b="64")
    shown = metrics(test)
    assert shown["Matmul: weights"] == "17.9 µs"
    assert shown["Matmul: FLOPs"] == "4.77 µs"
    assert shown["Matmul: links"] == "11.7 µs"
    assert shown["TP limit vs. compute"] == "13.1"


def test_capacity_page_numbers() -> None:
    test = opened("capacity")
    assert metrics(test) == {
        "Weights": "70.6 GB",
        "KV cache": "42.9 GB",
        "Free": "157 GB",
        "Fewest chips": "8",
        "Largest batch": "149",
        "Critical batch": "120",
    }
    assert "the smallest topology is not the cheapest" in words(test)
    assert row(test, "bf16") == [
        "16", "0.0531", "0.287", "$2.27", "48", "20.4 ms", "129 GB", "141 GB", "8.34",
    ]  # fmt: skip


def test_cost_page_numbers() -> None:
    test = opened("cost")
    shown = metrics(test)
    assert (shown["USD per M output"], shown["USD per M input"]) == ("$1.43", "$0.625")
    assert (shown["USD, 1k requests"], shown["MFU"]) == ("$5.85", "16 %")
    assert shown["Token per joule"] == "unknown"
    dear = opened("cost", usd="2.4", pw="250")
    assert metrics(dear)["USD per M output"] == "$2.86"
    assert metrics(dear)["Token per joule"] == "0.933"


def test_a_missing_price_is_said_and_the_rest_goes_on() -> None:
    test = opened("cost", chip="groqchip1", model="llama-3-8b", n="64", c="fp16")
    assert "No price is published for" in words(test)
    assert metrics(test)["USD per M output"] == "unknown"
    assert "| TPOT |" in words(test)


def test_quantization_page_says_what_each_precision_moves() -> None:
    test = opened("quantization")
    said = words(test)
    assert "**int4** weights: step −31\u00a0%; they change weight read, critical batch" in said
    assert "**int8** compute: step ±0\u00a0%; it changes FLOPs, critical batch" in said
    assert "| Weight read | 5.30 ms | 2.65 ms" in words(test)


def test_the_affine_bench() -> None:
    test = opened("quantization")
    test.session_state["quantization-tabs"] = "Affine quantization"
    test.run()
    test.selectbox(key="affine-kind").set_value("pasted values").run()
    test.text_area(key="affine-pasted").set_value("-1 0 3").run()
    assert not test.exception
    # F9.1: s = 4 / 255, z = 64.
    assert "| Scale | 0.01569 |" in words(test)
    assert "| Zero point | 64 |" in words(test)
    test.text_area(key="affine-pasted").set_value("1 nan 3").run()
    assert "These values cannot be quantized" in test.warning[0].value
    assert "nan" not in test.warning[0].value.replace("not", "")
    test.text_area(key="affine-pasted").set_value("7 7 7").run()
    assert "| Largest error | 0 |" in words(test)


def test_the_acceptance_bench_draws_as_the_link_says() -> None:
    def told(**query: str) -> str:
        test = opened("speculative", pq="0.5,0.3,0.2;0.6,0.3,0.1", **query)
        test.session_state["speculative-tabs"] = "Acceptance bench"
        test.run()
        assert not test.exception
        return words(test)

    # OURS, as in test_speculative: p = (.5, .3, .2), q = (.6, .3, .1).
    assert "α = 0.900" in told()
    assert "α = 0.875" in told(t="0.5")
    assert "α = 1.000" in told(t="0")
    assert "α = 1.000" in told(tk="1")
    assert "α = 1.000" in told(tp="0.4")


def row(test: AppTest, name: str) -> list[str]:
    """The cells beside a name in the page's first table."""
    frame = test.table[0].value
    return [str(cell) for cell in frame[frame.iloc[:, 0] == name].iloc[0, 1:]]


def test_kv_page_numbers() -> None:
    test = opened("kv_cache")
    assert metrics(test) == {
        "Per token": "160 KiB",
        "Per sequence": "1.34 GB",
        "Sequences that fit": "149",
        "KV = weight read": "batch 52",
        "Attention intensity": "16.0 FLOP/B",
        "Ridge point": "240 FLOP/B",
    }
    assert row(test, "MHA") == ["16.0 KiB", "1,280 KiB", "10.7 GB", "1 / 1.00", "10.7 GB", "17"]


def test_kv_page_switches() -> None:
    test = opened("kv_cache", kv="bf16")
    test.selectbox(key="kv-sharing").set_value(2).run()
    # Kept by every second layer, read by each.
    assert row(test, "MHA")[2:5] == ["10.7 GB", "1 / 1.00", "21.5 GB"]
    test.selectbox(key="kv-window").set_value(1024).run()
    assert not test.exception
    # 13 of 80 layers see all: in pairs 7 × 8,192 and 34 × 1,024 tokens are kept, of 32 KiB each.
    assert row(test, "MHA")[2:5] == ["3.02 GB", "1 / 1.00", "5.74 GB"]


def test_speculation_page_numbers() -> None:
    test = opened("speculative", chip="h100-sxm", n="8", w="bf16", kv="bf16", s="1024", b="128")
    assert metrics(test) == {
        "Speed-up here": "1.61 ×",
        "If verifying is free": "2.80 ×",
        "Tokens per check": "3.36",
        "Best length here": "2",
        "Best if free": "8",
        "Free up to batch": "59",
    }
    assert "makes decoding **1.61 ×** as fast at batch 128" in words(test)


def test_speculation_page_warns_of_a_doubtful_draft() -> None:
    said = notes(opened("speculative", d="kimi-k2"))
    assert "The draft model is no smaller than the target" in said
    assert "vocabularies of different sizes" in said


def test_a_tab_stays_open_after_another_page_and_in_another_language() -> None:
    def opened_tabs(test: AppTest) -> str:
        assert not test.exception
        label: str = test.session_state["capacity-tabs"]
        return label

    test = opened("capacity")
    test.session_state["capacity-tabs"] = "Every chip"
    test.run()
    test.switch_page("pages/prefill.py").run()
    assert opened_tabs(test.switch_page("pages/capacity.py").run()) == "Every chip"
    test.segmented_control(key="lang").set_value("zh").run()
    assert opened_tabs(test.switch_page("pages/capacity.py").run()) == "所有芯片"
