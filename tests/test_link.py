"""Links: reading never raises, what is written reads back, nothing given is echoed."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calc import link
from calc.scenario import BY_KEY, SCHEMA, Choice, build
from pages.ui.link import CATALOGUES

DEFAULTS = {field.name: field.default for field in SCHEMA}


@st.composite
def values(draw: st.DrawFn) -> dict[str, object]:
    drawn: dict[str, object] = {}
    for field in SCHEMA:
        if isinstance(field, Choice):
            drawn[field.name] = draw(st.sampled_from(field.ids(CATALOGUES)))
        elif field.whole:
            drawn[field.name] = draw(st.integers(int(field.low), int(field.high)))
        else:
            drawn[field.name] = draw(st.integers(30, 100)) / 100
    return drawn


@given(values(), st.booleans())
def test_what_is_written_reads_back(given_values: dict[str, object], explicit: bool) -> None:
    written = link.dump(given_values, explicit=explicit)
    read, problems = link.parse({key: [text] for key, text in written.items()}, CATALOGUES)
    assert read == given_values
    assert not problems


@given(
    st.dictionaries(
        st.sampled_from([*BY_KEY, "v", "foo"]), st.lists(st.text(), max_size=3), max_size=10
    )
)
def test_reading_never_raises_and_always_gives_a_scenario(query: dict[str, list[str]]) -> None:
    read, problems = link.parse(query, CATALOGUES)
    build(read, CATALOGUES)
    for problem in problems:
        assert problem.key in query
        assert problem.used in problem.sentence


def test_defaults_are_left_out_and_an_explicit_link_has_every_field() -> None:
    assert link.dump(DEFAULTS) == {}
    explicit = link.dump(DEFAULTS, explicit=True)
    assert set(explicit) == {*BY_KEY, "v"}
    assert link.query_string(DEFAULTS, explicit=True).startswith("v=1&model=llama-3-70b&")


def test_keys_are_stable() -> None:
    # Every link ever shared uses these.
    assert list(BY_KEY) == ["model", "chip", "n", "u", "w", "kv", "c", "b", "s"]


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
    ("v", "99", "not known here"),
]


@pytest.mark.parametrize(("key", "text", "reason"), BAD)
def test_bad_values_are_named_with_reason_and_replacement(key: str, text: str, reason: str) -> None:
    read, [problem] = link.parse({key: [text]}, CATALOGUES)
    assert problem.key == key
    assert problem.reason == reason
    assert read == DEFAULTS
    assert "<" not in problem.sentence


def test_a_repeated_key_uses_the_first_and_says_so() -> None:
    read, [problem] = link.parse({"b": ["7", "9"]}, CATALOGUES)
    assert read["batch"] == 7
    assert problem.sentence == "Batch (b) in the link is given more than once; 7 is used."


def test_scientific_notation_is_read() -> None:
    read, problems = link.parse({"s": ["1e5"]}, CATALOGUES)
    assert read["context"] == 100_000
    assert not problems
