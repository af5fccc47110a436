"""A scenario as the query of a link, and back: reading never raises, it reports.

A link carries plain values (ids and numbers), so that nothing needs the presets here but their ids.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any
from urllib.parse import quote_plus, urlencode

from calc import custom, pins, purchase, sampling
from calc.fields import Catalogues, Choice, Field, Option, Quantity, Rows, Several
from calc.plan import asked as planned
from calc.scenario import SCHEMA
from calc.serving import asked, trace
from calc.words import inside, marked, say

# Raised when the meaning of a key changes; older links are then read by their own version's rules.
VERSION = 1
VERSION_KEY = "v"

_NUMBER = re.compile(r"[+-]?(\d{1,20}(\.\d{0,20})?|\.\d{1,20})([eE][+-]?\d{1,3})?", re.ASCII)

# Of the price list.
PRICES = "pl"

# Servers and proxies take 64 KiB for the line and the headers of a request: what stands behind the
# question mark, percent-encoded, leaves room for the rest.
LONGEST_QUERY = 60_000
# Of that, for all that is no text: every field at its longest, what pages and figures add.
RESERVED = 12_000


@dataclass(frozen=True)
class Text:
    """A parameter that carries a text: a model or chip that joins a catalogue under its `id`, or
    the weights of a distribution, which join none.
    """

    name: str
    key: str
    label: str
    catalogue: str
    read: Callable[[str], Any]
    longest: int = custom.LONGEST_LINK_TEXT
    id: str = custom.ID


TEXTS = (
    Text("custom_model", "cfg", marked("Custom model"), "models", custom.model),
    *(
        Text(
            f"custom_chip{n}",
            f"hw{n}",
            marked("Custom chip"),
            "chips",
            partial(custom.chip, id=id),
            id=id,
        )
        for n, id in zip(("", 2, 3, 4), custom.CHIP_IDS, strict=True)
    ),
    Text("prices", PRICES, marked("Own prices"), "", purchase.read, purchase.LONGEST),
    Text("bench_weights", "pq", marked("Bench weights"), "", sampling.pair_of_text),
    Text("pins", "pins", marked("Pins"), "", pins.read, pins.LONGEST_TEXT),
    Text("trace", "trace", marked("Trace"), "", trace.read),
    Text("trace_file", "tf", marked("Trace file"), "", trace.named, 80),
)

# What a link of the calculation carries; who shows it may carry further fields.
FIELDS: tuple[Field, ...] = (*SCHEMA, *asked.FIELDS, *planned.FIELDS)


def keys(fields: Iterable[Field] = FIELDS) -> frozenset[str]:
    """Every parameter that a link of these fields may have."""
    return frozenset({VERSION_KEY, *(field.key for field in fields), *(text.key for text in TEXTS)})


def with_custom(
    catalogues: Catalogues, given: Mapping[str, str]
) -> tuple[Catalogues, dict[str, str]]:
    """Catalogues with the custom model and chip of a link, and why one could not be read.

    Parameters
    ----------
    catalogues : mapping
        The presets.
    given : mapping of str to str
        Texts by link key; empty ones count as absent.
    """
    extended, problems = dict(catalogues), {}
    for text in TEXTS:
        value = given.get(text.key)
        if not value:
            continue
        if len(value) > text.longest:
            problems[text.key] = say("longer than {most:,} characters", most=text.longest)
            continue
        try:
            item = text.read(value)
            if text.key == PRICES:
                extended["chips"] = purchase.priced(extended["chips"], value)
        except ValueError as error:
            problems[text.key] = say("not usable ({problem})", problem=error)
            continue
        if text.catalogue:
            extended[text.catalogue] = {**extended[text.catalogue], text.id: item}
    return extended, problems


_OF_SEVERAL = marked("{label} ({key}) in the link: {reason}; {used}.")


@dataclass(frozen=True)
class Problem:
    """One parameter of a link that could not be used as given.

    It never carries the given text, which is a stranger's. `label` is marked for translation, the
    rest is translated.
    """

    label: str
    key: str
    reason: str
    used: str
    template: str = marked("{label} ({key}) in the link is {reason}; {used} is used.")

    @property
    def sentence(self) -> str:
        """What a reader is told."""
        return say(
            self.template,
            label=say(self.label),
            key=self.key,
            reason=self.reason,
            used=self.used,
        )


def _read_number(field: Quantity, text: str) -> tuple[float | None, str | None]:
    if field.table and not text:
        return None, None
    if not _NUMBER.fullmatch(text):
        return field.absent, say("not a number")
    value = float(text)
    problem = field.problem(value)
    return (field.absent, problem) if problem else (field.cast(value), None)


def _read_choice(field: Choice, text: str, catalogues: Catalogues) -> tuple[str, str | None]:
    if text in field.ids(catalogues):
        return text, None
    if text in catalogues[field.catalogue]:
        return field.default, say("not a format for {field}", field=inside(field.label))
    return field.default, say("not known here")


def _read_several(field: Several, text: str, catalogues: Catalogues) -> tuple[str, str | None]:
    offered, given = set(field.ids(catalogues)), field.resolve(text, catalogues)
    known = field.plain([id for id in given if id in offered])
    if offered.issuperset(given):
        return known, None
    return known, say("partly not known here") if offered.intersection(given) else say(
        "not known here"
    )


def _read_rows(field: Rows, text: str) -> tuple[str, str | None]:
    if len(text) > field.longest:
        return field.default, say("longer than {most:,} characters", most=field.longest)
    try:
        field.read(text)
    except ValueError as error:
        return field.default, say("not usable ({problem})", problem=error)
    return text, None


def _read_field(field: Field, text: str, catalogues: Catalogues) -> tuple[Any, str | None]:
    if isinstance(field, Quantity):
        return _read_number(field, text)
    if isinstance(field, Option):
        if text in field.options:
            return text, None
        options = say(" or ").join(field.options)
        return field.default, say("not {options}", options=options)
    if isinstance(field, Several):
        return _read_several(field, text, catalogues)
    if isinstance(field, Rows):
        return _read_rows(field, text)
    return _read_choice(field, text, catalogues)


def parse(
    query: Mapping[str, Sequence[str]],
    catalogues: Catalogues,
    fields: Sequence[Field] = FIELDS,
) -> tuple[dict[str, Any], list[Problem]]:
    """Field values of a link's query, and what was wrong with it.

    Parameters
    ----------
    query : mapping of str to sequence of str
        Decoded parameters; a key may have come several times.
    catalogues : mapping
        ``models``, ``chips`` and ``formats`` by id.
    fields : sequence of Field
        What the link carries.

    Returns
    -------
    values : dict
        Field name to value, for every field and every text.
    problems : list of Problem
        Unknown keys are not problems: they may belong to a page or to a later release.
    """
    values: dict[str, Any] = {field.name: field.absent for field in fields}
    by_key = {field.key: field for field in fields}
    problems = []
    texts = {text.key: query[text.key][0] for text in TEXTS if query.get(text.key)}
    catalogues, unusable = with_custom(catalogues, texts)
    for text in TEXTS:
        if text.key in unusable:
            problems.append(Problem(text.label, text.key, unusable[text.key], say("none")))
        values[text.name] = "" if text.key in unusable else texts.get(text.key, "")
    listed, changes = pins.read(values["pins"])
    values["pins"] = pins.write(listed)
    problems += [
        Problem(marked("Pins"), "pins", change.reason, change.used, _OF_SEVERAL)
        for change in changes
    ]
    for key, given in query.items():
        field = by_key.get(key)
        if field is None or not given:
            continue
        value, reason = _read_field(field, given[0], catalogues)
        if len(given) > 1 and reason is None:
            reason = say("given more than once")
        if reason:
            nothing = say("none") if isinstance(field, Rows) else say("the table")
            used = dump_value(field, value) or nothing
            problems.append(Problem(field.label, key, reason, used))
        values[field.name] = value
    version = query.get(VERSION_KEY)
    if version and version[0] != str(VERSION):
        problems.append(
            Problem(
                marked("Link version"),
                VERSION_KEY,
                say("not known here"),
                say("version {number}", number=VERSION),
            )
        )
    return values, problems


def dump_value(field: Field, value: Any) -> str:
    """A value as a link writes it; nothing for a number that is left to the table."""
    if not isinstance(field, Quantity):
        return str(value)
    if value is None:
        return ""
    return str(int(value)) if field.whole or value == int(value) else f"{value:.12g}"


def dump(
    values: Mapping[str, Any], fields: Iterable[Field] = FIELDS, *, explicit: bool = False
) -> dict[str, str]:
    """Query parameters for field values.

    Defaults are left out, so that everyday links stay short. An `explicit` link writes every field
    and the schema version: it keeps its meaning when a later release changes a default.
    """
    written = {
        field.key: dump_value(field, values[field.name])
        for field in fields
        if explicit or values[field.name] != field.absent
    }
    # A text is written while its model is chosen, or in the short link while it is kept.
    for text in TEXTS:
        # Chips are compared whether they are chosen or not.
        chosen = text.catalogue != "models" or values.get("model") == text.id
        if values.get(text.name) and (chosen or not explicit):
            written[text.key] = values[text.name]
    return {VERSION_KEY: str(VERSION), **written} if explicit else written


def texts_length(texts: Mapping[str, str]) -> int:
    """Characters that texts take in a link, by their keys, percent-encoded.

    >>> texts_length({"pl": "a 1", "cfg": ""}), texts_length({"pl": "芯"})
    (7, 13)
    """
    return sum(len(f"&{key}={quote_plus(text)}") for key, text in texts.items() if text)


def query_string(
    values: Mapping[str, Any], fields: Iterable[Field] = FIELDS, *, explicit: bool = False
) -> str:
    """`dump` as the text behind the question mark."""
    return urlencode(dump(values, fields, explicit=explicit))
