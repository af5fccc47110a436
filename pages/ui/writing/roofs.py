"""What a roofline says in words: what waits for memory, what for compute, and its table."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from calc import Scenario
from calc.operators import Named
from calc.roofline import Roof
from calc.words import say
from pages.ui.writing import tables, text


def sentence(scenario: Scenario, roofs: Mapping[str, Roof], rows: Sequence[Named]) -> str:
    """The ridge, and on which side of it each operator is."""
    known = [row for row in rows if math.isfinite(row.intensity) and row.rated]
    slow, busy = (_named([row for row in known if row.compute_bound == side]) for side in (0, 1))
    return text.sentences(
        ridge(scenario, roofs),
        say("Waiting for memory: {operators}.", operators=slow) if slow else "",
        say("Waiting for compute: {operators}.", operators=busy) if busy else "",
    )


def ridge(scenario: Scenario, roofs: Mapping[str, Roof]) -> str:
    """Where the roofs of the chip meet."""
    known = [
        say("{n} FLOP/B in {format}", n=text.round_count(roof.ridge), format=text.plain(name))
        for name, roof in roofs.items()
        if math.isfinite(roof.ridge)
    ]
    chip = text.plain(scenario.chip.name)
    if not known:
        return say("The ridge point of {chip} is not published.", chip=chip)
    return say("The ridge point of {chip} is {places}.", chip=chip, places=text.listed(known))


def _named(rows: Sequence[Named]) -> str:
    """Operators by their intensity: those of one stand together."""
    groups: dict[str, list[str]] = {}
    for row in rows:
        groups.setdefault(text.intensity(row.intensity), []).append(text.plain(say(row.name)))
    return text.listed(
        say("{operators} ({intensity})", operators=text.listed(names), intensity=intensity)
        for intensity, names in groups.items()
    )


def table(shown: Sequence[Named]) -> tables.Table:
    """Each operator: what one chip moves and does, its place under the roofs, and its time."""
    head = [say("Operator"), say("Bytes"), say("FLOPs"), say("FLOP per byte"),
            say("Attained rate"), say("Time")]  # fmt: skip
    rows = [
        [
            text.plain(say(row.name)),
            *(
                cell.replace(" ", "\u00a0")
                for cell in (
                    text.si(row.moved, "B"),
                    text.si(row.done, "FLOP"),
                    text.round_count(row.intensity),
                    text.si(row.attained, "FLOP/s"),
                    text.si(row.time, "s"),
                )
            ),
        ]
        for row in shown
    ]
    return tables.table(head, rows)
