"""A model or a chip that somebody brings along, as a text short enough for a link.

The text is JSON and a stranger's: reading it raises nothing but `CustomError`, in one sentence.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from calc import hf_config, naming
from calc.chip import PLAUSIBLE, RATES, Chip, Price
from calc.design import table
from calc.design.reading import TableError
from calc.errors import LedgerError
from calc.model import Model
from calc.words import say

LONGEST_LINK_TEXT = 6000
LONGEST_NAME = naming.LONGEST
ID = "custom"
# Of chips: a scenario has one model, a comparison several chips.
CHIP_IDS = (ID, *(f"{ID}-{n}" for n in (2, 3, 4)))
TOTALS = "totals"
BLOCKS = "blocks"
# What a text of blocks was edited from: the id of a preset, or such a text's content.
FROM = "from"


class CustomError(LedgerError):
    """A custom model or chip that cannot be used, and why."""


def pack(content: Mapping[str, Any]) -> str:
    """JSON without spaces.

    Raises
    ------
    CustomError
        If it is longer than a link may carry.
    """
    text = json.dumps(content, separators=(",", ":"), allow_nan=True)
    if len(text) > LONGEST_LINK_TEXT:
        raise CustomError(
            say(
                "it needs {needed:,} characters in a link, more than {most:,}",
                needed=len(text),
                most=LONGEST_LINK_TEXT,
            )
        )
    return text


def model(text: str) -> Model:
    """A model from a ``config.json``, from its totals or from its blocks.

    Totals are ``{"model_type": "totals", "total_params": …, "kv_elements_per_token": …}``; blocks
    are ``{"model_type": "blocks", …}`` with what `calc.design.table` writes.

    >>> totals = '{"model_type":"totals","total_params":30e9,"kv_elements_per_token":1e5}'
    >>> model(totals).total_params
    30000000000
    """
    content = _object(text)
    if content.get("model_type") == BLOCKS:
        return _of_blocks(content)
    if content.get("model_type") != TOTALS:
        try:
            return hf_config.parse(content, id=ID, name=_name(content, ""))
        except hf_config.ConfigError as error:
            raise CustomError(str(error)) from error
    return Model.from_totals(
        _number(content, "total_params", 1e6, 1e14),
        _number(content, "kv_elements_per_token", 0, 1e8),
        id=ID,
        name=_name(content, say("Stated totals")),
    )


def _of_blocks(content: Mapping[str, Any]) -> Model:
    """A model from a text's table."""
    around = ("model_type", "name", FROM)
    try:
        found = table.read(
            {key: value for key, value in content.items() if key not in around},
            id=ID,
            name=_name(content, say("Custom model")),
        )
    except TableError as error:
        raise CustomError(str(error)) from error
    return replace(found, origin=_origin(content.get(FROM)))


def _origin(given: Any) -> str:
    """What a text says that its model was edited from; empty where it cannot be that."""
    if isinstance(given, str):
        return given if re.fullmatch(r"[a-z0-9.-]{1,60}", given) else ""
    if not isinstance(given, Mapping) or FROM in given:
        return ""
    text = json.dumps(given, separators=(",", ":"))
    try:
        model(text)
    except CustomError:
        return ""
    return text


def of_model(edited: Model) -> str:
    """The text that gives a model block by block, and what it was edited from.

    An origin that is too long for a link is left out.

    Raises
    ------
    CustomError
        If the text is too long even so.
    """
    content = {"model_type": BLOCKS, "name": edited.name, **table.written(edited)}
    if not edited.origin:
        return pack(content)
    origin = json.loads(edited.origin) if edited.origin.startswith("{") else edited.origin
    try:
        return pack({**content, FROM: origin})
    except CustomError:
        return pack(content)


def compact_model(text: str) -> str:
    """The shortest text that gives the same model.

    Raises
    ------
    CustomError
        If the text gives none, or is too long for a link even so.
    """
    content = _object(text)
    read = model(text)
    if content.get("model_type") in (TOTALS, BLOCKS):
        return pack(content)
    named = {"name": read.name} if isinstance(content.get("name"), str) else {}
    return pack({**hf_config.compact(content), **named})


def chip(text: str, id: str = ID) -> Chip:
    """A chip from a name, memory, bandwidth, peaks by rate, link, price and power, in SI units.

    `capital` is what was paid for it, where it is owned [USD].

    Raises
    ------
    CustomError
        If a figure is missing or implausible; peaks, link, price and power may be absent.
    """
    content = _object(text)
    peaks = content.get("peaks", {})
    if not isinstance(peaks, Mapping) or not set(peaks) <= set(RATES):
        raise CustomError(
            say("peaks is not an object with some of {rates}", rates=", ".join(RATES))
        )
    link = _number(content, "link", *PLAUSIBLE["link_one_way"], default=math.nan)
    price = _number(content, "price", *PLAUSIBLE["price"], default=math.nan)
    return Chip(
        id=id,
        name=_name(content, say("Custom chip")),
        vendor="",
        memory=_number(content, "memory", *PLAUSIBLE["memory"]),
        bandwidth=_number(content, "bandwidth", *PLAUSIBLE["bandwidth"]),
        peaks={rate: _number(peaks, rate, *PLAUSIBLE["peak"]) for rate in peaks},
        link_one_way=link,
        price=None if math.isnan(price) else Price(price, say("given with the chip")),
        capital=_number(content, "capital", *PLAUSIBLE["capital"], default=math.nan),
        power=_number(content, "power", *PLAUSIBLE["power"], default=math.nan),
        sources={},
        notes=(say("Figures as given by whoever made the link."),),
    )


def _object(text: str) -> Mapping[str, Any]:
    try:
        content = hf_config.decode(text)
    except hf_config.ConfigError as error:
        raise CustomError(str(error)) from error
    if not isinstance(content, Mapping):
        raise CustomError(say("it is not a JSON object"))
    return content


def _name(content: Mapping[str, Any], default: str) -> str:
    name = content.get("name")
    if not isinstance(name, str):
        return default
    return naming.fit(name) or default


def _number(
    content: Mapping[str, Any], key: str, low: float, high: float, default: float | None = None
) -> float:
    value = content.get(key)
    if value is None and default is not None:
        return default
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise CustomError(say("{key} is missing or not a number", key=key))
    if not low <= value <= high:
        raise CustomError(say("{key} is outside {low:g} to {high:g}", key=key, low=low, high=high))
    return float(value)
