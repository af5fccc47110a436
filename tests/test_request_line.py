"""No link is longer than the request line that servers take, whatever is typed and pinned."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote_plus, urlencode

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pages_app import opened

from calc import link, pins
from calc.fields import Choice, Field, Quantity, Rows, Several
from calc.pins import Pin
from pages.ui.frame import link as frame
from pages.ui.frame import made, switches
from pages.ui.frame.link import PRESETS
from pages.ui.frame.presentation import FIELDS

# Twelve digits, a sign, a point and an exponent.
LONGEST_NUMBER = 19
# Of each letter of a name that is not ASCII.
ENCODED = 9


def longest(field: Field) -> str:
    """What a field takes most room with, as a link writes it."""
    if isinstance(field, Quantity):
        return "9" * (LONGEST_NUMBER if not field.whole else len(str(field.high)))
    if isinstance(field, Several):
        return quote_plus(",".join(field.ids(PRESETS)))
    if isinstance(field, Rows):
        named = field.most * 24
        return "9" * (named * ENCODED + 3 * (field.longest - named))
    ids = field.ids(PRESETS) if isinstance(field, Choice) else field.options
    return max(map(quote_plus, ids), key=len)


def test_what_is_no_text_fits_what_is_kept_for_it() -> None:
    """Every field, the switches of all pages, the figures of the link and its version."""
    total = sum(len(f"&{field.key}={longest(field)}") for field in FIELDS)
    total += len(f"&{switches.KEY}=") + 3 * switches.LONGEST
    total += len(f"&{made.KEY}=") + 8 + len(made.FIGURES) * (LONGEST_NUMBER + 3) + len("v=1")
    assert 0.5 * link.RESERVED < total <= link.RESERVED


# Cheap and dear to encode.
LETTERS = st.sampled_from(["a", "1", ",", '"', "%", "芯", "\U0001f600", "\n"])
TEXTS = st.builds(lambda letter, n: letter * n, LETTERS, st.integers(0, 24_000))
KEYS = [text.key for text in link.TEXTS if text.key != "pins"]
CHOSEN = dict.fromkeys(("model", "chip"), "custom")


@settings(max_examples=8)
@given(st.lists(st.tuples(st.sampled_from(KEYS), TEXTS) | TEXTS, max_size=8))
def test_what_is_taken_makes_no_link_too_long(written: list[Any]) -> None:
    held = dict.fromkeys([*KEYS, "pins"], "")
    names = {text.key: text.name for text in link.TEXTS}
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(frame, "custom_texts", lambda: held)
        for one in written:
            if isinstance(one, str):
                listed = [*pins.read(held["pins"])[0], Pin("芯" * 20, urlencode({"pl": one}))]
                key, text = "pins", pins.write(listed[-pins.MOST :])
            else:
                key, text = one
            if not frame.refusal({key: text}):
                held = {**held, key: text}
    values = {field.name: field.absent for field in FIELDS} | CHOSEN
    values |= {names[key]: text for key, text in held.items()}
    for explicit in (False, True):
        values["pins"] = frame._explicit(held["pins"]) if explicit else held["pins"]
        query = link.query_string(values, FIELDS, explicit=explicit)
        assert len(query) < link.LONGEST_QUERY
    # What is shorter is always taken.
    assert not frame.refusal({"pins": ""})


def test_what_does_not_fit_stays_where_it_was_typed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(link, "LONGEST_QUERY", link.RESERVED + 60)
    test = opened("cost", pl="h100-sxm 2.49")
    long = "h100-sxm 2.49; " * 9
    test.text_area(key="pl-typed").set_value(long).run()
    assert test.text_area(key="pl-typed").value == long
    assert test.session_state["pl"] == "h100-sxm 2.49"
    assert test.warning[0].value.startswith("Not in the link: the link would be ")
    test.text_area(key="pl-typed").set_value("h100-sxm 3").run()
    assert test.session_state["pl"] == "h100-sxm 3"
    assert not test.warning
    test.session_state["pin-name"] = "half of the chips"
    test.session_state["pin-open"] = True
    test.run()
    test.button(key="pin-add").click().run()
    assert test.session_state["pins"] == ""
    assert test.session_state["pin-name"] == "half of the chips"
    assert "Nothing was changed: the link would be" in test.warning[0].value
