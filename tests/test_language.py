"""Every message is found and translated, and every text that a reader sees is a message."""

from __future__ import annotations

import ast
import gettext
import io
import json
import re
from collections.abc import Iterable, Iterator
from datetime import date
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from string import Formatter
from typing import Any

import pandas as pd
import pytest
from babel.messages import Catalog
from babel.messages.extract import extract_from_file
from babel.messages.pofile import read_po
from streamlit.testing.v1 import AppTest

from calc.explain import EXPLANATIONS
from calc.link import SLIDES, WRITTEN, parse
from calc.scenario import Choice, Option, build
from calc.words import say, speak
from pages.ui import exhibits, language, report, service_view, sidebar, text
from pages.ui.link import PRESETS
from pages.ui.pinned import Contender
from presets import chips, formats, models

ROOT = Path(__file__).parents[1]
PO = ROOT / "locales" / "zh" / "LC_MESSAGES" / "messages.po"
FILES = [ROOT / "app.py", *(ROOT / "calc").rglob("*.py"), *(ROOT / "pages").rglob("*.py")]


def catalogue() -> Catalog:
    return read_po(io.BytesIO(PO.read_bytes()), locale="zh")


@cache
def extracted() -> frozenset[str]:
    """The messages that ``make translations`` finds."""
    keywords = {"say": None, "marked": None}
    found = [message for file in FILES
             for _, message, *_ in extract_from_file("python", file, keywords)]  # fmt: skip
    return frozenset(message for message in found if isinstance(message, str))


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


class Bracketed(gettext.NullTranslations):
    """A language that is English in brackets: what has none around it was never said."""

    def gettext(self, message: str) -> str:
        return f"⟦{message}⟧" if message in extracted() else message


# Names, units and abbreviations, which are the same in every language; and ids on their own.
SAME = frozenset(
    {
        "config", "json", "KiB", "GiB", "USD", "kWh", "TTFT", "TPOT", "MBU", "MFU", "MHA",
        "GQA", "MQA", "MLA", "MLP", "LaTeX",
    }
)  # fmt: skip
IDS = frozenset(
    id
    for field in WRITTEN
    if isinstance(field, (Option, Choice))
    for id in (field.default, *(field.options if isinstance(field, Option) else ()))
)
WORD = re.compile(r"[A-Za-z]{3,}")
# Markup, fields that plotly.js fills in, the link to share, settings as it has them, and units.
SKIPPED = re.compile(
    r"<style>.*?</style>|<[^>]*>|%\{[^}]*\}|:material/\w+:|\?v=1&\S*|\b[a-z]+=\S+|\b[kMGTPE]?FLOP\b|\btoken/[sJ]\b",
    re.DOTALL,
)
FORMULA = re.compile(r"(\$+).*?\1", re.DOTALL)


def unsaid(words: str) -> set[str]:
    """Words of a text that stand outside brackets."""
    if words in IDS:
        return set()
    while (inner := re.sub(r"⟦[^⟦⟧]*⟧", "", words)) != words:
        words = inner
    # Of a formula, the words in it but for the names of symbols.
    words = re.sub(r"_\\text\{[^}]*\}", "", words)
    words = FORMULA.sub(lambda found: " ".join(re.findall(r"\\text\{([^}]*)\}", found[0])), words)
    for quoted in quotes():
        words = words.replace(quoted, "")
    return set(WORD.findall(SKIPPED.sub("", words))) - SAME


@cache
def quotes() -> tuple[str, ...]:
    """What is quoted from presets as it is: names, notes and sources."""
    given: set[str] = {*chips, *models, *formats}
    for chip in chips.values():
        given |= {chip.name, chip.vendor, chip.topology, *chip.notes, *chip.sources.values()}
        given |= {price.source for price in (chip.price, *chip.other_prices) if price}
    for model in models.values():
        given |= {model.name, model.note, *model.sources}
    given |= {item.name for item in formats.values()}
    given |= {entry.source for entry in EXPLANATIONS.values()}
    both = {*given, *map(text.plain, given)} - {""}
    return tuple(sorted(both, key=len, reverse=True))


@pytest.fixture
def bracketed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(language, "catalogue", lambda _: Bracketed())


@pytest.fixture(autouse=True)
def english_afterwards() -> Iterator[None]:
    yield
    speak(str)


def texts(message: Any) -> Iterator[str]:
    """All texts of an element, as the browser gets them."""
    for field, value in message.ListFields():
        if field.name in UNSEEN:
            continue
        for item in value if field.is_repeated else [value]:
            if field.message_type is not None:
                if field.message_type.GetOptions().map_entry:
                    continue
                yield from texts(item)
            elif isinstance(item, str):
                yield from in_component(item) if field.name == "json" else [item]


