"""Measurements that are near a scenario."""

from __future__ import annotations

from collections.abc import Sequence

from calc.chip import Chip
from calc.measured.row import Row
from calc.scenario import Scenario


def near(rows: Sequence[Row], scenario: Scenario) -> Sequence[Row]:
    """Decode steps of its model on its chip; where nobody measured those, on chips of its class."""
    s = scenario
    steps = [row for row in rows if row.kind == "decode" and row.scenario.model.id == s.model.id]
    same = [row for row in steps if row.scenario.chip.id == s.chip.id]
    own = _class(s.chip, s.engine)
    if same or own is None:
        return same
    return [row for row in steps if _class(row.scenario.chip, row.scenario.engine) == own]


def _class(chip: Chip, engine: str) -> str | None:
    found = chip.engine_class(engine)
    return found.id if found else None
