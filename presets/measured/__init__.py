"""Public measurements, each with its source; read when somebody asks.

`points.csv` has a row for each, under the names of `calc.measured`; an empty one says nothing.
`sources.csv` says who published them, and `at` in which place of the source a row stands.

>>> from presets import measured
>>> len(measured.rows())
1240
"""

from __future__ import annotations

import csv
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from calc.measured import Reading, Row, reading
from presets import chips, formats, models
from presets.loader import PresetError

# What ran them, and when they were published: known without reading them.
ENGINES = (
    "vLLM", "SGLang", "TensorRT-LLM", "llama.cpp", "gpt-fast", "LMDeploy", "TGI", "MLC", "MLX",
    "exllama", "JetStream", "Gaudi", "Neuron", "DeepSeek", "tt-metal",
)  # fmt: skip
YEARS = ("2026", "2025", "2024", "2023")

HERE = Path(__file__).parent


def rows() -> tuple[Row, ...]:
    """Every measurement that can be mapped to presets."""
    return table().rows


@cache
def table() -> Reading:
    """All rows: those that can be mapped to presets, and why others cannot."""
    catalogues = {"models": models, "chips": chips, "formats": formats}
    sources = {one["source"]: one for one in _read("sources.csv")}
    return reading((_cited(one, sources) for one in _read("points.csv")), catalogues)


def _read(name: str) -> Iterator[dict[str, Any]]:
    with (HERE / name).open(encoding="utf-8", newline="") as file:
        yield from csv.DictReader(file, strict=True)


def _cited(row: dict[str, Any], sources: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """A row with its source in words."""
    if row["source"] not in sources:
        raise PresetError(HERE / "points.csv", row["id"], f"{row['source']} is not in sources.csv")
    source, at = sources[row["source"]], row.pop("at")
    reference = f"{source['reference']}, {at}" if at else source["reference"]
    return row | {"source": source["name"], "reference": reference}
