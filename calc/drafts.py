"""Kinds of drafts: what was measured of each, and what the same draft would buy elsewhere."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from calc import decode, speculative
from calc.feedforward import Dense
from calc.scenario import Scenario
from calc.words import marked

Array = NDArray[np.float64]

# Rows of the output head that EAGLE-3 drafts with; Medusa heads of Spec-Bench.
DRAFT_VOCABULARY = 32_000
MEDUSA_HEADS = 4
# How models name the layers that they are published with for drafting.
_PUBLISHED = "draft layers"


@dataclass(frozen=True)
class Kind:
    """A way to draft.

    `name` and `reading` are marked for translation; `extra` gives the parameters that it adds to a
    scenario, nan where that cannot be said [parameter]. What `comes_with_model` is there only for
    models that were trained and published with it.
    """

    name: str
    reading: str
    extra: Callable[[Scenario], float]
    comes_with_model: bool = False

    def available(self, scenario: Scenario) -> bool:
        """Whether the scenario's model can have it, as far as is known."""
        return not (self.comes_with_model and math.isnan(self.extra(scenario)))


def _nothing(_: Scenario) -> float:
    return 0.0


def _its_own(s: Scenario) -> float:
    return float(s.draft.total_params) if s.draft else math.nan


def _heads(s: Scenario) -> float:
    """So many heads, each a square layer and an output head of its own."""
    model = s.model
    return MEDUSA_HEADS * (model.d_model**2 + model.embedding_params) or math.nan


def _layer(s: Scenario) -> float:
    """One dense layer like the target's, three squares that feed it, and a small output head."""
    model = s.model
    d = model.d_model
    dense = [one for one in model.blocks if isinstance(one.feedforward, Dense) and not one.beside]
    if not d or not dense:
        return math.nan
    parts = dense[-1].feedforward.parts(d)
    layer = dense[-1].attention.params(d) + sum(part.total for part in parts)
    return float(layer + 3 * d**2 + DRAFT_VOCABULARY * d)


def _published(s: Scenario) -> float:
    """The layers that the model is published with for it; what is not published is not known."""
    own = [one.params for one in s.model.resident if one.name.startswith(_PUBLISHED)]
    return float(sum(own)) or math.nan


# A kind stands here, and what was measured of it in a preset.
KINDS: Mapping[str, Kind] = {
    "ngram": Kind(
        marked("N-gram lookup"),
        marked("Copies what followed the same words earlier in the text; no model runs."),
        _nothing,
    ),
    "model": Kind(
        marked("Small model"),
        marked("A smaller model of the same vocabulary; the sidebar takes one as Draft."),
        _its_own,
    ),
    "heads": Kind(
        marked("Medusa heads"),
        marked("Heads on the target's last layer, each for one position; a tree is checked."),
        _heads,
    ),
    "eagle": Kind(
        marked("EAGLE"),
        marked("One layer on the target's own hidden states; a chain or a tree is checked."),
        _layer,
    ),
    "mtp": Kind(
        marked("MTP"),
        marked("Layers for multi-token prediction, trained with the target."),
        _published,
        comes_with_model=True,
    ),
}


