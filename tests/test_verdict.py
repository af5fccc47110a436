"""The sentence on top of the Decode page is right in every regime."""

from __future__ import annotations

import re
from typing import Any

import pytest
from scenarios import scenario

from calc import Scenario, decode, known, memory, roofline
from pages.ui.decode import words as decode_words
from pages.ui.writing import published, text
from presets import formats

EXPERTS: dict[str, Any] = {
    "model": "deepseek-v3", "chip": "h20", "n_chips": 16, "w": "fp8", "context": 1 << 17,
    "fidelity": "operators", "attention_dp": 16, "expert_parallel": 16,
}  # fmt: skip
SAID = {
    "weight_read": "reading weights",
    "kv_read": "reading the KV cache",
    "linear_compute": "multiplying in the linear layers",
    "attention_compute": "multiplying in attention",
    "communication": "sending between chips",
    "overhead": "in overhead",
}
REGIMES = {
    "weights": (scenario(), "weight_read"),
    "weights, one sequence": (scenario(n_chips=8, context=262144, batch=1), "weight_read"),
    "cache": (scenario(batch=128), "kv_read"),
    "compute": (scenario(batch=1024, context=512), "linear_compute"),
    "compute at any batch": (
        scenario("deepseek-v3", "groqchip1", w="int4", c="fp16", n_chips=4096), "linear_compute",
    ),
    "attention": (scenario(**EXPERTS), "attention_compute"),
    "links": (scenario(fidelity="operators", hop_latency=5e-5), "communication"),
    "overhead": (scenario(fidelity="operators", step_overhead=2e-2), "overhead"),
    "links that hide": (
        scenario(fidelity="operators", hop_latency=5e-5, link_overlap=1.0), "communication",
    ),
    "nothing overlaps": (scenario(fidelity="operators", overlap=0.0, batch=64), "kv_read"),
    "does not fit": (scenario(batch=512), "kv_read"),
    "not one sequence fits": (scenario(n_chips=8, context=1 << 20), "kv_read"),
    "weights do not fit": (scenario(n_chips=4), "weight_read"),
    "copies do not fit": (scenario(fidelity="operators", batch=128), "kv_read"),
    "no chip is enough": (scenario(runtime_memory=16e9), "weight_read"),
}  # fmt: skip


def said(s: Scenario) -> str:
    crossing = roofline.compute_bound_batch(s)
    return decode_words.verdict(s, decode.step_time(s), int(memory.max_batch(s)), crossing)


@pytest.mark.parametrize(("s", "largest"), REGIMES.values(), ids=REGIMES)
def test_the_largest_term_is_named_with_its_share(s: Scenario, largest: str) -> None:
    step, sentence = decode.step_time(s), said(s)
    charged = {name: float(term) for name, term in step.charged().items()}
    assert max(charged, key=charged.__getitem__) == largest
    share = text.percent(charged[largest] / sum(charged.values()))
    assert f"{text.si(float(step.total), 's')}**, {share} of it {SAID[largest]}" in sentence
    assert ("**at least" in sentence) == (s.fidelity == "bound")
    assert [words for words in SAID.values() if words in sentence] == [SAID[largest]]


@pytest.mark.parametrize("s", [s for s, _ in REGIMES.values()], ids=REGIMES)
def test_which_side_binds_the_linear_layers(s: Scenario) -> None:
    step, sentence = decode.step_time(s), said(s)
    at = re.search(r"(Up to|Beyond) batch ([\d,]+)", sentence)
    limit = int(at[2].replace(",", "")) if at else 0
    bound = bool(step.linear_compute > step.weight_read)
    assert ("wait for memory" not in sentence) == bound == (s.batch > limit)
    assert ("at any batch" in sentence) == (limit == 0)


@pytest.mark.parametrize("s", [s for s, _ in REGIMES.values()], ids=REGIMES)
def test_whether_it_fits(s: Scenario) -> None:
    sentence, largest = said(s), int(memory.max_batch(s))
    assert ("would take" in sentence) == (not memory.fits(s))
    sequences = "sequence" if largest == 1 else "sequences"
    if memory.fits(s):
        assert sentence.endswith(f"Memory holds {largest:,} {sequences} of this length.")
        return
    fewest = memory.min_chips(s)
    alone = memory.weights(s) > memory.capacity(s)
    assert ("The weights alone do not fit" in sentence) == alone
    assert ("**It does not fit**: not one sequence fits" in sentence) == (not (largest or alone))
    assert (f"memory holds {largest:,} {sequences};" in sentence) == (largest > 0)
    needed = f"it takes {fewest:,} ×" if fewest else "no number of chips holds it in this layout"
    assert needed in sentence


def test_what_is_not_known_is_named() -> None:
    rate = known.least(scenario(chip="m5-max", n_chips=8))
    assert "No dense bf16 rate is published for Apple M5 Max" in published.taken(rate)
    assert "takes **at least 22.9 ms**" in said(rate)
    assert "reading alone: what multiplying adds is not known. Memory holds" in said(rate)
    link = known.least(scenario(chip="inferentia2", n_chips=12, fidelity="operators"))
    assert "No link bandwidth is published for AWS Inferentia2" in published.taken(link)
    # 12.7 ms of work, and the hops of its messages.
    assert "takes **at least 13.8 ms**" in said(link)
    # Links are known here: it is the rate for attention that is not.
    scores = known.least(scenario(fidelity="operators", attention_format=formats["fp8"]))
    assert "No dense fp8 rate is published for TPU v5e" in published.taken(scores)
    assert "link" not in published.taken(scores)
    # An instruction follows where another format is known.
    turing = published.taken(scenario(chip="t4", n_chips=8))
    assert "(published: fp16, int8)" in turing
    assert "Choose **fp16** compute for figures that are known." in turing
    nothing = scenario(chip="mi308x", n_chips=8)
    assert known.least(nothing) is nothing
    assert said(nothing).startswith("The step time is not known here.")
    assert "Memory holds" in said(nothing)
