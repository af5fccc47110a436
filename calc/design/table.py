"""A model as a plain table of what is not at its default, and back.

Presets, links and the Model page hold models in this one form. It has names and numbers only, so
that JSON and TOML carry it, and an edit puts a value at a path: ``blocks[0].attention.heads``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import MISSING, fields
from typing import Any, get_type_hints

from calc import feedforward, hf_quantization, hf_resident
from calc.attention import NO_ATTENTION, Around, Attention, StatedCache
from calc.checkpoint import Checkpoint
from calc.design.kinds import (
    AROUND,
    ATTENTION,
    FEEDFORWARD,
    FIGURES,
    KEYS,
    NAMES,
    figures_of,
    is_flag,
    lowest,
)
from calc.design.reading import Reader, Table, TableError
from calc.feedforward import NO_FEEDFORWARD, Beside, FeedForward
from calc.model import Block, Model, Resident
from calc.words import marked, say

LARGEST_MODEL = 10**14
MOST_BLOCKS = 64
# Figures of the whole model that have a default, in its order.
WHOLE: Mapping[str, Any] = {
    field.name: field.default
    for field in fields(Model)
    if field.type in ("int", "bool", "int | None") and field.default is not MISSING
}
DEEPEST = 8  # things beside a feed-forward layer


def written(model: Model) -> Table:
    """The table that `read` makes the same model of; what it was assumed or cited from is left out.

    >>> from calc import attention
    >>> layer = Block(2, attention.GroupedQuery(4, 2, 16), feedforward.Dense(128))
    >>> written(Model("m", "M", 64, 100, True, (layer,)))["blocks"][0]["feedforward"]
    {'kind': 'dense', 'width': 128}
    """
    table: Table = {"d_model": model.d_model, "vocabulary": model.vocabulary, "tied": model.tied}
    for name, default in WHOLE.items():
        if getattr(model, name) != default:
            table[name] = getattr(model, name)
    if model.outside != NO_FEEDFORWARD:
        table["outside"] = feedforward_table(model.outside)
    if model.checkpoint:
        table["checkpoint"] = hf_quantization.written(model.checkpoint)
    if model.resident:
        table["resident"] = hf_resident.written(model.resident)
    return {**table, "blocks": [block_table(block) for block in model.blocks]}


def said(thing: Any) -> Table:
    """The figures of a block or kind that are not at their defaults."""
    defaults = {field.name: field.default for field in figures_of(type(thing))}
    values = {name: getattr(thing, name) for name in defaults}
    return {name: value for name, value in values.items() if value != defaults[name]}


def block_table(block: Block) -> Table:
    """One block of equal layers; a part that it has none of is left out."""
    table = {
        key: value for key, value in said(block).items() if key not in ("attention", "feedforward")
    }
    if block.attention != NO_ATTENTION:
        table["attention"] = attention_table(block.attention)
    if block.feedforward != NO_FEEDFORWARD:
        table["feedforward"] = feedforward_table(block.feedforward)
    return table


def attention_table(layer: Attention) -> Table:
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


def feedforward_table(layer: FeedForward) -> Table:
    """A feed-forward layer, and what stands beside it."""
    if isinstance(layer, Beside):
        return {**feedforward_table(layer.first), "beside": feedforward_table(layer.second)}
    return {"kind": NAMES[type(layer)], **said(layer)}


def read(table: Mapping[str, Any], *, id: str = "custom", name: str = "") -> Model:
    """The model of a table.

    Parameters
    ----------
    table : mapping
        As `written` makes it: a stranger's, perhaps.
    id, name : str
        What to call the model.

    Raises
    ------
    TableError
        If something is missing, of the wrong kind, outside its limits, or not known here; with the
        path of what it is.
    """
    reader = Reader("", dict(table))
    stated = is_stated(table)
    least = 0 if stated else 1
    model = Model(
        id=id,
        name=name,
        d_model=_figure(reader, "d_model", least),
        vocabulary=_figure(reader, "vocabulary", least),
        tied=reader.take("tied", bool),
        **_whole(reader),
        outside=read_feedforward(reader.table_of("outside"))
        if "outside" in reader.table
        else NO_FEEDFORWARD,
        checkpoint=_checkpoint(reader),
        resident=_resident(reader),
        blocks=_blocks(reader),
    )
    reader.done()
    if not 0 < model.held_params <= LARGEST_MODEL:
        raise TableError(
            "", say("The model has {n:,} parameters, not 1 to {most:,}", n=model.held_params,
                    most=LARGEST_MODEL)
        )  # fmt: skip
    return model


def _whole(reader: Reader) -> dict[str, Any]:
    """The figures of the whole model that have a default."""
    return {
        name: reader.take(name, bool, default)
        if isinstance(default, bool)
        else _figure(reader, name, 1 if default is None else 0, default)
        for name, default in WHOLE.items()
    }


def is_stated(table: Mapping[str, Any]) -> bool:
    """Whether all that is known of a model are totals."""
    blocks = table.get("blocks")
    return isinstance(blocks, list) and all(
        isinstance(block, dict)
        and all(
            isinstance(part, dict) and part.get("kind") == "stated"
            for part in (block.get("attention"), block.get("feedforward"))
            if part is not None
        )
        for block in blocks
    )


def _figure(reader: Reader, key: str, low: int, *default: Any) -> int:
    return reader.whole(key, low, FIGURES[key].high, *default)


def _checkpoint(reader: Reader) -> Checkpoint | None:
    given = reader.take("checkpoint", (dict, str), None)
    found = hf_quantization.from_written(given) if given is not None else None
    if given is not None and found is None:
        raise reader.error("checkpoint", say("does not say how weights are stored"))
    return found


def _resident(reader: Reader) -> tuple[Resident, ...]:
    given = reader.take("resident", dict, {})
    found = hf_resident.from_written(given)
    if found is None:
        raise reader.error("resident", say("does not say what is loaded beside the decoder"))
    return found


def _blocks(reader: Reader) -> tuple[Block, ...]:
    blocks = reader.take("blocks", list)
    if not 0 < len(blocks) <= MOST_BLOCKS:
        raise reader.error("blocks", say("are not 1 to {most}", most=MOST_BLOCKS))
    found = tuple(read_block(reader.within(f"blocks[{i}]", one)) for i, one in enumerate(blocks))
    if not any(not block.beside for block in found):
        raise reader.error("blocks", say("all run beside another"))
    return found


def read_block(reader: Reader) -> Block:
    """One block of equal layers; without attention or without feed-forward, as the table says."""
    norms = _figure(reader, "norms", 0, 2)
    if norms and not {"attention", "feedforward"} & set(reader.table):
        raise reader.error("attention", say("and feedforward are both missing"))
    block = Block(
        count=_figure(reader, "count", 1),
        attention=read_attention(reader.table_of("attention"))
        if "attention" in reader.table
        else NO_ATTENTION,
        feedforward=read_feedforward(reader.table_of("feedforward"))
        if "feedforward" in reader.table
        else NO_FEEDFORWARD,
        norms=norms,
        beside=reader.take("beside", bool, False),
        weight_sets=_figure(reader, "weight_sets", 0, 0),
    )
    reader.done()
    return block


def read_attention(reader: Reader) -> Attention:
    """An attention layer, and what limits or shares it."""
    around = {key: _read_around(reader, key, kind) for key, kind in AROUND.items()}
    layer: Attention = _read_layer(reader, ATTENTION)
    reader.done()
    for key, figures in around.items():
        if figures is None:
            continue
        kind = AROUND[key]
        if isinstance(layer, StatedCache) or not isinstance(layer, get_type_hints(kind)["inner"]):
            raise reader.error(key, say("does not go around {layer}", layer=layer.label))
        layer = kind(inner=layer, **figures)
    return layer


def read_feedforward(reader: Reader, depth: int = 0) -> FeedForward:
    """A feed-forward layer, and what may stand beside it."""
    if depth > DEEPEST:
        raise reader.error("", say("has too much beside it"))
    beside = reader.table_of("beside") if "beside" in reader.table else None
    layer: FeedForward = _read_layer(reader, FEEDFORWARD)
    reader.done()
    return (
        layer if beside is None else feedforward.Beside(layer, read_feedforward(beside, depth + 1))
    )


def _read_layer(reader: Reader, kinds: Mapping[str, type]) -> Any:
    """A layer: its kind names a class, its keys are the fields of the class."""
    kind = reader.take("kind", str)
    if kind not in kinds:
        raise reader.error(
            "kind", say("{kind} is not one of {kinds}", kind=kind[:40], kinds=", ".join(kinds))
        )
    figures = _read_figures(reader, kinds[kind])
    for key, reason in misfits(figures):
        raise reader.error(key, reason)
    return kinds[kind](**figures)


def _read_figures(reader: Reader, kind: type) -> Table:
    """The figures of a kind, each under its field's name."""
    figures: Table = {}
    for field in figures_of(kind):
        if is_flag(field):
            figures[field.name] = reader.take(field.name, bool, field.default)
        else:
            figures[field.name] = _figure(reader, field.name, lowest(field), field.default)
    return figures


def _read_around(reader: Reader, key: str, kind: type) -> Table | None:
    """The figures of a kind around a layer, None without it: true, a count, or a table of them."""
    if key not in reader.table:
        return None
    match figures_of(kind):
        case []:
            return {} if reader.take(key, bool) else None
        case [field]:
            return {field.name: _figure(reader, key, lowest(field))}
    table = reader.table_of(key)
    figures = _read_figures(table, kind)
    table.done()
    return figures


# Figures of a layer that must go together: their names, whether they do, and what is said if not.
RULES: tuple[tuple[tuple[str, str], Callable[[Any, Any], Any], str], ...] = (
    (
        ("kv_heads", "heads"),
        lambda kv_heads, heads: heads % kv_heads == 0,
        marked("{kv_heads:,} KV heads do not divide {heads:,} query heads"),
    ),
    (
        ("top_k", "experts"),
        lambda top_k, experts: top_k <= experts,
        marked("top-k {top_k:,} is more than the {experts:,} experts"),
    ),
)


def misfits(figures: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Figures of a layer that do not go together, and why."""
    for names, fits, message in RULES:
        values = {name: figures.get(name) for name in names}
        if None not in values.values() and not fits(*values.values()):
            yield names[0], say(message, **values)
