"""What moves on the KV cache page: the chart against context and the metrics."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np

from calc import Model, Scenario, decode, memory, roofline
from calc.scenario import FIELDS
from calc.words import say
from pages.ui.charts import kit, scrubber, sweeps
from pages.ui.kv_cache import figures
from pages.ui.writing import text

METRICS = (
    "kv_per_token", "kv_alone", "sequences_that_fit", "equal_reads", "attention_intensity",
    "ridge_point",
)  # fmt: skip


@dataclass(frozen=True)
class Curves:
    """Cache of one sequence against context for what is compared, and the scenario's weights."""

    context: sweeps.Array
    held: Mapping[str, sweeps.Array]
    weights: float

    @classmethod
    def of(cls, scenario: Scenario, drawn: Mapping[str, Model]) -> Curves:
        """Computed once for all views."""
        context = sweeps.contexts()
        held = {name: one.kv_bytes(context, scenario.kv_format) for name, one in drawn.items()}
        return cls(context, held, memory.weights(scenario))


def metrics(scenario: Scenario, largest: int) -> list[str]:
    """The page's figures; `largest` is how many sequences fit."""
    return [
        text.kibibytes(scenario.model.kv_bytes_per_token(scenario.kv_format)),
        text.si(float(memory.kv_per_sequence(scenario)), "B"),
        text.count(largest),
        say("batch {n}", n=text.significant(decode.kv_equals_weights_batch(scenario))),
        text.intensity(sweeps.intensity(scenario)),
        text.intensity(roofline.ridge_point(scenario.chip, scenario.compute_format)),
    ]


def chart(scenario: Scenario, curves: Curves) -> kit.Chart:
    """Caches against context, with the scenario's marked."""
    return figures.against_context(curves.context, curves.held, curves.weights, scenario.context)


def by_context(laid_out: Scenario, compared: tuple[object, ...], curves: Curves) -> scrubber.Scrub:
    """Scrubs the context.

    Parameters
    ----------
    laid_out : Scenario
        With its layout, which decides how many sequences fit.
    compared : tuple
        What the curves depend on beside it.
    """
    field = FIELDS["context"]
    stops = scrubber.stops(field, 1024, curves.context[-1], laid_out.context)

    def family() -> Iterator[scrubber.View]:
        largest = memory.max_batch(laid_out, np.array(stops, dtype=float))
        for length, fits in zip(stops, largest, strict=True):
            moved = replace(laid_out, context=int(length), fidelity="bound")
            yield scrubber.View({"kv-context": chart(moved, curves)}, metrics(moved, int(fits)))

    of = (replace(laid_out, context=1), compared)
    return scrubber.Scrub(field, stops, laid_out.context, of, family)
