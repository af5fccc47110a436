"""Columns of traces by the names that public traces and engines give them, and units of time."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from calc.words import marked

# Roles, and names of columns in small letters without anything between, the surest first.
ROLES: dict[str, tuple[str, ...]] = {
    "arrival": ("arrival", "arrivaltime", "arrivedat", "timestamp", "time", "starttime"),
    "prompt": (
        "prompttokens", "promptlength", "promptlen", "inputtokens", "inputlength", "inputlen",
        "contexttokens", "requesttokens", "numprefilltokens", "prompt", "input",
    ),
    "output": (
        "outputtokens", "outputlength", "outputlen", "generatedtokens", "responsetokens",
        "completiontokens", "numdecodetokens", "output",
    ),
    "session": ("session", "sessionid", "conversationid"),
    "parent": ("parentchatid",),
    "chat": ("chatid",),
    "system": ("system", "systemprompt", "systemtokens"),
    "hashes": ("hashids",),
}  # fmt: skip
UNITS = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}
_UNIT = re.compile(
    r"^(?P<name>.*?)[\s_(\[-]+(?P<unit>s|sec|seconds|ms|us|ns)[\s)\]]*$", re.IGNORECASE
)
_WORDS = {"sec": "s", "seconds": "s"}


@dataclass(frozen=True)
class Form:
    """A public trace: what it is called, names that tell it, and its unit of time.

    `block` is what a hash stands for [token]; `fails` says that requests without an answer are in
    it and are left out.
    """

    name: str
    told: frozenset[str]
    unit: str = ""
    block: int = 0
    fails: bool = False


FORMS = (
    Form(marked("Qwen-Bailian"), frozenset({"chatid", "parentchatid", "hashids"}), "s", 16, True),
    Form(marked("Mooncake"), frozenset({"timestamp", "inputlength", "hashids"}), "ms", 512, True),
    Form(marked("Azure LLM inference"), frozenset({"contexttokens", "generatedtokens"})),
    Form(marked("BurstGPT"), frozenset({"requesttokens", "responsetokens"}), "s", fails=True),
    Form(marked("Vidur"), frozenset({"numprefilltokens", "numdecodetokens"}), "s"),
    Form(marked("conversations"), frozenset({"conversations"}), fails=True),
)
OWN = Form(marked("own"), frozenset())


def plain(name: str) -> str:
    """A column's name in small letters, with nothing between."""
    return re.sub(r"[\s_\-]+", "", name.strip().lower())


def columns(names: Sequence[str]) -> tuple[dict[str, str], str]:
    """Which column has which role, and the unit that the name of the arrivals states."""
    given = {plain(name): name for name in reversed(names)}
    found = {
        role: given[next(one for one in known if one in given)]
        for role, known in ROLES.items()
        if any(one in given for one in known)
    }
    for name in names:
        stated = _UNIT.match(name)
        if "arrival" not in found and stated and plain(stated[1]) in ROLES["arrival"]:
            unit = stated[2].lower()
            return {"arrival": name, **found}, _WORDS.get(unit, unit)
    return found, ""


def form(names: Sequence[str]) -> Form:
    """The public trace that has such columns, or one's own."""
    given = {plain(name) for name in names}
    return next((one for one in FORMS if one.told <= given), OWN)


def moment(value: Any, comma: bool) -> tuple[float, bool]:
    """A time as a number, and whether it is one of a clock, in seconds; nan if it is none."""
    if isinstance(value, bool):
        return math.nan, False
    if isinstance(value, (int, float)):
        return _float(value), False
    text = str(value).strip()
    try:
        return float(text.replace(",", ".") if comma else text), False
    except ValueError:
        pass
    try:
        at = datetime.fromisoformat(text)
        return (at if at.tzinfo else at.replace(tzinfo=UTC)).timestamp(), True
    except (ValueError, OverflowError):
        return math.nan, False


_GROUPED = re.compile(r"^[0-9]{1,3}([,'_ \u00a0\u202f][0-9]{3})+$")


def tokens(value: Any) -> float:
    """A number of tokens, with thousands parted or not; nan if it is none."""
    if isinstance(value, bool):
        return math.nan
    if isinstance(value, (int, float)):
        return _float(value)
    text = str(value).strip()
    if _GROUPED.match(text):
        text = re.sub(r"[^0-9]", "", text)
    try:
        return float(text)
    except ValueError:
        return math.nan


def _float(value: float) -> float:
    try:
        return float(value)
    except OverflowError:
        return math.inf
