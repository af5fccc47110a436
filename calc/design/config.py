"""A model as the ``config.json`` of a family that can express it.

Every family is offered what the model has, under the usual keys and its own spelling of them; the
first that reads the same model from it can express it, and what it read is the file.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

from calc import hf_config, hf_quantization, hf_resident
from calc.design import config_keys
from calc.hf_families import FAMILIES
from calc.hf_keys import ConfigError
from calc.model import Block, Model


@lru_cache(maxsize=64)
def written(model: Model) -> str | None:
    """The text of a ``config.json`` that gives the model; None where no family can express it.

    How weights are stored and what lies beside the decoder stand in it as in compact files.
    """
    orders = (_interleaved, _in_order, _alternating)
    # What gives the same layers is asked once.
    for layers in {order(model.blocks): None for order in orders}:
        offered = {**config_keys.offered(model, layers), **_beside(model)}
        for kind, family in FAMILIES.items():
            own = {family.spelling[key]: offered[key] for key in family.spelling if key in offered}
            content = {"model_type": kind, **offered, **own}
            try:
                if _same(hf_config.parse(content, id=model.id, name=model.name or kind), model):
                    return json.dumps(_used(content), indent=2)
            except (ConfigError, TypeError, AttributeError, KeyError):
                # A family may read a key in a way of its own.
                continue
    return None


def _same(one: Model, other: Model) -> bool:
    """Whether two models are of the same layers."""
    return replace(one, id=other.id, name=other.name) == other


def _used(content: Mapping[str, Any]) -> dict[str, Any]:
    """What of a configuration decides the model, lists in full."""
    kept = hf_config.compact(content)
    return {key: content.get(key, value) for key, value in kept.items()}


def _in_order(blocks: Sequence[Block]) -> tuple[Block, ...]:
    """A block for each layer, those of one block together."""
    return tuple(block for block in blocks if not block.beside for _ in range(block.count))


def _alternating(blocks: Sequence[Block]) -> tuple[Block, ...]:
    """Layers with experts and layers without in turn, as many of each."""
    layers = _in_order(blocks)
    sparse = [block for block in layers if config_keys.has_experts(block.feedforward)]
    plain = [block for block in layers if not config_keys.has_experts(block.feedforward)]
    if len(sparse) != len(plain):
        return layers
    return tuple(block for pair in zip(plain, sparse, strict=True) for block in pair)


def _interleaved(blocks: Sequence[Block]) -> tuple[Block, ...]:
    """A block for each layer, evenly spread where two differ in nothing but their attention."""
    found: list[Block] = []
    for feedforward in dict.fromkeys(block.feedforward for block in blocks):
        group = [one for one in blocks if one.feedforward == feedforward and not one.beside]
        found += _pair(*group) if len(group) == 2 else _in_order(group)
    return tuple(found)


def _pair(first: Block, second: Block) -> Iterator[Block]:
    """Layers of two blocks, each of the fewer at one end of its share of the others."""
    few, many = sorted((first, second), key=lambda block: block.count)
    total = first.count + second.count
    if few is first:
        places = {k * total // few.count for k in range(few.count)}
    else:
        places = {(k + 1) * total // few.count - 1 for k in range(few.count)}
    return (few if i in places else many for i in range(total))


def _beside(model: Model) -> dict[str, Any]:
    """What compact files have of the checkpoint and of what is loaded beside the decoder."""
    found: dict[str, Any] = {}
    if model.checkpoint:
        found[hf_config.CHECKPOINT] = hf_quantization.written(model.checkpoint)
    if model.resident:
        found[hf_config.RESIDENT] = hf_resident.written(model.resident)
    return found
