"""Facts as data: models, chips and number formats by id, each figure with its source.

>>> from presets import chips
>>> chips["tpu-v5e"].bandwidth
820000000000.0
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import TypeVar

from calc import Chip, Model, NumberFormat
from calc.drafts import Report
from calc.plan import Offer
from presets.drafts import read_report
from presets.engines import engines_of, read_engine
from presets.loader import (
    PresetError,
    Reader,
    read_chips,
    read_format,
    read_model,
    read_sources,
    read_tables,
)
from presets.offers import read_offer

__all__ = ["PresetError", "chips", "drafts", "formats", "load", "measured", "models", "offers"]

T = TypeVar("T")
HERE = Path(__file__).parent


def load(files: Iterable[Path], read: Callable[[str, Reader], T]) -> Mapping[str, T]:
    """Every table of every file, read once; an id may stand in one place only."""
    items: dict[str, T] = {}
    for id, reader in read_tables(files):
        if id in items:
            raise PresetError(reader.file, id, "is defined in another file too")
        items[id] = read(id, reader)
    return MappingProxyType(items)


_sources = read_sources(HERE / "sources.toml")

formats: Mapping[str, NumberFormat] = load(
    [HERE / "formats.toml"], lambda id, reader: read_format(id, reader, _sources)
)
_engines = load([HERE / "engines.toml"], lambda id, reader: read_engine(id, reader, _sources))
_machines = load(
    (HERE / "chips").glob("*.toml"),
    lambda id, reader: read_chips(id, reader, _sources, partial(engines_of, _engines)),
)
chips: Mapping[str, Chip] = MappingProxyType(
    {chip.id: chip for machine in _machines.values() for chip in machine}
)
models: Mapping[str, Model] = load(
    (HERE / "models").glob("*.toml"), lambda id, reader: read_model(id, reader, formats)
)
offers: Mapping[str, Offer] = load([HERE / "offers.toml"], read_offer)
drafts: Mapping[str, Report] = load(
    [HERE / "drafts.toml"], lambda id, reader: read_report(id, reader, _sources)
)
