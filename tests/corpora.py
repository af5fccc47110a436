"""Configurations that tests read, and how many parameters they were counted to have.

`decoders.json` holds one configuration or more of each family: real ones cut down to the keys that
matter, as they stand in the file, and made-up ones that switch every flag. Counted are parameters,
by building the model without weights (transformers 5.24, or mlx-lm), cached elements per token in
full layers and in windows, and elements of recurrent states and of short convolutions.
`counts.toml` has the parameters of whole files that are not part of the project.
"""

from __future__ import annotations

import copy
import json
import os
import tomllib
from pathlib import Path
from typing import Any

_HERE = Path(__file__).parent
DECODERS: dict[str, dict[str, Any]] = json.loads((_HERE / "decoders.json").read_text())
COUNTS: dict[str, int] = tomllib.loads((_HERE / "counts.toml").read_text())


def config_of(id: str) -> dict[str, Any]:
    """The configuration of one decoder."""
    config: dict[str, Any] = copy.deepcopy(DECODERS[id]["config"])
    return config


def corpus() -> list[Path]:
    """Files of the folders that CONFIG_CORPUS names, separated as in PATH: model caches, say."""
    folders = [Path(part) for part in os.environ.get("CONFIG_CORPUS", "").split(os.pathsep) if part]
    files = [file for folder in folders for file in sorted(folder.rglob("*.json"))]
    assert files or not folders, "CONFIG_CORPUS holds no .json file"
    return files
