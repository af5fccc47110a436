"""Reads what engines reach by chip family; a class must say what it rests on."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace

from calc.engine import ENGINES, PHASES, STATUSES, Band, Constants, EngineClass
from presets.loader import Reader, cite

# Shares of a published figure, and times [s]: a class says each of them.
CONSTANTS = tuple(one.name for one in fields(Constants) if one.name != "layer_overhead")
PCIE = "reduce_latency_pcie"
MOST_SECONDS = 1e-3
FITTED = re.compile(r"20\d\d-(0[1-9]|1[0-2])")


@dataclass(frozen=True)
class Entry:
    """One class, the families and kinds of engine it is for, and its all-reduce over PCIe [s]."""

    found: EngineClass
    families: tuple[str, ...]
    engines: tuple[str, ...]
    over_pcie: float

    def linked(self, topology: str) -> EngineClass:
        """The class for a chip whose links the vendor describes so."""
        if not topology.startswith("PCIe"):
            return self.found
        constants = replace(self.found.constants, reduce_latency=self.over_pcie)
        return replace(self.found, constants=constants)


def read_engine(id: str, reader: Reader, sources: Mapping[str, str]) -> Entry:
    """One class; constants, rows, sources and date must be there."""
    spread: dict[str, tuple[float, float]] = {}
    values = {name: _constant(reader, name, sources, spread) for name in (*CONSTANTS, PCIE)}
    over_pcie = values.pop(PCIE)
    if PCIE in spread:
        spread["reduce_latency"] = spread.pop(PCIE)
    status, fitted = reader.take("status", str), reader.take("fitted", str)
    if status not in STATUSES:
        raise reader.error("status", f"{status} is not one of {', '.join(STATUSES)}")
    if not FITTED.fullmatch(fitted):
        raise reader.error("fitted", f"{fitted} is not a year and month, as 2026-11")
    engines = reader.texts("engines")
    if not engines or not set(engines) <= set(ENGINES[1:]):
        raise reader.error("engines", f"is not some of {', '.join(ENGINES[1:])}")
    families = reader.texts("families")
    if not families:
        raise reader.error("families", "is empty: a class is for some chips")
    if not spread:
        raise reader.error("", "has no spread: a fitted constant has low and high")
    bands = _bands(reader)
    found = EngineClass(
        id=id,
        name=reader.take("name", str),
        status=status,
        rows=reader.count("rows"),
        sources=reader.count("sources"),
        fitted=fitted,
        note=reader.take("note", str, ""),
        constants=Constants(**values),
        spread=spread,
        bands=bands,
    )
    reader.done()
    return Entry(found, families, engines, over_pcie)


def _constant(
    reader: Reader,
    name: str,
    sources: Mapping[str, str],
    spread: dict[str, tuple[float, float]],
) -> float:
    """One constant; its spread is noted where it is fitted."""
    fact = reader.table_of(name)
    most = MOST_SECONDS if name in ("kernel_time", "reduce_latency", PCIE) else 1.0
    value = float(fact.number("value", 0, most))
    low, high = (fact.number(end, 0, most, None) for end in ("low", "high"))
    if (low is None) != (high is None) or (low is not None and not low <= value <= high):
        raise fact.error("low", "and high do not stand around the value")
    if low is not None:
        spread[name] = float(low), float(high)
    cite(fact, sources)
    fact.done()
    return value


def _bands(reader: Reader) -> dict[str, Band]:
    """Bands by phase; a class may have none."""
    if "bands" not in reader.table:
        return {}
    table, bands = reader.table_of("bands"), {}
    for phase in list(table.table):
        if phase not in PHASES:
            raise table.error(phase, f"is not one of {', '.join(PHASES)}")
        one = table.table_of(phase)
        low, high = float(one.number("low", 0.1, 1)), float(one.number("high", 1, 10))
        bands[phase] = Band(low, high, one.count("rows"), one.count("sources"))
        one.done()
    return bands


def engines_of(entries: Mapping[str, Entry], family: str, topology: str) -> dict[str, EngineClass]:
    """The classes of a chip's family, by kind of engine, in the order of the file."""
    return {
        engine: entry.linked(topology)
        for entry in entries.values()
        if family in entry.families
        for engine in entry.engines
    }
