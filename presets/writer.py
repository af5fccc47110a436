"""Writes a model as the table that `presets.loader` reads.

``make model CONFIG=config.json ID=my-model`` makes a preset of a Hugging Face configuration.
"""

from __future__ import annotations

import argparse
import re
import sys
import tomllib
from dataclasses import replace
from pathlib import Path

from calc import Model, custom, hf_config
from calc.design import toml
from presets import HERE, formats, models
from presets.loader import ORDER, PresetError, Reader, read_model

IDS = re.compile(r"[a-z0-9]+([.-][a-z0-9]+)*")
HEADER = "# One table a model; blocks are equal layers, wherever they stand in the stack.\n\n"
UNSAID = "config.json, from where is not said yet"
UNCITED = "Say where it comes from: the repository and its commit."


def written(model: Model) -> str:
    """A file of one model, with what was assumed as comments and a place for its source."""
    return toml.written(model, {"sources": UNCITED} if UNSAID in model.sources else {})


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
    if not IDS.fullmatch(id) or id in (*custom.CHIP_IDS, ORDER):
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
