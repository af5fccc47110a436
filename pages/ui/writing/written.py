"""How each explained quantity is written: by its id where it has a way of its own, else by unit."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import NamedTuple, Protocol, TypeVar

from calc import Scenario, calibration, decode, known, memory
from calc.explain import EXPLANATIONS, bounds
from calc.explain import bands as usually
from calc.words import say
from pages.ui.writing import published, text


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
    "input_tokens_by_time": text.significant,
    "input_tokens_by_cost": text.significant,
    "hbm_limit": text.ways,
    "compute_limit": text.ways,
}


def quantity(id: str, value: float) -> str:
    """The value of an explained quantity, in SI units, as people read it."""
    return (_BY_ID.get(id) or _BY_UNIT[EXPLANATIONS[id].unit])(value)


# As the ends of a band are written: two digits, since no more is known of them.
_ROUGH: Mapping[str, Write] = {
    "s": lambda value: text.si(value, "s", 2),
    "token/s": lambda value: (
        text.significant(value, 2) if value < 1000 else text.si(value, "", 2).replace(" ", "")
    ),
    "token/J": lambda value: text.significant(value, 2),
    "USD": lambda value: f"${text.significant(value, 2)}",
    "share": lambda value: f"{text.significant(100 * value, 2)} %",
}


def ranged(id: str, value: float, scenario: Scenario, **step: float) -> str:
    """Between what a quantity usually lies (see `calc.explain.bands.usual`); empty if unknown."""
    ends = usually.usual(id, value, scenario, **step)
    return text.between(*map(_ROUGH[EXPLANATIONS[id].unit], ends)) if ends else ""


def span(id: str, value: float, scenario: Scenario) -> str:
    """The same, with a word where its data are thin."""
    found, band = ranged(id, value, scenario), usually.band(id, scenario)
    return _thin(found) if band and band.thin else found


def _thin(range: str) -> str:
    return say("{range} (thin data)", range=range)


def usual(id: str, value: float, scenario: Scenario) -> str:
    """The same in a sentence."""
    found = ranged(id, value, scenario)
    return say("usually {range}", range=found) if found else ""


class Reached(NamedTuple):
    """What engines reach of a step: between what times, and whether its data are thin."""

    range: str
    thin: bool

    @property
    def told(self) -> str:
        """Both."""
        return _thin(self.range) if self.thin else self.range


def reached(scenario: Scenario) -> Reached | None:
    """What engines reach of a step that is computed without that; None if unknown."""
    if scenario.fidelity == "calibrated":
        return None
    engines = replace(scenario, fidelity="calibrated")
    band = usually.band("step_time", engines)
    if band is None:
        return None
    time = float(decode.step_time(engines).total)
    return Reached(ranged("step_time", time, engines), band.thin)


def basis(scenario: Scenario, ids: Iterable[str]) -> list[str]:
    """What the usual ranges of quantities stand on, or why they have none, as Markdown."""
    return [text.plain(note) for note in usually.notes(scenario, ids)]


def steps(scenario: Scenario) -> str:
    """How far the decode steps may be off that something is made of, or why that is not known.

    Empty where steps are not calibrated.
    """
    if calibration.no_class(scenario):
        return ""
    band, notes = usually.band("step_time", scenario), basis(scenario, ["step_time"])
    if band:
        ends = (f"{text.significant(end, 2)} ×" for end in (band.low, band.high))
        between = text.between(*ends)
        notes = [say("Decode steps usually take {range} the time that is counted here.",
                     range=between), *notes]  # fmt: skip
    return text.sentences(*notes) if notes else ""


def told(id: str, value: float, scenario: Scenario) -> str:
    """A quantity of a scenario in a sentence: a bound, or with its band where it has one."""
    figure, band = quantity(id, value), usually.band(id, scenario)
    if band is None:
        bounding = {bounds.LEAST: published.least, bounds.MOST: published.most}
        return bounding[bounds.BOUNDS[id]](scenario, figure)
    between = usual(id, value, scenario)
    if band.thin:
        return say("{figure}, {usual} (thin data)", figure=figure, usual=between)
    return say("{figure}, {usual}", figure=figure, usual=between)


def cell(id: str, value: float, scenario: Scenario) -> str:
    """A quantity of a scenario in a table: with its sign, or with its band where it has one."""
    found = ranged(id, value, scenario)
    if found:
        return f"{quantity(id, value)} ({found})"
    write = {bounds.LEAST: published.lower, bounds.MOST: published.upper}[bounds.BOUNDS[id]]
    return write(scenario, value, lambda figure: quantity(id, figure))


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


def values(metrics: Mapping[str, Callable[[T], float | None]], view: T) -> dict[str, float]:
    """Quantities of a view by their ids, in SI units; what does not apply is left out."""
    found = {id: of(view) for id, of in metrics.items()}
    return {id: value for id, value in found.items() if value is not None}


def row(metrics: Mapping[str, Callable[[T], float | None]], view: T) -> dict[str, str]:
    """The same as people read them."""
    return {id: bounded(id, value, view.scenario) for id, value in values(metrics, view).items()}


def bands(values: Mapping[str, float], scenario: Scenario) -> dict[str, str]:
    """Between what quantities usually lie, by the ids of those that have a band."""
    found = {id: usual(id, value, scenario) for id, value in values.items()}
    return {id: words for id, words in found.items() if words}


def moved(id: str, before: float, after: float) -> str:
    """A quantity before and after, and its change in per cent where there is one."""
    words = f"{quantity(id, before)} → {quantity(id, after)}"
    shift = text.change(after, before)
    return f"{words} ({shift})" if shift else words
