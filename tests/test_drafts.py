"""Drafts that were measured elsewhere: what they come to here, and reports that are refused.

Sources: SPECBENCH, VLLM24243 and others as in presets/sources.toml; CHEN = Chen et al. 2023; OURS =
arithmetic shown.
"""

from __future__ import annotations

import math
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from pages_app import opened, prepared, words
from scenarios import scenario

from calc import Scenario, drafts, speculative
from calc.drafts import KINDS, Draft
from calc.spans import MOST_BATCH
from calc.speculative import SpeculationError
from pages.ui.frame import switches
from pages.ui.speculative.drafts import shares, upto, widths
from presets import PresetError, load
from presets import drafts as reports
from presets.drafts import read_report

EIGHT_H100 = scenario(chip="h100-sxm", w="bf16", kv="bf16", n_chips=8, context=1024, batch=8)


def test_published_drafts() -> None:
    assert_allclose(speculative.speedup(0.8, 4, 0), 3.36, rtol=1e-3)  # n-gram lookup, cost 0
    cost = reports["chinchilla-4b"].cost_ratio
    assert cost == pytest.approx(1.8 / 14.1, abs=5e-5)  # CHEN
    assert_allclose(speculative.speedup(0.8, 5, cost), 2.25, rtol=2e-3)


def test_acceptance_by_position() -> None:
    # OURS: 1 + 0.769 + 0.381; the mean 0.575 gives 1 + 0.575 + 0.331.
    accepted = speculative.accepted_in_turn([0.769, 0.381])
    assert speculative.expected_tokens_by_position(accepted) == pytest.approx(2.15)
    assert float(speculative.expected_tokens(0.575, 2)) == pytest.approx(1.906, abs=1e-3)
    # Once nothing is accepted, nothing behind it is.
    assert speculative.accepted_in_turn([0.5, 0, 0]).tolist() == [0.5, 0, 0]
    # A tree of two candidates at each depth, by those acceptances: 1 - 0.231² and 1 - 0.505².
    tokens, nodes, _ = speculative.tree_speedup(EIGHT_H100, [2, 2], accepted)
    assert nodes == 6
    assert tokens == pytest.approx(1 + 0.94664 * (1 + 0.74538), abs=1e-3)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=12))
def test_shares_add_up_to_tokens(given: list[float]) -> None:
    falling = sorted(given, reverse=True)
    accepted = speculative.accepted_in_turn(falling)
    assert speculative.expected_tokens_by_position(accepted) == pytest.approx(1 + sum(falling))


def test_what_is_typed_is_refused_in_words() -> None:
    for typed in ("", "x", "0.5,0.6", "1.1", "0.5,", ",".join(["0.5"] * 17)):
        with pytest.raises(SpeculationError):
            shares(typed)
    for typed in ("", "0", "17", "1.5", "1,1,1,1,1,1,1,1,1"):
        with pytest.raises(SpeculationError):
            widths(typed)


def test_a_report_where_it_was_measured() -> None:
    # Memory-bound and short: what checking adds is nothing, so that the source's speed-up returns.
    s = scenario(chip="h100-sxm", w="bf16", kv="bf16", n_chips=8, context=1024, batch=1)
    known = [one for one in drafts.drafted(s, reports.values()) if one.scenario]
    assert len(known) >= 12
    for one in known:
        assert one.scenario
        if math.isfinite(one.report.speedup):
            assert one.speedup == pytest.approx(one.report.speedup, rel=3e-3), one.report
        assert one.speedup == pytest.approx(float(speculative.batch_speedup(one.scenario).speedup))


def test_every_kind_has_reports_and_disagreeing_ones_both_stand() -> None:
    assert {one.kind for one in reports.values()} == set(KINDS)
    lost = {one.loses_from for one in reports.values() if one.kind == "eagle"}
    assert 24 in lost
    assert reports["eagle-3-sglang"].speedup > 1 and reports["eagle-3-sglang"].batch == 64
    unsaid = reports["eagle-3-llama-3.3-70b-tree"]
    assert unsaid.applied(EIGHT_H100) is None


def test_the_best_draft_and_where_it_loses() -> None:
    found = drafts.drafted(EIGHT_H100, reports.values())
    best = drafts.best(EIGHT_H100, found)
    # The fastest is MTP at 3.22, which Llama 3 70B is not published with.
    assert max(one.speedup for one in found if one.scenario) == pytest.approx(3.22, rel=1e-3)
    assert best is not None and best.report is reports["ngram-edits"]
    assert best.speedup == pytest.approx(2.96, rel=1e-3)
    v3 = scenario("deepseek-v3", "h200", n_chips=16, w="fp8")
    own = drafts.best(v3, drafts.drafted(v3, reports.values()))
    assert own is not None and own.report.kind == "mtp"
    assert best.scenario is not None
    after, last = (
        float(speculative.batch_speedup(best.scenario, batch=best.last + more).speedup)
        for more in (1, 0)
    )
    assert after < 1 <= last
    t4 = scenario(chip="t4")
    assert drafts.best(t4, drafts.drafted(t4, reports.values())) is None


