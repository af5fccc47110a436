"""Writes a model as the table that `presets.loader` reads.

``make model CONFIG=config.json ID=my-model`` makes a preset of a Hugging Face configuration. It
needs tomlkit, which is installed for development only.
"""

from __future__ import annotations

import argparse
import re
import sys
import tomllib
from collections.abc import Mapping
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import tomlkit
from tomlkit.items import InlineTable, Table

from calc import Block, Model, custom, feedforward, hf_config
from calc.attention import NO_ATTENTION, Around, Attention
from calc.checkpoint import Checkpoint
from calc.feedforward import NO_FEEDFORWARD, Beside, FeedForward
from calc.model import Resident
from presets import HERE, formats, models
from presets.loader import AROUND, KINDS, ORDER, PresetError, Reader, figures_of, read_model

NAMES = {kind: name for name, kind in (*KINDS.items(), *feedforward.KINDS.items())}
KEYS = {kind: key for key, kind in AROUND.items()}

IDS = re.compile(r"[a-z0-9]+([.-][a-z0-9]+)*")
HEADER = "# One table a model; blocks are equal layers, wherever they stand in the stack.\n\n"
UNSAID = "config.json, from where is not said yet"


def written(model: Model) -> str:
    """A file of one model, with what was assumed as comments and a place for its source."""
    table = tomlkit.table()
    for assumption in model.assumptions:
        table.add(tomlkit.comment(f"Assumed: {assumption}"))
    for key, value in said(model).items():
        if key not in ("id", "blocks", "assumptions", "sources"):
            table.add(key, plain(value))
    if UNSAID in model.sources:
        table.add(tomlkit.comment("Say where it comes from: the repository and its commit."))
    table.add("sources", tomlkit.item(list(model.sources)).multiline(True))
    blocks = tomlkit.aot()
    for block in model.blocks:
        blocks.append(block_table(block))
    table.add("blocks", blocks)
    return tomlkit.dumps({model.id: table})


def said(thing: Any) -> dict[str, Any]:
    """The fields of a model, block or kind that are not at their defaults."""
    values = {field.name: getattr(thing, field.name) for field in figures_of(type(thing))}
    defaults = {field.name: field.default for field in fields(thing)}
    return {name: value for name, value in values.items() if value != defaults[name]}


def plain(value: Any) -> Any:
    """A value as TOML holds it."""
    match value:
        case Checkpoint(rest, ()):
            return rest.id
        case Checkpoint(rest, parts):
            return inline({"rest": rest.id, **{part: one.id for part, one in parts}})
        case (Resident(), *_):
            return [inline({"name": one.name, **said(one)}) for one in value]
        case Attention():
            return inline(attention_table(value))
        case FeedForward():
            return inline(feedforward_table(value))
    return value


def block_table(block: Block) -> Table:
    """One block of equal layers; a part that it has none of is left out."""
    table = tomlkit.table()
    for key, value in said(block).items():
        if value not in (NO_ATTENTION, NO_FEEDFORWARD):
            table.add(key, plain(value))
    return table


def attention_table(layer: Attention) -> dict[str, Any]:
    """An attention layer: its kind and figures, then a key for each kind that stands around it."""
    if not isinstance(layer, Around):
        return {"kind": NAMES[type(layer)], **said(layer)}
    value: Any = said(layer)
    match figures_of(type(layer)):
        case []:
            value = True
        case [field]:
            value = getattr(layer, field.name)
    return {**attention_table(layer.inner), KEYS[type(layer)]: value}


def feedforward_table(layer: FeedForward) -> dict[str, Any]:
    """A feed-forward layer, and what stands beside it."""
    if isinstance(layer, Beside):
        return {**feedforward_table(layer.first), "beside": feedforward_table(layer.second)}
    return {"kind": NAMES[type(layer)], **said(layer)}


def inline(content: Mapping[str, Any]) -> InlineTable:
    """A table on one line, and those within it."""
    table = tomlkit.inline_table()
    for key, value in content.items():
        table.append(key, inline(value) if isinstance(value, dict) else value)
    return table


def add(
    config: str, id: str, folder: Path, *, name: str = "", source: str = "", hub: str = ""
) -> Path:
    """Write a new file of one model into `folder`, from the text of a ``config.json``.

    Raises
    ------
    ConfigError
        If the configuration describes no decoder known here.
    PresetError
        If the id cannot be used or is taken, or if a table cannot say what the model is.
    """
    file = folder / f"{id}.toml"
    if not IDS.fullmatch(id) or id in (custom.ID, ORDER):
        raise PresetError(file, id, "is not an id of lower-case letters, digits, hyphens and dots")
    if id in models or file.exists():
        raise PresetError(file, id, "is there already")
    model = hf_config.parse(config, id=id, name=name)
    text = HEADER + written(replace(model, hub=hub, sources=(source or UNSAID,)))
    if read_model(id, Reader(file, id, tomllib.loads(text)[id]), formats) != model:
        raise PresetError(file, id, "would not read back as the model that the configuration gives")
    with file.open("x", encoding="utf-8") as new:
        new.write(text)
    return file


def main(arguments: list[str], folder: Path = HERE / "models") -> None:
    """The command: prints the file that it wrote, or ends with a sentence that says why not."""
    parser = argparse.ArgumentParser(prog="make model", description="A preset of a config.json.")
    parser.add_argument("config", type=Path)
    parser.add_argument("id")
    parser.add_argument("--name", default="", help="shown to people; by default its type and size")
    parser.add_argument("--source", default="", help="where the file comes from")
    parser.add_argument("--hub", default="", help="owner/name of the weights on the hub")
    given = parser.parse_args(arguments)
    try:
        text = given.config.read_text(encoding="utf-8")
        named = {"name": given.name, "source": given.source, "hub": given.hub}
        print(add(text, given.id, folder, **named))
    except (OSError, ValueError) as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main(sys.argv[1:])
