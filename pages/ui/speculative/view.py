"""What the Speculation page shows, and how it moves at other acceptances."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from calc import Scenario, decode, drafts, known, roofline, spans, speculative
from calc.drafts import Draft
from calc.scenario import FIELDS
from calc.speculative import Cycle
from calc.words import say
from pages.ui.charts import kit, scrubber, sweeps
from pages.ui.frame.page import Metrics, View
from pages.ui.speculative import figures
from pages.ui.writing import written
from presets import drafts as reports


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
        """Timed once for all acceptances."""
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


class SpeculationView(View):
    """What drafting gains at the scenario's acceptance."""

    @cached_property
    def timed(self) -> Timed:
        """How long drafting and verifying take."""
        # Of two bounds there is no quotient.
        return Timed.of(known.stated(self.scenario))

    @property
    def acceptance(self) -> float:
        """Of a drafted token."""
        return self.scenario.acceptance

    @cached_property
    def cycle(self) -> Cycle:
        """Drafting once and verifying once."""
        return self.timed.here.accepting(self.acceptance)

    @cached_property
    def by_length(self) -> sweeps.Array:
        """Speed-up over draft lengths at this batch."""
        return self.timed.by_length.accepting(self.acceptance).speedup

    @cached_property
    def free_by_length(self) -> sweeps.Array:
        """The same if verifying were free."""
        return speculative.speedup(self.acceptance, sweeps.DRAFTED, self.timed.ratio)

    @property
    def best_here(self) -> int:
        """The draft length that pays most at this batch."""
        return sweeps.best(self.by_length)

    def batch_chart(self) -> kit.Chart:
        """Speed-up against batch."""
        return figures.against_batch(
            self.timed.batches,
            {
                name: (over.accepting(self.acceptance).speedup, largest)
                for name, (over, largest) in self.timed.by_context.items()
            },
            now=(self.scenario.batch, float(self.cycle.speedup)),
            free=self.timed.free,
        )

    def length_chart(self) -> kit.Chart:
        """Speed-up against draft length."""
        return figures.against_length(
            sweeps.DRAFTED,
            self.free_by_length,
            self.by_length,
            best=sweeps.best(self.free_by_length),
            best_real=self.best_here,
            batch=self.scenario.batch,
        )

    @cached_property
    def drafts(self) -> Sequence[Draft]:
        """What was measured of drafts, in this scenario."""
        return drafts.drafted(known.stated(self.scenario), reports.values())

    @cached_property
    def fastest(self) -> Sequence[Draft]:
        """The fastest of each kind of which enough is published, in the order of kinds."""
        of_kind = (
            [one for one in self.drafts if one.report.kind == kind and np.isfinite(one.speedup)]
            for kind in drafts.KINDS
        )
        return [max(found, key=lambda one: one.speedup) for found in of_kind if found]

    def drafts_chart(self) -> kit.Chart:
        """Speed-up of the fastest of each kind against batch."""
        s = known.stated(self.scenario)
        ends = [one.last for one in self.fastest if one.last < spans.MOST_BATCH]
        upper = 2.0 ** np.ceil(np.log2(max(2 * s.batch, *(2 * end for end in ends), 64)))
        batch = decode.batch_sweep(float(min(upper, spans.MOST_BATCH)), [s.batch])
        applied = [one.scenario for one in self.fastest if one.scenario]
        return figures.by_kind(
            batch,
            [(say(drafts.KINDS[one.report.kind].name), one.speedup) for one in self.fastest],
            drafts.speeds(s, applied, batch),
            s.batch,
        )

    def frame(self) -> scrubber.Frame:
        """What moves."""
        charts = {"speed-batch": self.batch_chart(), "speed-length": self.length_chart()}
        return scrubber.Frame(charts, list(written.row(METRICS, self).values()))


def _best(speed: sweeps.Array) -> float:
    """A best draft length, where anything is known."""
    return sweeps.best(speed) if np.isfinite(speed).any() else np.nan


METRICS: Metrics[SpeculationView] = {
    "speedup_here": lambda view: float(view.cycle.speedup),
    "speedup_free": lambda view: float(
        speculative.speedup(view.acceptance, view.scenario.n_draft, view.timed.ratio)
    ),
    "tokens_per_check": lambda view: float(view.cycle.tokens),
    "best_length_here": lambda view: _best(view.by_length),
    "best_length_free": lambda view: _best(view.free_by_length),
    "free_batch": lambda view: view.timed.free,
}


def by_acceptance(view: SpeculationView) -> scrubber.Scrub:
    """Scrubs the acceptance; every cycle is timed once for all of it."""
    field, s = FIELDS["acceptance"], view.scenario
    stops = scrubber.stops(field, 0.0, 1.0, s.acceptance)

    def family() -> Iterator[scrubber.Frame]:
        for alpha in stops:
            yield view.moved(replace(s, acceptance=alpha), timed=view.timed).frame()

    return scrubber.Scrub(field, stops, s.acceptance, replace(s, acceptance=0.5), family)
