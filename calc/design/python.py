"""Python that builds a model."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from calc.attention import NO_ATTENTION
from calc.checkpoint import Checkpoint
from calc.feedforward import NO_FEEDFORWARD
from calc.hf_quantization import named
from calc.model import Block, Model

_NOTHING = {"NO_ATTENTION": NO_ATTENTION, "NO_FEEDFORWARD": NO_FEEDFORWARD}
_UNSAID = ("assumptions", "sources", "note", "origin")


def written(model: Model) -> str:
    """A script whose `model` is the model.

    It imports what it names, from `calc` nothing else.
    """
    modules: dict[str, set[str]] = {"calc.model": {"Model"}}
    body = _call(model, modules, 0)
    lines = [f"from {module} import {', '.join(sorted(names))}"
             for module, names in sorted(modules.items())]  # fmt: skip
    return "\n".join([*lines, "", f"model = {body}", ""])


def _call(thing: Any, modules: dict[str, set[str]], depth: int) -> str:
    """A call of a class with the fields that are not at their defaults."""
    kind = type(thing)
    modules.setdefault(kind.__module__, set()).add(kind.__name__)
    given = [
        f"{field.name}={_value(getattr(thing, field.name), modules, depth + 1)}"
        for field in fields(thing)
        if field.name not in _UNSAID and getattr(thing, field.name) != field.default
    ]
    if not isinstance(thing, (Model, Block)):
        return f"{kind.__name__}({', '.join(given)})"
    inner, outer = "    " * (depth + 1), "    " * depth
    return f"{kind.__name__}(\n{inner}" + f",\n{inner}".join(given) + f",\n{outer})"


def _value(value: Any, modules: dict[str, set[str]], depth: int) -> str:
    """An argument; what stands for nothing is named as it is."""
    for name, nothing in _NOTHING.items():
        if value == nothing:
            modules.setdefault(f"calc.{name.lower().removeprefix('no_')}", set()).add(name)
            return name
    if isinstance(value, Checkpoint):
        return _checkpoint(value, modules)
    if isinstance(value, tuple):
        inner, outer = "    " * (depth + 1), "    " * depth
        items = [_call(one, modules, depth + 1) for one in value]
        return f"(\n{inner}" + f",\n{inner}".join(items) + f",\n{outer})"
    if isinstance(value, (str, int, float, type(None))):
        return repr(value)
    return _call(value, modules, depth)


def _checkpoint(value: Checkpoint, modules: dict[str, set[str]]) -> str:
    """Formats by their ids, where they are those of the presets."""
    modules.setdefault("calc.checkpoint", set()).add("Checkpoint")
    parts = ", ".join(f"{part!r}: {_format(one, modules)}" for part, one in value.parts)
    rest = _format(value.rest, modules)
    return f"Checkpoint.of_parts({rest}, {{{parts}}})"


def _format(one: Any, modules: dict[str, set[str]]) -> str:
    if named(one.id) == one:
        modules.setdefault("calc.hf_quantization", set()).add("named")
        return f"named({one.id!r})"
    return _call(one, modules, 0)