# Fields of elements that nobody reads.
UNSEEN = frozenset(
    {
        "id", "key", "form_id", "element_id", "deferred_file_id", "icon", "url", "url_path",
        "query_param_key", "type", "language", "tag", "component_name", "js_content",
        "html_content", "css_content",
    }
)  # fmt: skip


def in_component(data: str) -> Iterator[str]:
    """The texts of a chart, of scrubbers, or of nothing that is seen."""
    shown = json.loads(data) or {}
    if "spec" in shown:
        yield shown["alt"]
        yield from shown["words"].values()
        yield from drawn(json.loads(shown["spec"]))
    for row in shown.get("rows", ()):
        yield from (row["label"], *row["words"])
        for frame in json.loads(row["frames"] or "{}").get("frames", ()):
            yield from frame["metrics"]
            yield from drawn(frame["charts"])


def drawn(value: Any, name: str = "") -> Iterator[str]:
    """What plotly.js writes."""
    if isinstance(value, dict):
        for key, item in value.items():
            yield from drawn(item, key)
    elif isinstance(value, list):
        for item in value:
            yield from drawn(item, name)
    elif isinstance(value, str) and name in TEXTS and value != LEGEND:
        yield value


# Keys of a figure whose texts are written into the chart.
TEXTS = frozenset({"text", "name", "hovertemplate", "ticktext", "x", "y", "customdata"})
# The name by which the renderer finds the shape that holds the legend.
LEGEND = "legend"


def elements(node: Any) -> Iterator[Any]:
    yield node
    for child in getattr(node, "children", {}).values():
        yield from elements(child)


def in_table(node: Any) -> Iterator[str]:
    """Headings and cells of a table; the headings of a typed one may be given apart."""
    frame = node.value
    apart = json.loads(getattr(node.proto, "columns", "") or "{}")
    for column in frame.columns:
        yield (apart.get(column) or {}).get("label") or str(column)
        yield from (cell for cell in frame[column] if isinstance(cell, str))


def in_code(node: Any) -> Iterator[str]:
    """What is there to copy: a formula, or lines of which symbols and functions are no words."""
    if node.language == "latex":
        yield f"${node.value}$"
    else:
        yield formula(node.value)


def formula(lines: str) -> str:
    """What is left of lines to copy beside symbols and functions."""
    return re.sub(r"\b(?:\w*_\w+|max|min|floor|argmax|first|last|for)\b", "", lines)


def seen(test: AppTest) -> Iterator[str]:
    """Every text of a page."""
    for node in elements(test._tree):
        proto = getattr(node, "proto", None)
        if getattr(node, "key", None) in HIDDEN:
            continue
        if isinstance(getattr(node, "value", None), pd.DataFrame):
            yield from in_table(node)
        elif node.type == "code":
            yield from in_code(node)
        elif proto is not None:
            yield from texts(proto)


# Texts that are kept on the page for the link alone.
HIDDEN = frozenset({"pins", "trace"})
# What is opened on a page beside its tabs.
OPENED = (
    "share", "report", "pin-open", "kv-pick", "custom-model", "custom-chip",
    *(f"explain-{page}-open" for page in (
        "about", "capacity", "compare", "cost", "decode", "kv", "prefill", "quantization",
        "sharding", "speculation",
    )),
    *(f"group-{group}-{unfolded}" for group in sidebar.FOLDED for unfolded in (True, False)),
)  # fmt: skip
TABS = {
    "kv_cache": "kv-tabs",
    "prefill": "prefill-tabs",
    "sharding": "sharding-tabs",
    "capacity": "capacity-tabs",
    "quantization": "quantization-tabs",
    "serving": "service-tabs",
    "speculative": "speculation-tabs",
}
SCRUBBED = (
    "_decode-scrub-b", "_decode-scrub-s", "_kv-scrub-s", "_speculation-scrub-ac",
)  # fmt: skip
SCENARIOS: dict[str, dict[str, str]] = {
    "default": {},
    "operators": {"f": "operators", "eb": "0.8", "os": "50", "pp": "2"},
    "experts": {"model": "deepseek-v3", "chip": "gb200-nvl72", "n": "72", "f": "operators",
                "ep": "72", "dp": "72", "c": "fp8", "w": "fp8", "sk": "0.5", "usd": "3",
                "px": "3000", "d": "llama-3.2-1b"},
    "misfit": {"n": "1", "b": "4096", "s": "131072", "k": "0", "px": "8192"},
    "unknown": {"chip": "rtx-5090", "n": "8", "b": "-5"},
}  # fmt: skip
# A service that is quickly simulated, and pins whose names count as said.
PINS = json.dumps([["⟦half⟧", "n=8"], ["⟦small⟧", "f=operators&b=0"], ["⟦gone⟧", "chip=gone"]])
COMMON = {"req": "40", "g": "64", "pins": PINS}
PAGES = sorted(file.stem for file in (ROOT / "pages").glob("*.py"))
# Every page in the first and the third, and in the others those that have more to say there.
VISITS = [
    *((page, which) for page in PAGES for which in ("default", "experts")),
    *((page, "operators") for page in ("decode", "sharding")),
    *((page, "misfit") for page in ("decode", "prefill", "capacity", "cost", "serving")),
    *((page, "unknown") for page in ("decode", "prefill", "sharding", "serving", "speculative")),
]


