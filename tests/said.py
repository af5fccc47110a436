"""What a page or a report says to its reader, and which words of it are no message."""

from __future__ import annotations

import gettext
import json
import re
from collections.abc import Iterator
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pandas as pd
from babel.messages.extract import extract_from_file
from streamlit.testing.v1 import AppTest

from calc.explain import EXPLANATIONS
from calc.fields import Choice, Option, Several
from calc.measured import files
from pages.ui.frame import draw, switches
from pages.ui.frame.presentation import FIELDS
from pages.ui.measured.several import EXAMPLE
from pages.ui.writing import reference, text
from presets import chips, drafts, formats, measured, models

ROOT = Path(__file__).parents[1]
FILES = [ROOT / "app.py", *(ROOT / "calc").rglob("*.py"), *(ROOT / "pages").rglob("*.py")]


@cache
def extracted() -> frozenset[str]:
    """The messages that ``make translations`` finds."""
    keywords = {"say": None, "marked": None}
    found = [message for file in FILES
             for _, message, *_ in extract_from_file("python", file, keywords)]  # fmt: skip
    return frozenset(message for message in found if isinstance(message, str))


class Bracketed(gettext.NullTranslations):
    """A language that is English in brackets: what has none around it was never said."""

    def gettext(self, message: str) -> str:
        return f"⟦{message}⟧" if message in extracted() else message


# Names, units and abbreviations, which are the same in every language; and ids on their own.
SAME = frozenset(
    {
        "config", "json", "KiB", "GiB", "USD", "kWh", "TTFT", "TPOT", "MBU", "MFU", "MHA",
        "GQA", "MQA", "MLA", "MLP", "LaTeX", "Mamba",
    }
)  # fmt: skip
IDS = frozenset(
    id
    for field in FIELDS
    if isinstance(field, (Option, Choice))
    for id in (field.default, *(field.options if isinstance(field, Option) else [field.none]))
) | frozenset(id for field in FIELDS if isinstance(field, Several) for id in field.groups)
WORD = re.compile(r"[A-Za-z]{3,}")
# Markup, fields that plotly.js fills in, the link to share, settings as it has them, and units.
SKIPPED = re.compile(
    r"<style>.*?</style>|<[^>]*>|%\{[^}]*\}|:material/\w+:|\?v=1&\S*|\b[a-z]+=\S+|\b[kMGTPE]?FLOP\b|\btoken/[sJ]\b",
    re.DOTALL,
)
FORMULA = re.compile(r"(\$+).*?\1", re.DOTALL)
# A link from a source to its formula.
TO_ABOUT = re.compile(r"\[([^\]]*)\]\(about\?\S*\)")


@cache
def unsaid(words: str) -> frozenset[str]:
    """Words of a text that stand outside brackets."""
    if words in IDS or words in reference.sections().values():
        return frozenset()
    words = TO_ABOUT.sub(r"\1", words)
    while (inner := re.sub(r"⟦[^⟦⟧]*⟧", " ", words)) != words:
        words = inner
    # Of a formula, the words in it but for the names of symbols.
    words = re.sub(r"_\\text\{[^}]*\}", "", words)
    words = FORMULA.sub(lambda found: " ".join(re.findall(r"\\text\{([^}]*)\}", found[0])), words)
    # Of many names few are long enough to be looked for in the little that is left.
    for quoted in quotes() if WORD.search(words) else ():
        words = words.replace(quoted, "")
    return frozenset(WORD.findall(SKIPPED.sub("", words))) - SAME


@cache
def quotes() -> tuple[str, ...]:
    """What is quoted as it is: names, notes and sources, titles of the method."""
    given: set[str] = {*chips, *models, *formats}
    for chip in chips.values():
        given |= {chip.name, chip.vendor, chip.topology, *chip.notes, *chip.sources.values()}
        # As charts that are short of room write it.
        given.add(text.shortened(chip.name, 20))
        given |= {price.source for price in (chip.price, *chip.other_prices) if price}
    for model in models.values():
        given |= {model.name, model.note, *model.sources}
    given |= {item.name for item in formats.values()}
    given |= {entry.source for entry in EXPLANATIONS.values()}
    given |= {draw.NAME, *reference.sections()}
    for report in drafts.values():
        # Sources stand one behind the other.
        given |= {report.method, report.target, report.work, report.hardware, report.note}
        given |= {", ".join(one for one in (report.method, report.target, report.work) if one)}
        given |= {*report.sources, "; ".join(report.sources)}
    for row in measured.rows():
        given |= {row.source, row.reference, row.engine_name, row.engine_version}
    given |= {form.name for form in files.FORMS} | {EXAMPLE}
    plain = {text.plain(one) for one in given}
    # In HTML without backslashes.
    both = {*given, *plain, *(re.sub(r"\\(.)", r"\1", one) for one in plain)} - {""}
    return tuple(sorted(both, key=len, reverse=True))


def seen(test: AppTest) -> Iterator[str]:
    """Every text of a page."""
    yield from within(test._tree)


def within(root: Any) -> Iterator[str]:
    """Every text of a part of a page."""
    for node in elements(root):
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
HIDDEN = frozenset({"pins", "trace", switches.KEY})


def elements(node: Any) -> Iterator[Any]:
    yield node
    for child in getattr(node, "children", {}).values():
        yield from elements(child)


def folded(test: AppTest) -> set[str]:
    """Keys that open what can be opened, and those that ask for what scrubbers play."""
    keys = set()
    for node in elements(test._tree):
        id = getattr(getattr(node, "proto", None), "id", "")
        # Ids end in the key that a widget was given.
        key = id.split("-", 2)[-1]
        if node.type in ("expander", "popover") and id:
            keys.add(key)
        elif node.type == "bidi_component":
            rows = (json.loads(node.proto.json or "null") or {}).get("rows", ())
            keys |= {f"_{key}-{row['key']}-wanted" for row in rows}
    return keys


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
        "page", "page_script_hash", "query_param_key", "type", "language", "tag",
        "component_name", "js_content",
        "html_content", "css_content",
    }
)  # fmt: skip


def in_table(node: Any) -> Iterator[str]:
    """Headings and cells of a table; the headings of a typed one may be given apart."""
    frame = node.value
    apart = json.loads(getattr(node.proto, "columns", "") or "{}")
    for column in frame.columns:
        yield (apart.get(column) or {}).get("label") or str(column)
        yield from (cell for cell in frame[column] if isinstance(cell, str))


def in_code(node: Any) -> Iterator[str]:
    """What is there to copy but commands and files: a formula, or lines of symbols."""
    if node.language == "latex":
        yield f"${node.value}$"
    elif node.language not in ("bash", "json", "python", "toml"):
        yield formula(node.value)


def formula(lines: str) -> str:
    """What is left of lines to copy beside symbols and functions."""
    return re.sub(r"\b(?:\w*_\w+|bar|max|min|floor|ceil|lambda|argmax|first|last|for)\b", "", lines)


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
