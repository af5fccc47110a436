"""Scenarios pinned for comparison, as one text that a link carries.

A pin is a name and the query of a link: what the query means is `link.parse`'s business, so a pin
whose preset has gone is still there, under its name.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from calc import naming
from calc.errors import LedgerError
from calc.words import say

MOST = 6
LONGEST_NAME = naming.LONGEST
LONGEST_TEXT = 24_000


class PinError(LedgerError):
    """A text that holds no pins; the message says why."""


@dataclass(frozen=True)
class Pin:
    """A scenario under a name.

    Parameters
    ----------
    name : str
        At most `LONGEST_NAME` characters, unlike every other's.
    query : str
        Its settings as a link's query, defaults left out.
    """

    name: str
    query: str


@dataclass(frozen=True)
class Change:
    """What of a text could not be kept as it was, and what became of it; never the text itself."""

    reason: str
    used: str


def write(pins: Iterable[Pin]) -> str:
    """Pins as the text of a link; empty for none."""
    listed = [[pin.name, pin.query] for pin in pins]
    return json.dumps(listed, ensure_ascii=False, separators=(",", ":")) if listed else ""


def read(text: str) -> tuple[list[Pin], list[Change]]:
    """Pins of a text, made fit: at most `MOST`, each under a name of its own.

    Raises
    ------
    PinError
        If the text is no list of names and queries.
    """
    if not text:
        return [], []
    try:
        listed = json.loads(text)
    except (ValueError, RecursionError):
        raise PinError(say("not a list of pins")) from None
    if not isinstance(listed, list) or not all(_is_pin(item) for item in listed):
        raise PinError(say("not a list of pins"))
    changes = []
    if len(listed) > MOST:
        changes.append(
            Change(
                say("there are {n}, and {most} can be held", n=len(listed), most=MOST),
                say("the first {most} are used", most=MOST),
            )
        )
    pins: list[Pin] = []
    for name, query in listed[:MOST]:
        kept = fitting(name, pins)
        if kept != name:
            changes.append(
                Change(
                    say(
                        "the name of pin {n} is empty, taken, longer than {most} letters, or has "
                        "characters that do not show",
                        n=len(pins) + 1,
                        most=LONGEST_NAME,
                    ),
                    say("it was made to fit"),
                )
            )
        pins.append(Pin(kept, query))
    return pins, changes


def _is_pin(item: object) -> bool:
    return isinstance(item, list) and len(item) == 2 and all(isinstance(part, str) for part in item)


def fitting(name: str, others: Sequence[Pin]) -> str:
    """A name made fit to stand beside others: as `naming.fit`, not empty and not taken.

    >>> fitting(" int4  weights ", [Pin("int4 weights", "")])
    'int4 weights 2'
    """
    taken = {pin.name for pin in others}
    wanted = naming.fit(name) or say("Pin")
    if wanted not in taken:
        return wanted
    for number in range(2, len(taken) + 2):
        tail = f" {number}"
        numbered = wanted[: LONGEST_NAME - len(tail)] + tail
        if numbered not in taken:
            break
    return numbered
