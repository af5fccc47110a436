"""The dimensions of a model that can be moved: figures that stand in one block or in several."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

from calc.design import edits
from calc.design.kinds import FIGURES
from calc.design.reading import Table
from calc.words import say

# Figures that can be moved, by the part they stand in.
_MOVED: Mapping[str, Collection[str]] = {
    "": ("d_model", "vocabulary"),
    "block": ("count",),
    "attention": (
        "heads", "kv_heads", "head_dim", "window", "chunk", "kv_rank", "rope_dim", "q_rank",
        "nope_dim", "value_dim", "top_k", "value_heads", "key_dim", "state", "near", "ratio",
    ),
    "feedforward": ("width", "experts", "top_k", "expert_width", "shared_width"),
}  # fmt: skip


def _ids() -> Iterator[str]:
    for part, names in _MOVED.items():
        for name in names:
            if part != "block":
                yield f"{part}.{name}".strip(".")
            yield from (f"{n}.{part}.{name}" for n in range(1, 17) if part)


# Every id that a dimension may have, of the first blocks of a model.
IDS = tuple(_ids())


@dataclass(frozen=True)
class Dimension:
    """A figure that can be moved.

    Parameters
    ----------
    id : str
        Of it within its model.
    paths : tuple of str
        Where it stands; all of them move together.
    name : str
        Of the figure, as tables call it.
    value : int
        What it is now; 0 where it is not there yet.
    low, high : int
        Its limits.
    granule : int
        What it is rounded to.
    """

    id: str
    paths: tuple[edits.Path, ...]
    name: str
    label: str
    value: int
    low: int
    high: int
    granule: int

    def rounded(self, value: float) -> int:
        """The nearest value that it may have."""
        step = self.granule
        nearest = max(step, step * round(value / step))
        return max(self.low, min(nearest, self.high // step * step))


def of(content: Table) -> dict[str, Dimension]:
    """The dimensions of a model by their ids.

    A figure that is the same in every block that has it moves in all of them; one that differs
    moves in each apart.
    """
    found: dict[str, list[edits.Entry]] = {}
    for entry in edits.of_whole(content):
        if entry.path in _MOVED[""] and entry.value:
            found[entry.path] = [entry]
    for i in range(len(content["blocks"])):
        parts = {
            "block": edits.of_block(content, i),
            "attention": edits.of_attention(content, i),
            "feedforward": edits.of_feedforward(content, i),
        }
        for part, entries in parts.items():
            for entry in entries:
                name = _name(entry)
                if name in _MOVED[part] and not entry.flag and entry.value:
                    found.setdefault(f"{part}.{name}", []).append(entry)
    dimensions = {}
    for id, entries in found.items():
        same = len({entry.value for entry in entries}) == 1 and not id.startswith("block.")
        groups = [entries] if same else [[entry] for entry in entries]
        for group in groups:
            place = "" if same else f"{_place(group[0].path)}."
            dimensions[place + id] = _dimension(content, place + id, group, same)
    return {**dimensions, **_new_window(content, dimensions)}


def _name(entry: edits.Entry) -> str:
    return entry.path.rpartition(".")[2]


def _place(path: edits.Path) -> int:
    """The number of the block that a path leads to, from 1."""
    return int(edits.steps(path)[1]) + 1


def _dimension(content: Table, id: str, group: list[edits.Entry], same: bool) -> Dimension:
    first = group[0]
    name = _name(first)
    label = say(first.label)
    if not same:
        label = say("{figure}, block {n}", figure=label, n=_place(first.path))
    granule = FIGURES[name].step
    # A figure that stands between the rounded ones is moved by what it has room for.
    while granule > 1 and (first.value % granule or granule > first.value):
        granule //= 2
    low, high = first.low, min(entry.high for entry in group)
    shared = edits.taken(content, first.path.replace(".heads", ".kv_heads"))
    if name == "heads" and shared:
        # As many for each KV head.
        low = granule = shared
    return Dimension(
        id, tuple(entry.path for entry in group), name, label, first.value, low, high, granule
    )


def _new_window(content: Table, known: Mapping[str, Dimension]) -> dict[str, Dimension]:
    """A window where no attention has any limit yet."""
    id = "attention.window"
    limited = any(other.endswith(("window", "chunk", "top_k")) and ".attention." in f".{other}"
                  for other in known)  # fmt: skip
    paths = tuple(
        f"blocks[{i}].attention.window"
        for i in range(len(content["blocks"]))
        if "window" in edits.limits(content, i)
    )
    if limited or not paths:
        return {}
    figure = FIGURES["window"]
    return {id: Dimension(id, paths, "window", say(figure.label), 0, 1, figure.high, figure.step)}


def values(
    dimension: Dimension, content: Table, most: int = 32, context: int = 8192, middle: int = 0
) -> list[int]:
    """Values to look at, the present one among them: divisors of heads, else steps by ratio.

    At most `most`, from an eighth of the `middle` to its eightfold: by default of the present one,
    and of the `context` for a window that is not there yet.
    """
    now = middle or dimension.value or context
    if dimension.name == "kv_heads":
        heads = edits.taken(content, dimension.paths[0].replace(".kv_heads", ".heads"))
        return [n for n in range(1, heads + 1) if heads % n == 0][:most]
    low, high = max(dimension.low, now / 8), min(dimension.high, now * 8)
    if high / dimension.granule - low / dimension.granule < most - 1:
        first, last = math.ceil(low / dimension.granule), math.floor(high / dimension.granule)
        found = {dimension.rounded(dimension.granule * k) for k in range(first, last + 1)}
    else:
        ratio = (high / low) ** (1 / (most - 2))
        found = {dimension.rounded(low * ratio**k) for k in range(most - 1)}
    found.add(dimension.value or now)
    return sorted(found)
