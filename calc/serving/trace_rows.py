"""Rows of a trace as a file has them: tables with any separator, lines of JSON, a list in JSON."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from calc.serving.errors import ServingError
from calc.words import say

SEPARATORS = (",", ";", "\t", "|")
# Characters that stand for a token where a file has texts instead of lengths.
CHARACTERS = 4


@dataclass
class Rows:
    """Rows of a file, each with the line it stands on.

    `names` are the columns in order, `comma` says that a comma may be a decimal point, `notices`
    what was made of the file's form.
    """

    names: list[str]
    rows: Iterator[tuple[int, Mapping[str, Any]]]
    comma: bool = False
    notices: list[str] = field(default_factory=list)


def rows_of(text: str) -> Rows:
    """The rows of a text.

    Raises
    ------
    ServingError
        If it has none that can be read.
    """
    start = text.lstrip()[:1]
    if text.startswith("version https://git-lfs"):
        raise ServingError(
            say("This is a pointer of Git LFS, not the trace itself: download the file it names.")
        )
    if start == "{":
        return _lines(text)
    return _list(text) if start == "[" else _table(text)


def _table(text: str) -> Rows:
    head = text.partition("\n")[0]
    separator = max(SEPARATORS, key=head.count)
    reader = csv.reader(io.StringIO(text), delimiter=separator)
    try:
        names = [name.strip() for name in next(reader, [])]
    except csv.Error as error:
        raise ServingError(say("Line {line:,} of the trace is no CSV.", line=1)) from error

    def rows() -> Iterator[tuple[int, Mapping[str, Any]]]:
        try:
            for row in reader:
                if any(cell.strip() for cell in row):
                    yield reader.line_num, dict(zip(names, row, strict=False))
        except csv.Error as error:
            raise ServingError(
                say("Line {line:,} of the trace is no CSV.", line=reader.line_num)
            ) from error

    return Rows(names, rows(), comma=separator != ",")


def _lines(text: str) -> Rows:
    """A JSON object on each line; one with a list of requests stands for all of them."""

    def rows() -> Iterator[tuple[int, Mapping[str, Any]]]:
        for number, line in enumerate(io.StringIO(text), 1):
            if not line.strip():
                continue
            found = _json(line, number)
            if not isinstance(found, dict):
                raise _no_object(number)
            parts = found.get("requests")
            if not isinstance(parts, list):
                yield number, found
                continue
            for part in parts:
                if not isinstance(part, dict):
                    raise _no_object(number)
                yield number, {**{k: v for k, v in found.items() if k != "requests"}, **part}

    first = next(rows(), (1, {}))[1]
    return Rows(list(first), rows())


def _list(text: str) -> Rows:
    """A list of objects: rows, or conversations of which only the texts are known."""
    found = _json(text, 1)
    items = [item for item in found if isinstance(item, dict)]
    if len(items) < len(found):
        raise _no_object(1)
    if not items or "conversations" not in items[0]:
        return Rows(list(items[0]) if items else [], enumerate(items, 1))

    def rows() -> Iterator[tuple[int, Mapping[str, Any]]]:
        for number, item in enumerate(items, 1):
            turns = item.get("conversations")
            said = [
                len(str(turn.get("value", "")))
                for turn in (turns if isinstance(turns, list) else [])
                if isinstance(turn, dict) and turn.get("from") != "system"
            ][:2]
            prompt, output = (*said, 0, 0)[:2]
            yield number, {"prompt": -(-prompt // CHARACTERS), "output": -(-output // CHARACTERS)}

    note = say(
        "Conversations: the first turn is the prompt and the second the answer, a token for every "
        "{n} characters.",
        n=CHARACTERS,
    )
    return Rows(["prompt", "output", "conversations"], rows(), notices=[note])


def _json(text: str, line: int) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ServingError(say("Line {line:,} of the trace is no JSON.", line=line)) from error


def _no_object(line: int) -> ServingError:
    return ServingError(say("Line {line:,} of the trace is no JSON object.", line=line))
