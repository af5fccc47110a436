"""Reads preset files into `calc` objects, and refuses what cannot be with file, key and reason."""

from __future__ import annotations

import math
import re
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import MISSING, replace
from pathlib import Path
from typing import Any

from calc import Chip, Model, NumberFormat, Price, feedforward
from calc.checkpoint import PARTS, Checkpoint
from calc.chip import FABRICS, PLAUSIBLE, RATES, Fabric
from calc.design import reading
from calc.design.table import read_block, read_feedforward
from calc.engine import EngineClass
from calc.errors import LedgerError
from calc.formats import USES
from calc.model import Resident

ORDER = "order"  # the place of a file's tables among those of others, at its top


class PresetError(LedgerError):
    """A preset file that cannot be read as meant."""

    def __init__(self, file: Path, key: str, reason: str) -> None:
        super().__init__(f"{file.name}: {key}: {reason}")


class Reader(reading.Reader):
    """One table of one file, handed out key by key; what nobody asked for is a typo."""

    def __init__(self, file: Path, key: str, table: Any) -> None:
        self.file = file
        super().__init__(key, table)

    def error(self, key: str, reason: str) -> PresetError:
        return PresetError(self.file, self.path(key), reason)

    def within(self, key: str, table: Any) -> Reader:
        return Reader(self.file, self.path(key), table)

    def count(self, key: str, default: Any = MISSING) -> int:
        """A whole number of at least 1."""
        value: int = self.take(key, int, default)
        if value is not default and value < 1:
            raise self.error(key, f"{value} is less than 1")
        return value

    def texts(self, key: str, default: Any = MISSING) -> tuple[str, ...]:
        """A list of texts."""
        values = self.take(key, list, default)
        if not all(isinstance(value, str) for value in values):
            raise self.error(key, "is not a list of texts")
        return tuple(values)


def read_tables(files: Iterable[Path]) -> Iterator[tuple[str, Reader]]:
    """Each top-level table of TOML files, in the order that lists show.

    A file says its place among the others by a whole number at its top, ``order``; files without
    one follow by name.
    """
    read = []
    for file in files:
        try:
            content = tomllib.loads(file.read_text(encoding="utf-8"))
        except tomllib.TOMLDecodeError as error:
            raise PresetError(file, "syntax", str(error)) from error
        order = content.pop(ORDER, math.inf)
        if order is not math.inf and type(order) is not int:
            raise PresetError(file, ORDER, "is not int")
        read.append((order, file.name, file, content))
    for _, _, file, content in sorted(read):
        for id, table in content.items():
            yield id, Reader(file, id, table)


def read_sources(file: Path) -> dict[str, str]:
    """Citations by id."""
    return dict(tomllib.loads(file.read_text(encoding="utf-8")))


def cite(reader: Reader, sources: Mapping[str, str]) -> tuple[str, ...]:
    """The citations that a table names; a fact without one is refused."""
    ids = reader.texts("sources")
    if not ids:
        raise reader.error("sources", "is empty: every figure has a source")
    for id in ids:
        if id not in sources:
            raise reader.error("sources", f"{id} is not in sources.toml")
    return tuple(sources[id] for id in ids)


def read_format(id: str, reader: Reader, sources: Mapping[str, str]) -> NumberFormat:
    """One number format."""
    rate = reader.take("rate", str, None)
    if rate is not None and rate not in RATES:
        raise reader.error("rate", f"{rate} is not one of {', '.join(RATES)}")
    uses = reader.texts("uses")
    if not uses or not set(uses) <= set(USES):
        raise reader.error("uses", f"is not some of {', '.join(USES)}")
    number_format = NumberFormat(
        id=id,
        name=reader.take("name", str),
        bits=float(reader.number("bits", 1, 64)),
        rate=rate,
        uses=uses,
        sources=cite(reader, sources),
        vector_scale_bytes=float(reader.number("vector_scale_bytes", 0, 64, 0.0)),
        rope_bits=reader.number("rope_bits", 1, 64, None),
        group=reader.count("group", 1),
        note=reader.take("note", str, ""),
    )
    reader.done()
    return number_format


