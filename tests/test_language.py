"""Every message is found and translated, and every text that a reader sees is a message."""

from __future__ import annotations

import ast
import io
import json
import re
from collections.abc import Iterable, Iterator
from datetime import date
from string import Formatter
from typing import Any

import pytest
from babel.messages import Catalog
from babel.messages.pofile import read_po
from pages_app import PAGES, prepared
from pages_app import seen as shown
from plotly.offline import get_plotlyjs
from said import FILES, ROOT, Bracketed, Read, elements, extracted, folded, seen, unsaid
from streamlit.testing.v1 import AppTest

from calc.link import parse
from calc.scenario import build
from calc.words import say, speak
from pages.ui.frame import language
from pages.ui.frame.link import PRESETS
from pages.ui.frame.pinned import Contender
from pages.ui.frame.presentation import FIELDS, SLIDES
from pages.ui.report import report
from pages.ui.serving import searches

PO = ROOT / "locales" / "zh" / "LC_MESSAGES" / "messages.po"


def catalogue() -> Catalog:
    return read_po(io.BytesIO(PO.read_bytes()), locale="zh")


def written() -> Iterator[str]:
    """The messages that the code holds; a computed one is taken for marked elsewhere."""
    for file in FILES:
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.Call):
                continue
            called = node.func.attr if isinstance(node.func, ast.Attribute) else node.func
            name = called.id if isinstance(called, ast.Name) else called
            if name not in ("say", "marked"):
                continue
            message = node.args[0]
            assert not isinstance(message, ast.JoinedStr), f"{file}:{node.lineno}: an f-string"
            if isinstance(message, ast.Constant) and isinstance(message.value, str):
                yield message.value


def test_every_message_is_found() -> None:
    # Inside an f-string or another message's arguments it may be overlooked.
    assert set(written()) == extracted()


def test_every_message_is_translated() -> None:
    known = {message.id: message for message in catalogue() if message.id}
    assert set(known) == extracted()
    assert not [id for id, message in known.items() if not message.string or message.fuzzy]


def fields(message: str) -> list[tuple[str, str]]:
    """Names and formats of the fields of a message."""
    return sorted({(name, form or "") for _, name, form, _ in Formatter().parse(message) if name})


@pytest.mark.parametrize("message", [m for m in catalogue() if m.id], ids=lambda m: m.id[:30])
def test_a_translation_has_the_fields_of_its_message(message: Any) -> None:
    assert fields(message.string) == fields(message.id)


def test_messages_without_a_translator_are_english() -> None:
    assert say("batch {n}", n=7) == "batch 7"


@pytest.fixture
def bracketed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(language, "catalogue", lambda _: Bracketed())


@pytest.fixture(autouse=True)
def brief(monkeypatch: pytest.MonkeyPatch) -> None:
    """Searches for knees stop early: what they say is looked at, not what they find."""
    monkeypatch.setattr(searches, "PAUSE", 20_000)


@pytest.fixture(autouse=True)
def english_afterwards() -> Iterator[None]:
    yield
    speak(str)


SCENARIOS: dict[str, dict[str, str]] = {
    "default": {},
    "operators": {"f": "operators", "eb": "0.8", "os": "50", "pp": "2"},
    "experts": {"model": "deepseek-v3", "chip": "gb200-nvl72", "n": "72", "f": "operators",
                "ep": "72", "dp": "72", "c": "fp8", "w": "fp8", "sk": "0.5", "usd": "3",
                "px": "3000", "d": "llama-3.2-1b"},
    "misfit": {"n": "1", "b": "4096", "s": "131072", "k": "0", "px": "8192"},
    "unknown": {"chip": "t4", "n": "8", "b": "-5"},
}  # fmt: skip
# A service that is quickly simulated, and pins whose names count as said.
PINS = json.dumps([["⟦half⟧", "n=8"], ["⟦small⟧", "f=operators&b=0"], ["⟦gone⟧", "chip=gone"]])
COMMON = {"req": "40", "g": "64", "pins": PINS}
# Every page in the first and the third, and in the others those that have more to say there.
VISITED: dict[str, Iterable[str]] = {
    "default": PAGES,
    "operators": ("decode", "sharding"),
    "experts": PAGES,
    "misfit": ("decode", "prefill", "capacity", "cost", "serving"),
    "unknown": ("decode", "prefill", "sharding", "serving", "speculative"),
}


