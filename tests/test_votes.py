"""Several answers to one question, and tokens that sampling leaves.

Sources: OURS = arithmetic shown; the binomial table of p = 0.6.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pages_app import prepared, words
from scenarios import scenario

from calc import known, memory, sampling, votes
from calc.sampling import DistributionError
from pages.ui.cost import votes as cost_votes
from pages.ui.frame import switches


def test_majorities_of_the_binomial_table() -> None:
    # n = 3: 3·0.36·0.4 + 0.216; n = 5, 9 and 15 as printed in tables; n = 8 has ties, 70·0.24⁴.
    for n, right in ((1, 0.6), (3, 0.648), (5, 0.68256), (9, 0.73343), (15, 0.78690)):
        assert votes.majority(n, 0.6) == pytest.approx((right, 0), abs=5e-6)
    right, tie = votes.majority(8, 0.6)
    assert tie == pytest.approx(70 * 0.24**4)
    assert right == pytest.approx(0.59409, abs=5e-6)
    assert float(votes.any_right(8, 0.6)) == pytest.approx(1 - 0.4**8)
    assert votes.majority(5, 0.0) == (0, 0) and votes.majority(4, 1.0) == (1, 0)


@given(st.integers(1, votes.MOST), st.floats(0, 1))
def test_a_vote_is_right_tied_or_wrong(n: int, p: float) -> None:
    right, tie = votes.majority(n, p)
    wrong, other = votes.majority(n, 1 - p)
    assert right + tie + wrong == pytest.approx(1)
    assert tie == pytest.approx(other)
    assert right <= float(votes.any_right(n, p)) + 1e-12


def test_answers_share_a_prompt() -> None:
    s = scenario(prompt=8200, kv_block=16)
    assert [float(one) for one in votes.tokens(8200, 512, 8)] == [8200, 4096]
    held = votes.held(s, 8)
    token = s.model.kv_bytes_per_token(s.kv_format)
    # OURS: 512 whole blocks once, and 8 + 512 tokens in 33 blocks of 16 for each of eight.
    common, whole = (float(memory.kv_per_sequence(s, n)) for n in (8192, 8712))
    assert held.shared == common == pytest.approx(8192 * token)
    assert held.total == pytest.approx(common + 8 * (whole - common))
    assert held.apart == 8 * whole > 6 * held.total / 2
    # Each answer fills 512 tokens of the window of 4,096 itself, and has a state of its own.
    windows, states = (
        votes.held(scenario(id, prompt=8192), 8) for id in ("mistral-7b", "falcon-mamba-7b")
    )
    assert windows.total == pytest.approx(windows.apart / 8 * (4096 + 7 * 512) / 4096)
    assert states.total == states.apart and not states.shared
    # OURS: $1 in, $4 out.
    assert votes.price(1, 4, 8192, 512, 8) == pytest.approx((8192 + 4 * 4096) / 1e6)


def test_questions_that_fit() -> None:
    s = scenario(
        "deepseek-v3", "h200", w="fp8", n_chips=16, fidelity="operators", tensor_parallel=8,
        attention_dp=2, expert_parallel=16, prompt=8192, output=512,
    )  # fmt: skip
    alone = votes.questions(s, 1)
    assert alone == memory.max_batch(s, 8704)
    assert alone / 8 < votes.questions(s, 8) < alone


def test_bounds_of_a_price_have_no_quotient() -> None:
    for chip, told in (("tpu-v5e", True), ("t4", False)):
        s = known.least(scenario(chip=chip))
        assert (
            "They cost 5.20 × what one does." in cost_votes.sentence(s, 0.05, 1.2, 8, 0.6)
        ) is told


def test_survivors_of_peaked_and_flat_distributions() -> None:
    # As a text on sampling has it: five tokens hold 99 %, of which top-k 50 keeps 45 others; and
    # five hold 40 %, of which top-k 5 drops 60 %.
    peaked = np.array([0.198] * 5 + [0.01 / 95] * 95)
    flat = np.array([0.08] * 5 + [0.6 / 95] * 95)
    sharp, wide = (sampling.survivors(p, 1.0, 50, 0.9) for p in (peaked, flat))
    assert (sharp.top_k, sharp.top_p, sharp.both) == (50, 5, 5)
    assert wide.top_p > 80 and wide.top_k == 50
    assert sampling.survivors(flat, 1.0, 5, 1.0).kept == pytest.approx(0.4)
    assert sampling.survivors(flat, 0, 0, 1.0).both == 1
    assert sampling.survivors(np.full(8, 1 / 8), 1.0, 0, 1.0).choices == pytest.approx(8)


LOGITS = st.lists(st.floats(-50, 50), min_size=2, max_size=64)


@given(LOGITS, st.floats(0, 2), st.integers(0, 64), st.floats(0.05, 1))
def test_survivors_stay_within(logits: list[float], heat: float, top_k: int, top_p: float) -> None:
    p = sampling.softmax(sampling.logits_of_text(",".join(map(repr, logits))))
    found = sampling.survivors(p, heat, top_k, top_p)
    assert 1 <= found.both <= min(found.top_k, found.tokens) <= p.size
    assert 0 < found.kept <= 1 + 1e-9
    assert sampling.surviving(p, heat, top_k, [top_p, 1.0]).tolist()[0] in (
        found.both, found.both - 1, found.both + 1)  # fmt: skip
    assert 1 - 1e-9 <= found.choices <= found.both + 1e-6


@pytest.mark.parametrize("typed", ["1", "1,x", "1,nan", "1,inf", ",".join(["1"] * 65), "1,,2"])
def test_logits_that_are_none_are_refused(typed: str) -> None:
    with pytest.raises(DistributionError):
        sampling.logits_of_text(typed)


def test_typed_numbers_have_one_comma_between() -> None:
    assert switches.Typed.plain(" [0.7, 0.4\n0.1 ; 2] ") == "0.7,0.4,0.1,2"


def test_the_tabs() -> None:
    test = prepared("cost", x="cost_several-answers*answers_3*right_60").run()
    assert not test.exception
    said = words(test)
    assert "**3 answers** to one prompt" in said and "right on **65 %** of questions" in said
    assert list(test.table[0].value.iloc[0][1:]) == ["8,192", "8,192", "24,576"]
    test = prepared("speculative", x="speculative_sampling*logits_3,1,0", tk="2").run()
    assert not test.exception
    assert "2 of 3 tokens of own logits" in words(test)
    test.text_area(key="sampling-logits").set_value("3 1\nyes").run()
    assert [one.value for one in test.warning] == ["Not used: a logit is not a number."]
    assert test.text_area(key="sampling-logits").value == "3 1\nyes"
    assert "logits" not in test.session_state[switches.KEY]
