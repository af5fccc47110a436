"""How each explained quantity is written: by its id where it has a way of its own, else by unit."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Protocol, TypeVar

from calc import Scenario, known, memory
from calc.explain import EXPLANATIONS, bounds
from calc.words import say
from pages.ui.writing import text


class _Shown(Protocol):
    """Whatever shows a scenario."""

    @property
    def scenario(self) -> Scenario: ...


T = TypeVar("T", bound=_Shown)
Write = Callable[[float], str]


def _seconds(value: float) -> str:
    return text.si(value, "s")


def _bytes(value: float) -> str:
    return text.si(value, "B")


def _whole(value: float) -> str:
    """What counts only as far as it is reached."""
    return text.count(value // 1)


def _length(value: float) -> str:
    return text.unknown() if math.isnan(value) else text.at_least(int(value))


_BY_UNIT: Mapping[str, Write] = {
    "s": _seconds,
    "byte": _bytes,
    "byte/token": text.kibibytes,
    "FLOP/byte": text.intensity,
    "token/s": text.rate,
    "token/J": text.significant,
    "USD": text.usd,
    "share": text.percent,
    "×": text.times,
    "chips": text.count,
    "sequences": text.count,
    "tokens": text.count,
}
_BY_ID: Mapping[str, Write] = {
    "compute_bound_batch": _whole,
    "free_batch": _whole,
    "free_tokens": _whole,
    "fewest_chips": lambda value: text.count(value) if value else say("none"),
    "equal_reads": lambda value: (
        say("never")
        if math.isinf(value)
        else say("below batch 1")
        if value < 1
        else say("batch {n}", n=text.count(value))
    ),
    "tokens_per_check": text.significant,
    "best_length_here": _length,
    "best_length_free": _length,
    "servers_ratio": text.ratio,
    "hbm_limit": text.ways,
    "compute_limit": text.ways,
}


def quantity(id: str, value: float) -> str:
    """The value of an explained quantity, in SI units, as people read it."""
    return (_BY_ID.get(id) or _BY_UNIT[EXPLANATIONS[id].unit])(value)


_BATCHES = ("max_batch", "sequences_that_fit")
_SIGNS = {bounds.LEAST: "≥ ", bounds.MOST: "≤ ", "": ""}


def batches(scenario: Scenario, sequences: float) -> str:
    """So many sequences, or any number where they take no memory."""
    unlimited = sequences and memory.takes_nothing(scenario)
    return say("any") if unlimited else text.count(sequences)


def bounded(id: str, value: float, scenario: Scenario) -> str:
    """A quantity of a scenario, with its sign where that gives only a bound of it."""
    if id in _BATCHES and memory.any_batch(scenario):
        return say("any")
    if not known.bounded(scenario):
        return quantity(id, value)
    sense, formula = bounds.written(id, EXPLANATIONS[id], scenario)
    if math.isnan(formula.value):
        return text.unknown()
    return f"{_SIGNS[sense]}{quantity(id, value)}"


def row(metrics: Mapping[str, Callable[[T], float | None]], view: T) -> dict[str, str]:
    """Quantities of a view by their ids; what does not apply is left out."""
    values = {id: of(view) for id, of in metrics.items()}
    return {
        id: bounded(id, value, view.scenario) for id, value in values.items() if value is not None
    }


def moved(id: str, before: float, after: float) -> str:
    """A quantity before and after, and its change in per cent where there is one."""
    words = f"{quantity(id, before)} → {quantity(id, after)}"
    shift = text.change(after, before)
    return f"{words} ({shift})" if shift else words