def asking(**query: str) -> AppTest:
    """The app before it runs; the harness formats options itself."""
    speak(language.catalogue(query.get("lang", "en")).gettext)
    return prepared(**{**COMMON, **query})


def visited(test: AppTest, page: str) -> Iterator[AppTest]:
    """A page as it opens, with all that can be opened, and once for each of its tabs."""
    yield test.switch_page(f"pages/{page}.py").run()
    known: set[str] = set()
    while found := folded(test) - known:
        known |= found
        for key in found:
            test.session_state[key] = True
        yield test.run()
    tabs = [node for node in elements(test._tree) if node.type == "tab"]
    # What has been seen of the sidebar is drawn no more.
    for key in known:
        if key.startswith("group-"):
            test.session_state[key] = False
    for tab in tabs[1:]:
        test.session_state[f"{page}-tabs"] = tab.label
        yield test.run()


def left(tests: Iterable[AppTest]) -> set[str]:
    """What is never said."""
    found = set()
    for test in tests:
        assert not test.exception
        found |= {words for words in seen(test) if unsaid(words)}
    return found


@pytest.mark.usefixtures("bracketed")
@pytest.mark.parametrize("which", [which for which in VISITED if which != "default"])
def test_every_text_of_a_page_is_a_message(which: str) -> None:
    test = asking(**SCENARIOS[which])
    for page in VISITED[which]:
        assert not left(visited(test, page)), page


def test_every_text_of_every_page_is_a_message_and_chinese_shows_as_much(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    counted: list[dict[str, list[int]]] = []
    for query in (SCENARIOS["default"], {"lang": "zh"}):
        with monkeypatch.context() as patched:
            if not counted:
                patched.setattr(language, "catalogue", lambda _: Bracketed())
            test, counts = asking(**query), dict[str, list[int]]()
            for page in PAGES:
                counts[page] = []
                for run in visited(test, page):
                    assert counted or not left([run]), page
                    counts[page].append(len(list(elements(run._tree))))
            counted.append(counts)
    assert counted[0] == counted[1]


@pytest.mark.usefixtures("bracketed")
@pytest.mark.parametrize(
    "query",
    [
        {"bon": "64", "slots": "8", "trace": "arrival,prompt,output\n9,5,5\n7,2,2"},
        {"kvm": "contiguous", "res": "1000", "out": "reject"},
        {"model": "gemma-3-27b", "pfx": "spare", "rep": "1", "qps": "0"},
        {"chip": "tpu-v5e", "c": "fp8"},
        {"trace": "arrival,prompt\n0,1"},
    ],
)
def test_what_a_service_cannot_do_is_a_message(query: dict[str, str]) -> None:
    assert not left([asking(**query).switch_page("pages/serving.py").run()])


@pytest.mark.usefixtures("bracketed")
def test_every_text_of_the_presentation_is_a_message() -> None:
    assert not left(asking(view="present", slide=slide).run() for slide in SLIDES)


@pytest.mark.usefixtures("bracketed")
@pytest.mark.parametrize("which", ["default", "experts"])
def test_every_text_of_the_report_is_a_message(which: str) -> None:
    speak(Bracketed().gettext)
    contenders = []
    for name, query in (("⟦now⟧", SCENARIOS[which]), ("⟦half⟧", {"n": "8"})):
        values, _ = parse({key: [value] for key, value in query.items()}, PRESETS, FIELDS)
        contenders.append(Contender(name, build(values, PRESETS), values))
    s, values = contenders[0].scenario, {**contenders[0].values, "requests": 40}
    made = report.html(s, values, shown(s, values, contenders), "", date(2026, 1, 1))
    assert not [words for words in Read(made).texts if unsaid(words)]
    # It needs nothing from outside: no script, style, picture or frame.
    own = made.replace(get_plotlyjs(), "")
    assert not re.search(r"<(?!a\b)[a-z]+\s[^>]*\b(?:src|href|data)=|@import|url\(", own)
