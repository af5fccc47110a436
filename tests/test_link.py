"""Links: reading never raises, what is written reads back, nothing given is echoed."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calc import link
from calc.fields import Choice, Option, Rows, Several
from calc.scenario import build
from pages.ui.frame.link import PRESETS
from pages.ui.frame.presentation import BY_KEY, FIELDS

DEFAULTS = {
    **{field.name: field.absent for field in FIELDS},
    **{text.name: "" for text in link.TEXTS},
}


@st.composite
def values(draw: st.DrawFn) -> dict[str, object]:
    drawn: dict[str, object] = {}
    for field in FIELDS:
        if isinstance(field, Choice):
            drawn[field.name] = draw(st.sampled_from(field.ids(PRESETS)))
        elif isinstance(field, Several):
            ids = st.sampled_from(field.ids(PRESETS))
            drawn[field.name] = field.plain(draw(st.lists(ids, max_size=4, unique=True)))
        elif isinstance(field, Option):
            drawn[field.name] = draw(st.sampled_from(field.options))
        elif isinstance(field, Rows):
            drawn[field.name] = draw(st.sampled_from(["", "chat_0.7_2000*batch", "客服_0.3"]))
        elif field.table and draw(st.booleans()):
            drawn[field.name] = draw(st.sampled_from([None, field.default]))
        elif field.whole:
            drawn[field.name] = draw(st.integers(int(field.low), int(field.high)))
        else:
            drawn[field.name] = draw(st.integers(int(100 * field.low), int(100 * field.high))) / 100
    return {**drawn, **{text.name: "" for text in link.TEXTS}}


@given(values(), st.booleans())
def test_what_is_written_reads_back(given_values: dict[str, object], explicit: bool) -> None:
    written = link.dump(given_values, FIELDS, explicit=explicit)
    read, problems = link.parse({key: [text] for key, text in written.items()}, PRESETS, FIELDS)
    assert read == given_values
    assert not problems


@given(
    st.dictionaries(
        st.sampled_from([*link.keys(FIELDS), "foo"]), st.lists(st.text(), max_size=3), max_size=10
    )
)
def test_reading_never_raises_and_always_gives_a_scenario(query: dict[str, list[str]]) -> None:
    read, problems = link.parse(query, PRESETS, FIELDS)
    build(read, PRESETS)
    for problem in problems:
        assert problem.key in query
        assert problem.used in problem.sentence


def test_defaults_are_left_out_and_an_explicit_link_has_every_field() -> None:
    assert link.dump(DEFAULTS, FIELDS) == {}
    explicit = link.dump(DEFAULTS, FIELDS, explicit=True)
    assert set(explicit) == {*BY_KEY, "v"}
    assert link.query_string(DEFAULTS, FIELDS, explicit=True).startswith("v=1&model=llama-3-70b&")


def test_keys_of_texts_are_stable() -> None:
    assert [text.key for text in link.TEXTS] == [
        "cfg", "hw", "hw2", "hw3", "hw4", "pl", "pq", "pins", "trace", "tf",
    ]  # fmt: skip


BAD = [
    ("b", "0", "outside 1 to 65,536"),
    ("b", "-5", "outside 1 to 65,536"),
    ("b", "nan", "not a number"),
    ("b", "1e999", "not a finite number"),
    ("b", "9" * 400, "not a number"),
    ("b", "2.5", "not a whole number"),
    ("b", "1_000", "not a number"),
    ("b", "٣٢", "not a number"),
    ("s", "<b>8192</b>", "not a number"),
    ("model", "<img src=x onerror=alert(1)>", "not known here"),
    ("chip", "", "not known here"),
    ("c", "q4-k-m", "not a format for compute"),
    ("u", "0.1", "outside 0.3 to 1.0"),
    ("n", "0", "outside 1 to 16,384"),
    ("f", "exact", "not bound or operators or calibrated"),
    ("ks", "", "not replicated or batch or sequence"),
    ("net", "0", "outside 1 to 4,096"),
    ("cls", "chat_2", "not usable (Share of requests of a class is outside 0.001 to 1.0.)"),
    (
        "cls",
        "<b>_1",
        "not usable (A class needs a name of at most 24 letters, digits, dots and hyphens.)",
    ),
    ("cls", "a*a", "not usable (Two classes have the same name.)"),
    ("cls", "a*b*c*d*e", "not usable (There are 5 classes, and 4 can be held.)"),
    ("v", "99", "not known here"),
]


@pytest.mark.parametrize(("key", "text", "reason"), BAD)
def test_bad_values_are_named_with_reason_and_replacement(key: str, text: str, reason: str) -> None:
    read, [problem] = link.parse({key: [text]}, PRESETS, FIELDS)
    assert problem.key == key
    assert problem.reason == reason
    assert read == DEFAULTS
    assert "<" not in problem.sentence


def test_a_repeated_key_uses_the_first_and_says_so() -> None:
    read, [problem] = link.parse({"b": ["7", "9"]}, PRESETS, FIELDS)
    assert read["batch"] == 7
    assert problem.sentence == "Batch (b) in the link is given more than once; 7 is used."


def test_scientific_notation_is_read() -> None:
    read, problems = link.parse({"s": ["1e5"]}, PRESETS, FIELDS)
    assert read["context"] == 100_000
    assert not problems


LLAMA = (
    '{"model_type":"llama","hidden_size":4096,"num_hidden_layers":32,"num_attention_heads":32,'
    '"num_key_value_heads":8,"intermediate_size":14336,"vocab_size":128256,"name":"Mine"}'
)
CHIP = '{"name":"Ours","memory":8e10,"bandwidth":3e12,"peaks":{"bf16":1e15},"price":2}'


def test_a_custom_model_and_chip_travel() -> None:
    query = {"cfg": [LLAMA], "hw": [CHIP], "model": ["custom"], "chip": ["custom"]}
    values, problems = link.parse(query, PRESETS, FIELDS)
    assert not problems
    catalogues, _ = link.with_custom(PRESETS, {"cfg": LLAMA, "hw": CHIP})
    built = build(values, catalogues)
    assert built.model.total_params == 8_030_261_248
    assert (built.model.name, built.chip.name, built.chip.memory) == ("Mine", "Ours", 8e10)
    written = link.dump(values, FIELDS, explicit=True)
    assert (written["cfg"], written["hw"]) == (LLAMA, CHIP)


UNUSABLE = [
    ("cfg", "{", "not usable (Not JSON: line 1"),
    ("cfg", '{"model_type":"bert"}', "not usable (model_type: bert is an encoder"),
    ("cfg", "x" * 6001, "longer than 6,000 characters"),
    ("cfg", '{"model_type":"totals","total_params":-1}', "not usable (total_params is outside"),
    ("pq", "1,x;1,1", "not usable (a weight is not a number"),
    ("pq", "0,0;1,1", "not usable (all weights are 0"),
    ("pq", "1;1", "not usable (there are not 2 to 16 weights"),
    ("pq", "1,2", "not usable (there are no two lists"),
    ("hw", '{"memory":80,"bandwidth":3e12}', "not usable (memory is outside"),
    ("hw", '{"memory":8e10,"bandwidth":3e12,"peaks":{"bf61":1}}', "not usable (peaks is not"),
    ("hw", '{"memory":8e10,"bandwidth":"fast"}', "not usable (bandwidth is missing or not a"),
    ("pl", "h100-sxm cheap", "not usable (line 1 is not a chip and its price"),
    ("pl", "h100-sxm 2; h900 3", "not usable (entry 2 names no chip that is known here"),
    ("pl", "h100-sxm own 0", "not usable (the price in line 1 is outside"),
]


@pytest.mark.parametrize(("key", "text", "reason"), UNUSABLE)
def test_an_unusable_custom_text_is_named_and_dropped(key: str, text: str, reason: str) -> None:
    choice = {"cfg": "model", "hw": "chip"}.get(key)
    query = {key: [text]} | ({choice: ["custom"]} if choice else {})
    values, problems = link.parse(query, PRESETS, FIELDS)
    assert problems[0].key == key
    assert problems[0].reason.startswith(reason)
    assert [problem.key for problem in problems] == [part for part in (key, choice) if part]
    assert values == DEFAULTS