@given(
    st.sampled_from([EIGHT_H100, scenario(), scenario("deepseek-v3", "h200", n_chips=16, w="fp8")]),
    st.floats(0.05, 0.99), st.integers(1, 60), st.floats(0, 0.4),
)  # fmt: skip
def test_batches_at_which_drafting_pays(
    s: Scenario, alpha: float, length: int, cost: float
) -> None:
    [first], [last] = speculative.paying_batches(s, [alpha], [length], [cost])

    def gain(batch: float) -> float:
        plain = speculative.batch_speedup(s, batch=batch, n_draft=length)
        tokens = float(speculative.expected_tokens(alpha, length))
        return tokens * float(plain.plain) / (length * cost * float(plain.plain) + float(
            plain.verify))  # fmt: skip

    if not last:
        assert gain(1) < 1 + 1e-9 and gain(MOST_BATCH) < 1 + 1e-9
        return
    assert gain(first) >= 1 - 1e-9 and gain(last) >= 1 - 1e-9
    assert first == 1 or gain(first - 1) < 1 + 1e-9
    assert last == MOST_BATCH or gain(last + 1) < 1 + 1e-9


def test_what_a_draft_adds_to_a_target() -> None:
    # EAGLE-3's own configuration for Llama 3.1 8B makes 0.42·10⁹ of: q, k, v of two inputs, o, the
    # feed-forward layer, a square for three inputs, and a head of 32,000 rows.
    d = 4096
    own = 2 * d * (d + 2 * 1024) + d * d + 3 * d * 14336 + 3 * d * d + 32_000 * d
    assert KINDS["eagle"].extra(scenario("llama-3.1-8b")) == pytest.approx(own, rel=0.07)
    assert KINDS["mtp"].extra(scenario("deepseek-v3")) == 13_463_426_304
    assert math.isnan(KINDS["mtp"].extra(scenario()))
    assert KINDS["ngram"].extra(scenario()) == 0


FULL = 'kind = "mtp"\nmethod = "m"\ntarget = "t"\nn_draft = 2\nsources = ["X"]\n'
REFUSED = {
    "kind": (FULL.replace("mtp", "oracle") + "tokens = 2", "oracle is not one of"),
    "nothing": (FULL, "says neither tokens"),
    "too many tokens": (FULL + "tokens = 4", "4 is outside 1 to 3"),
    "rising": (FULL + "positions = [0.5, 0.6]", "more often than the one before"),
    "short": (FULL + "positions = [0.5]", "one number for each of n_draft"),
    "twice": (FULL + "positions = [0.5, 0.4]\ntokens = 1.9", "say the same"),
    "unsourced": (FULL.replace('"X"', "") + "tokens = 2", "every figure has a source"),
    "typo": (FULL + "tokens = 2\nspeed = 2", "speed"),
}


@pytest.mark.parametrize(("content", "reason"), REFUSED.values(), ids=REFUSED)
def test_a_bad_report_is_refused(tmp_path: Path, content: str, reason: str) -> None:
    file = tmp_path / "drafts.toml"
    file.write_text(f"[one]\n{content}\n", encoding="utf-8")
    with pytest.raises(PresetError, match=reason):
        load([file], lambda id, reader: read_report(id, reader, {"X": "somebody"}))


def test_batches_in_words() -> None:
    report = reports["eagle-3-minicpm3"]
    for ends, here, told in (
        ((1, 90), 32, "It loses from batch 91."),
        ((27, 90), 1, "It loses from batch 91. It loses at some batches between 1 and 27."),
        ((1, MOST_BATCH), 1, "It pays at every batch."),
        ((0, 0), 1, ""),
    ):
        assert " ".join(upto(Draft(report, None, 1.1, *ends), here)) == told


def test_the_drafts_tab() -> None:
    test = prepared("speculative", x="speculative_drafts*accepted_0.769,0.381*tree_2,2")
    test.run()
    assert not test.exception
    said = words(test)
    assert "**N-gram lookup** would pay most at batch 32: 2.16 ×" in said
    assert "not known to be published with MTP" in said
    assert "**2.15** tokens a check" in said and "would yield 1.91" in said
    assert "6 candidates: 2.65 tokens a check" in said
    table = test.table[0].value
    assert list(table["Kind"]) == ["N-gram lookup", "Small model", "Medusa heads", "EAGLE", "MTP"]
    assert test.session_state[switches.KEY].endswith("accepted_0.769,0.381*tree_2,2")
    # What cannot be used is said, and stays where it is; the link has none of it.
    test.text_input(key="draft-positions").set_value("0.3, 0.4").run()
    assert [one.value for one in test.warning] == [
        "Not used: a position is accepted more often than the one before it."
    ]
    assert test.text_input(key="draft-positions").value == "0.3, 0.4"
    assert "accepted" not in test.session_state[switches.KEY]
    # Of two bounds there is no quotient.
    unrated = opened("speculative", x="speculative_drafts*tree_2,2", chip="t4")
    assert "6 candidates: " in words(unrated) and "Its speed-up is not known here." in words(
        unrated
    )
