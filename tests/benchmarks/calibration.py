"""How far calibrated times are off: every public row predicted without its own source.

Run with ``PYTHONPATH=. python tests/benchmarks/calibration.py``; about a minute.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from calc.calibration import fit, fit_class, left_out
from calc.calibration.classes import TELLING
from calc.calibration.trial import Trial
from calc.engine import EngineClass
from calc.measured import Agreement, Row, predictions
from presets import chips, measured

Array = NDArray[np.float64]

# Rows of one's own that a system is fitted on, how often it is drawn, and the fewest it has.
OWN_ROWS, DRAWS, SYSTEM = (0, 1, 5, 8), 3, 10


def classes() -> Mapping[str, EngineClass]:
    """Every class by its id."""
    return {one.id: one for chip in chips.values() for one in chip.engines.values()}


def by_class(rows: Sequence[Row]) -> Mapping[str, list[Row]]:
    """Rows by the class of their chip and engine; those without one left out."""
    found: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        one = row.scenario.chip.engine_class(row.scenario.engine)
        if one:
            found[one.id].append(row)
    return found


def unseen() -> tuple[list[Row], Array]:
    """Rows that a class fitted without their source predicts, and what it predicts [s]."""
    rows: list[Row] = []
    found: list[Array] = []
    for id, own in by_class(measured.rows()).items():
        rows += own
        found.append(left_out(own, classes()[id]))
    times = np.concatenate(found)
    known = np.isfinite(times)
    return [row for row, here in zip(rows, known, strict=True) if here], times[known]


def systems(rows: Sequence[Row]) -> Iterator[list[Row]]:
    """Decode rows of one engine in one version on one chip by one source, where they are many."""
    found: dict[tuple[str, ...], list[Row]] = defaultdict(list)
    for row in rows:
        if row.kind == "decode":
            name = (row.source, row.scenario.chip.id, row.engine_name, row.engine_version)
            found[*name, row.scenario.engine].append(row)
    return (own for own in found.values() if len(own) >= SYSTEM)


def learning() -> Mapping[int, tuple[float, float]]:
    """Median over systems of the median and p90 error on the rest, by rows of one's own."""
    chosen, drawn = np.random.default_rng(1), defaultdict(list)
    for id, rows in by_class(measured.rows()).items():
        for own in systems(rows):
            others = [r for r in rows if r.source != own[0].source and r.kind in TELLING]
            start = classes()[id]
            prior = fit_class(others, start) if len(others) >= SYSTEM else start.constants
            whole = Trial(own)
            for _ in range(DRAWS):
                order = chosen.permutation(len(own))
                for count in OWN_ROWS:
                    given = [own[at] for at in order[:count]]
                    used = fit(given, prior).constants if given else prior
                    error = np.abs(whole.predict(used) / whole.measured - 1)[order[count:]]
                    drawn[count].append(np.percentile(error, [50, 90]))
    return {
        count: (float(half), float(most))
        for count, (half, most) in ((c, np.median(e, axis=0)) for c, e in drawn.items())
    }


def _line(name: str, rows: Sequence[Row], ideal: Array, seen: Array, here: Array) -> str:
    own = [row for row, used in zip(rows, here, strict=True) if used]
    was, now = Agreement.of(own, ideal[here]), Agreement.of(own, seen[here])
    return (
        f"{name:42} {now.rows:4}/{now.sources:<3} {_percent(was)}  {_percent(now)}  "
        f"{now.low:.2f}–{now.high:.2f}"
    )


def _percent(found: Agreement) -> str:
    return f"{100 * found.median:4.1f} / {100 * found.worst:5.1f}"


def main() -> None:
    """Print the tables."""
    rows, seen = unseen()
    ideal = predictions(rows, "operators")
    of = (row.scenario.chip.engine_class(row.scenario.engine) for row in rows)
    ids = np.array([one.id if one else "" for one in of])
    phases = np.array([row.phase for row in rows])
    print(f"{'':42} rows/src  operators    without its source  measured/predicted")
    for id in classes():
        for phase in dict.fromkeys(phases):
            here = (ids == id) & (phases == phase)
            if here.any():
                print(_line(f"{id} {phase}", rows, ideal, seen, here))
    decode = np.array([row.kind == "decode" for row in rows])
    print(_line("all decode", rows, ideal, seen, decode))
    print("\nOn the rest of a system after so many rows of one's own, median / p90:")
    for count, (half, most) in learning().items():
        print(f"{count:2} rows {100 * half:4.1f} / {100 * most:4.1f}")
    print("\nConstants of a class fitted on all of its rows, beside the table's:")
    for id, own in by_class(measured.rows()).items():
        table = classes()[id]
        found = fit_class([row for row in own if row.kind in TELLING], table)
        fitted = (
            f"{name} {getattr(found, name):.3g} ({getattr(table.constants, name):.3g})"
            for name in table.spread
            if not math.isclose(getattr(found, name), getattr(table.constants, name))
        )
        print(f"{id:24}", ", ".join(fitted))


if __name__ == "__main__":
    main()