class Facts:
    """The facts of one chip: reads `{ value, sources, note }` and remembers who said it."""

    def __init__(self, reader: Reader, sources: Mapping[str, str]) -> None:
        self.reader, self.sources = reader, sources
        self.cited: dict[str, str] = {}

    def _cite(self, name: str, fact: Reader) -> str:
        note = fact.take("note", str, "")
        said = "; ".join(cite(fact, self.sources)) + (f" ({note})" if note else "")
        fact.done()
        self.cited[name] = said
        return said

    def number(self, key: str, default: Any = MISSING) -> Any:
        """A plausible figure, or the default when the file leaves it unknown."""
        if key not in self.reader.table and default is not MISSING:
            return default
        fact = self.reader.table_of(key)
        value = fact.number("value", *PLAUSIBLE[key])
        self._cite(key, fact)
        return value

    def memory(self) -> tuple[float, float, str]:
        """What is counted, what the maker prints, and who says the first.

        The runtime's figure goes before a management tool's, and either before the maker's.
        """
        printed = float(self.number("memory"))
        if "visible_memory" not in self.reader.table:
            return printed, math.nan, "maker"
        fact = self.reader.table_of("visible_memory")
        value = float(fact.number("value", *PLAUSIBLE["visible_memory"]))
        by = fact.take("by", str)
        if by not in ("runtime", "tool"):
            raise fact.error("by", f"{by} is not runtime or tool")
        self._cite("visible_memory", fact)
        return value, printed, by

    def sizes(self) -> list[tuple[float, float, str]]:
        """Other memories that the machine is sold with, in the form of `memory`."""
        found = []
        for item in self.reader.take("sizes", list, []):
            one = self.reader.within("sizes", item)
            printed = float(one.number("value", *PLAUSIBLE["memory"]))
            visible = one.number("visible", *PLAUSIBLE["visible_memory"], None)
            self._cite(f"memory of {printed / 1e9:g} GB", one)
            seen = visible is not None
            found.append((float(visible) if seen else printed, printed if seen else math.nan,
                          "runtime" if seen else "maker"))  # fmt: skip
        return found

    def slices(self) -> tuple[int, ...]:
        """Chip counts that can be had, ascending."""
        if "slices" not in self.reader.table:
            return ()
        fact = self.reader.table_of("slices")
        counts = fact.take("value", list)
        if not counts or any(type(c) is not int or c < 1 for c in counts):
            raise fact.error("value", "is not a list of chip counts")
        self._cite("slices", fact)
        return tuple(sorted(counts))

    def peaks(self) -> dict[str, float]:
        """Dense peak rates by rate key."""
        table = self.reader.table_of("peaks")
        rates = {}
        for rate in list(table.table):
            if rate not in RATES:
                raise table.error(rate, f"is not one of {', '.join(RATES)}")
            fact = table.table_of(rate)
            rates[rate] = float(fact.number("value", *PLAUSIBLE["peak"]))
            self._cite(f"{rate} peak", fact)
        return rates

    def price(self, fact: Reader, name: str) -> Price:
        """One printed price."""
        usd = fact.number("value", *PLAUSIBLE["price"])
        return Price(float(usd), self._cite(name, fact))

    def prices(self) -> tuple[Price | None, tuple[Price, ...]]:
        """The price used, and what else was printed."""
        used = None
        if "price" in self.reader.table:
            used = self.price(self.reader.table_of("price"), "price")
        others = tuple(
            self.price(self.reader.within("other_prices", item), f"price {i}")
            for i, item in enumerate(self.reader.take("other_prices", list, []), 2)
        )
        return used, others


EnginesOf = Callable[[str, str], Mapping[str, EngineClass]]


def _no_engines(family: str, topology: str) -> Mapping[str, EngineClass]:
    return {}


def read_fabric(reader: Reader, chips_per_node: int | None) -> Fabric:
    """How chips are connected; what is not said is a switch that reaches one node."""
    table = reader.table_of("fabric") if "fabric" in reader.table else None
    node = float(chips_per_node) if chips_per_node else math.inf
    if table is None:
        return Fabric(reach=node)
    kind = table.take("kind", str)
    if kind not in FABRICS:
        raise table.error("kind", f"{kind} is not one of {', '.join(FABRICS)}")
    fabric = Fabric(
        kind,
        float(table.number("reach", 1, 1e6, math.inf if kind == "torus" else node)),
        table.count("axes", 1),
        table.count("wraps_from", 0),
    )
    table.done()
    return fabric


