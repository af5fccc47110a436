"""What a user notices, at the default scenario (F8.27)."""

from __future__ import annotations

import pytest
from scenarios import scenario

from calc import decode, prefill, reader


def test_what_a_reader_of_the_default_scenario_notices() -> None:
    """8.57 ms a token, 0.959 s for 8,192 prompt tokens; Huyen 2025: 120 ms, 8.3 token/s."""
    s = scenario()
    step, prompt = float(decode.step_time(s).total), float(prefill.prompt_time(s).total)
    assert 1 / step == pytest.approx(117, abs=0.5)
    assert round(1 / reader.READING_TIME, 1) == 8.3
    assert reader.first_visible(prompt, step, 1000) == pytest.approx(9.53, abs=0.005)
    assert reader.input_tokens_by_time(s, step, prompt) == pytest.approx(73, abs=0.5)
    assert reader.input_tokens_by_cost(s, step, prompt) == pytest.approx(2.3, abs=0.05)
