"""Traces: what is read from a file, and what is refused in words."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scenarios import scenario

from calc import serving
from calc.serving import ServingError


def test_traces() -> None:
    traffic = serving.read_trace("\ufeffOutput, prompt ,arrival,note\n20,100,7\n10,300,5.5,x\n")
    assert traffic.arrival.tolist() == [0, 1.5]
    assert traffic.prompt.tolist() == [300, 100]
    assert traffic.output.tolist() == [10, 20]
    assert len(traffic.notices) == 2
    assert "sorted" in traffic.notices[0]
    assert "5.5 s" in traffic.notices[1]
    run = serving.simulate(scenario(), traffic, serving.Continuous())
    assert run.notices == traffic.notices


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "no column arrival or prompt or output"),
        ("arrival,prompt\n0,1", "no column output"),
        ("arrival,prompt,output\n", "no row"),
        ("arrival,prompt,output\n0,5,5\n-1,5,5", "Line 3 .* -1 in column arrival"),
        ("arrival,prompt,output\n0,5,5\n1,nan,5", "Line 3 .* no number in column prompt"),
        ("arrival,prompt,output\n0,5,5\n\n1,5", "Line 4 .* no number in column output"),
        ("arrival,prompt,output\n0,0,5", "0 in column prompt, outside 1"),
        ("arrival,prompt,output\n0,1.5,5", "1.5 in column prompt, not whole"),
        ("arrival,prompt,output\n0,inf,5", "inf in column prompt"),
        ("arrival,prompt,output\n0,1e30,5", "outside 1"),
        ('arrival,prompt,output\n0,"' + "1" * 200_000, "no CSV"),
    ],
)
def test_traces_that_cannot_be_read(text: str, words: str) -> None:
    with pytest.raises(ServingError, match=words):
        serving.read_trace(text)


@pytest.mark.parametrize("row", ["1,2,3\n", "1.25,1000,300\n"])
def test_a_trace_of_a_million_rows(row: str) -> None:
    traffic = serving.read_trace("arrival,prompt,output\n" + row * 1_000_000)
    assert len(traffic) == 50_000
    assert any("50,000 rows" in notice for notice in traffic.notices)


@given(st.text(max_size=60) | st.text("0123456789.,-en\n\"' ", max_size=60))
def test_any_text_is_refused_in_words(text: str) -> None:
    for body in (text, "arrival,prompt,output\n" + text):
        try:
            serving.read_trace(body)
        except ServingError as error:
            assert str(error).endswith(".")
