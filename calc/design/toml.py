"""A model as the table of a preset file."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from calc.checkpoint import Checkpoint
from calc.design import table
from calc.model import Model


def written(model: Model, comments: Mapping[str, str] | None = None) -> str:
    """The table that preset files have for a model, its sources and assumptions with it.

    Parameters
    ----------
    model : Model
        Of any kind but one known by its totals only.
    comments : mapping, optional
        What to say above a key, by the key.
    """
    content = table.written(model)
    blocks = content.pop("blocks")
    if model.checkpoint:
        content["checkpoint"] = _formats(model.checkpoint)
    if model.resident:
        content["resident"] = [
            {"name": one.name, "params": one.params, "routed": one.routed}
            if one.routed
            else {"name": one.name, "params": one.params}
            for one in model.resident
        ]
    said = {key: getattr(model, key) for key in ("hub", "note") if getattr(model, key)}
    above = comments or {}
    lines = [f"[{_key(model.id)}]", *(f"# Assumed: {one}" for one in model.assumptions)]
    for key, value in {"name": model.name, **content, **said}.items():
        lines += [*_above(above, key), f"{key} = {_value(value)}"]
    lines += [*_above(above, "sources"), "sources = ["]
    lines += [*(f"  {_value(source)}," for source in model.sources), "]"]
    for block in blocks:
        lines += ["", f"[[{_key(model.id)}.blocks]]"]
        lines += [f"{key} = {_value(value)}" for key, value in block.items()]
    return "\n".join(lines) + "\n"


def _above(comments: Mapping[str, str], key: str) -> list[str]:
    return [f"# {comments[key]}"] if key in comments else []


def _formats(checkpoint: Checkpoint) -> str | dict[str, str]:
    """Formats by part, each by its id."""
    if not checkpoint.parts:
        return checkpoint.rest.id
    return {"rest": checkpoint.rest.id, **{part: one.id for part, one in checkpoint.parts}}


def _key(key: str) -> str:
    """A key as it is, or in quotes where it has more than letters, digits and hyphens."""
    return key if re.fullmatch(r"[A-Za-z0-9_-]+", key) else _value(key)


def _value(value: Any) -> str:
    """A value on one line."""
    match value:
        case bool():
            return "true" if value else "false"
        case dict():
            pairs = ", ".join(f"{_key(key)} = {_value(one)}" for key, one in value.items())
            return f"{{ {pairs} }}"
        case list():
            return f"[{', '.join(map(_value, value))}]"
        case str():
            # A text of JSON is one of TOML, but for this letter.
            return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    return str(value)