def opened(query: dict[str, str], page: str = "decode") -> AppTest:
    """The app with everything opened, before it runs."""
    # The harness formats options itself.
    speak(language.catalogue(query.get("lang", "en")).gettext)
    test = AppTest.from_file("../app.py", default_timeout=60)
    for key, value in {**COMMON, **query}.items():
        test.query_params[key] = value
    test.switch_page(f"pages/{page}.py")
    for key in (*OPENED, *(f"{slot}-wanted" for slot in SCRUBBED)):
        test.session_state[key] = True
    return test


def visited(page: str, query: dict[str, str]) -> Iterator[AppTest]:
    """A page with everything opened, once for each of its tabs."""
    test = opened(query, page)
    yield test.run()
    tabs = [node for node in elements(test._tree) if node.type == "tab"]
    for tab in tabs[1:]:
        test.session_state[TABS[page]] = tab.label
        yield test.run()


def left(tests: Iterable[AppTest]) -> set[str]:
    """What is never said."""
    found = set()
    for test in tests:
        assert not test.exception
        found |= {words for words in seen(test) if unsaid(words)}
    return found


@pytest.mark.usefixtures("bracketed")
@pytest.mark.parametrize(("page", "which"), VISITS)
def test_every_text_of_a_page_is_a_message(page: str, which: str) -> None:
    assert not left(visited(page, SCENARIOS[which]))


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
    assert not left([opened(query, "serving").run()])


@pytest.mark.usefixtures("bracketed")
def test_every_text_of_the_presentation_is_a_message() -> None:
    assert not left(opened({"view": "present", "slide": slide}).run() for slide in SLIDES)


class Read(HTMLParser):
    """The texts of an HTML file, but for plotly.js, styles, and ids set as code."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.texts: list[str] = []
        self._tag, self._chart, self._words = "", False, ""
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self._tag, self._chart = tag, given.get("type") == "application/json"
        self.texts += [given[name] or "" for name in ("aria-label", "data-for") if name in given]

    def handle_endtag(self, tag: str) -> None:
        self._tag, self._chart = "", False
        if tag not in INLINE:
            self.texts.append(self._words)
            self._words = ""

    def handle_data(self, data: str) -> None:
        if self._chart:
            self.texts += drawn(json.loads(data))
        elif self._tag == "pre":
            self.texts.append(formula(data))
        elif self._tag not in ("script", "style", "code"):
            self._words += data


INLINE = frozenset({"strong", "em", "code", "a", "span"})


@pytest.mark.usefixtures("bracketed")
@pytest.mark.parametrize("which", ["default", "experts"])
def test_every_text_of_the_report_is_a_message(which: str) -> None:
    speak(Bracketed().gettext)
    contenders = []
    for name, query in (("⟦now⟧", SCENARIOS[which]), ("⟦half⟧", {"n": "8"})):
        values, _ = parse({key: [value] for key, value in query.items()}, PRESETS)
        contenders.append(Contender(name, build(values, PRESETS), values))
    first = contenders[0]
    service = service_view.later(first.scenario, {**first.values, "requests": 40}, None)
    subject = exhibits.Subject(first.scenario, contenders, service)
    made = report.html(subject, contenders[0].values, "", date(2026, 1, 1))
    assert not [words for words in Read(made).texts if unsaid(words)]


@pytest.mark.parametrize("page", PAGES)
def test_a_page_in_chinese_shows_as_much(page: str) -> None:
    english, chinese = (
        [len(list(elements(test._tree))) for test in visited(page, spoken)]
        for spoken in ({}, {"lang": "zh"})
    )
    assert english == chinese