@dataclass(frozen=True)
class Report:
    """What one source measured of a draft. What it does not say is nan, or 0 tokens drafted.

    Parameters
    ----------
    kind : str
        One of `KINDS`.
    method, target, work, hardware : str
        What drafted, for which model, on which texts, on what.
    n_draft : int
        Tokens that one check holds beside the target's own: all candidates of a tree [token].
    tokens : float
        Tokens that a check yields on average [token].
    speedup : float
        Over plain decoding at `batch`.
    batch : int
        Sequences that ran together [sequence].
    loses_from : float
        Batch from which the source saw it slower than plain decoding [sequence].
    cost_ratio : float
        Time of one draft step over one target step, where the source says that itself.
    sources, note : tuple of str, str
        Who says so, and what to know about it.
    """

    kind: str
    method: str
    target: str
    work: str
    hardware: str
    n_draft: int
    tokens: float
    speedup: float
    batch: int
    loses_from: float
    cost_ratio: float
    sources: tuple[str, ...]
    note: str = ""

    @cached_property
    def acceptance(self) -> float:
        """The acceptance of each token at which a chain of so many yields the same (F7.2).

        >>> from presets import drafts
        >>> round(drafts["eagle-3-minicpm3"].acceptance, 3)
        0.602
        """
        if not self.n_draft or math.isnan(self.tokens):
            return math.nan
        return speculative.alpha_of_reported((self.tokens - 1) / self.n_draft, self.n_draft)

    @property
    def draft_cost(self) -> float:
        """Time of a round beyond one plain step, over that step and each drafted token (F7.6).

        .. math:: c = (E / S - 1) / k

        Drafting, what checking took longer, and the host, as the source ran them.
        """
        if not math.isnan(self.cost_ratio):
            return self.cost_ratio
        if not self.n_draft:
            return math.nan
        return max(self.tokens / self.speedup - 1, 0.0) / self.n_draft

    def applied(self, scenario: Scenario) -> Scenario | None:
        """The scenario with this draft; None where the source leaves acceptance or cost unsaid.

        A tree is so many drafted tokens as it has candidates, with the acceptance that yields its
        tokens: its check then holds what it held, and yields what it yielded.
        """
        alpha, cost = self.acceptance, self.draft_cost
        if math.isnan(alpha) or math.isnan(cost):
            return None
        # As links write them.
        return replace(scenario, acceptance=round(alpha, 4), n_draft=self.n_draft,
                       cost_ratio=round(cost, 4), draft=None)  # fmt: skip


@dataclass(frozen=True)
class Draft:
    """A report in a scenario: its speed-up there, and the batches at which it pays.

    `scenario` is the scenario with it, None where that is not known; the figures are nan then.
    """

    report: Report
    scenario: Scenario | None
    speedup: float
    first: float
    last: float


def drafted(scenario: Scenario, reports: Iterable[Report]) -> list[Draft]:
    """Every report in a scenario.

    References
    ----------
    F7.4, F7.6.
    """
    all_of = [(report, report.applied(scenario)) for report in reports]
    known = [found for _, found in all_of if found is not None]
    alpha, length, cost = _columns(known)
    first, last = (
        speculative.paying_batches(scenario, alpha, length, cost) if known else (alpha, alpha)
    )
    gain = speeds(scenario, known, np.array([scenario.batch]))[:, 0]
    figures = iter(zip(gain.tolist(), first.tolist(), last.tolist(), strict=True))
    nothing = (math.nan, math.nan, math.nan)
    return [
        Draft(report, found, *(nothing if found is None else next(figures)))
        for report, found in all_of
    ]


def speeds(scenario: Scenario, applied: Sequence[Scenario], batch: Array) -> Array:
    """Speed over plain decoding of several drafts (rows) at batches (columns) (F7.4)."""
    alpha, length, cost = (column[:, np.newaxis] for column in _columns(applied))
    plain = decode.step_time(scenario, batch).total
    verify = decode.step_time(scenario, batch, tokens=length + 1).total
    tokens = speculative.expected_tokens(alpha, length)
    return np.asarray(tokens * plain / (length * cost * plain + verify))


def _columns(applied: Sequence[Scenario]) -> tuple[Array, Array, Array]:
    alpha, length, cost = (
        np.array([getattr(one, name) for one in applied], dtype=float)
        for name in ("acceptance", "n_draft", "cost_ratio")
    )
    return alpha, length, cost


def best(scenario: Scenario, found: Iterable[Draft]) -> Draft | None:
    """The fastest that the model can have; None where none of them pays or nothing is known."""
    paying = [
        one for one in found if one.speedup > 1 and KINDS[one.report.kind].available(scenario)
    ]
    return max(paying, key=lambda one: one.speedup, default=None)


def span(values: Iterable[float]) -> tuple[float, float]:
    """Least and most of what is known of several figures; nan where nothing is."""
    known = [value for value in values if math.isfinite(value)]
    return (min(known), max(known)) if known else (math.nan, math.nan)
