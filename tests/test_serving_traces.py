"""Traces: what is read from a file, and what is refused in words."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scenarios import scenario

from calc import serving
from calc.serving import ServingError, trace


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


# As public traces are shipped: their layout, with figures of our own.
AZURE = (
    "TIMESTAMP,ContextTokens,GeneratedTokens\r\n2023-11-16 18:00:00.0000001,100,20\r\n"
    "2023-11-16 18:00:02.5000001,300,10"
)
AZURE_2024 = (
    "TIMESTAMP,ContextTokens,GeneratedTokens\n2024-05-12 00:00:00+00:00,100,20\n"
    "2024-05-12 02:00:02.500000+02:00,300,10\n"
)
MOONCAKE = (
    '{"timestamp": 0, "input_length": 1200, "output_length": 20, "hash_ids": [0, 1, 2]}\n'
    '{"timestamp": 2500, "input_length": 1100, "output_length": 10, "hash_ids": [0, 1, 3]}\n'
)
BAILIAN = (
    '{"chat_id": 7, "parent_chat_id": -1, "timestamp": 0.0, "input_length": 30, '
    '"output_length": 20, "type": "text", "turn": 1, "hash_ids": [5, 6]}\n'
    '{"chat_id": 8, "parent_chat_id": 7, "timestamp": 2.5, "input_length": 50, '
    '"output_length": 10, "type": "text", "turn": 2, "hash_ids": [5, 6, 7, 8]}\n'
)
BURST = (
    "Timestamp,Session ID,Elapsed time,Model,Request tokens,Response tokens,Total tokens,Log Type\n"
    "19440110.0,a,3.1,GPT-4,100,20,120,Conversation log\n"
    "19440111.0,,1.0,GPT-4,50,0,50,API log\n"
    "19440112.5,a,2.0,GPT-4,300,10,310,Conversation log\n"
)
VIDUR = "arrived_at,num_prefill_tokens,num_decode_tokens\n0.0,100,20\n2.5,300,10\n"


@pytest.mark.parametrize(
    ("text", "form"),
    [(AZURE, "Azure"), (AZURE_2024, "Azure"), (MOONCAKE, "Mooncake"), (BAILIAN, "Bailian"),
     (BURST, "BurstGPT"), (VIDUR, "Vidur")],
)  # fmt: skip
def test_public_traces_as_they_are_shipped(text: str, form: str) -> None:
    traffic = serving.read_trace(text)
    assert_allclose(traffic.arrival, [0.0, 2.5], atol=1e-5)
    assert traffic.output.tolist() == [20, 10]
    assert form in traffic.understood[0]
    said = " ".join(traffic.understood)
    assert "2 requests in 2.5 s" in said
    assert ("Left out: 1 rows without an answer" in said) is (form == "BurstGPT")


@pytest.mark.parametrize(
    ("text", "arrival", "unit"),
    [
        ("arrival;prompt;output\n0,5;1.374;5", None, ""),
        ("arrival;prompt;output\n0,5;1,374;5\n1,5;2'000;5", [0.0, 1.0], "seconds"),
        ('arrival\tprompt\toutput\n0\t"1,374"\t5\n1.5\t9\t9', [0.0, 1.5], "seconds"),
        ("arrival_ms,prompt,output\n0,9,9\n200,9,9", [0.0, 0.2], "milliseconds"),
        ("arrival (ms),input_tokens,output_tokens\n0,9,9\n200,9,9", [0.0, 0.2], "milliseconds"),
        ("time,prompt,output\n1700000000,9,9\n1700000002,9,9", [0.0, 2.0], "seconds"),
        ("time,prompt,output\n1700000000000,9,9\n1700000002500,9,9", [0.0, 2.5], "milliseconds"),
        ("time,prompt,output\n2024-01-01T00:00:00Z,9,9\n2024-01-01T00:00:02Z,9,9", [0.0, 2.0],
         "dates"),
    ],
)  # fmt: skip
def test_separators_and_times(text: str, arrival: list[float] | None, unit: str) -> None:
    if arrival is None:
        with pytest.raises(ServingError, match="not whole"):
            serving.read_trace(text)
        return
    traffic = serving.read_trace(text)
    assert_allclose(traffic.arrival, arrival, atol=1e-6)
    assert f"Times are {unit}" in traffic.understood[1]


def test_an_unclear_unit_is_asked_for() -> None:
    """0, 200, 400 are not 0.005 a second in silence."""
    text = "arrival,prompt,output\n0,9,9\n200,9,9\n400,9,9"
    assert trace.doubtful(text)
    assert "name the column arrival_ms" in " ".join(serving.read_trace(text).notices)
    for unit, rate in (("s", 0.005), ("ms", 5.0)):
        stated = trace.with_unit(text, unit)
        assert not trace.doubtful(stated)
        assert serving.read_trace(stated).rate == pytest.approx(rate)
        assert serving.read_trace(text, unit=unit).rate == pytest.approx(rate)
    lines = '{"time": 0, "prompt": 9, "output": 9}\n{"time": 900, "prompt": 9, "output": 9}'
    assert trace.doubtful(lines)
    assert serving.read_trace(trace.with_unit(lines, "ms")).arrival.tolist() == [0.0, 0.9]
    for clear in (AZURE, MOONCAKE, BAILIAN, BURST, VIDUR, "arrival,prompt,output\n0,9,9\n1,9,9"):
        assert not trace.doubtful(clear)


def test_what_prompts_share() -> None:
    traffic = serving.read_trace(MOONCAKE)
    assert traffic.hashes
    assert traffic.hashes.block == 512
    # The second finds two blocks of 512 of its 1,100 tokens.
    assert traffic.shared == pytest.approx(1024 / 2300)
    run = serving.simulate(
        scenario(), traffic, serving.Continuous(), prefix=serving.HostMemory(1e15, 1e12)
    )
    assert run.hit_rate == pytest.approx(traffic.shared)
    turned = serving.read_trace(
        "arrival,session,system,prompt,output\n0,a,32,100,20\n5,b,48,100,9\n9,a,32,200,9\n"
    )
    assert turned.session.tolist() == [0, 1, 0]
    assert turned.system == 32
    assert "the shortest, 32 tokens" in " ".join(turned.notices)
    # 32 of the system prompt twice, and what was said before of the third.
    assert turned.shared == pytest.approx((32 + 120) / 400)
    run = serving.simulate(
        scenario(kv_block=1), turned, serving.Continuous(), prefix=serving.SpareMemory()
    )
    # The latest token of an answer has no cache.
    assert run.found == 32 + 119
    assert serving.read_trace(BAILIAN).hashes.block == 16  # type: ignore[union-attr]
    assert serving.read_trace(BAILIAN).session.tolist() == [0, 0]
    assert "nothing" in " ".join(serving.read_trace(AZURE).understood)


def test_traces_without_times() -> None:
    arxiv = (
        "num_prefill_tokens,num_decode_tokens,num_total_tokens,pd_ratio\n"
        "100,20,120,5\n300,10,310,30\n"
    )
    traffic = serving.read_trace(arxiv, arrivals=serving.Even(4.0))
    assert traffic.arrival.tolist() == [0.0, 0.25]
    assert "no times" in traffic.notices[0]
    share = (
        '[{"id": "x", "conversations": [{"from": "human", "value": "12345678"}, '
        '{"from": "gpt", "value": "1234"}, {"from": "human", "value": "more"}]}, '
        '{"id": "y", "conversations": [{"from": "human", "value": "alone"}]}]'
    )
    spoken = serving.read_trace(share)
    assert (spoken.prompt.tolist(), spoken.output.tolist()) == ([2], [1])
    assert "a token for every 4 characters" in " ".join(spoken.notices)
    assert "1 rows without an answer" in " ".join(spoken.understood)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("version https://git-lfs.github.com/spec/v1\noid sha256:0", "pointer of Git LFS"),
        ('{"timestamp": 0, "input_length": 9', "Line 1 .* no JSON"),
        (MOONCAKE + "5\n", "Line 3 .* no JSON object"),
        (MOONCAKE.replace("[0, 1, 3]", '"x"'), "Line 2 .* no list of numbers in hash_ids"),
        ("[" * 100_000, "no JSON"),
        ("[1]", "no JSON object"),
        ("[" + " " * 4_000_000, "cannot be cut"),
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
    for body in (text, "arrival,prompt,output\n" + text, "[" + text, MOONCAKE + "{" + text):
        try:
            serving.read_trace(body)
        except ServingError as error:
            assert str(error).endswith(".")
