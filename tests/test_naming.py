"""What people call things stays a text: in a link, on a page and in a file."""

from __future__ import annotations

import io
import json
import re
import unicodedata
import zipfile
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st
from scenarios import scenario

from calc import custom, naming, pins
from calc.serving import trace
from pages.ui.report import report, workbook
from pages.ui.writing import text

# As the page's reader of Markdown finds addresses in a text, behind its own unescaping.
ADDRESSES = (
    re.compile(r"(https?://|www(?=\.))([-.\w]+)([^ \t\r\n]*)", re.IGNORECASE),
    re.compile(r"[-.\w+]+@[-\w]+(?:\.[-\w]+)+"),
    re.compile(r"(mailto|xmpp):", re.IGNORECASE),
)
ODD = st.sampled_from(
    ["www.", "http://", "HTTPS://", "@", "a@b.c", "_", ".", "+", "=", "-", "\t", "\u202e", "\u2066",
     "\u200b", "\ufeff", "\x00", "e\u0301\u0301\u0301\u0301", "<b>", "[a](b)", "$", "\ud800"]
)  # fmt: skip
NAMES = st.lists(st.text(max_size=8) | ODD, max_size=12).map("".join)


@given(NAMES)
def test_a_name_shows_what_it_says(name: str) -> None:
    kept = naming.fit(name)
    assert len(kept) <= naming.LONGEST
    assert kept == naming.fit(kept)
    assert not {unicodedata.category(one)[0] for one in kept if one != " "} & {"C", "Z"}
    assert not kept.startswith((*naming.FORMULAS, " "))


@given(NAMES)
def test_every_name_is_kept_like_this(name: str) -> None:
    fit = naming.fit(name)
    totals = {"model_type": "totals", "total_params": 3e10, "kv_elements_per_token": 1e5}
    assert custom.model(json.dumps({**totals, "name": name})).name == (fit or "Stated totals")
    chip = {"name": name, "memory": 8e10, "bandwidth": 3e12}
    assert custom.chip(json.dumps(chip)).name == (fit or "Custom chip")
    assert pins.fitting(name, ()) == (fit or "Pin")
    assert trace.named(name) == naming.fit(name, 80)


@given(NAMES)
def test_no_address_in_a_text_becomes_a_link(name: str) -> None:
    shown = re.sub(r"\\([!-/:-@[-`{-~])", r"\1", text.plain(name))
    assert not [found[0] for one in ADDRESSES if (found := one.search(shown))]


def test_no_cell_is_a_formula_that_nobody_wrote() -> None:
    assert [report.cell(one) for one in ("=1", "+1", "-1", "@a", "\tx", "a=1")] == [
        "'=1", "'+1", "'-1", "'@a", "'\tx", "a=1",
    ]  # fmt: skip
    named = scenario()
    named = replace(named, model=replace(named.model, name="=cmd()"))
    with zipfile.ZipFile(io.BytesIO(workbook.xlsx(named))) as file:
        figures = file.read("xl/worksheets/sheet2.xml").decode()
    assert "<f>" in figures and "cmd" not in figures
