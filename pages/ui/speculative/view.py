"""What moves on the Speculation page: charts and metrics, now and at other acceptances."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np

from calc import Scenario, roofline, speculative
from calc.scenario import FIELDS
from calc.speculative import Cycle
from pages.ui.charts import scrubber, sweeps
from pages.ui.speculative import figures
from pages.ui.writing import text

METRICS = (
    "speedup_here", "speedup_free", "tokens_per_check", "best_length_here", "best_length_free",
    "free_batch",
)  # fmt: skip


@dataclass(frozen=True)
class Timed:
    """All that acceptance does not change: how long drafting and verifying take.

    `here` is the scenario's own cycle, `by_length` the same over draft lengths, `by_context` over
    batches with the batch that fits; `ratio` is a draft step over a target step, and `free` the
    batch up to which verifying costs nothing.
    """

    here: Cycle
    by_length: Cycle
    by_context: Mapping[str, tuple[Cycle, int]]
    batches: sweeps.Array
    ratio: float
    free: float

    @classmethod
    def of(cls, scenario: Scenario) -> Timed:
        """Timed once for all views."""
        free = speculative.free_batch(scenario, roofline.compute_bound_batch(scenario))
        batches = sweeps.batches(scenario, free)
        return cls(
            speculative.batch_speedup(scenario),
            speculative.batch_speedup(scenario, n_draft=sweeps.DRAFTED),
            sweeps.cycles_by_context(scenario, batches),
            batches,
            speculative.effective_cost_ratio(scenario),
            free,
        )


def best_here(timed: Timed, alpha: float) -> int:
    """Draft length that pays most at this batch."""
    return sweeps.best(timed.by_length.accepting(alpha).speedup)


def view(scenario: Scenario, timed: Timed) -> scrubber.View:
    """Charts and metrics at the scenario's acceptance."""
    alpha = scenario.acceptance
    cycle = timed.here.accepting(alpha)
    by_length = timed.by_length.accepting(alpha).speedup
    free = speculative.speedup(alpha, sweeps.DRAFTED, timed.ratio)
    best = sweeps.best(free)
    charts = {
        "speed-batch": figures.against_batch(
            timed.batches,
            {
                name: (over.accepting(alpha).speedup, largest)
                for name, (over, largest) in timed.by_context.items()
            },
            now=(scenario.batch, float(cycle.speedup)),
            free=timed.free,
        ),
        "speed-length": figures.against_length(
            sweeps.DRAFTED,
            free,
            by_length,
            best=best,
            best_real=sweeps.best(by_length),
            batch=scenario.batch,
        ),
    }
    return scrubber.View(
        charts,
        [
            text.times(float(cycle.speedup)),
            text.times(float(speculative.speedup(alpha, scenario.n_draft, timed.ratio))),
            text.significant(float(cycle.tokens)),
            _best(sweeps.best(by_length), by_length),
            _best(best, free),
            text.count(timed.free // 1),
        ],
    )


def _best(length: int, speed: sweeps.Array) -> str:
    """A best draft length, where anything is known."""
    return text.at_least(length) if np.isfinite(speed).any() else text.unknown()


def by_acceptance(scenario: Scenario, timed: Timed) -> scrubber.Scrub:
    """Scrubs the acceptance; every cycle is timed once for all of it."""
    field = FIELDS["acceptance"]
    stops = scrubber.stops(field, 0.0, 1.0, scenario.acceptance)

    def family() -> Iterator[scrubber.View]:
        for alpha in stops:
            yield view(replace(scenario, acceptance=alpha), timed)

    return scrubber.Scrub(
        field, stops, scenario.acceptance, replace(scenario, acceptance=0.5), family
    )
