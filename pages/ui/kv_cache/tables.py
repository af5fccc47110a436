"""Tables of the KV cache page."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from calc import Model, Scenario, memory, paging
from calc.variants import caching_layers
from calc.words import say
from pages.ui.writing import tables, text, written


def variants(scenario: Scenario, compared: Mapping[str, Model]) -> tables.Table:
    """Each attention kind: its cache, against MHA, what fits, what is read."""
    kv, context = scenario.kv_format, scenario.context
    many = compared.get("MHA", scenario.model)
    whole = float(many.kv_bytes(context, kv))
    rows = []
    for name, model in compared.items():
        s = replace(scenario, model=model)
        kept = float(model.kv_bytes(context, kv))
        rows.append(
            [
                text.plain(say(name)),
                text.kibibytes(model.kv_bytes_per_token(kv) / caching_layers(model)),
                text.kibibytes(model.kv_bytes_per_token(kv)),
                text.si(kept, "B"),
                f"1 / {text.significant(whole / kept)}" if kept else "",
                text.si(float(model.kv_bytes_read(context, kv)), "B"),
                written.batches(s, int(memory.max_batch(s))),
            ]
        )
    head = [say("Attention"), say("Per token and layer"), say("Per token"),
            say("Kept per sequence"), say("Against MHA"), say("Read per step"),
            say("Sequences that fit")]  # fmt: skip
    return tables.table(head, rows)


def caches(scenario: Scenario) -> tables.Table:
    """Each group of equal layers: what it caches and what it reads."""
    kv, context = scenario.kv_format, scenario.context
    rows = []
    for block in scenario.model.blocks:
        attention = block.attention
        rows.append(
            [
                text.plain(say(attention.label)),
                text.count(block.count),
                attention.kv_elements_written,
                text.kibibytes(attention.kv_bytes_per_token(kv)),
                text.si(float(attention.kv_bytes(context, kv)), "B"),
                text.si(block.count * float(attention.kv_bytes(context, kv)), "B"),
                text.si(block.count * float(attention.kv_bytes_read(context, kv)), "B"),
            ]
        )
    head = [say("Layers"), say("Count"), say("Elements per token"), say("Per token and layer"),
            say("Kept per layer"), say("Kept in all"), say("Read per step")]  # fmt: skip
    return tables.table(head, rows)


def paging_table(scenario: Scenario, mean: int, longest: int, block: int) -> str:
    """Contiguous reservation and blocks: use, waste, and what the waste weighs."""
    head = [say("Reservation"), say("In use"), say("Empty per sequence"), say("Empty bytes")]
    return tables.markdown(head, _paging_rows(scenario, mean, longest, block), " rrr")


def _paging_rows(scenario: Scenario, mean: int, longest: int, block: int) -> list[list[str]]:
    """Contiguous reservation and blocks: use, waste, and what the waste weighs."""
    each = scenario.model.kv_bytes_per_token(scenario.kv_format)
    contiguous = float(paging.contiguous_utilisation(min(mean, longest), longest))
    paged = float(paging.paged_utilisation(mean, block))
    groups, size = paging.page_groups(scenario.model)
    unused = longest - min(mean, longest)
    expected, worst = paging.expected_waste(block), paging.worst_waste(block)

    def row(name: str, share: str, tokens: float) -> list[str]:
        return [name, share, say("{n:,g} tokens", n=tokens), text.si(tokens * each, "B")]

    return [
        row(say("Contiguous, longest length reserved"), f"{100 * contiguous:.1f} %", unused),
        row(say("Blocks of {n}, on average", n=block), f"{100 * paged:.1f} %", expected),
        row(say("Blocks of {n}, at worst", n=block), "", worst),
        [
            say("Layer groups paged together"),
            say("{groups} of {layers} layers", groups=groups, layers=size),
            "",
            "",
        ],
    ]
