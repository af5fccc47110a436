"""What the KV cache page shows, and how it moves at a scrubber's stops."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from calc import Model, Scenario, decode, memory, roofline, variants
from calc.decode import StepTime
from calc.operators import Named
from calc.scenario import FIELDS
from pages.ui.charts import kit, scrubber, sweeps
from pages.ui.frame.page import Metrics, View
from pages.ui.kv_cache import figures
from pages.ui.writing import written
from presets import models

WINDOW, SHARING, BESIDE = "kv-window", "kv-sharing", "kv-models"
# What they offer.
WINDOWS, SHARED = (0, 128, 512, 1024, 4096, 8192), (1, 2, 3, 4)
# Models drawn beside the variants, and how many may be.
USUAL = ("deepseek-v3", "gemma-3-27b", "gpt-oss-120b")
MOST = 6


@dataclass(frozen=True)
class Curves:
    """Cache of one sequence against context for what is compared, and the scenario's weights."""

    context: sweeps.Array
    caches: Mapping[str, sweeps.Array]
    weights: float

    @classmethod
    def of(cls, scenario: Scenario, drawn: Mapping[str, Model]) -> Curves:
        """Of some models in the scenario's format."""
        context = sweeps.contexts()
        caches = {name: one.kv_bytes(context, scenario.kv_format) for name, one in drawn.items()}
        return cls(context, caches, memory.weights(scenario))


class KvCacheView(View):
    """The model's cache, beside what each kind of attention would make of it."""

    @cached_property
    def plain(self) -> Scenario:
        """The cache itself is the same in any layout; how many fit is not."""
        return replace(self.scenario, fidelity="bound")

    @cached_property
    def largest(self) -> int:
        """Sequences that fit."""
        return int(memory.max_batch(self.scenario))

    @cached_property
    def window(self) -> int:
        """Tokens that most layers see; 0 for all."""
        return int(self.chosen(WINDOW, 0))

    @cached_property
    def sharing(self) -> int:
        """Layers to one cache."""
        return int(self.chosen(SHARING, 1))

    @cached_property
    def beside(self) -> Sequence[str]:
        """Ids of the models that are drawn beside the variants."""
        return tuple(self.chosen(BESIDE, USUAL)[:MOST])

    @cached_property
    def compared(self) -> Mapping[str, Model]:
        """The model with each kind of attention."""
        return variants.compare(self.scenario.model, window=self.window, sharing=self.sharing)

    @cached_property
    def curves(self) -> Curves:
        """Of the variants and of the models beside them."""
        own = self.scenario.model.id
        beside = {models[id].name: models[id] for id in self.beside if id != own}
        return Curves.of(self.plain, {**self.compared, **beside})

    @cached_property
    def attending(self) -> StepTime:
        """The scenario's step."""
        return decode.step_time(self.scenario)

    @cached_property
    def kinds(self) -> Sequence[Named]:
        """The attention of a step with each kind, by the kind's name."""
        found = []
        for name, model in self.compared.items():
            step = decode.step_time(replace(self.scenario, model=model))
            found += [replace(row, name=name) for row in step.work.by_name() if row.cache]
        return found

    def context_chart(self) -> kit.Chart:
        """Caches against context, with the scenario's marked."""
        curves = self.curves
        return figures.against_context(
            curves.context, curves.caches, curves.weights, self.scenario.context
        )

    def frame(self) -> scrubber.Frame:
        """What moves."""
        return scrubber.Frame(
            {"kv-context": self.context_chart()}, list(written.row(METRICS, self).values())
        )


METRICS: Metrics[KvCacheView] = {
    "kv_per_token": lambda view: view.plain.model.kv_bytes_per_token(view.plain.kv_format),
    "kv_alone": lambda view: float(memory.kv_per_sequence(view.plain)),
    "sequences_that_fit": lambda view: view.largest,
    "equal_reads": lambda view: decode.kv_equals_weights_batch(view.plain),
    "attention_intensity": lambda view: sweeps.intensity(view.plain),
    "ridge_point": lambda view: roofline.ridge_point(
        view.scenario.chip, view.scenario.compute_format
    ),
}


def by_context(view: KvCacheView) -> scrubber.Scrub:
    """Scrubs the context along the curves that are drawn."""
    field, s = FIELDS["context"], view.scenario
    stops = scrubber.stops(field, 1024, view.curves.context[-1], s.context)

    def family() -> Iterator[scrubber.Frame]:
        largest = memory.max_batch(s, np.array(stops, dtype=float))
        for length, fits in zip(stops, largest, strict=True):
            moved = replace(s, context=int(length))
            yield view.moved(moved, largest=int(fits), curves=view.curves).frame()

    of = (replace(s, context=1), (view.window, view.sharing, view.beside))
    return scrubber.Scrub(field, stops, s.context, of, family)
