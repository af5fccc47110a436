"""Edits of a model's table: a value at a path, and blocks added, copied, split and removed.

Every edit gives a new table. `settled` makes one valid: it takes what can be
taken and says of the rest, in a sentence, why it waits.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

from calc.attention import StatedCache
from calc.design import starts, table
from calc.design.kinds import (
    AROUND,
    ATTENTION,
    FEEDFORWARD,
    FIGURES,
    figures_of,
    is_flag,
    lowest,
    needed,
)
from calc.design.reading import Table, TableError
from calc.errors import LedgerError
from calc.model import Block
from calc.words import say

Path = str


class EditError(LedgerError):
    """An edit that cannot be made, and why."""


def steps(path: Path) -> list[str | int]:
    """The keys and places that a path leads along.

    >>> steps("blocks[0].attention.heads")
    ['blocks', 0, 'attention', 'heads']
    """
    found: list[str | int] = []
    for part in path.split("."):
        name, _, place = part.partition("[")
        found.append(name)
        if place:
            found.append(int(place.rstrip("]")))
    return found


def taken(content: Table, path: Path, default: Any = None) -> Any:
    """What stands at a path."""
    value: Any = content
    for step in steps(path):
        try:
            value = value[step]
        except (KeyError, IndexError, TypeError):
            return default
    return value


def put(content: Table, values: Mapping[Path, Any]) -> Table:
    """The table with values at paths; None takes out what stands there.

    Raises
    ------
    EditError
        If a path leads nowhere.
    """
    edited = deepcopy(content)
    for path, value in values.items():
        *way, last = steps(path)
        place: Any = edited
        try:
            for step in way:
                place = place[step]
            if value is None:
                place.pop(last, None)
            else:
                place[last] = value
        except (KeyError, IndexError, TypeError, AttributeError) as error:
            raise EditError(say("{path} is not there", path=path)) from error
    return edited


def canonical(content: Table) -> Table:
    """The table as `table.written` has it.

    Raises
    ------
    TableError
        If it gives no model.
    """
    return table.written(table.read(content))


def settled(content: Table, wanted: Mapping[Path, Any]) -> tuple[Table, dict[Path, str]]:
    """A valid table with as many of the wanted values as go together, and why the others wait.

    Parameters
    ----------
    content : Table
        That gives a model.
    wanted : mapping
        Values by path, the newest last: what waited before is tried again with it.
    """
    try:
        return canonical(put(content, wanted)), {}
    except LedgerError:
        pass
    waiting = dict(reversed(list(wanted.items())))
    reasons: dict[Path, str] = {}
    moved = True
    while moved:
        moved = False
        for path, value in list(waiting.items()):
            try:
                content = canonical(put(content, {path: value}))
            except TableError as error:
                reasons[path] = error.reason
            except LedgerError as error:
                reasons[path] = str(error)
            else:
                del waiting[path]
                moved = True
    return content, {path: reasons[path] for path in reversed(waiting)}


@dataclass(frozen=True)
class Entry:
    """A figure that can be edited.

    Parameters
    ----------
    path : str
        Where it stands.
    label : str
        What it is called, marked for translation.
    value : int or bool
        What it is now.
    low, high : int
        Its limits; 0 and 1 for a yes or no.
    extra : bool
        Whether most models do without it.
    """

    path: Path
    label: str
    value: Any
    low: int
    high: int
    extra: bool

    @property
    def step(self) -> int:
        """What a control moves it by."""
        return FIGURES[self.path.rpartition(".")[2]].step

    @property
    def flag(self) -> bool:
        """Whether it is a yes or no."""
        return isinstance(self.value, bool)


def _entries(content: Table, path: Path, kind: type) -> Iterator[Entry]:
    """The figures of a kind whose table stands at a path."""
    at = taken(content, path, {})
    for field in figures_of(kind):
        if field.name in ("attention", "feedforward"):
            continue
        value = at.get(field.name, None if needed(field) else field.default)
        extra = not needed(field) and value == field.default
        figure = FIGURES[field.name]
        low, high = (0, 1) if is_flag(field) else (lowest(field), figure.high)
        yield Entry(f"{path}.{field.name}", figure.label, value, low, high, extra)


def of_block(content: Table, i: int) -> list[Entry]:
    """The figures of a block itself."""
    return list(_entries(content, f"blocks[{i}]", Block))


def of_attention(content: Table, i: int) -> list[Entry]:
    """The figures of a block's attention and of what stands around it; none where it has none."""
    path = f"blocks[{i}].attention"
    given = taken(content, path)
    if given is None:
        return []
    found = list(_entries(content, path, ATTENTION[given["kind"]]))
    for key in AROUND:
        if key not in given:
            continue
        figures = figures_of(AROUND[key])
        if isinstance(given[key], dict):
            found += _entries(content, f"{path}.{key}", AROUND[key])
        elif figures:
            figure = FIGURES[figures[0].name]
            found.append(
                Entry(f"{path}.{key}", figure.label, given[key], lowest(figures[0]), figure.high,
                      False)
            )  # fmt: skip
    return found


def of_feedforward(content: Table, i: int) -> list[Entry]:
    """The figures of a block's feed-forward part and of what stands beside it."""
    return list(_feedforward(content, f"blocks[{i}].feedforward"))


