"""All that a chip can do, whatever the rate, the limits and the prices are."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from calc import layout as layouts
from calc.chip import Chip, ChipArray
from calc.layout import Layout
from calc.plan import pools, replica
from calc.plan.ask import ARRANGEMENTS, Ask, Formats, Space
from calc.plan.pools import Readers
from calc.plan.replica import Steady
from calc.scenario import Scenario

Array = NDArray[np.float64]
Indices = NDArray[np.int64]
CHUNKED, CONTINUOUS, DISAGGREGATED = range(len(ARRANGEMENTS))
_ORDER = tuple(ARRANGEMENTS)


@dataclass(frozen=True)
class Columns:
    """Replicas that work: arrays of one entry each.

    `chip`, `arrangement` and `layout` are indices, `budget` 0 where prompts are not read in chunks;
    the others are those of `Steady`.
    """

    chip: Indices
    layout: Indices
    arrangement: Indices
    batch: Array
    budget: Array
    rate: Array
    step: Array
    longest: Array
    tpot: Array
    ttft: Array
    mean_tpot: Array
    used: Array
    slots: Array

    def __len__(self) -> int:
        return len(self.batch)

    def where(self, chosen: NDArray[np.bool_] | Indices | slice) -> Columns:
        """Some of them."""
        return Columns(*(getattr(self, one.name)[chosen] for one in fields(self)))

    @classmethod
    def joined(cls, parts: Sequence[Columns]) -> Columns:
        """All of several."""
        if len(parts) == 1:
            return parts[0]
        return cls(
            *(np.concatenate([getattr(part, one.name) for part in parts]) for one in fields(cls))
        )


@dataclass(frozen=True)
class Survey:
    """What chips can do at one choice of formats.

    Parameters
    ----------
    scenario : Scenario
        All of the chips at once, and their formats.
    layout : Layout
        Layouts of any number of chips.
    holds : array
        Whether the weights fit, and so many chips can be had, by chip and layout.
    readers : Readers
        Prefill replicas by chip and layout.
    """

    scenario: Scenario
    layout: Layout
    holds: NDArray[np.bool_]
    readers: Readers

    @property
    def chips(self) -> tuple[Chip, ...]:
        """The chips, by their index."""
        chip = self.scenario.chip
        assert isinstance(chip, ChipArray)
        return chip.members

    def on(self, chip: int, layout: int, batch: float) -> Scenario:
        """The scenario of one replica."""
        width = _picked(self.layout, np.array([layout]))
        tp, dp, ep, pp = (int(w[0]) for w in (width.tp, width.dp, width.ep, width.pp))
        return replace(
            self.scenario, chip=self.chips[chip], n_chips=tp * dp * pp, tensor_parallel=tp,
            attention_dp=dp, expert_parallel=ep, pipeline=pp, batch=int(batch),
        )  # fmt: skip

    def around(self, chosen: Columns, space: Space, ask: Ask) -> Columns:
        """Some of its columns on a grid of whole batches close around each."""
        parts = []
        for kind in np.unique(chosen.arrangement).tolist():
            some = chosen.where(chosen.arrangement == kind)
            # Each stands for itself: its chip, its layout and its batches, along the first axis.
            s = replace(
                self.scenario, chip=ChipArray.of([self.chips[chip] for chip in some.chip.tolist()])
            )
            width = _column(_column(_picked(self.layout, some.layout)))
            batch = np.array([_near(one, space.batches) for one in some.batch.tolist()])[:, None]
            budget = some.budget[:, None, None]
            found = _timed(s, width, kind, batch, budget, ask)
            works = found.holds & np.isfinite(found.tpot)
            row, _, which = np.nonzero(works)
            own = (some.chip[row], some.layout[row], np.full(len(row), kind))
            values = (
                np.broadcast_to(getattr(found, one.name), works.shape)[works]
                for one in fields(Columns)[5:]
            )
            parts.append(Columns(*own, batch[row, 0, which], some.budget[row], *values))
        return Columns.joined(parts or [_EMPTY])


@dataclass(frozen=True)
class Ground:
    """All that chips can do in all formats: what a search goes over.

    Parameters
    ----------
    surveys : tuple of Survey
        One for chips that are timed alike in the same formats.
    columns : Columns
        Of all surveys: replicas that memory holds, those of one pool and then those that decode.
    survey, chip : array
        Of each column its index in `surveys`, and that of its chip in `Space.chips`.
    one_pool : int
        How many columns are of one pool.
    """

    surveys: tuple[Survey, ...]
    columns: Columns
    survey: Indices
    chip: Indices
    one_pool: int

    @classmethod
    def of(cls, found: Sequence[tuple[Survey, Columns]], chips: Sequence[Chip]) -> Ground:
        """From surveys and their columns."""
        place = {chip.id: index for index, chip in enumerate(chips)}
        split = [np.searchsorted(columns.arrangement, DISAGGREGATED) for _, columns in found]
        parts, surveys, chosen = [], [], []
        for two in (False, True):
            for index, (one, columns) in enumerate(found):
                cut = split[index]
                part = columns.where(slice(cut, None) if two else slice(None, cut))
                ours = np.array([place[chip.id] for chip in one.chips], dtype=np.int64)
                parts.append(part)
                surveys.append(np.full(len(part), index))
                chosen.append(ours[part.chip])
        return cls(
            tuple(one for one, _ in found), Columns.joined(parts), np.concatenate(surveys),
            np.concatenate(chosen), int(sum(split)),
        )  # fmt: skip

    @cached_property
    def size(self) -> Array:
        """Chips of each replica."""
        sizes = [one.layout.chips for one in self.surveys]
        first = np.cumsum([0, *map(len, sizes)])[:-1]
        return np.asarray(np.concatenate(sizes)[first[self.survey] + self.columns.layout])

    @cached_property
    def group(self) -> Indices:
        """One number for all columns of a chip, an arrangement and a number of chips."""
        most = int(self.size.max(initial=0)) + 1
        kind = self.chip * len(ARRANGEMENTS) + self.columns.arrangement
        return np.asarray(kind * most + self.size.astype(np.int64))

    def refined(self, at: Indices, space: Space, ask: Ask) -> Ground:
        """Some columns, and the batches close around them."""
        found = []
        for index, one in enumerate(self.surveys):
            mine = self.columns.where(at[self.survey[at] == index])
            near = Columns.joined([mine, one.around(mine, space, ask)])
            found.append((one, near.where(np.argsort(near.arrangement, kind="stable"))))
        return Ground.of(found, space.chips)


def survey(
    scenario: Scenario, chips: Sequence[Chip], formats: Formats, space: Space, ask: Ask
) -> tuple[Survey, Columns]:
    """Everything that chips can do in given formats; neither rate nor limits of `ask` are used.

    The columns are replicas that memory holds, in the order of `ARRANGEMENTS`.

    Weights lie on the chips, and a step has a micro-batch for each stage.

    What cannot be is left out before any step is timed: a budget without a token for each slot, a
    reader that prompts overtake, a batch that memory does not hold.
    """
    s = replace(
        scenario,
        # What chips cost stands in them.
        price=0.0,
        power=0.0,
        capital=0.0,
        terms="demand",
        micro_batches=0,
        host_share=0.0,
        **formats.on(ChipArray.of(chips)),
    )
    counts = [space.counts(chip) for chip in chips]
    layout = _layouts(s, space, sorted(set().union(*counts)))
    had = np.array([np.isin(layout.chips, each) for each in counts])
    holds = had & (replica.room(s, _column(layout))[..., 0] > 0)
    batches, budgets = np.array(space.batches, float), np.array(space.budgets, float)
    parts = [
        _columns(s, layout, holds, _ORDER.index(how), batches, budgets, ask)
        for how in space.arrangements
    ]
    reads = pools.readers(s, _column(layout), ask)
    reads = reads.on(holds.shape)
    reads = replace(reads, holds=reads.holds & holds)
    parts = [parts[kind] for kind in np.argsort([_ORDER.index(h) for h in space.arrangements])]
    return Survey(s, layout, holds, reads), Columns.joined(parts or [_EMPTY])


_NONE = np.zeros(0)
_INDEX = np.zeros(0, dtype=np.int64)
_EMPTY = Columns(_INDEX, _INDEX, _INDEX, *([_NONE] * 10))


def _columns(
    s: Scenario,
    layout: Layout,
    holds: NDArray[np.bool_],
    kind: int,
    batches: Array,
    budgets: Array,
    ask: Ask,
) -> Columns:
    """The replicas of an arrangement that work, over chips × layouts × batches × budgets."""
    parts = []
    for width in np.unique(layout.dp):
        at = np.flatnonzero((layout.dp == width) & holds.any(axis=0))
        if not at.size or (kind == CONTINUOUS and width > 1):
            # Lanes of groups fill one after another, and all wait: no form for them holds.
            continue
        tried = _column(_picked(layout, at))
        most = np.where(holds[:, at], replica.most(s, tried, ask)[..., 0], 0)
        batch, budget = _pairs(kind, batches, budgets, float(most.max()), tried, s, ask)
        if not batch.size:
            continue
        found = _timed(s, tried, kind, batch, budget, ask)
        works = found.holds & np.isfinite(found.tpot) & holds[:, at, None]
        # Less is better of each; of a pool that decodes the other one says the rest.
        figures = [-found.rate, found.tpot, found.ttft, found.used]
        figures = [
            np.broadcast_to(one, works.shape)
            for one in (figures[:2] if kind == DISAGGREGATED else figures)
        ]
        works = _undone_by_layouts(figures, tried.chips[:, 0], works)
        if kind == CHUNKED:
            works = _undone_by_budgets(figures, batch, works)
        chip, where, which = np.nonzero(works)
        values = (
            np.broadcast_to(getattr(found, one.name), works.shape)[works]
            for one in fields(Columns)[5:]
        )
        parts.append(
            Columns(chip, at[where], np.full(len(chip), kind), batch[which], budget[which], *values)
        )
    return Columns.joined(parts or [_EMPTY])


def _undone_by_layouts(
    figures: Sequence[Array], size: Array, works: NDArray[np.bool_]
) -> NDArray[np.bool_]:
    """Those that work and that the quickest layout of as many chips does not outdo in all.

    At the same batch and budget: whatever is asked, the quickest is as good.
    """
    left = works.copy()
    _, first = np.unique(size, return_index=True)
    for start, end in itertools.pairwise([*np.sort(first).tolist(), len(size)]):
        if end - start < 2:
            continue
        here = (slice(None), slice(start, end))
        quickest = np.argmin(np.where(works[here], figures[1][here], np.inf), axis=1)[:, None]
        outdone = works[here].copy()
        for figure in figures:
            outdone &= np.take_along_axis(figure[here], quickest, 1) <= figure[here]
        np.put_along_axis(outdone, quickest, False, axis=1)
        left[here] &= ~outdone
    return left


def _undone_by_budgets(
    figures: Sequence[Array], batch: Array, works: NDArray[np.bool_]
) -> NDArray[np.bool_]:
    """Those that work and that no other budget outdoes in all at the same batch.

    Of equals the smaller budget stays. Budgets of a batch are neighbours, the least first.
    """
    left = works.copy()
    for apart in range(1, int(np.unique(batch, return_counts=True)[1].max(initial=1))):
        same = batch[:-apart] == batch[apart:]
        smaller = works[..., :-apart] & works[..., apart:] & same
        larger = smaller.copy()
        for figure in figures:
            one, other = figure[..., :-apart], figure[..., apart:]
            smaller &= one <= other
            larger &= one >= other
        left[..., apart:] &= ~smaller
        left[..., :-apart] &= ~(larger & ~smaller)
    return left


def _pairs(
    kind: int, batches: Array, budgets: Array, most: float, layout: Layout, s: Scenario, ask: Ask
) -> tuple[Array, Array]:
    """Batches and budgets that can be, as far as that does not hang on any time."""
    batch = batches[replica.slots(batches) <= most]
    if kind != CHUNKED:
        return batch, np.zeros(len(batch))
    batch, budget = (a.ravel() for a in np.meshgrid(batch, budgets, indexing="ij"))
    groups = float(np.max(replica.groups(s, layout)))
    each = batch / groups
    room = budget - np.ceil(each)
    able = room > 0
    able &= each * ask.chunks(np.where(able, room, np.inf)) < ask.steps
    able &= budget >= np.ceil(replica.slots(batch) / groups)
    return batch[able], budget[able]


def _timed(s: Scenario, layout: Layout, kind: int, batch: Array, budget: Array, ask: Ask) -> Steady:
    if kind == CHUNKED:
        return replica.steady(s, layout, batch, budget, ask)
    if kind == CONTINUOUS:
        return replica.whole(s, layout, batch, ask)
    return pools.decoders(s, layout, batch, ask)


def _layouts(s: Scenario, space: Space, counts: Sequence[int]) -> Layout:
    """Legal layouts of every number of chips that can be had.

    Groups of their own only where there are experts to spread over them: of a dense model a group
    is another replica.
    """
    routed = bool(s.model.routed_params)
    if s.fidelity == "bound":
        return Layout.of_widths(np.array(counts, float), *np.ones((3, len(counts))))
    rows = [
        (tp, dp, ep, pp)
        for n in counts
        for pp in space.stages
        if n % pp == 0
        for dp in (_divisors(n // pp) if routed else (1,))
        for tp in (n // pp // dp,)
        for ep in ((1,) if dp == 1 or not routed else (tp * dp,))
        if not layouts.illegal(s.model, tp, dp, ep, pp)
    ]
    return Layout.of_widths(*np.array(rows, float).reshape(-1, 4).T)


def _divisors(number: int) -> Iterable[int]:
    return (width for width in range(1, number + 1) if number % width == 0)


def _picked(layout: Layout, at: Indices) -> Layout:
    return Layout(*(getattr(layout, one.name)[at] for one in fields(layout)))


def _column(layout: Layout) -> Layout:
    """Layouts along the axis before that of batches."""
    return Layout(*(getattr(layout, one.name)[..., None] for one in fields(layout)))


def _near(batch: float, grid: Sequence[int]) -> Array:
    """Whole batches from one point of the grid below to one above, some of them more than once."""
    below = max((one for one in grid if one < batch), default=batch)
    above = min((one for one in grid if one > batch), default=batch)
    return np.round(np.array([*np.linspace(below, above, _FINE), batch]))


_FINE = 33
