"""What the best plan costs if one limit, the rate or a price were another."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from calc.chip import Price
from calc.plan.ask import Ask, Space
from calc.plan.candidate import Candidate
from calc.plan.search import search
from calc.plan.survey import Ground
from calc.scenario import Scenario
from calc.words import marked

# One that is a half and twice as much.
TIMES = (0.5, 2.0)
LABELS: Mapping[str, str] = {
    "ttft": marked("TTFT limit"),
    "tpot": marked("TPOT limit"),
    "rate": marked("Arrival rate"),
    "price": marked("Price of its chip"),
}


@dataclass(frozen=True)
class Move:
    """The best plan with one figure at each of `TIMES` what it is; None where nothing keeps it."""

    name: str
    plans: tuple[Candidate | None, Candidate | None]


def moves(best: Candidate, scenario: Scenario, space: Space, ground: Ground) -> tuple[Move, ...]:
    """What one figure does to the best plan, the others as they are.

    Limits of classes move in proportion. Batches are those of the grid.

    Parameters
    ----------
    best : Candidate
        The plan whose chip another price is tried of.
    scenario, space, ground : Scenario, Space, Ground
        What it was found with.
    """

    def found(ask: Ask, among: Space = space) -> Candidate | None:
        return search(scenario, ask, among, ground, refine=False, most=1).best

    ask = best.ask
    changed: Mapping[str, Callable[[float], Candidate | None]] = {
        "ttft": lambda times: found(_limited(ask, "ttft", times)),
        "tpot": lambda times: found(_limited(ask, "tpot", times)),
        "rate": lambda times: found(replace(ask, rate=ask.rate * times)),
        "price": lambda times: found(ask, _priced(space, best.scenario.chip.id, times)),
    }
    low, high = TIMES
    return tuple(Move(name, (of(low), of(high))) for name, of in changed.items())


def _limited(ask: Ask, name: str, times: float) -> Ask:
    """Another limit, of each class too."""
    classes = tuple(replace(one, **{name: getattr(one, name) * times}) for one in ask.classes)
    return replace(ask, **{name: getattr(ask, name) * times}, classes=classes)


def _priced(space: Space, chip: str, times: float) -> Space:
    """Another price of one chip."""
    return replace(
        space,
        chips=tuple(
            replace(one, price=Price(one.price.usd_per_hour * times, one.price.source))
            if one.id == chip and one.price
            else one
            for one in space.chips
        ),
    )