def _feedforward(content: Table, path: Path) -> Iterator[Entry]:
    given = taken(content, path)
    if given is not None:
        yield from _entries(content, path, FEEDFORWARD[given["kind"]])
        yield from _feedforward(content, f"{path}.beside")


def of_whole(content: Table) -> list[Entry]:
    """The figures of the model around its blocks."""
    least = 0 if table.is_stated(content) else 1
    found = []
    # What every model has, and up to which context it goes, before what most do without.
    for name in dict.fromkeys(("d_model", "vocabulary", "max_context", "tied", *table.WHOLE)):
        default = table.WHOLE.get(name)
        value = content.get(name, default)
        usual = name in table.WHOLE and default is not None and value == default
        low, high = (0, 1) if isinstance(value, bool) else (0, FIGURES[name].high)
        if name in ("d_model", "vocabulary", "max_context"):
            low = least
        found.append(Entry(name, FIGURES[name].label, value, low, high, usual))
    return found


def _blocks(content: Table, i: int) -> list[Table]:
    blocks: list[Table] = deepcopy(content["blocks"])
    if not 0 <= i < len(blocks):
        raise EditError(say("there is no block {n}", n=i + 1))
    return blocks


def copied(content: Table, i: int) -> Table:
    """With a copy of a block behind it."""
    blocks = _blocks(content, i)
    blocks.insert(i + 1, deepcopy(blocks[i]))
    return canonical({**content, "blocks": blocks})


def removed(content: Table, i: int) -> Table:
    """Without a block.

    Raises
    ------
    LedgerError
        If it is the only one, or all others run beside one.
    """
    blocks = _blocks(content, i)
    del blocks[i]
    return canonical({**content, "blocks": blocks})


def split(content: Table, i: int, every: int) -> Table:
    """With every so-many-th layer of a block in a block of its own, equal so far.

    Raises
    ------
    EditError
        If the block has too few layers.
    """
    blocks = _blocks(content, i)
    count = blocks[i]["count"]
    apart = count // every if every > 0 else 0
    if not 0 < apart < count:
        raise EditError(
            say("{n:,} layers have no {k:,}-th that could be split off", n=count, k=every)
        )
    kept = {"weight_sets": 0} if blocks[i].get("weight_sets") else {}
    rest = {**blocks[i], **kept, "count": count - apart}
    blocks[i : i + 1] = [rest, {**deepcopy(blocks[i]), **kept, "count": apart}]
    return canonical({**content, "blocks": blocks})


def _part(content: Table, i: int, part: str, kind: str, kinds: Sequence[str]) -> tuple[Path, Block]:
    """Where a part of a block stands, and the block, if the part may be of a kind."""
    if kind not in ("", *kinds) or not 0 <= i < len(content["blocks"]):
        raise EditError(say("a block cannot be given this kind"))
    return f"blocks[{i}].{part}", table.read(content).blocks[i]


def attention_kind(content: Table, i: int, kind: str) -> Table:
    """With another kind of attention in a block, of figures like those it had; empty for none."""
    path, block = _part(content, i, "attention", kind, starts.ATTENTION_KINDS)
    if not kind:
        return canonical(put(content, {path: None}))
    started = starts.attention(kind, starts.heads_of(block.attention, content["d_model"]),
                               content["d_model"])  # fmt: skip
    return canonical(put(content, {path: table.attention_table(started)}))


def feedforward_kind(content: Table, i: int, kind: str) -> Table:
    """With another kind of feed-forward part in a block, of like size; empty for none."""
    path, block = _part(content, i, "feedforward", kind, starts.FEEDFORWARD_KINDS)
    if not kind:
        return canonical(put(content, {path: None}))
    started = starts.feedforward(kind, block.feedforward, content["d_model"])
    return canonical(put(content, {path: table.feedforward_table(started)}))


def around(content: Table, i: int, key: str) -> Table:
    """With one limit, or none, to what a block's attention sees of its cache."""
    path = f"blocks[{i}].attention"
    cleared = {f"{path}.{other}": None for other in starts.LIMITS}
    added = {f"{path}.{key}": starts.LIMITS[key]} if key else {}
    return canonical(put(content, {**cleared, **added}))


def limits(content: Table, i: int) -> list[str]:
    """The limits that go around a block's attention."""
    layer = table.read(content).blocks[i].attention.core
    to_images = taken(content, f"blocks[{i}].attention.cross")
    if layer is None or isinstance(layer, StatedCache) or to_images:
        return []
    return [key for key in starts.LIMITS if starts.goes_around(key, layer)]


def differences(before: Table, after: Table) -> list[tuple[str, int, Any, Any]]:
    """Figures in which two models differ: label, block from 1 or 0 for none, and both values.

    A figure that one of them does not have is None in it. Blocks are held against each other in
    their order; none are where their numbers differ.
    """
    found: list[tuple[str, int, Any, Any]] = [
        (one.label, 0, one.value, other.value)
        for one, other in zip(of_whole(before), of_whole(after), strict=True)
        if one.value != other.value
    ]
    if len(before["blocks"]) != len(after["blocks"]):
        return found
    for i in range(len(after["blocks"])):
        for part in (of_block, of_attention, of_feedforward):
            old, new = ({e.path: e for e in part(content, i)} for content in (before, after))
            for path in {**old, **new}:
                was, now = (side[path].value if path in side else None for side in (old, new))
                if was != now:
                    found.append(((new.get(path) or old[path]).label, i + 1, was, now))
    return found
