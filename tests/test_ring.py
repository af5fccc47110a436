"""A prompt that a ring of replicas shares.

Sources: HTSYM = How To Scale Your Model (Austin et al. 2025), part 8; F5.5 = docs/method.md; OURS =
arithmetic shown.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from pages_app import notes, prepared, words
from scenarios import NOMINAL_70B, scenario
from strategies import ANY

from calc import Scenario, prefill, ring
from pages.ui.prefill.page import PAGE


def test_a_ring_of_one_is_the_prompt() -> None:
    """HTSYM: 8,192 tokens of 70e9 nominal on 16 v5e at 40 %: 0.91 s, unchanged."""
    assert_allclose(ring.read(scenario(NOMINAL_70B), 1).total, 0.91, rtol=1e-3)
    assert ring.read(scenario(), 1).total == prefill.prompt_time(scenario()).total


def test_the_exchange_of_the_ledger() -> None:
    """OURS: 163,840 B a token over 16 chips and 45 GB/s, 80 layers of 3 hops of 1 µs, at 4."""
    four = ring.read(scenario(), 4)
    came = 8192 * 3 / 4 * 163_840 / 16
    assert_allclose(four.exchange, came / 4.5e10 + 80 * 3 * 1e-6)
    pairs = 8192 * 8193 / 2 * 80 * 2 * 64 * 256
    assert_allclose(four.attention, pairs / (4 * 16 * 1.97e14 * 0.4))
    assert four.exposed == 0
    assert_allclose(four.total, 0.9593 / 4, rtol=1e-3)


def test_from_21_replicas_on_the_ring_outlasts_attention() -> None:
    """OURS: 69.8 ms / n against 1.864 ms (n − 1) / n + 80 µs (n − 1): 3.32 and 3.38 ms at 21."""
    s = scenario()
    assert ring.limit(s) == 21
    before, there = ring.read(s, 20), ring.read(s, 21)
    assert before.exposed == 0 < there.exposed
    assert_allclose([there.attention, there.exchange], [3.322e-3, 3.375e-3], rtol=1e-3)


def test_a_window_comes_by_once_and_a_network_port_is_slower() -> None:
    windowed = scenario("gemma-3-27b")
    assert ring.arriving(windowed, 64) <= windowed.model.kv_bytes(8192, windowed.kv_format) / 16
    h100 = scenario(chip="h100-sxm", n_chips=4)
    assert ring.link(h100, 2) == h100.chip.link_one_way
    assert ring.link(h100, 4) == h100.scale_out


def test_what_is_not_published_stays_unknown() -> None:
    s = scenario(chip="t4")
    assert math.isnan(ring.limit(s))
    assert math.isnan(float(ring.read(s, 2).total))


@given(ANY, st.integers(1, 64))
def test_rings_share_the_work(s: Scenario, width: int) -> None:
    alone, rings = prefill.prompt_time(s), ring.read(s, [1, width])
    assume(np.isfinite(rings.total).all())
    assert rings.total[0] == alone.total
    assert rings.exchange[0] == 0
    # No ring is quicker than an even share.
    assert rings.total[1] >= alone.total / width * (1 - 1e-9)
    assert rings.kept[0] == 1
    assert rings.kept[1] <= 1 + 1e-9
    assert rings.attention[1] == pytest.approx(rings.attention[0] / width)


def test_the_tab_and_the_slide() -> None:
    test = prepared("prefill", x="prefill_ring-of-replicas*ring_32").run()
    assert not test.exception
    said = words(test)
    assert "32 replicas of 16 chips in a ring read the prompt in **32.1 ms**" in said
    assert "From 21 replicas on, the exchange takes longer than attention." in said
    assert "| Chips | 16 | 512 |" in said
    assert "45.0 GB/s" in notes(test)
    [exhibit] = [one for one in PAGE.exhibits if one.key == "prefill-ring"]
    for s in (scenario(), scenario(chip="t4"), scenario(chip="inferentia2", fidelity="operators")):
        shown = exhibit.shown(PAGE.slide(s))
        assert shown
        shown.chart.figure()
    # Attention of no published rate may hide the exchange: the bound is of the reading alone.
    unrated = PAGE.slide(scenario(chip="t4"))
    said = exhibit.sentence(unrated)
    assert "at least" in said and "exchange" not in said
    assert unrated.rings.at(4).total == unrated.rings.at(4).reading.total
