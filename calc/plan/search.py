"""The best plans among all that chips can do, for one rate within limits."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from calc.chip import Chip
from calc.plan import obstacles, replica
from calc.plan import pools as readers
from calc.plan.ask import ARRANGEMENTS, Ask, Space
from calc.plan.candidate import Candidate, Prefill
from calc.plan.curve import Curve
from calc.plan.grid import Grid
from calc.plan.obstacles import Obstacle
from calc.plan.pool_sizes import PoolSizes
from calc.plan.pools import Pool
from calc.plan.served import Served
from calc.plan.survey import DISAGGREGATED, Columns, Ground, Survey, survey
from calc.scenario import Scenario, class_of

Array = NDArray[np.float64]
Indices = NDArray[np.int64]

SHOWN = 20
_WHOLE = 1e-9  # replicas that rounding alone would add


@dataclass(frozen=True)
class Answer:
    """What was found.

    Parameters
    ----------
    rows : tuple of Candidate
        The best of each chip, arrangement and number of chips of a replica, best first.
    firsts : tuple of int
        The best of each chip that keeps the limits, best first, as entries of `table`.
    tried : int
        Replicas that were looked at: those that memory holds, and that no other outdoes in all.
    """

    ask: Ask
    space: Space
    rows: tuple[Candidate, ...]
    firsts: tuple[int, ...]
    tried: int
    table: Table

    @property
    def best(self) -> Candidate | None:
        """The best; None where nothing keeps the limits."""
        return self.rows[0] if self.rows else None

    @property
    def runner_up(self) -> Candidate | None:
        """The best on another chip."""
        return self.beside(self.rows[0]) if self.rows else None

    def beside(self, one: Candidate, but: Sequence[Candidate] = ()) -> Candidate | None:
        """The best on another chip than that of a plan, some left out."""
        others = (
            row for row in self.rows
            if row not in but and row.scenario.chip.id != one.scenario.chip.id
        )  # fmt: skip
        return next(others, None)

    def of_chips(self, most: int | None = None) -> dict[str, Candidate]:
        """The best of so many chips, or of all that keep the limits, by id and best first."""
        # Of rows the first of a chip is its best.
        known = {one.scenario.chip.id: one for one in reversed(self.rows)}
        found = {}
        for at in self.firsts[:most]:
            id = self.space.chips[self.table.chip[at]].id
            found[id] = known.get(id) or self.table.plans(np.array([at]), self.ask)[0]
        return found

    @cached_property
    def obstacles(self) -> tuple[Obstacle, ...]:
        """Of each chip that keeps no limits, what keeps it from it."""
        served = {int(self.table.chip[at]) for at in self.firsts}
        return obstacles.of(self.table, self.ask, self.space, served)

    @property
    def served(self) -> tuple[str, ...]:
        """Chips that keep the limits, by id and best first."""
        return tuple(self.space.chips[self.table.chip[at]].id for at in self.firsts)

    @cached_property
    def per_chip(self) -> dict[str, Candidate]:
        """The best of each chip that keeps the limits, by its id."""
        return self.of_chips()

    def grid(self, most: int) -> Grid:
        """The best of so many chips by chips of a replica."""
        chips = tuple(int(self.table.chip[at]) for at in self.firsts[:most])
        return Grid.of(self.table, self.ask, self.space, chips, self.rows)

    def pool_sizes(self, chip: str | None = None) -> PoolSizes | None:
        """The two pools of a chip, or of the best for two, by the limit on time per token."""
        ids = [one.id for one in self.space.chips]
        found = PoolSizes.of(self.table, self.ask, ids.index(chip) if chip in ids else None)
        if found is None:
            return None
        named = ids[found.chip]
        rows = [row for row in self.rows if row.scenario.chip.id == named]
        return PoolSizes.of(self.table, self.ask, found.chip, rows)

    def served_by(self, chip: str, chips: int) -> Served:
        """What so many of a chip, by id, serve in one pool."""
        index = [one.id for one in self.space.chips].index(chip)
        return Served.of(self.table, self.ask, index, chips)

    @cached_property
    def uncalibrated(self) -> frozenset[str]:
        """Chips, by id, that are timed by their operators though calibrated times are asked."""
        s = self.table.surveys[0].scenario
        if s.fidelity != "calibrated" or s.own:
            return frozenset()
        return frozenset(
            chip.id for chip in self.space.chips if not class_of(chip, s.fidelity, s.engine)
        )

    @cached_property
    def curve(self) -> Curve:
        """What each chip costs by the limit on time per token."""
        place = {chip.id: index for index, chip in enumerate(self.space.chips)}
        return Curve.of(
            self.table, self.ask, [(place[row.scenario.chip.id], row) for row in self.rows]
        )


@dataclass(frozen=True)
class Table:
    """Every replica that works, with how many of it the rate takes and what they cost.

    Parameters
    ----------
    ground : Ground
        What it is drawn from.
    pools : tuple of Pools
        Of each survey, the prefill pool of each chip.
    columns : Columns
        All of them; `tpot`, `ttft` and `used` are those of the whole plan.
    replicas, chips : array
        Replicas, and chips in all, those that read prompts included.
    price, power : array
        Of an hour of one chip and at its power, by chip of the space [USD/hour, W]; nan where
        unpublished.
    """

    ground: Ground
    pools: tuple[Pools, ...]
    columns: Columns
    replicas: Array
    chips: Array
    price: Array
    power: Array

    @property
    def surveys(self) -> tuple[Survey, ...]:
        """What chips do, by those that are timed alike."""
        return self.ground.surveys

    @property
    def survey(self) -> Indices:
        """Index of the survey of each."""
        return self.ground.survey

    @property
    def chip(self) -> Indices:
        """Index of the chip of each in `Space.chips`."""
        return self.ground.chip

    @property
    def size(self) -> Array:
        """Chips of a replica."""
        return self.ground.size

    @cached_property
    def usd(self) -> Array:
        """Price of all chips of each plan [USD/hour]; nan where unpublished."""
        return np.asarray(self.chips * self.price[self.chip])

    @cached_property
    def watts(self) -> Array:
        """Power of all chips of each plan [W]; nan where unpublished."""
        return np.asarray(self.chips * self.power[self.chip])

    def objective(self, ask: Ask) -> Array:
        """What is to be least; nan where it is unknown."""
        match ask.objective:
            case "usd":
                return self.usd
            case "chips":
                return self.chips
            case "energy":
                return self.watts
        return self.columns.tpot

    def kept(self, ask: Ask) -> NDArray[np.bool_]:
        """Whether all but the limit on time per token is kept."""
        c = self.columns
        return np.asarray(
            (c.ttft <= ask.ttft) & (c.used <= ask.most_used) & np.isfinite(self.chips)
        )

    def ordered(self, ask: Ask, among: NDArray[np.bool_]) -> Indices:
        """Those that keep the limits, the best first of each chip, arrangement and size.

        Equals are told apart by chips, chips of a replica, time per token, budget.
        """
        aim, c, group = self.objective(ask), self.columns, self.ground.group
        at = np.flatnonzero(among & (c.tpot <= ask.tpot) & np.isfinite(aim))
        # The least of each group first: few are left to be told apart.
        least = np.full(int(group.max(initial=-1)) + 1, np.inf)
        np.minimum.at(least, group[at], aim[at])
        at = at[aim[at] == least[group[at]]]
        keys = (c.budget, c.tpot, self.size, self.chips, aim)
        at = at[np.lexsort([key[at] for key in keys])]
        return np.asarray(at[np.sort(np.unique(group[at], return_index=True)[1])])

    def plans(self, chosen: Indices, ask: Ask) -> tuple[Candidate, ...]:
        """Some of them as plans."""
        return tuple(self._plan(at, ask) for at in chosen.tolist())

    def _plan(self, at: int, ask: Ask) -> Candidate:
        one, prefill = self.surveys[self.survey[at]], self.pools[self.survey[at]]
        c = self.columns.where(np.array([at]))
        chip, arrangement = int(c.chip[0]), int(c.arrangement[0])
        scenario = one.on(chip, int(c.layout[0]), float(c.batch[0]))
        pool = None
        if arrangement == DISAGGREGATED:
            layout = int(prefill.layout[chip])
            reading, sending = (
                float(values[chip, layout]) for values in (one.readers.reading, one.readers.sending)
            )
            pool = Prefill(
                one.on(chip, layout, 1), int(prefill.replicas[chip]) + ask.spare, reading, sending,
                float(prefill.exposed[chip]),
            )  # fmt: skip
        slots, rate = float(c.slots[0]), float(c.rate[0])
        width = replica.layout_of(scenario)
        return Candidate(
            scenario=scenario,
            arrangement=tuple(ARRANGEMENTS)[arrangement],
            replicas=int(self.replicas[at]),
            exact=ask.needed / rate,
            prefill=pool,
            batch=int(c.batch[0]),
            slots=int(slots),
            budget=int(c.budget[0]),
            rate=rate,
            step=float(c.step[0]),
            longest=float(c.longest[0]),
            tpot=float(c.tpot[0]),
            mean_tpot=float(c.mean_tpot[0]),
            ttft=float(c.ttft[0]),
            used=float(c.used[0]),
            filled=slots / float(replica.most(scenario, width, ask)),
            chips=int(self.chips[at]),
            usd_per_hour=float(self.usd[at]),
            watts=float(self.watts[at]),
            ask=ask,
        )


@dataclass(frozen=True)
class Pools:
    """The best prefill pool of each chip: its layout, and what it is."""

    layout: Indices
    replicas: Array
    chips: Array
    used: Array
    ttft: Array
    exposed: Array

    @classmethod
    def of(cls, found: Survey, ask: Ask) -> Pools:
        """Fewest chips, then fewest of a replica, then the shortest wait."""
        each: Pool = readers.pool(found.readers, ask)
        size = np.broadcast_to(found.layout.chips, each.replicas.shape)
        chips = (each.replicas + ask.spare) * size
        ways = np.lexsort([each.ttft, size, chips], axis=-1)[:, :1]

        def best(values: Array) -> Array:
            return np.take_along_axis(values, ways, -1)[:, 0]

        return cls(
            ways[:, 0], best(each.replicas), best(chips), best(each.used), best(each.ttft),
            best(found.readers.exposed),
        )  # fmt: skip


def search(
    scenario: Scenario,
    ask: Ask,
    space: Space,
    ground: Ground | None = None,
    refine: bool = True,
    most: int = SHOWN,
) -> Answer:
    """The best plans, best first, and why other chips offer none.

    Parameters
    ----------
    scenario : Scenario
        Model, memory share, efficiencies, network and fidelity; chip, formats, chips, batch and
        lengths come from `space` and `ask`.
    ask, space : Ask, Space
        What to keep, and among what to look.
    ground : Ground, optional
        What `survey_all` gave for the same scenario, space, lengths and percentile.
    refine : bool
        Whether batches between those of the grid are tried for what is shown.
    most : int
        How many plans are shown.
    """
    found = survey_all(scenario, ask, space) if ground is None else ground
    pools = tuple(Pools.of(one, ask) for one in found.surveys)
    table = _counted(found, pools, ask, space)
    order = table.ordered(ask, table.kept(ask))
    firsts = order[np.sort(np.unique(table.chip[order], return_index=True)[1])]
    shown = order[:most]
    if refine and shown.size:
        fine = _counted(found.refined(shown, space, ask), pools, ask, space)
        rows = fine.plans(fine.ordered(ask, fine.kept(ask)), ask)
    else:
        rows = table.plans(shown, ask)
    return Answer(ask, space, rows, tuple(firsts.tolist()), len(found.columns), table)


def survey_all(scenario: Scenario, ask: Ask, space: Space) -> Ground:
    """What all chips can do in all formats: it depends on neither rate, limits nor prices."""
    found: list[tuple[Survey, Columns]] = []
    for formats in space.formats:
        for resolved, rated in formats.by_rate(space.chips).items():
            # At fidelity calibrated each class of chips has constants of its own.
            alike: dict[str, list[Chip]] = {}
            for chip in rated:
                found_class = class_of(chip, scenario.fidelity, scenario.engine)
                alike.setdefault(found_class.id if found_class else "", []).append(chip)
            found += [survey(scenario, chips, resolved, space, ask) for chips in alike.values()]
    return Ground.of(found, space.chips)


def _counted(ground: Ground, pools: tuple[Pools, ...], ask: Ask, space: Space) -> Table:
    """How many replicas of each column it takes, and of how many chips."""
    c, two = ground.columns, slice(ground.one_pool, None)
    first = np.cumsum([0, *(len(pool.layout) for pool in pools)])[:-1]
    pool = first[ground.survey[two]] + c.chip[two]

    def of_pools(name: str) -> Array:
        return np.asarray(np.concatenate([getattr(one, name) for one in pools])[pool])

    ttft, tpot, used = c.ttft.copy(), c.tpot.copy(), c.used.copy()
    ttft[two], used[two] = of_pools("ttft"), of_pools("used")
    tpot[two] += of_pools("exposed") / ask.steps
    replicas = np.ceil(ask.needed / c.rate - _WHOLE) + ask.spare
    chips = replicas * ground.size
    chips[two] += of_pools("chips")
    return Table(
        ground, pools, replace(c, ttft=ttft, tpot=tpot, used=used), replicas, chips,
        np.array([_price(one) for one in space.chips]),
        np.array([one.power for one in space.chips]),
    )  # fmt: skip


def _price(chip: Chip) -> float:
    return chip.price.usd_per_hour if chip.price else math.nan