def read_chips(
    id: str, reader: Reader, sources: Mapping[str, str], engines: EnginesOf = _no_engines
) -> tuple[Chip, ...]:
    """One accelerator, and the same with each other memory that it is sold with.

    `engines` gives the classes of a family whose links the vendor describes so.
    """
    facts = Facts(reader, sources)
    price, other_prices = facts.prices()
    chips_per_node = facts.number("chips_per_node", None)
    (memory, printed, by), sizes = facts.memory(), facts.sizes()
    topology, family = reader.take("topology", str, ""), reader.take("family", str, "")
    classes = engines(family, topology)
    if family and not classes:
        raise reader.error("family", f"{family} is no family in engines.toml")
    chip = Chip(
        id=id,
        name=reader.take("name", str),
        vendor=reader.take("vendor", str),
        memory=memory,
        printed_memory=printed,
        memory_by=by,
        bandwidth=float(facts.number("bandwidth", math.nan)),
        peaks=facts.peaks(),
        topology=topology,
        engines=classes,
        fabric=read_fabric(reader, chips_per_node),
        link_one_way=float(facts.number("link_one_way", math.nan)),
        link_two_way=float(facts.number("link_two_way", math.nan)),
        host_link=float(facts.number("host_link", math.nan)),
        chips_per_node=chips_per_node,
        slices=facts.slices(),
        power=float(facts.number("power", math.nan)),
        price=price,
        other_prices=other_prices,
        sources=facts.cited,
        notes=reader.texts("notes", []),
    )
    reader.done()
    return chip, *(_with_memory(chip, size) for size in sizes)


def _with_memory(chip: Chip, size: tuple[float, float, str]) -> Chip:
    """A machine with another memory, which its id and name say."""
    memory, printed, by = size
    gb = round((memory if math.isnan(printed) else printed) / 1e9)
    return replace(chip, id=f"{chip.id}-{gb}gb", name=f"{chip.name}, {gb} GB", memory=memory,
                   printed_memory=printed, memory_by=by)  # fmt: skip


def read_checkpoint(reader: Reader, formats: Mapping[str, NumberFormat]) -> Checkpoint | None:
    """How a model is published: in one format, or in one for each part and the rest."""
    given = reader.take("checkpoint", (str, dict), None)
    if given is None:
        return None
    named = {"rest": given} if isinstance(given, str) else given
    for part, id in named.items():
        if id not in formats or "weights" not in formats[id].uses:
            raise reader.error("checkpoint", f"{id} is not a format of weights in formats.toml")
        if part not in ("rest", *PARTS):
            raise reader.error(f"checkpoint.{part}", f"is not one of rest, {', '.join(PARTS)}")
    if "rest" not in named:
        raise reader.error("checkpoint.rest", "is missing")
    parts = {part: formats[id] for part, id in named.items() if part != "rest"}
    return Checkpoint.of_parts(formats[named["rest"]], parts)


def read_resident(reader: Reader) -> tuple[Resident, ...]:
    """What is loaded beside the decoder, each with its parameters; 0 for not known."""
    found = []
    for item in reader.take("resident", list, []):
        one = reader.within("resident", item)
        counts = one.take("params", int, 0), one.take("routed", int, 0)
        if not 0 <= counts[1] <= counts[0]:
            raise one.error("routed", "is not within params")
        found.append(Resident(one.take("name", str), *counts))
        one.done()
    return tuple(found)


def read_hub(reader: Reader) -> str:
    """Where the weights are published: an owner and a name, or nothing."""
    hub: str = reader.take("hub", str, "")
    if hub and not re.fullmatch(r"[\w.-]+/[\w.-]+", hub, re.ASCII):
        raise reader.error("hub", f"{hub} is not an owner and a name")
    return hub


def read_model(id: str, reader: Reader, formats: Mapping[str, NumberFormat]) -> Model:
    """One decoder, whose weights are published in one of the formats, if that is said."""
    blocks = reader.take("blocks", list)
    sources = reader.texts("sources")
    if not sources:
        raise reader.error("sources", "is empty: every model has a source")
    model = Model(
        id=id,
        name=reader.take("name", str),
        d_model=reader.count("d_model"),
        vocabulary=reader.count("vocabulary"),
        tied=reader.take("tied", bool),
        blocks=tuple(
            read_block(reader.within(f"blocks[{i}]", block)) for i, block in enumerate(blocks)
        ),
        max_context=reader.count("max_context", None),
        positions=reader.count("positions", 0),
        rotary_rows=reader.count("rotary_rows", 0),
        head_bias=reader.take("head_bias", bool, False),
        lookup=reader.count("lookup", 0),
        outside=read_feedforward(reader.table_of("outside"))
        if "outside" in reader.table
        else feedforward.NO_FEEDFORWARD,
        final_norms=reader.count("final_norms", 1),
        checkpoint=read_checkpoint(reader, formats),
        resident=read_resident(reader),
        hub=read_hub(reader),
        sources=sources,
        note=reader.take("note", str, ""),
    )
    if not model.blocks:
        raise reader.error("blocks", "is empty")
    reader.done()
    return model
